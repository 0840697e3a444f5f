"""Pods that the API server refuses are left as they are: never repaired, never an error (R6)."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from tests.answers import answered, outcome, warned
from tests.builders import Json, asking, expression, make_pod, pfn, term
from webhook.admission.reasons import Reason
from webhook.admission.translate import Verdict
from webhook.selectors import PREFERRED, REQUIRED
from webhook.shapes import unreadable

NODE = "spec.affinity.nodeAffinity"
TERMS = f"{NODE}.{REQUIRED}.nodeSelectorTerms"
MAIN = asking().build()["spec"]["containers"][0]

WRONG: tuple[object, ...] = ("text", 5, 0, False, True, 1.5, [], ["x"], {}, {"x": "y"})
NO_DICT = [value for value in WRONG if not isinstance(value, dict)]
NO_LIST = [value for value in WRONG if not isinstance(value, list)]
NO_TEXT = [value for value in WRONG if not isinstance(value, str)]


FINE: list[tuple[tuple[str | int, ...], object]] = [
    (("metadata",), None),
    (("metadata", "labels"), None),
    (("metadata", "annotations"), None),
    (("spec", "initContainers"), None),
    (("spec", "initContainers"), []),
    (("spec", "nodeSelector"), None),
    (("spec", "nodeSelector"), {}),
    (("spec", "tolerations"), None),
    (("spec", "tolerations"), [None, {}, {"key": None}]),
    (("spec", "affinity"), None),
    (("spec", "affinity", "nodeAffinity"), None),
    (("spec", "affinity", "nodeAffinity", REQUIRED), None),
    (("spec", "affinity", "nodeAffinity", PREFERRED), None),
    (("spec", "affinity", "nodeAffinity", PREFERRED), [None, {}, {"preference": None}]),
    (("spec", "containers", 0, "resources", "requests"), None),
    (("spec", "containers", 0, "resources", "claims"), None),
    (("spec", "containers", 0, "resources", "claims"), [{}, {"name": None}]),
    (("spec", "resourceClaims"), None),
    (("spec", "resourceClaims"), [{}, {"name": None, "resourceClaimTemplateName": None}]),
    (("spec", "resources"), None),
    (("spec", "resources"), {"limits": None}),
    (("spec", "priority"), "high"),
    (("spec", "priorityClassName"), 5),
    (("spec", "os"), "linux"),
    (("spec", "os"), {"name": None}),
]


def with_value(path: tuple[str | int, ...], value: object) -> Json:
    """A Pod that asks for a GPU and has a value at a path; what leads there is created."""
    pod = asking().build()
    node: Any = pod
    for key, following in pairwise(path):
        if isinstance(node, dict) and key not in node:
            node[key] = [{}] if isinstance(following, int) else {}
        node = node[key]
    node[path[-1]] = value
    return pod


def cases() -> list[ParameterSet]:
    """Every field that is read or written, with values of every wrong type."""
    node = ("spec", "affinity", "nodeAffinity")
    first = (*node, REQUIRED, "nodeSelectorTerms", 0)
    fields: list[tuple[tuple[str | int, ...], str, list[object]]] = [
        (("spec",), "spec", [*NO_DICT, None]),
        (("spec", "containers"), "spec.containers", [*NO_LIST, [], None]),
        (("spec", "containers", 0), "spec.containers[0]", [*NO_DICT, {}, None]),
        (("spec", "containers", 0, "name"), "spec.containers[0]", [*NO_TEXT, None]),
        (("spec", "containers", 0, "resources"), "spec.containers[0]", NO_DICT),
        (("spec", "containers", 0, "resources", "limits"), "spec.containers[0]", NO_DICT),
        (("spec", "containers", 0, "resources", "requests"), "spec.containers[0]", NO_DICT),
        (("spec", "containers", 0, "resources", "claims"), "spec.containers[0]", NO_LIST),
        (
            ("spec", "containers", 0, "resources", "claims", 0),
            "spec.containers[0]",
            [*NO_DICT, {"name": 5}, {"name": {"a": 1}}],
        ),
        (("spec", "resourceClaims"), "spec.resourceClaims", NO_LIST),
        (
            ("spec", "resourceClaims", 0),
            "spec.resourceClaims",
            [*NO_DICT, {"name": {"a": 1}}, {"name": "x", "resourceClaimTemplateName": ["a"]}],
        ),
        (("spec", "initContainers"), "spec.initContainers", NO_LIST),
        (("spec", "initContainers", 0), "spec.initContainers[0]", [*NO_DICT, {}, None]),
        (("spec", "initContainers", 0, "name"), "spec.initContainers[0]", [*NO_TEXT, None]),
        (("spec", "resources"), "spec.resources", NO_DICT),
        (("spec", "resources", "limits"), "spec.resources", NO_DICT),
        (("spec", "nodeSelector"), "spec.nodeSelector", NO_DICT),
        (("spec", "nodeSelector", "gpu-model"), "spec.nodeSelector", NO_TEXT),
        (("spec", "tolerations"), "spec.tolerations", NO_LIST),
        (("spec", "tolerations", 0), "spec.tolerations[0]", NO_DICT),
        (("spec", "tolerations", 0, "key"), "spec.tolerations[0]", NO_TEXT),
        (("spec", "tolerations", 0, "value"), "spec.tolerations[0]", NO_TEXT),
        (node[:2], "spec.affinity", NO_DICT),
        (node, NODE, NO_DICT),
        ((*node, REQUIRED), f"{NODE}.{REQUIRED}", NO_DICT),
        ((*node, PREFERRED), f"{NODE}.{PREFERRED}", NO_LIST),
        ((*node, PREFERRED, 0), f"{NODE}.{PREFERRED}[0]", NO_DICT),
        ((*node, PREFERRED, 0, "preference"), f"{NODE}.{PREFERRED}[0]", NO_DICT),
        (first[:-1], TERMS, NO_LIST),
        (first, f"{TERMS}[0]", NO_DICT),
        ((*first, "matchExpressions"), f"{TERMS}[0]", NO_LIST),
        ((*first, "matchExpressions", 0), f"{TERMS}[0]", [*NO_DICT, {}, None]),
        ((*first, "matchExpressions", 0, "key"), f"{TERMS}[0]", [*NO_TEXT, None]),
        ((*first, "matchExpressions", 0, "operator"), f"{TERMS}[0]", [*NO_TEXT, None]),
        ((*first, "matchExpressions", 0, "values"), f"{TERMS}[0]", NO_LIST),
        ((*first, "matchExpressions", 0, "values"), f"{TERMS}[0]", [[5], [None], [["x"]]]),
        ((*first, "matchFields"), f"{TERMS}[0]", NO_LIST),
        (("metadata",), "metadata", NO_DICT),
        (("metadata", "labels"), "metadata.labels", NO_DICT),
        (("metadata", "annotations"), "metadata.annotations", NO_DICT),
    ]
    return [
        pytest.param(path, value, field, id=f"{'.'.join(map(str, path))}={value!r}")
        for path, field, wrong in fields
        for value in wrong
    ]


@pytest.mark.rule("R6")
@pytest.mark.parametrize(("path", "value", "field"), cases())
def test_a_malformed_pod_is_left_as_it_is(
    path: tuple[str | int, ...], value: object, field: str
) -> None:
    pod = with_value(path, value)
    before = deepcopy(pod)

    assert unreadable(pod) == field
    became = outcome(pod, pfn())
    assert (became.verdict, became.reason) == (Verdict.UNCHANGED, Reason.LEFT_AS_IS)
    assert became.edits == ()
    assert answered(pod, pfn())["allowed"] is True
    assert "patch" not in answered(pod, pfn())
    assert pod == before


@pytest.mark.rule("R6")
@pytest.mark.parametrize("pod", [None, 5, "Pod", [], [{}], True], ids=repr)
def test_what_is_no_object_is_left_as_it_is(pod: object) -> None:
    assert outcome(pod, pfn()).reason is Reason.LEFT_AS_IS  # type: ignore[arg-type]
    assert answered(pod, pfn())["warnings"] == ["left as it is: invalid object"]


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod().container("a", any=1).container("a"), id="two main containers"),
        pytest.param(
            make_pod().init("a").container("a", any=1), id="an init container and another"
        ),
    ],
)
def test_two_containers_of_one_name(pod: object) -> None:
    assert outcome(pod, pfn()).reason is Reason.LEFT_AS_IS  # type: ignore[arg-type]


@pytest.mark.rule("R6", "R8")
def test_the_warning_names_the_field() -> None:
    assert warned(with_value(("spec", "tolerations"), "all"), pfn()) == [
        "left as it is: invalid spec.tolerations"
    ]


@pytest.mark.rule("R8")
def test_the_longest_field_path_fits_a_warning() -> None:
    pod = asking().terms(*[term(expression("zone", "Exists"))] * 40, {"matchFields": "x"})

    assert warned(pod, pfn()) == [f"left as it is: invalid {TERMS}[40]"]


@pytest.mark.parametrize(("path", "value"), FINE)
@pytest.mark.rule("R6")
def test_null_is_as_good_as_absent(path: tuple[str, ...], value: object) -> None:
    """And what is not read may be anything."""
    pod = with_value(path, value)

    assert unreadable(pod) == ""
    assert outcome(pod, pfn()).verdict is Verdict.PATCHED


@pytest.mark.rule("R6")
def test_a_null_in_a_node_selector_is_the_empty_text() -> None:
    """Kubernetes reads it so: it is a selector for an empty value, which no row has."""
    became = outcome(with_value(("spec", "nodeSelector", "gpu-model"), None), pfn())

    assert became.reason is Reason.OWN_SELECTORS
