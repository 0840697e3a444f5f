"""What is kept of a Job: whether it lives on when one of its Pods is evicted (semantics H9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.pod_facts import PodFacts

# What Kubernetes assumes of a Job that does not say (k8s).
_BACKOFF_LIMIT = 6

_DISRUPTION = "DisruptionTarget"

# The exit codes of containers that were ended by SIGTERM, or by SIGKILL. Which of them it will be
# nobody knows before.
_KILLED = (143, 137)

# What a podFailurePolicy may do, the best for the Job first; "" where no rule of it fits.
_ACTIONS = ("Ignore", "Count", "", "FailIndex", "FailJob")


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What is kept of a Job.

    Attributes:
        ignores: Whether its podFailurePolicy does not count Pods that were disrupted.
        fails: Whether its podFailurePolicy ends it for such a Pod.
        retries: How many Pods may still fail.
        per_index: How often each index may fail; None where indexes are not counted apart.
    """

    ignores: bool = False
    fails: bool = False
    retries: int = _BACKOFF_LIMIT
    per_index: int | None = None

    def outlives(self, pod: PodFacts, uncounted: int = 0) -> bool:
        """Tell whether the Job goes on when this Pod of it is evicted.

        Args:
            pod: One of the Job's.
            uncounted: How many others of its Pods are being deleted, so that it may still come to
                count them as failed.
        """
        if self.ignores or self.fails:
            return self.ignores
        if self.per_index is not None:
            return pod.index_failures < self.per_index
        return self.retries > uncounted


def job_facts(job: Json) -> JobFacts:
    """Read a raw Job (``batch/v1``)."""
    spec, status = mapping(job.get("spec")), mapping(job.get("status"))
    action = _action(spec)
    per_index = spec.get("backoffLimitPerIndex")
    return JobFacts(
        ignores=action == "Ignore",
        fails=action in ("FailJob", "FailIndex"),
        retries=_whole(spec.get("backoffLimit"), _BACKOFF_LIMIT) - _whole(status.get("failed"), 0),
        per_index=per_index if type(per_index) is int else None,
    )


def _action(spec: Json) -> str:
    """Return the worst that the podFailurePolicy may do about an evicted Pod.

    An evicted Pod has the condition DisruptionTarget, and its containers end by either signal.
    """
    rules = list(mappings(mapping(spec.get("podFailurePolicy")).get("rules")))
    return max((_first(rules, code) for code in _KILLED), key=_ACTIONS.index)


def _first(rules: Sequence[Json], code: int) -> str:
    """Return what the first rule does that fits a Pod whose containers ended with a code.

    That an exit code is ignored helps nobody who may end with another one, so that does not count.
    """
    for rule in rules:
        action = rule.get("action")
        is_hit = action != "Ignore" and _fits(mapping(rule.get("onExitCodes")), code)
        if is_hit or _is_of_disruption(rule):
            return str(action) if action in _ACTIONS else ""
    return ""


def _fits(rule: Json, code: int) -> bool:
    values = rule.get("values")
    if not isinstance(values, list):
        return False
    return (code in values) is (rule.get("operator") == "In")


def _is_of_disruption(rule: Json) -> bool:
    return any(
        one.get("type") == _DISRUPTION and one.get("status", "True") == "True"
        for one in mappings(rule.get("onPodConditions"))
    )


def _whole(value: object, otherwise: int) -> int:
    return value if type(value) is int else otherwise
