"""Would it start now, and if not, what would? Held against the scheduler's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from selection_spec.grammar import Spec
from selection_spec.resolve import PolicyChoice
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import DOMAIN, GPU, Json, make_pod, make_row, make_table, tolerate
from tests.matcher import admits
from tests.property.strategies import nodes_of, table_documents, table_of
from tests.webhook.advice.pods import make_node
from tests.webhook.inventory.drivers import claim, device, pool, tainted
from webhook.admission.translate import Context, Verdict, translate
from webhook.advice.offers import Market, Offer, Start
from webhook.advice.supply import Supply, supply_of_nodes, supply_of_status
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.claims import Offered, offered
from webhook.inventory.device_cel import Expression, Expressions
from webhook.inventory.facts import node_facts
from webhook.inventory.holders import Holders, holders
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.jsonpatch import write
from webhook.placement.templates import asked_of, wanted
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
        broken="",
        total=16,
        free=13,
        largest=8,
        node="b2",
        away=(),
        charged=((f"requests.{GPU}", 4),),
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
    supply = supply_of_status(_TABLE, {"rows": rows})
    market = Market(_TABLE, supply, PolicyChoice(Policy.EVERY_FIT, "given"))
    assert market.offer(Spec("any"), 3).start is Start.PERHAPS
    assert market.offer(Spec("any"), 4).start is Start.NO


@dataclass(frozen=True)
class _Cluster:
    """Nodes that have devices of plugins and of DRA drivers, and Pods and claims that hold some."""

    table: Table
    nodes: list[Json]
    pods: list[Json]
    slices: list[Json]
    claims: list[Json]

    def supply(self) -> Supply:
        pods = map(pod_facts, self.pods)
        return supply_of_nodes(self.table, map(node_facts, self.nodes), pods, self.offers())

    def offers(self) -> Offered:
        held = filter(None, map(claim_facts, self.claims))
        return offered(map(slice_facts, self.slices), claims=held)

    def holders(self) -> Holders:
        return holders(map(pod_facts, self.pods), self.offers(), self.table.rows)


@st.composite
def _clusters(draw: st.DrawFn) -> _Cluster:
    """Clusters with a table, on whose nodes its rows' devices are, and others."""
    document = draw(table_documents(2))
    table = table_of(document)
    matcher = Matcher(table)
    nodes, slices, claims = [], [], []
    for number, node in enumerate(map(deepcopy, draw(nodes_of(document, 5)))):
        amounts = {name: str(draw(st.integers(0, 8))) for name in ("nvidia.com/gpu", "amd.com/gpu")}
        name = node["metadata"]["name"] = f"node-{number}"
        node["status"] = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        # The selectors of a Pod say nothing of os and arch (D10), so the scheduler knows less.
        if not matcher.strangers_of(node_facts(node)):
            nodes.append(node)
            cards = draw(st.lists(st.sampled_from(_CARDS), max_size=6))
            driver = draw(st.sampled_from(("gpu.nvidia.com", "gpu.amd.com")))
            slices.append(pool(*cards, name=name, driver=driver))
            held = draw(st.sets(st.integers(0, 5), max_size=2))
            claims.append(claim(*(f"gpu-0-{one}" for one in held), at=name, driver=driver))
    pods = [
        make_pod().container("main", {GPU: draw(st.integers(1, 8))}).spec(nodeName=name).build()
        for name in draw(st.lists(st.sampled_from(["node-0", "node-1", "node-2"]), max_size=3))
    ]
    return _Cluster(table, nodes, pods, slices, claims)


_CARDS = [
    *(device(f"Card {number}", memory) for number in range(4) for memory in ("16Gi", "24Gi")),
    device("Card 0", "80Gi"),
    device("Card 0", "80Gi", "mig"),
    tainted(device("Card 1", "80Gi")),
    tainted(device("Card 1", "80Gi"), "None"),
]


@given(
    cluster=_clusters(),
    number=st.integers(0, 99),
    bound=st.none() | st.sampled_from((16, 24, 32, 80)),
    count=st.integers(1, 8),
    policy=st.sampled_from(Policy),
)
def test_yes_means_that_a_node_takes_the_pod_that_admission_makes(
    cluster: _Cluster, number: int, bound: int | None, count: int, policy: Policy
) -> None:
    names = ["any", *sorted(cluster.table.names)]
    spec = Spec(names[number % len(names)], bound)
    market = Market(cluster.table, cluster.supply(), PolicyChoice(policy, "given"))
    offer = market.offer(spec, count)
    starts = _starts(market, cluster, offer)
    event(f"{'starts' if starts else 'not'}: {[key for key, _ in offer.charged][:1]}")
    assert (offer.start is Start.YES) == starts
    assert offer.largest <= offer.free <= offer.total


def _starts(market: Market, cluster: _Cluster, offer: Offer) -> bool:
    """Whether the Pod would start: its own way through admission and the scheduler's rules."""
    asking = make_pod().container("main", {f"{market.table.domain}/{offer.spec}": offer.count})
    snapshot = Snapshot(market.table, market.supply.availability)
    outcome = translate(asking.build(), Context(policy=offer.policy), snapshot)
    if outcome.verdict is Verdict.DENIED:
        return False
    pod = write(asking.build(), outcome.edits).after
    rows = {row.id: row for row in market.table.rows}
    held = cluster.holders()
    nodes = [node for node in cluster.nodes if admits(node, pod)]
    for spec in wanted(pod).values():
        return any(
            _allocates(cluster, node["metadata"]["name"], one)
            >= one["count"] + held.by_plugin(node["metadata"]["name"], row).devices
            for one in asked_of(spec)
            for row in [rows.get(one.get("name", ""), rows[offer.candidates[0]])]
            for node in nodes
        )
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    ((resource, amount),) = limits.items()
    return any(
        int(node["status"]["allocatable"].get(resource, "0"))
        >= int(amount) + held.on(node["metadata"]["name"], resource)
        for node in nodes
    )


def _allocates(cluster: _Cluster, node: str, one: Json) -> int:
    """How many devices of a node fulfil the CEL of an alternative, and are no claim's."""
    held = {
        tuple(result[part] for part in ("driver", "pool", "device"))
        for one in cluster.claims
        for result in one["status"]["allocation"]["devices"]["results"]
    }
    free = [
        (one.driver, device)
        for one in map(slice_facts, cluster.slices)
        for device in one.devices
        if one.node == node
        and (one.driver, one.pool, device.name) not in held
        and not any(taint.effect == "NoSchedule" for taint in device.taints)
    ]
    return sum(
        all(
            _compiled(part["cel"]["expression"]).holds(driver, device.details, multiple=False)
            for part in one["selectors"]
        )
        for driver, device in free
    )


@cache
def _compiled(expression: str) -> Expression:
    return _expressions().compiled(expression)


@cache
def _expressions() -> Expressions:
    return Expressions()


def test_taints_that_rows_tolerate_are_open() -> None:
    table = make_table(make_row("a-16gb", tolerations=[tolerate("gpu")]), make_row("b-24gb"))
    taint = {"key": "gpu", "effect": "NoSchedule"}
    market = _market(_node("a-16gb", "a1", 8, taint), _node("b-24gb", "b1", 4, taint), table=table)
    assert market.offer(Spec("a")).start is Start.YES
    assert market.offer(Spec("b")).away == (("tainted gpu:NoSchedule", 4),)
    # A Pod that may go to either tolerates what both rows tolerate (N5).
    assert market.offer(Spec("any")).free == 12
