"""What nodes say of themselves: conditions with their polarity, others' taints and labels (H2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from selection_spec.health import ConditionRule, HealthPolicy, LabelRule, Severity, TaintRule
from tests.builders import Json
from tests.webhook.health.worlds import POLICY, TAINT, World, about, condition, done, node, verdicts
from webhook.health.shipped import CONDITIONS
from webhook.terms import PROBE_CONDITION

NODE = "node n1"


def judged(*conditions: Json, policy: HealthPolicy = POLICY, observations: int = 1) -> str:
    """The verdict of a node with these conditions, after so many observations."""
    world = World([node("n1", *conditions)], policy=policy).observing(observations - 1)
    return verdicts(world.step()).get(NODE, "Healthy")


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (condition("GPUIsLost", "True"), "Failed"),
        (condition("GPUIsLost", "False"), "Healthy"),
        (condition("GPUIsLost", "Unknown"), "Unknown"),
        (condition("GPUIsLost", ""), "Unknown"),
        (condition("GPUIsLost", None), "Unknown"),
        (condition("GPUIsLost", ["True"]), "Unknown"),
        (condition("AcceleratedHardwareReady", "False"), "Failed"),
        (condition("AcceleratedHardwareReady", "True"), "Healthy"),
        (condition("AcceleratedHardwareReady", "Unknown"), "Unknown"),
        (condition("KernelDeadlock", "True"), "Suspect"),
        (condition("NTPProblem", "True"), "Suspect"),
        (condition(PROBE_CONDITION, "True"), "Failed"),
        (condition(PROBE_CONDITION, "False"), "Healthy"),
        (condition("SomethingElse", "True"), "Healthy"),
        (condition("Ready", "False"), "Healthy"),
        (condition("MemoryPressure", "True"), "Healthy"),
    ],
    ids=str,
)
def test_a_condition_is_read_by_its_polarity(said: Json, verdict: str) -> None:
    assert judged(said) == verdict


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "rule", [one for those in CONDITIONS.values() for one in those], ids=lambda one: one.type
)
def test_every_shipped_condition_is_heard(rule: ConditionRule) -> None:
    good = {"True": "False", "False": "True"}[rule.bad_status]
    verdict = "Failed" if rule.severity is Severity.FATAL else "Suspect"
    assert judged(condition(rule.type, rule.bad_status)) == verdict
    assert judged(condition(rule.type, good)) == "Healthy"
    ends_up = "Suspect" if rule.severity is Severity.WARNING else "Failed"
    assert judged(condition(rule.type, rule.bad_status), observations=5) == ends_up


@pytest.mark.rule("H2")
def test_the_probes_condition_is_the_probes_signal() -> None:
    taken = World([node("n1", condition(PROBE_CONDITION))]).step()
    assert [one.source for one in taken.decisions[0].case.evidence] == ["Probe"]


@pytest.mark.rule("H2")
@pytest.mark.parametrize(("age", "verdict"), [(59.0, "Unknown"), (60.0, "Failed")])
def test_a_condition_has_to_last_for_its_minimum(age: float, verdict: str) -> None:
    rule = ConditionRule("GpuOff", "True", Severity.FATAL, min_duration_s=60.0)
    policy = replace(POLICY, conditions=(rule,))
    assert judged(condition("GpuOff", age=age), policy=policy) == verdict


@pytest.mark.rule("H2")
def test_a_condition_without_a_time_has_lasted_long_enough() -> None:
    rule = ConditionRule("GpuOff", "True", Severity.FATAL, min_duration_s=60.0)
    said = {"type": "GpuOff", "status": "True"}
    assert judged(said, policy=replace(POLICY, conditions=(rule,))) == "Failed"


@pytest.mark.rule("H2")
@pytest.mark.parametrize(("reason", "verdict"), [("Xid79Seen", "Failed"), ("Xid31Seen", "Healthy")])
def test_a_reason_is_searched_for(reason: str, verdict: str) -> None:
    rule = ConditionRule("GpuXidSeen", "True", Severity.FATAL, reason="Xid(79|94)")
    policy = replace(POLICY, conditions=(rule,))
    assert judged(condition("GpuXidSeen", reason=reason), policy=policy) == verdict


@pytest.mark.rule("H2")
def test_a_policy_overrides_what_is_shipped() -> None:
    rule = ConditionRule("GPUIsLost", "False", Severity.WARNING)
    policy = replace(POLICY, conditions=(rule,))
    assert judged(condition("GPUIsLost", "True"), policy=policy) == "Healthy"
    assert judged(condition("GPUIsLost", "False"), policy=policy) == "Suspect"


@pytest.mark.rule("H2")
def test_shipped_signals_are_ignored_and_own_ones_never() -> None:
    own = ConditionRule("KernelDeadlock", "True", Severity.FATAL)
    policy = replace(
        POLICY,
        conditions=(own,),
        taints=(TaintRule("amd-gpu-unhealthy", Severity.WARNING, value="slow"),),
        ignored=frozenset({"GPUIsLost", "KernelDeadlock", "amd-gpu-unhealthy"}),
    )
    assert judged(condition("GPUIsLost"), policy=policy) == "Healthy"
    assert judged(condition("KernelDeadlock"), policy=policy) == "Failed"
    assert _tainted("amd-gpu-unhealthy", "gone", policy) == "Healthy"
    assert _tainted("amd-gpu-unhealthy", "slow", policy) == "Suspect"


def _tainted(key: str, value: str, policy: HealthPolicy) -> str:
    taint = {"key": key, "value": value, "effect": "NoSchedule"}
    world = World([node(taints=[taint])], policy=policy)
    return verdicts(world.step()).get(NODE, "Healthy")


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        (TaintRule("broken", Severity.FATAL), "Failed"),
        (TaintRule("broken", Severity.FATAL, value="yes"), "Failed"),
        (TaintRule("broken", Severity.FATAL, value="no"), "Healthy"),
        (TaintRule("broken", Severity.FATAL, effect="NoSchedule"), "Failed"),
        (TaintRule("broken", Severity.FATAL, effect="NoExecute"), "Healthy"),
        (TaintRule("other", Severity.FATAL), "Healthy"),
        (TaintRule("broken", Severity.ERROR), "Suspect"),
    ],
)
def test_taints_of_others_are_heard(rule: TaintRule, verdict: str) -> None:
    assert _tainted("broken", "yes", replace(POLICY, taints=(rule,))) == verdict


@pytest.mark.rule("H2")
def test_shipped_taints_are_heard() -> None:
    assert _tainted("amd-gpu-unhealthy", "", POLICY) == "Failed"
    assert _tainted("nvidia.com/gpu-xid-error", "", POLICY) == "Suspect"


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("labels", "verdict"),
    [
        ({"dgxc.nvidia.com/nvsentinel-state": "quarantined"}, "Suspect"),
        ({"dgxc.nvidia.com/nvsentinel-state": "healthy"}, "Healthy"),
        ({"state": "bad"}, "Failed"),
        ({"state": "good"}, "Healthy"),
    ],
    ids=str,
)
def test_labels_of_others_are_heard(labels: dict[str, str], verdict: str) -> None:
    policy = replace(POLICY, labels=(LabelRule("state", "bad", Severity.FATAL),))
    world = World([node(labels=labels)], policy=policy)
    assert verdicts(world.step()).get(NODE, "Healthy") == verdict


@pytest.mark.rule("H2", "H3")
def test_a_taint_or_label_that_is_gone_is_good() -> None:
    taint = {"key": "amd-gpu-unhealthy", "effect": "NoSchedule"}
    world = World([node(taints=[taint])]).after(nodes=[node()])
    assert verdicts(world.observing(2).step()) == {NODE: "Failed"}
    recovered = replace(world.observing(2), now=world.now + POLICY.recovery_s).after()
    assert verdicts(recovered.step()) == {NODE: "Healthy"}


@pytest.mark.rule("H3")
@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_what_a_node_says_that_is_not_ready_is_stale(ready: str) -> None:
    sick = World([node("n1", condition("GPUIsLost"), ready=ready)])
    assert verdicts(sick.step()) == {}
    known = World([node("n1", condition("GPUIsLost"))]).after(
        nodes=[node("n1", condition("GPUIsLost"), ready=ready)]
    )
    assert verdicts(known.step()) == {NODE: "Unknown"}
    assert done(known.step()) == []


@pytest.mark.rule("H3")
def test_a_condition_that_is_gone_neither_clears_nor_acts() -> None:
    world = World([node("n1", condition("GPUIsLost"))]).after(nodes=[node()])
    late = replace(world, now=world.now + 1e6)
    assert verdicts(late.step()) == {NODE: "Unknown"}
    assert done(late.step()) == []


@pytest.mark.rule("H3")
def test_a_warning_is_not_acted_upon_and_keeps_no_failed_node_from_recovering() -> None:
    """What failed the node is over: what is left makes it suspect, and its taint goes."""
    well = (condition("GPUIsLost", "False"), condition("NTPProblem"))
    world = World([node("n1", condition("GPUIsLost"))])
    world = world.after(nodes=[node("n1", *well, taints=[TAINT])])
    assert verdicts(world.step()) == {NODE: "Failed"}
    assert done(world.step()) == []
    late = world.observing(4).after(POLICY.recovery_s).after()
    assert verdicts(late.step()) == {NODE: "Suspect"}
    assert done(late.step()) == ["untaint n1"]
    assert about(late.step(), NODE).case.relapses == 0


@pytest.mark.rule("H2")
def test_evidence_that_nobody_listens_to_any_more_is_let_go() -> None:
    world = World([node("n1", condition("GPUIsLost"))]).after()
    world = replace(world, policy=replace(POLICY, ignored=frozenset({"GPUIsLost"})))
    late = replace(world.observing(4), now=world.now + POLICY.recovery_s)
    assert verdicts(late.after().step()) == {NODE: "Healthy"}
