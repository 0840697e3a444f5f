"""What an admin changed, in words."""

from __future__ import annotations

import pytest

from tests.builders import Json, make_row, make_table, tolerate
from webhook.advice.row_changes import table_changes
from webhook.advice.spec_changes import Shift, shift


def _labels(**labels: str) -> Json:
    return {"matchLabels": {key.replace("_", "-"): value for key, value in labels.items()}}


def _expressions(*expressions: Json) -> Json:
    return {"matchExpressions": list(expressions)}


_CLAIM = {"deviceClassName": "gpu", "driver": "gpu.x"}


def _own(*expressions: str) -> list[Json]:
    return [{"cel": {"expression": one}} for one in expressions]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, {"perNode": 4}, "perNode: 8 → 4"),
        ({"cost": 1}, {"cost": 3}, "cost: 1 → 3"),
        ({"aliases": ["b", "a2"]}, {}, "aliases: a2, b → none"),
        ({}, {"any": False}, "any: true → false"),
        ({}, {"reserved": True}, "reserved: false → true"),
        ({}, {"os": "windows"}, "os: linux → windows"),
        ({}, {"arch": "arm64"}, "arch: amd64 → arm64"),
        ({}, {"resource": "amd.com/gpu"}, "resource: nvidia.com/gpu → amd.com/gpu"),
        ({}, {"nodes": _labels(gpu_model="x")}, "nodes: gpu-model=a-16gb → gpu-model=x"),
        (
            {},
            {"nodes": _labels(card="a-16gb")},
            "nodes: key gpu-model → card, values as before",
        ),
        (
            {},
            {"nodes": _labels(gpu_model="a-16gb", zone="x")},
            "nodes: gpu-model=a-16gb → gpu-model=a-16gb, zone=x",
        ),
        (
            {},
            {"nodes": _expressions({"key": "m", "operator": "NotIn", "values": ["b", "a"]})},
            "nodes: gpu-model=a-16gb → m NotIn [b, a]",
        ),
        (
            {"nodes": _expressions({"key": "m", "operator": "Exists"})},
            {"nodes": _expressions({"key": "m", "operator": "In", "values": ["b", "a"]})},
            "nodes: m Exists → m In [b, a]",
        ),
        (
            {"tolerations": [tolerate("gpu", "a")]},
            {"tolerations": [tolerate("card", "a")]},
            "tolerations: key gpu → card, values as before",
        ),
        (
            {"tolerations": [tolerate("gpu", "a")]},
            {"tolerations": [tolerate("gpu"), tolerate("b", effect=None)]},
            "tolerations: gpu=a:NoSchedule → b:*, gpu:NoSchedule",
        ),
        ({"tolerations": [tolerate("gpu")]}, {}, "tolerations: gpu:NoSchedule → none"),
        (
            {"claim": _CLAIM},
            {"claim": _CLAIM, "output": "ResourceClaim"},
            "output: ExtendedResource → ResourceClaim",
        ),
        (
            {"claim": _CLAIM, "output": "ResourceClaim"},
            {"claim": _CLAIM, "output": "ResourceClaim", "resource": None},
            "resource: nvidia.com/gpu → none",
        ),
        ({}, {"claim": _CLAIM}, "claim: none → DeviceClass gpu, driver gpu.x"),
        (
            {"claim": {**_CLAIM, "products": ["B", "A"], "selectors": _own("a ==\n  b", "c")}},
            {},
            ("claim: DeviceClass gpu, driver gpu.x, products A, B, selectors a == b and c → none"),
        ),
        (
            {"claim": _CLAIM},
            {"claim": {**_CLAIM, "deviceClassName": "big"}},
            "claim.deviceClassName: gpu → big",
        ),
        ({"claim": _CLAIM}, {"claim": {**_CLAIM, "driver": "y"}}, "claim.driver: gpu.x → y"),
        (
            {"claim": _CLAIM},
            {"claim": {**_CLAIM, "products": ["A"]}},
            "claim.products: none → A",
        ),
        (
            {"claim": {**_CLAIM, "selectors": _own("true")}},
            {"claim": _CLAIM},
            "claim.selectors: true → none",
        ),
    ],
)
def test_a_field(old: Json, new: Json, said: str) -> None:
    changes = table_changes(
        make_table(make_row("a-16gb", **old)), make_table(make_row("a-16gb", **new))
    )
    assert [(one.row, one.alike) for one in changes.changed] == [("a-16gb", said)]
    assert (changes.added, changes.removed, changes.renamed, changes.settings) == ((),) * 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, {"resourceDomain": "a.example"}, "resourceDomain: preferred.jp → a.example"),
        ({}, {"defaultPolicy": "SmallestFit"}, "defaultPolicy: EveryFit → SmallestFit"),
        ({}, {"preferCheaper": False}, "preferCheaper: true → false"),
        ({}, {"mixedNodes": True}, "mixedNodes: false → true"),
        ({}, {"health": {}}, "health: none → set"),
        ({"health": {}}, {"health": {"mode": "Evict"}}, "health.mode: Observe → Evict"),
        (
            {"health": {"rows": [{"id": "a-16gb", "mode": "Evict"}]}},
            {"health": {}},
            "health.rows: a-16gb Evict → none",
        ),
        (
            {"health": {"conditions": [{"type": "B"}]}},
            {
                "health": {
                    "conditions": [
                        {"type": "B", "severity": "Fatal"},
                        {
                            "type": "A",
                            "badStatus": "False",
                            "reasonRegex": "^Xid",
                            "minDuration": "90s",
                        },
                    ]
                }
            },
            (
                "health.conditions: B True is Error → A False with reason ^Xid for 1m30s is "
                "Error, B True is Fatal"
            ),
        ),
        (
            {"health": {}},
            {
                "health": {
                    "taints": [
                        {"key": "b", "value": "", "severity": "Warning"},
                        {"key": "a", "value": "x", "effect": "NoExecute"},
                        {"key": "a"},
                    ]
                }
            },
            "health.taints: none → a:* is Error, a=x:NoExecute is Error, b=:* is Warning",
        ),
        (
            {"health": {}},
            {"health": {"labels": [{"key": "ok", "value": "false"}]}},
            "health.labels: none → ok=false is Warning",
        ),
        (
            {"health": {"ignore": ["B", "A"]}},
            {"health": {"ignore": ["B"]}},
            "health.ignore: A, B → B",
        ),
        *(
            ({"health": {}}, {"health": {part: {field: new}}}, f"health.{part}.{field}: {said}")
            for part, field, new, said in (
                ("observations", "every", "90s", "10s → 1m30s"),
                ("observations", "bad", 5, "3 → 5"),
                ("observations", "good", 5, "3 → 5"),
                ("observations", "crashWindow", "1h", "10m → 1h"),
                ("recovery", "after", "1h", "5m → 1h"),
                ("recovery", "atMost", "1h", "1d → 1h"),
                ("budget", "percent", 5, "20 → 5"),
                ("budget", "evictions", 12, "10 → 12"),
                ("budget", "evictionsPerNamespace", 2, "8 → 2"),
                ("budget", "window", "1h", "10m → 1h"),
            )
        ),
        ({"health": {}}, {"health": {"evictAfter": "0s"}}, "health.evictAfter: 3s → 0s"),
        ({}, {"priorities": []}, "priorities: SmallestFit for class high → none"),
        (
            {},
            {
                "priorities": [
                    {"minValue": 5, "policy": "EveryFit"},
                    {"classNames": ["b", "a"], "policy": "SmallestFit"},
                ]
            },
            (
                "priorities: SmallestFit for class high → EveryFit from 5; "
                "SmallestFit for class a, b"
            ),
        ),
    ],
)
def test_a_setting(old: Json, new: Json, said: str) -> None:
    changes = table_changes(
        make_table(make_row("a-16gb"), **old), make_table(make_row("a-16gb"), **new)
    )
    assert [(one.row, one.alike) for one in changes.settings] == [("", said)]
    assert not changes.changed


