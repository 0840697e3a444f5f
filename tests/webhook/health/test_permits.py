"""Whether a Pod may be evicted at all, and in which words it may not (H9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.builders import Json
from tests.webhook.health.worlds import NOW, job, pod
from webhook.health.permits import is_removable, jobs_needed, permit
from webhook.inventory.job_facts import job_facts
from webhook.inventory.pod_facts import pod_facts

SAYS = "gpuspec.preferred.jp/on-device-failure"
FIT = ("Job", "fit")

IGNORES = {
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    }
}
FAILS = {
    "podFailurePolicy": {
        "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    }
}
OPT_IN = f"; it may say {SAYS}: evict"
WOULD_FAIL = (
    "its Job fit would fail for good: give it a podFailurePolicy that ignores DisruptionTarget, "
    f"or retries{OPT_IN}"
)
NO_OWNER = f"nothing would replace it: it has no owner{OPT_IN}"


def why(raw: Json, *jobs: Json, failed_for: float = 0.0) -> str:
    """Why a Pod stays; "" where it may go."""
    known = {one["metadata"]["uid"]: job_facts(one) for one in jobs}
    found = permit(pod_facts(raw), known, NOW - failed_for, NOW)
    assert found.is_given is not bool(found.why)
    return found.why


def saying(text: str, owner: tuple[str, str] | None = None) -> Json:
    """A Pod whose annotation says something; without an owner unless one is given."""
    return pod(owner=owner, annotations={SAYS: text})


@pytest.mark.rule("H9")
@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "RayCluster"])
def test_what_is_replaced_may_go(kind: str) -> None:
    assert why(pod(owner=(kind, "web"))) == ""


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("argoproj.io", "Workflow"),
        ("kubevirt.io", "VirtualMachineInstance"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("tekton.dev", "TaskRun"),
    ],
)
def test_what_runs_a_pod_once_does_not_replace_it(group: str, kind: str) -> None:
    assert why(pod(owner=(kind, "fit"), group=group)) == (
        f"nothing would replace it: a {kind} runs it once{OPT_IN}"
    )
    assert why(pod(owner=(kind, "fit"), group=group, annotations={SAYS: "evict"})) == ""


@pytest.mark.rule("H9")
@pytest.mark.parametrize("text", ["", "evict", "after=1s"])
def test_pods_of_daemonsets_and_of_kubelets_never_go(text: str) -> None:
    assert why(pod(owner=("DaemonSet", "d"), annotations={SAYS: text})) == (
        "of a DaemonSet, which would start it again on the same node"
    )
    mirror = {"kubernetes.io/config.mirror": "x", SAYS: text}
    assert why(pod(owner=("Node", "n1"), annotations=mirror)) == (
        "a mirror Pod, which its kubelet would start again"
    )


@pytest.mark.rule("H9")
def test_what_nothing_replaces_stays_unless_it_opts_in() -> None:
    assert why(pod(owner=None)) == NO_OWNER
    assert why(saying("evict")) == ""


@pytest.mark.rule("H9")
def test_who_says_ignore_stays() -> None:
    assert why(saying("ignore", ("ReplicaSet", "web"))) == f"it says {SAYS}: ignore"


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("failed_for", "said"), [(1799.0, f"it asks to wait for 30m ({SAYS})"), (1800.0, "")]
)
def test_who_asks_for_time_gets_it(failed_for: float, said: str) -> None:
    for owner in (None, ("ReplicaSet", "web"), FIT):
        assert why(saying("after=30m", owner), failed_for=failed_for) == said


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Evict", f"{NO_OWNER}; its 'Evict' is none of evict, ignore, after=30m"),
        ("evict=", f"{NO_OWNER}; its 'evict=' is none of evict, ignore, after=30m"),
        ("after", f"{NO_OWNER}; its 'after' is none of evict, ignore, after=30m"),
        ("after=", f"{NO_OWNER}; its {SAYS}: 'after=' has no time such as 30m"),
        ("after=30", f"{NO_OWNER}; its {SAYS}: 'after=30' has no time such as 30m"),
    ],
)
def test_what_cannot_be_read_counts_as_not_said(text: str, said: str) -> None:
    assert why(saying(text), failed_for=1e6) == said
    assert why(saying(text, ("ReplicaSet", "web"))) == ""


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, ""),
        ({"backoffLimit": 0}, WOULD_FAIL),
        ({"backoffLimit": 2, "failed": 1}, ""),
        ({"backoffLimit": 2, "failed": 2}, WOULD_FAIL),
        ({"backoffLimit": 0, **IGNORES}, ""),
        ({"backoffLimit": 5, **FAILS}, WOULD_FAIL),
    ],
    ids=str,
)
def test_a_job_that_lives_on_replaces_its_pods(spec: Mapping[str, Any], said: str) -> None:
    assert why(pod(owner=FIT), job(**spec)) == said


@pytest.mark.rule("H9")
@pytest.mark.parametrize(("failures", "said"), [("0", ""), ("1", WOULD_FAIL), ("x", "")])
def test_an_indexed_job_counts_by_index(failures: str, said: str) -> None:
    notes = {"batch.kubernetes.io/job-index-failure-count": failures}
    indexed = job(backoffLimitPerIndex=1, backoffLimit=0)
    assert why(pod(owner=FIT, annotations=notes), indexed) == said


@pytest.mark.rule("H9")
def test_a_job_that_is_not_known_yet() -> None:
    assert why(pod(owner=FIT)) == "its Job fit cannot be looked at yet"
    assert why(saying("evict", FIT)) == ""


@pytest.mark.rule("H9")
def test_only_jobs_have_to_be_looked_up() -> None:
    pods = tuple(map(pod_facts, (pod("a", owner=FIT), pod("b", owner=FIT), pod("c"))))
    assert jobs_needed(pods) == {("team", "fit", "uid-fit")}


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("dead", "is_given"),
    [
        (pod(owner=("ReplicaSet", "web")), True),
        (pod(owner=("Workflow", "fit"), group="argoproj.io"), False),
        (pod(owner=("Workflow", "fit"), group="argoproj.io", annotations={SAYS: "evict"}), True),
        (pod(owner=None), False),
        (saying("evict"), True),
        (saying("evict", ("DaemonSet", "d")), False),
        (saying("ignore", ("ReplicaSet", "web")), False),
        (saying("after=30m", ("ReplicaSet", "web")), False),
        (pod(owner=FIT), False),
    ],
    ids=lambda one: "" if isinstance(one, bool) else str(one["metadata"]["ownerReferences"])[-90:],
)
def test_the_dead_go_by_the_rules_for_the_living(dead: Json, *, is_given: bool) -> None:
    assert is_removable(pod_facts(dead)) is is_given


@pytest.mark.rule("H9")
def test_the_dead_are_removed_once_they_may_be() -> None:
    waits, of_job = pod_facts(saying("after=30m")), pod_facts(pod(owner=FIT))
    assert not is_removable(waits, {}, NOW - 1799, NOW)
    assert is_removable(waits, {}, NOW - 1800, NOW)
    assert is_removable(of_job, {"uid-fit": job_facts(job(backoffLimit=1))}, NOW, NOW)
    assert not is_removable(of_job, {"uid-fit": job_facts(job(backoffLimit=0))}, NOW, NOW)
