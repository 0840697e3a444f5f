"""Expressions on node labels and tolerations, as values."""

from __future__ import annotations

import pytest

from selection_spec.labels import Operator, Requirement, Toleration, of_labels


@pytest.mark.rule("N2", "N4")
@pytest.mark.parametrize(
    ("requirement", "admitted"),
    [
        (Requirement("k", Operator.IN, ("a", "b")), {"a", "b"}),
        (Requirement("k", Operator.IN), set()),
        (Requirement("k", Operator.NOT_IN, ("a",)), {"b", "c", ""}),
        (Requirement("k", Operator.EXISTS), {"a", "b", "c", ""}),
        (Requirement("k", Operator.DOES_NOT_EXIST), set()),
        # Left to the scheduler.
        (Requirement("k", Operator.GT, ("5",)), {"a", "b", "c", ""}),
        (Requirement("k", Operator.LT, ("5",)), {"a", "b", "c", ""}),
    ],
)
def test_which_values_a_requirement_admits(requirement: Requirement, admitted: set[str]) -> None:
    assert {value for value in ("a", "b", "c", "") if requirement.admits(value)} == admitted


@pytest.mark.rule("N2")
@pytest.mark.parametrize(
    ("requirement", "plain"),
    [
        (Requirement("k", Operator.IN, ("a",)), True),
        (Requirement("k", Operator.IN, ("a", "b")), False),
        (Requirement("k", Operator.IN), False),
        (Requirement("k", Operator.NOT_IN, ("a",)), False),
        (Requirement("k", Operator.EXISTS), False),
    ],
)
def test_what_a_node_selector_can_say(requirement: Requirement, plain: bool) -> None:  # noqa: FBT001 - a table
    assert requirement.is_plain == plain


def test_requirements_as_kubernetes_writes_them() -> None:
    assert Requirement("k", Operator.NOT_IN, ("a", "b")).to_json() == {
        "key": "k",
        "operator": "NotIn",
        "values": ["a", "b"],
    }
    assert Requirement("k", Operator.EXISTS).to_json() == {"key": "k", "operator": "Exists"}


def test_labels_are_requirements_of_one_value() -> None:
    assert of_labels({"a": "1", "b": ""}) == (
        Requirement("a", Operator.IN, ("1",)),
        Requirement("b", Operator.IN, ("",)),
    )


@pytest.mark.rule("N5")
@pytest.mark.parametrize(
    ("toleration", "written"),
    [
        (
            Toleration("k", "Equal", "v", "NoSchedule"),
            {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
        ),
        (Toleration("k", "Exists"), {"key": "k", "operator": "Exists"}),
        (Toleration("k", "Equal", ""), {"key": "k", "operator": "Equal", "value": ""}),
    ],
)
def test_tolerations_as_kubernetes_writes_them(
    toleration: Toleration, written: dict[str, object]
) -> None:
    assert toleration.to_json() == written