@pytest.mark.rule("H6")
def test_health_settings_that_come_with_their_section_are_told_one_by_one() -> None:
    health = {"mode": "Evict", "budget": {"evictions": 5}}
    changes = table_changes(
        make_table(make_row("a-16gb")), make_table(make_row("a-16gb"), health=health)
    )
    assert [one.alike for one in changes.settings] == [
        "health: none → set",
        "health.mode: Observe → Evict",
        "health.budget.evictions: 10 → 5",
        "health.budget.evictionsPerNamespace: 8 → 5",
    ]


def test_rows_come_go_and_are_called_otherwise() -> None:
    nodes = _labels(gpu_model="same")
    old = make_table(make_row("a-16gb", nodes=nodes), make_row("b-24gb"), make_row("c-32gb"))
    new = make_table(make_row("a-24gb", nodes=nodes), make_row("c-32gb"), make_row("d-80gb"))
    changes = table_changes(old, new)
    assert [row.id for row in changes.added] == ["d-80gb"]
    assert [row.id for row in changes.removed] == ["b-24gb"]
    assert changes.renamed == (("a-16gb", "a-24gb"),)
    assert changes.successors == {"a-16gb": "a-24gb", "c-32gb": "c-32gb"}
    assert [one.alike for one in changes.changed] == ["vram: 16gb → 24gb"]


def test_the_order_of_rows_and_lists_is_no_change() -> None:
    one, other = make_row("a-16gb", aliases=["x", "y"]), make_row("b-24gb")
    again = make_row("a-16gb", aliases=["y", "x"])
    changes = table_changes(make_table(one, other), make_table(other, again))
    assert (changes.added, changes.removed, changes.changed, changes.settings) == ((),) * 4


def test_a_row_with_another_id_is_neither_lost_nor_gained() -> None:
    old = make_table(make_row("a-16gb"), make_row("b-24gb"))
    new = make_table(make_row("c-16gb"), make_row("d-80gb"))
    moved = shift(old.rows, new.rows, {"a-16gb": "c-16gb"})
    assert moved == Shift(lost=("b-24gb",), gained=("d-80gb",))
    assert str(moved) == "loses b-24gb; gains d-80gb"
    assert not shift(old.rows, old.rows, {row.id: row.id for row in old.rows})
