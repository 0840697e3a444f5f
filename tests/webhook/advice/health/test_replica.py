"""The simulated cluster: a history happens to it, and our actions take effect."""

from __future__ import annotations

from typing import Any

import pytest

from selection_spec.health import Mode
from tests.builders import DRIVER
from tests.webhook.advice.health.ward import node, pod
from webhook.advice.health.replica import Change, Event, Replica
from webhook.health.actions import Action, Doing
from webhook.health.fences import UNHEALTHY, rule_name
from webhook.health.records import Record
from webhook.health.subjects import dra_subject, node_subject
from webhook.inventory.facts import Taint
from webhook.inventory.pod_facts import pod_facts

Json = dict[str, Any]

OURS = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
THEIRS = {"key": "team", "value": "a", "effect": "NoSchedule"}
DEVICE = dra_subject("n1", DRIVER, "pool", "gpu-0")


def happened(*contents: Json, change: Change = Change.ADDED, has_rules: bool = True) -> Replica:
    replica = Replica(has_rules=has_rules)
    for content in contents:
        replica.happen(Event(0.0, change, content["kind"], content))
    return replica


def act(replica: Replica, doing: Doing, pod_of: Json | None = None, effect: str = "") -> None:
    facts = None if pod_of is None else pod_facts(pod_of)
    is_of_device = doing in (Doing.RULE, Doing.UNRULE)
    subject = DEVICE if is_of_device else node_subject("n1")
    replica.obey(Action(doing, subject, Mode.EVICT, pod=facts, effect=effect))


def taints(replica: Replica) -> tuple[Taint, ...]:
    return replica.facts.nodes["n1"].taints


@pytest.mark.rule("H7")
def test_a_taint_stays_whatever_the_history_says_of_its_node() -> None:
    replica = happened(node("n1", taints=[THEIRS]))
    act(replica, Doing.TAINT)
    replica.happen(Event(1.0, Change.MODIFIED, "Node", node("n1", taints=[THEIRS])))
    assert taints(replica) == (Taint("team", "a", "NoSchedule"), UNHEALTHY)
    act(replica, Doing.UNTAINT)
    assert taints(replica) == (Taint("team", "a", "NoSchedule"),)


@pytest.mark.rule("H10")
def test_another_node_of_the_same_name_has_no_taint() -> None:
    replica = happened(node("n1"))
    act(replica, Doing.TAINT)
    other = node("n1")
    other["metadata"]["uid"] = "other"
    replica.happen(Event(1.0, Change.MODIFIED, "Node", other))
    assert taints(replica) == ()
    act(replica, Doing.TAINT)
    replica.happen(Event(2.0, Change.DELETED, "Node", other))
    replica.happen(Event(3.0, Change.ADDED, "Node", other))
    assert taints(replica) == ()


def test_marks_of_ours_in_the_history_are_left_out() -> None:
    marked = node("n1", taints=[OURS, THEIRS], labels={"gpuspec.preferred.jp/health": "suspect"})
    marked["metadata"]["annotations"] = {"gpuspec.preferred.jp/verdicts": "{}"}
    found = happened(marked).facts.nodes["n1"]
    assert found.taints == (Taint("team", "a", "NoSchedule"),)
    assert (found.labels, found.verdicts) == ({"gpu-model": "v100-16gb"}, "")


def test_rules_of_ours_in_the_history_are_left_out() -> None:
    theirs = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {}}
    ours = {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "o", "labels": {"gpuspec.preferred.jp/device": "unhealthy"}},
    }
    replica = happened(theirs, ours)
    assert [one.name for one in replica.facts.rules or ()] == ["r"]
    replica.happen(Event(1.0, Change.DELETED, "DeviceTaintRule", theirs))
    assert replica.facts.rules == ()


@pytest.mark.rule("H7")
def test_a_rule_is_placed_and_changed_and_removed() -> None:
    replica = happened(node("n1"))
    for effect in ("None", "NoSchedule"):
        act(replica, Doing.RULE, effect=effect)
        (rule,) = replica.facts.rules or ()
        assert (rule.name, rule.taint.effect, rule.is_ours) == (rule_name(DEVICE), effect, True)
        assert rule.covers(DRIVER, "pool", "gpu-0")
    act(replica, Doing.UNRULE)
    assert replica.facts.rules == ()


@pytest.mark.rule("H7")
def test_where_there_are_no_rules_it_says_so() -> None:
    assert happened(has_rules=False).facts.rules is None


@pytest.mark.rule("H8")
@pytest.mark.parametrize("doing", [Doing.EVICT, Doing.REMOVE])
def test_a_pod_that_was_evicted_stays_away(doing: Doing) -> None:
    replica = happened(pod("p", "n1"), pod("q", "n1"))
    act(replica, doing, pod("p", "n1"))
    replica.happen(Event(1.0, Change.MODIFIED, "Pod", pod("p", "n1")))
    assert [one.name for one in replica.facts.pods] == ["q"]


def test_pods_without_devices_are_no_matter() -> None:
    idle = pod("p", "n1")
    idle["spec"]["containers"] = []
    ended = pod("q", "n1", phase="Succeeded")
    rejected = pod("r", "n1", phase="Failed", reason="UnexpectedAdmissionError")
    assert [one.name for one in happened(idle, ended, rejected).facts.pods] == ["r"]


@pytest.mark.rule("H7")
def test_labels_are_as_the_records_say() -> None:
    replica = happened(node("n1"), node("n2"))
    replica.label({"n1": Record("uid-n1", label=True), "n2": Record("uid-n2")})
    labels = {name: one.labels for name, one in replica.facts.nodes.items()}
    assert labels["n1"]["gpuspec.preferred.jp/health"] == "suspect"
    assert "gpuspec.preferred.jp/health" not in labels["n2"]
    replica.label({})
    assert "gpuspec.preferred.jp/health" not in replica.facts.nodes["n1"].labels


def test_everything_that_is_deleted_is_gone() -> None:
    driver = {"driver": DRIVER, "pool": "pool", "device": "gpu-0"}
    contents: list[Json] = [
        node("n1"),
        pod("p", "n1"),
        {
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": DRIVER,
                "nodeName": "n1",
                "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}],
            },
        },
        {
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "ml"},
            "status": {
                "allocation": {"devices": {"results": [driver]}},
                "reservedFor": [{"resource": "pods", "uid": "uid-p"}],
            },
        },
        {"kind": "Job", "metadata": {"name": "j", "namespace": "ml", "uid": "uid-j"}},
        {"kind": "DaemonSet", "metadata": {"name": "d", "namespace": "ml"}},
    ]
    replica = happened(*contents)
    facts = replica.facts
    assert list(facts.devices.nodes) == [(DRIVER, "pool", "gpu-0")]
    assert facts.holdings.devices["uid-p"] == [(DRIVER, "pool", "gpu-0")]
    assert (list(facts.jobs), len(facts.daemons)) == (["uid-j"], 1)
    for content in contents:
        replica.happen(Event(1.0, Change.DELETED, content["kind"], content))
    facts = replica.facts
    left = (facts.nodes, facts.devices.nodes, facts.holdings.devices, facts.pods, facts.jobs)
    assert [list(one) for one in (*left, facts.daemons)] == [[]] * 6
