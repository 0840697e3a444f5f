"""Which rows a node belongs to: what the scheduler says, found without asking every row."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.labels import Operator, Requirement
from selection_spec.table import Table
from tests.builders import Json, expression, make_row, make_table
from tests.matcher import admits
from tests.webhook.inventory.facts import node
from webhook.inventory.facts import NodeFacts
from webhook.inventory.matching import Matcher, fulfils

ARM = {"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux"}


def ids(table: Table, facts: NodeFacts) -> list[str]:
    return [row.id for row in Matcher(table).rows_of(facts)]


def matching(*expressions: Json, row_id: str = "a-1gb", **fields: object) -> Json:
    return make_row(row_id, nodes={"matchExpressions": list(expressions)}, **fields)


@pytest.mark.parametrize(
    ("said", "labels", "fits"),
    [
        (("k", "In", "a", "b"), {"k": "b"}, True),
        (("k", "In", "a", "b"), {"k": "c"}, False),
        (("k", "In", ""), {}, False),
        (("k", "In", ""), {"k": ""}, True),
        (("k", "NotIn", "a"), {"k": "a"}, False),
        (("k", "NotIn", "a"), {"k": "b"}, True),
        (("k", "NotIn", "a"), {}, True),
        (("k", "Exists"), {"k": ""}, True),
        (("k", "Exists"), {}, False),
        (("k", "DoesNotExist"), {}, True),
        (("k", "DoesNotExist"), {"k": ""}, False),
        (("k", "Gt", "40000"), {"k": "40960"}, True),
        (("k", "Gt", "40000"), {"k": "40000"}, False),
        (("k", "Gt", "9"), {"k": "10"}, True),
        (("k", "Lt", "9"), {"k": "10"}, False),
        (("k", "Lt", "0"), {"k": "-1"}, True),
        (("k", "Gt", "1"), {"k": "2.5"}, False),
        (("k", "Gt", "1"), {"k": "24GB"}, False),
        (("k", "Gt", "1"), {"k": "9223372036854775808"}, False),
        (("k", "Gt", "1"), {"k": "9" * 5000}, False),
        (("k", "Gt", "1"), {}, False),
        (("k", "Lt", "1"), {}, False),
    ],
    ids=str,
)
def test_a_requirement_is_judged_as_node_affinity(
    said: tuple[str, ...], labels: dict[str, str], *, fits: bool
) -> None:
    assert fulfils(labels, Requirement(said[0], Operator(said[1]), said[2:])) is fits


def test_rows_come_in_their_order_and_all_labels_must_hold() -> None:
    table = make_table(
        make_row("big-80gb", cost=2, nodes={"matchLabels": {"gpu-model": "m"}}),
        make_row("small-8gb", cost=1, nodes={"matchLabels": {"gpu-model": "m"}}),
        make_row("both-9gb", nodes={"matchLabels": {"gpu-model": "m", "pool": "x"}}),
        make_row("other-9gb", nodes={"matchLabels": {"gpu-model": "o"}}),
    )

    assert ids(table, node(model="m")) == ["small-8gb", "big-80gb"]
    assert ids(table, node(model="m", pool="x")) == ["both-9gb", "small-8gb", "big-80gb"]
    assert ids(table, node(pool="x")) == []


@pytest.mark.rule("D10")
def test_os_and_arch_are_the_rows_too() -> None:
    table = make_table(
        make_row("a-1gb", nodes={"matchLabels": {"m": "x"}}),
        make_row("b-2gb", arch="arm64", nodes={"matchLabels": {"m": "x"}}),
        make_row("c-3gb", os="windows", nodes={"matchLabels": {"m": "x"}}),
    )
    facts = NodeFacts("n", {"m": "x", **ARM})

    assert ids(table, facts) == ["b-2gb"]
    assert [row.id for row in Matcher(table).strangers_of(facts)] == ["a-1gb", "c-3gb"]
    assert ids(table, NodeFacts("n", {"m": "x"})) == ["a-1gb", "b-2gb", "c-3gb"]


KEYS, VALUES = ("k", "l", "m"), ("a", "b", "7", "12", "")
LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


@st.composite
def expressions(draw: st.DrawFn) -> list[Json]:
    found = []
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)):
        operator = draw(st.sampled_from(list(Operator)))
        count = {"In": 3, "NotIn": 3, "Exists": 0, "DoesNotExist": 0}.get(operator, 1)
        values = st.sampled_from(VALUES if count == 3 else ("7", "10"))
        listed = draw(st.lists(values, min_size=min(1, count), max_size=count, unique=True))
        found.append(expression(key, operator, *listed))
    return found


@given(st.lists(expressions(), min_size=1, max_size=6), st.lists(LABELS, min_size=1, max_size=6))
def test_the_rows_of_a_node_are_those_whose_pods_the_scheduler_would_put_there(
    rows: list[list[Json]], nodes: list[dict[str, str]]
) -> None:
    table = make_table(*(matching(*said, row_id=f"r-{n}gb") for n, said in enumerate(rows, 1)))
    matcher = Matcher(table)

    for labels in nodes:
        found = {row.id for row in matcher.rows_of(NodeFacts("n", labels))}
        assert found == {
            f"r-{n}gb" for n, said in enumerate(rows, 1) if _scheduler_admits(labels, said)
        }


def _scheduler_admits(labels: dict[str, str], said: list[Json]) -> bool:
    raw = {"metadata": {"name": "n", "labels": labels}}
    terms = {"nodeSelectorTerms": [json.loads(json.dumps({"matchExpressions": said}))]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return admits(raw, {"spec": {"affinity": {"nodeAffinity": required}}})
