"""What is kept of a Job: whether it lives on when one of its Pods is evicted (semantics H9)."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.pod_facts import PodFacts

# What Kubernetes assumes of a Job that does not say (k8s).
_BACKOFF_LIMIT = 6

_DISRUPTION = "DisruptionTarget"

# The exit codes of containers that were ended by SIGTERM, or by SIGKILL.
_KILLED = (143, 137)


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

    def outlives(self, pod: PodFacts) -> bool:
        """Tell whether the Job goes on when this Pod of it is evicted."""
        if self.ignores or self.fails:
            return self.ignores
        if self.per_index is not None:
            return pod.index_failures < self.per_index
        return self.retries > 0


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
    """Return what the podFailurePolicy does about an evicted Pod: its first rule that fits.

    An evicted Pod has the condition DisruptionTarget, and its containers end by a signal unless
    they catch it.
    """
    for rule in mappings(mapping(spec.get("podFailurePolicy")).get("rules")):
        if _is_of_exit_codes(mapping(rule.get("onExitCodes"))):
            return str(rule.get("action"))
        for condition in mappings(rule.get("onPodConditions")):
            if condition.get("type") == _DISRUPTION and condition.get("status", "True") == "True":
                return str(rule.get("action"))
    return ""


def _is_of_exit_codes(rule: Json) -> bool:
    values = rule.get("values")
    if not isinstance(values, list):
        return False
    is_listed = any(one in _KILLED for one in values)
    return is_listed if rule.get("operator") == "In" else not is_listed


def _whole(value: object, otherwise: int) -> int:
    return value if type(value) is int else otherwise
