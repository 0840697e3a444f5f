"""Whose Pods a change concerns, on which nodes, and why."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import Level
from selection_spec.table import Table
from tests.builders import GPU, Json, PodBuilder, asking, make_pod, make_row, make_table, tolerate
from tests.property.strategies import broken
from tests.webhook.advice.pods import by_name, make_node, stored
from webhook.admission.translate import ADMISSION, Context
from webhook.advice.owners import OwnerChange, by_owner
from webhook.advice.pod_changes import PodJudge, stored_pods
from webhook.advice.row_changes import table_changes
from webhook.advice.verdicts import Fate, PodVerdict
from webhook.inventory.facts import NodeFacts
from webhook.inventory.pod_facts import pod_facts
from webhook.snapshot import Snapshot

_A = make_row("a-16gb", tolerations=[tolerate("gpu-model", "a-16gb")])
_B = make_row("b-24gb", tolerations=[tolerate("gpu-model", "b-24gb")])
_OLD = make_table(_A, _B)
_TAINTED = {"key": "gpu-model", "value": "a-16gb", "effect": "NoSchedule"}
_ON_A = make_node("on-a", {"gpu-model": "a-16gb"}, taints=[_TAINTED], devices={GPU: 8})
_ON_B = make_node("on-b", {"gpu-model": "b-24gb"}, devices={GPU: 8})
_NODES = by_name(_ON_A, _ON_B)
_SAME = PodVerdict(Fate.SAME)


def _judge(new: Table, nodes: dict[str, NodeFacts] | None, old: Table = _OLD) -> PodJudge:
    return PodJudge(Snapshot(old), Snapshot(new), table_changes(old, new).successors, nodes)


def _verdict(
    pod: PodBuilder,
    new: Table,
    node: str = "on-a",
    nodes: dict[str, NodeFacts] | None = _NODES,
    old: Table = _OLD,
) -> PodVerdict:
    there = stored(pod, old, node)
    before = deepcopy(there)
    verdict = _judge(new, nodes, old).stored(there, pod_facts(there))
    assert there == before
    return verdict


def test_the_same_table_changes_nothing() -> None:
    assert _verdict(asking(any=2), _OLD) == _SAME
    assert _verdict(asking(any=2), make_table(_B, _A)) == _SAME


@pytest.mark.rule("D6")
def test_denied() -> None:
    new = make_table(_A, {**_B, "reserved": True})
    assert _verdict(asking(any_24gb=1), new, "on-b") == PodVerdict(
        Fate.DENIED,
        (
            'container "main": preferred.jp/gpu-any-24gb: the largest device has 16 GB; write '
            "preferred.jp/gpu-any-16gb or less; b-24gb fits but is reserved: write "
            "preferred.jp/gpu-b-24gb"
        ),
        Level.ERROR,
    )


@pytest.mark.rule("D6", "N9")
def test_moved_from_a_row_that_is_reserved_now_and_named_pods_stay() -> None:
    new = make_table(_A, {**_B, "reserved": True})
    assert _verdict(asking(any=1), new, "on-b") == PodVerdict(
        Fate.MOVED, "runs on b-24gb; would start on a-16gb", Level.WARNING
    )
    assert _verdict(asking(any=1), new, "on-a") == PodVerdict(Fate.OTHERWISE, "loses b-24gb")
    assert _verdict(asking(b=1), new, "on-b") == _SAME


def test_without_nodes_or_a_node_of_its_own_losing_rows_is_a_warning() -> None:
    new = make_table(_A, {**_B, "reserved": True})
    lost = PodVerdict(Fate.OTHERWISE, "loses b-24gb", Level.WARNING)
    assert _verdict(asking(any=1), new, "on-a", None) == lost
    assert _verdict(asking(any=1), new, "gone") == lost
    assert _verdict(asking(any=1), new, "") == lost


def test_stranded_where_no_node_has_the_new_label() -> None:
    nodes = {"matchLabels": {"card": "b"}}
    new = make_table(_A, {**_B, "nodes": nodes})
    stranded = PodVerdict(
        Fate.STRANDED, "it would get b-24gb, and no node has the labels of that", Level.ERROR
    )
    assert _verdict(asking(b=1), new, "on-b") == stranded
    assert _verdict(asking(b=1), new, "") == stranded
    there_already = by_name(_ON_A, make_node("on-b", {"gpu-model": "b-24gb", "card": "b"}))
    assert _verdict(asking(b=1), new, "on-b", there_already) == PodVerdict(
        Fate.OTHERWISE, "the same devices by other node labels"
    )


@pytest.mark.rule("N9", "D6")
def test_stranded_where_a_reserved_row_gets_another_name() -> None:
    """A Pod that waits keeps the toleration of the taint's former value."""
    reserved = {**_B, "reserved": True}
    old = make_table(_A, reserved)
    new = make_table(_A, {**reserved, "name": "b2", "aliases": ["b"]})
    assert _verdict(asking(b=1), new, "", old=old) == PodVerdict(
        Fate.STRANDED,
        "it waits, and its nodes would get the taint "
        "gpuspec.preferred.jp/reserved=b2-24gb:NoSchedule",
        Level.ERROR,
    )
    assert _verdict(asking(b=1), new, "on-b", old=old).fate is Fate.OTHERWISE  # it runs on
    assert _verdict(asking(b=1), old, "", old=old) == _SAME


