"""What nodes have, less what Pods hold, as far as Pods could go there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from selection_spec.availability import RowStatus
from selection_spec.rows import CLAIMS
from selection_spec.table import Table
from tests.builders import GPU, Json, make_pod, make_row, make_table, tolerate
from tests.webhook.advice.pods import make_node
from tests.webhook.inventory.drivers import NVIDIA, claim, device, pool, tainted
from webhook.advice.supply import Pool, Supply, supply_of_nodes, supply_of_status
from webhook.health.cases import Case, Verdict
from webhook.health.records import Record
from webhook.health.stored import record_text
from webhook.health.subjects import node_subject
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.claims import offered
from webhook.inventory.facts import Taint, node_facts
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.terms import VERDICTS_ANNOTATION

_TABLE = make_table(
    make_row("a-16gb", tolerations=[tolerate("gpu")]),
    make_row("b-24gb", reserved=True),
    make_row("c-24gb", resource="amd.com/gpu", nodes={"matchLabels": {"both": "yes"}}),
    make_row("d-80gb", nodes={"matchLabels": {"both": "yes"}}),
)


def _supply(*nodes: Json, pods: tuple[Json, ...] = ()) -> tuple[Pool, ...]:
    return supply_of_nodes(_TABLE, map(node_facts, nodes), map(pod_facts, pods)).pools


def _a(name: str, devices: int = 8, *taints: Json, **spec: object) -> Json:
    return make_node(name, {"gpu-model": "a-16gb"}, taints=taints, devices={GPU: devices}, **spec)


def _holding(node: str, count: int, phase: str = "Running") -> Json:
    pod = make_pod().container("main", {GPU: count}).spec(nodeName=node).build()
    return {**pod, "status": {"phase": phase}}


def test_pods_leave_what_is_free() -> None:
    pods = (
        _holding("a1", 5),
        _holding("a1", 2),
        _holding("a2", 1),
        _holding("a2", 7, "Succeeded"),
        _holding("", 4, "Pending"),
        _holding("elsewhere", 8),
    )
    assert _supply(_a("a1"), _a("a2"), make_node("cpu", {}), pods=pods) == (
        Pool(("a-16gb",), GPU, total=16, free=8, largest=7, node="a2", most_usable=8),
    )
    assert _supply(_a("a1"), pods=(_holding("a1", 9),))[0].free == 0


@pytest.mark.rule("D7")
def test_nodes_where_nothing_starts() -> None:
    not_ready = _a("a1")
    not_ready["status"]["conditions"][0]["status"] = "Unknown"
    unhealthy = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
    pressed = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    assert _supply(
        not_ready,
        _a("a2", 4, unschedulable=True),
        _a("a3", 2, unhealthy),
        _a("a4", 1, pressed),
    ) == (
        Pool(
            ("a-16gb",),
            GPU,
            total=15,
            away={
                "not ready": 8,
                "cordoned": 4,
                "tainted gpuspec.preferred.jp/unhealthy": 2,
                "tainted node.kubernetes.io/memory-pressure": 1,
            },
        ),
    )


def test_taints_and_rows_of_two_resources_make_pools() -> None:
    gpu = {"key": "gpu", "effect": "NoSchedule"}
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    both = make_node("both", {"both": "yes"}, devices={GPU: 2, "amd.com/gpu": 1})
    assert _supply(_a("a1", 8, gpu), _a("a2", 8, soft), both) == (
        Pool(("a-16gb",), GPU, (Taint("gpu", "", "NoSchedule"),), 8, 8, 8, "a1", 8),
        Pool(("a-16gb",), GPU, (), 8, 8, 8, "a2", 8),
        Pool(("c-24gb",), "amd.com/gpu", (), 1, 1, 1, "both", 1),
        Pool(("d-80gb",), GPU, (), 2, 2, 2, "both", 2),
    )


@pytest.mark.rule("D7")
def test_what_admission_would_know() -> None:
    nodes = [_a("a1"), _a("a2", 4, {"key": "x", "effect": "NoSchedule"})]
    supply = supply_of_nodes(_TABLE, map(node_facts, nodes), ())
    assert supply.availability.rows == {"a-16gb": RowStatus(12, 8)}


def test_a_status() -> None:
    rows = [
        {"id": "a-16gb", "devices": 20, "usable": 16, "mostUsableOnANode": 8, "free": 3},
        {"id": "b-24gb", "devices": 8, "usable": 8, "mostUsableOnANode": 4, "free": 6},
        {"id": "unknown-1gb", "devices": 8},
        "no row",
    ]
    assert supply_of_status(_TABLE, {"rows": rows}) == Supply(
        (
            Pool(
                ("a-16gb",),
                GPU,
                total=20,
                free=3,
                largest=3,
                most_usable=8,
                away={"not usable": 4},
            ),
            Pool(
                ("b-24gb",),
                GPU,
                (Taint("gpuspec.preferred.jp/reserved", "b-24gb", "NoSchedule"),),
                total=8,
                free=6,
                largest=4,
                most_usable=4,
            ),
        ),
        exact=False,
    )


# What DRA drivers offer.


def _claim_of(*products: str) -> Json:
    return {"deviceClassName": NVIDIA, "driver": NVIDIA, "products": list(products)}


_CLAIMED = make_table(
    make_row("a-16gb", claim=_claim_of("A"), output="ResourceClaim"),
    make_row("b-24gb", claim=_claim_of("B"), output="ResourceClaim"),
    make_row("ab-24gb", claim=_claim_of("A", "B"), output="ResourceClaim"),
    make_row("plain-16gb", claim=_claim_of("P")),
)
_A, _B, _P = device("A"), device("B"), device("P")


def _offered(
    *slices: Json,
    nodes: tuple[Json, ...] = (),
    claims: tuple[Json, ...] = (),
    classes: Mapping[str, str] | None = None,
    table: Table = _CLAIMED,
    pods: tuple[Json, ...] = (),
) -> Supply:
    held = filter(None, map(claim_facts, claims))
    offers = offered(map(slice_facts, slices), classes, held)
    return supply_of_nodes(table, map(node_facts, nodes), map(pod_facts, pods), offers)


@pytest.mark.rule("C4")
def test_claims_leave_what_is_free_and_devices_decide_the_node() -> None:
    """Nodes need no label of a row; a device of two rows is counted once, and for either."""
    found = _offered(
        pool(_A, _A, _A, _B, name="n1"),
        pool(_A, tainted(_A), _P, name="n2"),
        nodes=(make_node("n1", {}), make_node("n2", {})),
        claims=(claim("gpu-0-0", at="n1"), claim("gpu-0-1", at="elsewhere")),
    )
    both = ("a-16gb", "ab-24gb"), CLAIMS, ()
    assert found.pools == (
        Pool(*both, total=5, free=3, away={"tainted by their driver": 1}),
        Pool(("ab-24gb", "b-24gb"), CLAIMS, total=1, free=1),
        Pool(("a-16gb",), CLAIMS, largest=2, node="n1", most_usable=3),
        Pool(("ab-24gb",), CLAIMS, largest=3, node="n1", most_usable=4),
        Pool(("b-24gb",), CLAIMS, largest=1, node="n1", most_usable=1),
    )
    assert found.availability.rows == {
        "a-16gb": RowStatus(5, 3),
        "ab-24gb": RowStatus(6, 4),
        "b-24gb": RowStatus(1, 1),
    }


@pytest.mark.rule("D7", "C4")
def test_a_claims_devices_on_nodes_where_nothing_starts_or_with_taints() -> None:
    gpu = {"key": "gpu", "effect": "NoSchedule"}
    found = _offered(
        pool(_B, name="cordoned"),
        pool(_B, _B, name="gone"),
        pool(_B, _B, _B, name="n1"),
        pool(_B, _B, _B, _B, name="fabric", node=""),
        nodes=(make_node("cordoned", {}, unschedulable=True), make_node("n1", {}, taints=[gpu])),
        table=make_table(make_row("b-24gb", claim=_claim_of("B"), output="ResourceClaim")),
    )
    row = ("b-24gb",)
    assert found.pools == (
        Pool(
            row, CLAIMS, total=7, free=4, largest=4, most_usable=4, away={"cordoned": 1, "gone": 2}
        ),
        Pool(row, CLAIMS, (Taint("gpu", "", "NoSchedule"),), 3, 3, 3, "n1", 3),
    )


@pytest.mark.rule("H11")
def test_what_is_free_on_a_failed_node_is_counted_whoever_offers_it() -> None:
    failed = Record("uid", (Case(node_subject("n1"), held=Verdict.FAILED),))
    annotations = {VERDICTS_ANNOTATION: record_text(failed, 0.0)}
    dead = make_node("n1", {"gpu-model": "a-16gb"}, devices={GPU: 8})
    dead["metadata"]["annotations"] = annotations
    (pool_,) = _supply(dead, _a("n2"), pods=(_holding("n1", 3),))
    assert (pool_.free, pool_.dead) == (13, 5)
    bare = make_node("n1", {})
    bare["metadata"]["annotations"] = annotations
    found = _offered(
        pool(_B, _B, _B, name="n1"),
        pool(_B, name="n2"),
        nodes=(bare, make_node("n2", {})),
        claims=(claim("gpu-0-0", at="n1"),),
    )
    assert sum(one.free for one in found.pools) == 3
    assert sum(one.dead for one in found.pools) == 2


def test_an_extended_resource_that_drivers_serve() -> None:
    """It is on the row's own nodes, and where no device plugin has it."""
    plain = {"gpu-model": "plain-16gb"}
    nodes = (
        make_node("n1", plain),
        make_node("n2", plain, devices={GPU: 8}),
        make_node("n3", {}),
    )
    slices = [pool(_P, _P, name=name) for name in ("n1", "n2", "n3", "gone")]
    served = _offered(*slices, nodes=nodes, classes={NVIDIA: GPU})
    assert served.pools == (
        Pool(("plain-16gb",), GPU, total=10, free=10, largest=8, node="n2", most_usable=8),
    )
    assert _offered(*slices, nodes=nodes, classes={NVIDIA: ""}).pools[0].total == 8


