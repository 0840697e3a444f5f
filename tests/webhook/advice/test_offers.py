"""Would it start now, and if not, what would? Held against the scheduler's own rules."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.grammar import Spec
from selection_spec.resolve import PolicyChoice
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import DOMAIN, GPU, Json, make_pod, make_row, make_table, tolerate
from tests.matcher import admits
from tests.property.strategies import nodes_of, table_documents, table_of
from tests.webhook.advice.pods import make_node
from webhook.admission.translate import Context, Verdict, translate
from webhook.advice.offers import Market, Offer, Start
from webhook.advice.supply import supply_of_nodes, supply_of_status
from webhook.inventory.facts import node_facts
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import pod_facts
from webhook.jsonpatch import write
from webhook.snapshot import Snapshot

_TABLE = make_table(
    make_row("a-16gb", cost=1),
    make_row("b-24gb", cost=2),
    make_row("c-80gb", cost=3, reserved=True, perNode=4),
)


def _node(row: str, name: str, devices: int = 8, *taints: Json) -> Json:
    return make_node(name, {"gpu-model": row}, taints=taints, devices={GPU: devices})


def _market(
    *nodes: Json,
    table: Table = _TABLE,
    policy: Policy = Policy.EVERY_FIT,
    pods: Sequence[Json] = (),
) -> Market:
    supply = supply_of_nodes(table, map(node_facts, nodes), map(pod_facts, pods))
    return Market(table, supply, PolicyChoice(policy, "given"))


def _holding(node: str, count: int) -> Json:
    return make_pod().container("main", {GPU: count}).spec(nodeName=node).build()


def test_it_would_start() -> None:
    market = _market(
        _node("a-16gb", "a1"),
        _node("b-24gb", "b1"),
        _node("b-24gb", "b2"),
        pods=[_holding("b1", 3)],
    )
    assert market.offer(Spec("any", 24), 4) == Offer(
        spec=Spec("any", 24),
        count=4,
        policy=Policy.EVERY_FIT,
        candidates=("b-24gb",),
        denial="",
        total=16,
        free=13,
        largest=8,
        node="b2",
        away=(),
        start=Start.YES,
    )


@pytest.mark.rule("D6", "N9")
def test_a_reserve_taint_shuts_out_whoever_does_not_name_the_row() -> None:
    reserve = {"key": "gpuspec.preferred.jp/reserved", "value": "c-80gb", "effect": "NoSchedule"}
    table = make_table(make_row("a-16gb"), make_row("c-80gb"))
    market = _market(_node("c-80gb", "c1", 8, reserve), table=table)
    shut = market.offer(Spec("any"))
    assert (shut.start, shut.total, shut.free) == (Start.NO, 8, 0)
    assert shut.away == (("tainted gpuspec.preferred.jp/reserved=c-80gb:NoSchedule", 8),)
    assert market.offer(Spec("c")).start is Start.YES


@pytest.mark.rule("D7")
def test_smallest_fit_goes_past_a_tier_without_usable_devices() -> None:
    cordoned = _node("a-16gb", "a1")
    cordoned["spec"]["unschedulable"] = True
    market = _market(cordoned, _node("b-24gb", "b1"), policy=Policy.SMALLEST_FIT)
    assert market.offer(Spec("any")).candidates == ("b-24gb",)


def test_a_denial_and_the_unknown() -> None:
    market = _market(_node("a-16gb", "a1"))
    assert market.offer(Spec("a"), 9).denial == (
        f"{DOMAIN}/gpu-a: 9: no node has 9 such GPUs, the most is 8 (a-16gb); "
        "ask for 8 or less in one Pod"
    )
    unknown = market.offer(Spec("zzz"))
    assert (unknown.start, unknown.total, unknown.candidates) == (Start.NO, 0, ())
    assert market.instead(unknown) == ()


@pytest.mark.parametrize(
    ("spec", "count", "policy", "instead"),
    [
        pytest.param(Spec("b"), 8, "EveryFit", ["gpu-b:5 (fewer)"], id="fewer"),
        pytest.param(
            Spec("any", 24),
            8,
            "EveryFit",
            ["gpu-any-24gb:5 (fewer)", "gpu-any:8 (less memory)"],
            id="less memory",
        ),
        pytest.param(
            Spec("any", 24),
            8,
            "SmallestFit",
            ["gpu-any-24gb:5 (fewer)", "gpu-any:8 (less memory)"],
            id="less memory, smallest fit",
        ),
        pytest.param(
            Spec("any", 32), 1, "EveryFit",
            ["gpu-any-24gb:1 (less memory)", "gpu-c-80gb:1 (by its name only)"],
            id="a reserved one by its name",
        ),
        pytest.param(
            Spec("any"), 9, "EveryFit", ["gpu-any:8 (fewer)"], id="denied"
        ),
    ],
)  # fmt: skip
def test_what_would_start_instead(spec: Spec, count: int, policy: str, instead: list[str]) -> None:
    market = _market(
        _node("a-16gb", "a1"),
        _node("b-24gb", "b1"),
        _node("c-80gb", "c1", 4),
        policy=Policy(policy),
        pods=[_holding("b1", 3)],
    )
    offer = market.offer(spec, count)
    assert offer.start is Start.NO
    found = market.instead(offer)
    assert [f"{one.offer.request} ({one.how})" for one in found] == instead
    assert all(one.offer.start is Start.YES for one in found)


@pytest.mark.rule("D5")
def test_any_device_and_the_other_policy_instead() -> None:
    market = _market(
        _node("a-16gb", "a1"),
        _node("b-24gb", "b1"),
        policy=Policy.SMALLEST_FIT,
        pods=[_holding("a1", 8)],
    )
    named = market.offer(Spec("a"))
    assert [(one.offer.request, one.how) for one in market.instead(named)] == [
        ("gpu-any-24gb:1", "any device")
    ]
    anything = market.offer(Spec("any"))
    assert [(one.offer.request, one.how) for one in market.instead(anything)] == [
        ("gpu-any-24gb:1", "more memory"),
        ("gpu-any:1", "under EveryFit"),
    ]


def test_a_status_says_perhaps() -> None:
    rows = [{"id": "a-16gb", "devices": 16, "usable": 16, "mostUsableOnANode": 8, "free": 3}]
    market = Market(_TABLE, supply_of_status(_TABLE, rows), PolicyChoice(Policy.EVERY_FIT, "given"))
    assert market.offer(Spec("any"), 3).start is Start.PERHAPS
    assert market.offer(Spec("any"), 4).start is Start.NO


@st.composite
def _clusters(draw: st.DrawFn) -> tuple[Table, list[Json], list[Json]]:
    """Tables with nodes that have devices, and Pods that hold some."""
    document = draw(table_documents(2))
    table = table_of(document)
    matcher = Matcher(table)
    nodes = []
    for number, node in enumerate(draw(nodes_of(document, 5))):
        amounts = {name: str(draw(st.integers(0, 8))) for name in ("nvidia.com/gpu", "amd.com/gpu")}
        node["metadata"]["name"] = f"node-{number}"
        node["status"] = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        # The selectors of a Pod say nothing of os and arch (D10), so the scheduler knows less.
        if not matcher.strangers_of(node_facts(node)):
            nodes.append(node)
    pods = [
        make_pod().container("main", {GPU: draw(st.integers(1, 8))}).spec(nodeName=name).build()
        for name in draw(st.lists(st.sampled_from(["node-0", "node-1", "node-2"]), max_size=3))
    ]
    return table, nodes, pods


@given(
    cluster=_clusters(),
    number=st.integers(0, 99),
    bound=st.none() | st.sampled_from((16, 24, 32, 80)),
    count=st.integers(1, 8),
    policy=st.sampled_from(Policy),
)
def test_yes_means_that_a_node_takes_the_pod_that_admission_makes(
    cluster: tuple[Table, list[Json], list[Json]],
    number: int,
    bound: int | None,
    count: int,
    policy: Policy,
) -> None:
    table, nodes, pods = cluster
    names = ["any", *sorted(table.names)]
    spec = Spec(names[number % len(names)], bound)
    market = _market(*nodes, table=table, policy=policy, pods=pods)
    offer = market.offer(spec, count)
    assert (offer.start is Start.YES) == _starts(market, nodes, pods, offer)


def _starts(market: Market, nodes: list[Json], pods: list[Json], offer: Offer) -> bool:
    """Whether the Pod would start: its own way through admission and the scheduler's rules."""
    asking = make_pod().container("main", {f"{market.table.domain}/{offer.spec}": offer.count})
    snapshot = Snapshot(market.table, market.supply.availability)
    outcome = translate(asking.build(), Context(policy=offer.policy), snapshot)
    if outcome.verdict is Verdict.DENIED:
        return False
    pod = write(asking.build(), outcome.edits).after
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    ((resource, amount),) = limits.items()
    return any(admits(node, pod) and _free(node, resource, pods) >= int(amount) for node in nodes)


def _free(node: Json, resource: str, pods: list[Json]) -> int:
    held = sum(
        pod["spec"]["containers"][0]["resources"]["limits"].get(resource, 0)
        for pod in pods
        if pod["spec"]["nodeName"] == node["metadata"]["name"]
    )
    amount: str = node["status"]["allocatable"].get(resource, "0")
    return int(amount) - int(held)


def test_taints_that_rows_tolerate_are_open() -> None:
    table = make_table(make_row("a-16gb", tolerations=[tolerate("gpu")]), make_row("b-24gb"))
    taint = {"key": "gpu", "effect": "NoSchedule"}
    market = _market(_node("a-16gb", "a1", 8, taint), _node("b-24gb", "b1", 4, taint), table=table)
    assert market.offer(Spec("a")).start is Start.YES
    assert market.offer(Spec("b")).away == (("tainted gpu:NoSchedule", 4),)
    # A Pod that may go to either tolerates what both rows tolerate (N5).
    assert market.offer(Spec("any")).free == 12