@pytest.mark.rule("N6")
def test_a_pod_of_an_older_table_with_other_costs_is_judged_all_the_same() -> None:
    older = make_table({**_A, "cost": 1}, {**_B, "cost": 7})
    there = stored(asking(any=1), older, "on-b")
    new = make_table(_A)
    assert _judge(new, _NODES).stored(there, pod_facts(there)) == PodVerdict(
        Fate.MOVED,
        "runs on b-24gb, whose nodes no row of the new table means; would start on a-16gb",
        Level.WARNING,
    )


@pytest.mark.rule("N8", "H7")
def test_daemon_sets_keep_what_was_written_into_their_template() -> None:
    there = stored(asking(b=1), _OLD, "on-b")
    there["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}
    ]
    facts = pod_facts(there)
    assert _judge(make_table(_A), _NODES).stored(there, facts) == _SAME
    reserved = make_table(_A, {**_B, "name": "b2", "reserved": True})
    assert _judge(reserved, _NODES).stored(there, facts) == PodVerdict(
        Fate.MOVED,
        "its node would get the taint gpuspec.preferred.jp/reserved=b2-24gb:NoSchedule, and it "
        "would not come back there",
        Level.WARNING,
    )


@pytest.mark.rule("G5")
def test_a_row_that_never_had_a_node_strands_nobody() -> None:
    new = make_table(_A, {**_B, "nodes": {"matchLabels": {"card": "b"}}})
    verdict = _verdict(asking(b=1), new, "", by_name(_ON_A))
    assert verdict.fate is Fate.OTHERWISE


def test_moved_by_a_label_and_by_a_taint() -> None:
    new = make_table({**_A, "nodes": {"matchLabels": {"card": "a"}}}, _B)
    assert _verdict(asking(any=1), new) == PodVerdict(
        Fate.MOVED,
        "runs on a-16gb, whose nodes no row of the new table means; would start on a-16gb, b-24gb",
        Level.WARNING,
    )
    new = make_table({**_A, "tolerations": []}, _B)
    assert _verdict(asking(any=1), new) == PodVerdict(
        Fate.MOVED,
        "the taint gpu-model=a-16gb:NoSchedule of its node is not tolerated any more",
        Level.WARNING,
    )
    assert _verdict(asking(any=1), new, "on-b") == PodVerdict(Fate.OTHERWISE, "other tolerations")


def test_a_node_that_fares_badly_still_is_its_node() -> None:
    faulty = {"key": "node.kubernetes.io/unreachable", "value": "", "effect": "NoExecute"}
    nodes = by_name(
        make_node("on-a", {"gpu-model": "a-16gb"}, taints=[faulty], unschedulable=True), _ON_B
    )
    new = make_table({**_A, "any": False}, _B)
    assert _verdict(asking(any=1), new, "on-a", nodes).fate is Fate.MOVED


def test_a_node_that_the_old_table_would_not_choose_either_says_nothing() -> None:
    new = make_table({**_A, "any": False}, _B)
    assert _verdict(asking(any=1).high(), new, "on-b").fate is Fate.OTHERWISE


@pytest.mark.rule("D3", "D9")
@pytest.mark.parametrize(
    ("pod", "new", "verdict"),
    [
        pytest.param(
            asking(any=1),
            make_table(_A, _B, defaultPolicy="SmallestFit"),
            PodVerdict(Fate.OTHERWISE, "EveryFit becomes SmallestFit; loses b-24gb"),
            id="policy",
        ),
        pytest.param(
            asking(any=1),
            make_table(_A, _B, make_row("c-80gb")),
            PodVerdict(Fate.OTHERWISE, "gains c-80gb"),
            id="more",
        ),
        pytest.param(
            asking(a=1),
            make_table({**_A, "resource": "amd.com/gpu"}, _B),
            PodVerdict(Fate.OTHERWISE, "nvidia.com/gpu becomes amd.com/gpu"),
            id="resource",
        ),
        pytest.param(
            asking(any=1),
            make_table({**_A, "cost": 2}, _B),
            PodVerdict(Fate.OTHERWISE, "the same devices preferred in another order"),
            id="cost",
        ),
        pytest.param(
            asking(any=1),
            make_table(_A, _B, health={}),
            PodVerdict(
                Fate.OTHERWISE, "nodes that health calls suspect are avoided where there are others"
            ),
            id="health",
        ),
        pytest.param(
            asking(any=1),
            make_table({**_A, "cost": 2}, _B, health={}),
            PodVerdict(
                Fate.OTHERWISE,
                "the same devices preferred in another order; nodes that health calls suspect are "
                "avoided where there are others",
            ),
            id="cost and health",
        ),
        pytest.param(
            asking(any=1),
            make_table({**_A, "name": "a2"}, _B),
            _SAME,
            id="another name",
        ),
        pytest.param(
            asking(any=1),
            make_table(_A, _B, resourceDomain="other.example"),
            PodVerdict(
                Fate.DENIED,
                "its key is none of the new table, so that it would pend for ever",
                Level.ERROR,
            ),
            id="domain",
        ),
    ],
)
def test_admitted_otherwise(pod: PodBuilder, new: Table, verdict: PodVerdict) -> None:
    assert _verdict(pod, new) == verdict