@pytest.mark.rule("D7")
def test_a_card_is_offered_once_whoever_holds_it() -> None:
    """Which of its rows' devices Pods hold cannot be told of a node: it may be any of them."""
    plain = {"gpu-model": "plain-16gb"}
    node = make_node("n1", plain, devices={GPU: 8})
    slices = (pool(_A, _A, _A, _B, name="n1"),)
    found = _offered(
        *slices,
        nodes=(node,),
        claims=(claim("gpu-0-0", at="n1"),),
        pods=(_holding("n1", 2),),
    )
    both = ("a-16gb", "ab-24gb"), CLAIMS, ()
    assert found.pools == (
        Pool(("plain-16gb",), GPU, total=8, free=5, largest=5, node="n1", most_usable=8),
        Pool(*both, total=3, free=0),
        Pool(("ab-24gb", "b-24gb"), CLAIMS, total=1, free=1),
        Pool(("a-16gb",), CLAIMS, most_usable=3),
        Pool(("ab-24gb",), CLAIMS, largest=1, node="n1", most_usable=4),
        Pool(("b-24gb",), CLAIMS, most_usable=1),
    )


@pytest.mark.rule("C3")
def test_what_claims_ask_for_in_vain() -> None:
    unread = {**_claim_of(), "selectors": [{"cel": {"expression": "device.made_up()"}}]}
    table = make_table(
        make_row("a-16gb", claim=_claim_of("A"), output="ResourceClaim"),
        make_row("odd-16gb", claim=unread, output="ResourceClaim"),
    )
    found = _offered(classes={"other": ""}, table=table)
    assert found.availability.missing_classes == {NVIDIA}
    assert list(found.unread) == list(found.broken) == ["odd-16gb"]


@pytest.mark.rule("C3")
def test_a_status_of_claims() -> None:
    rows = [
        {"id": "a-16gb", "devices": 2, "usable": 2, "mostUsableOnANode": 2, "free": 1},
        {"id": "b-24gb"},
    ]
    found = supply_of_status(_CLAIMED, {"rows": rows, "missingDeviceClasses": [NVIDIA]})
    assert found.pools == (Pool(("a-16gb",), CLAIMS, total=2, free=1, largest=1, most_usable=2),)
    assert found.availability.missing_classes == {NVIDIA}
    assert found.unread == {"b-24gb": "the table's status does not tell them"}