def test_what_cannot_be_told() -> None:
    there = stored(asking(any=1), _OLD, "on-a")
    there["spec"]["affinity"] = {}
    verdict = _judge(make_table(_A), _NODES).stored(there, pod_facts(there))
    assert verdict == PodVerdict(
        Fate.UNKNOWN, "admitted by this table, which is not what the old table makes of it now"
    )
    there["spec"]["containers"] = []
    verdict = _judge(make_table(_A), _NODES).stored(there, pod_facts(there))
    assert verdict == PodVerdict(Fate.UNKNOWN, "it is not shaped as a Pod")


_WITH_C = make_table(_A, _B, make_row("c-80gb", any=False))
_TINY = make_table(_A, _B, make_row("tiny-8gb"))


@pytest.mark.rule("D3", "N8")
@pytest.mark.parametrize(
    ("pod", "context", "new", "verdicts"),
    [
        pytest.param(asking(any=1), ADMISSION, _WITH_C, [_SAME], id="no difference"),
        pytest.param(
            asking(any=1),
            ADMISSION,
            _TINY,
            [
                PodVerdict(Fate.OTHERWISE, "gains tiny-8gb"),
                PodVerdict(
                    Fate.OTHERWISE,
                    "under SmallestFit: loses a-16gb; gains tiny-8gb",
                    Level.WARNING,
                ),
            ],
            id="a difference under the other policy",
        ),
        pytest.param(
            asking(any=1).spec(priorityClassName="high"),
            ADMISSION,
            _TINY,
            [PodVerdict(Fate.OTHERWISE, "loses a-16gb; gains tiny-8gb", Level.WARNING)],
            id="a policy that is known",
        ),
        pytest.param(
            asking(any=1),
            ADMISSION,
            make_table(_A, _B, defaultPolicy="SmallestFit"),
            [
                PodVerdict(
                    Fate.OTHERWISE, "EveryFit becomes SmallestFit; loses b-24gb", Level.WARNING
                )
            ],
            id="another default",
        ),
        pytest.param(
            asking(c=1),
            ADMISSION,
            _WITH_C,
            [
                PodVerdict(
                    Fate.ALLOWED,
                    (
                        'was denied: container "main": preferred.jp/gpu-c: no device is called c; '
                        "nearest: a, any, b; or write preferred.jp/gpu-any; all: any, a, b"
                    ),
                )
            ],
            id="allowed now",
        ),
        pytest.param(
            asking(any=1),
            Context(is_template=True, daemon_set="d"),
            _TINY,
            [_SAME],
            id="denied before and after",
        ),
        pytest.param(make_pod().container("main"), ADMISSION, _TINY, [_SAME], id="not of ours"),
    ],
)
def test_manifests(
    pod: PodBuilder, context: Context, new: Table, verdicts: list[PodVerdict]
) -> None:
    assert list(_judge(new, None).template(pod.build(), context)) == verdicts


def _owned(name: str, kind: str, owner: str, labels: Json | None = None) -> Json:
    pod = asking(any=1).owner(kind, owner).metadata(name=name, labels=labels or {})
    return stored(pod, _OLD, "on-a" if name != "waiting" else "")


def test_owners_and_counts() -> None:
    hashed = {"pod-template-hash": "5d4f"}
    pods = [
        _owned("p1", "ReplicaSet", "web-5d4f", hashed),
        _owned("p2", "ReplicaSet", "web-5d4f", hashed),
        _owned("waiting", "ReplicaSet", "web-5d4f", hashed),
        _owned("p3", "ReplicaSet", "web-5d4f", {"pod-template-hash": "other"}),
        _owned("p4", "Job", "train"),
        {**_owned("p5", "Job", "train"), "status": {"phase": "Succeeded"}},
        make_pod("not-ours").container("main").build(),
    ]
    judge = _judge(make_table(_A, _B, make_row("c-80gb")), None)
    changes = by_owner((pod, facts, judge.stored(pod, facts)) for pod, facts in stored_pods(pods))
    gains = PodVerdict(Fate.OTHERWISE, "gains c-80gb")
    assert changes == (
        OwnerChange("team-a", "Deployment/web", gains, 2, 1, ("p1", "p2", "waiting")),
        OwnerChange("team-a", "Job/train", gains, 1, 0, ("p4",)),
        OwnerChange("team-a", "ReplicaSet/web-5d4f", gains, 1, 0, ("p3",)),
    )


@given(broken(st.sampled_from([stored(asking(any=2), _OLD, "on-a"), stored(asking(b=1), _OLD)])))
def test_a_pod_may_hold_anything(pod: Json) -> None:
    judge = _judge(make_table(_A), _NODES)
    changes = by_owner((one, facts, judge.stored(one, facts)) for one, facts in stored_pods([pod]))
    assert [one.count for one in changes] in ([], [1])
