"""Whether a Pod may be evicted at all: what would replace it, and what it says (semantics H9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from selection_spec.durations import parse_duration
from selection_spec.errors import GpuspecError
from selection_spec.names import dns_subdomain_problem
from webhook.inventory.job_facts import JobFacts
from webhook.inventory.pod_facts import PodFacts
from webhook.terms import ON_FAILURE_ANNOTATION


@dataclass(frozen=True, slots=True)
class Permit:
    """Whether a Pod may be evicted, and if not, why, in words."""

    is_given: bool
    why: str = ""


_GIVEN = Permit(is_given=True)

_JOBS = "batch"

# Kinds that run a Pod once: API group and kind. Whatever else owns a Pod is taken to replace it.
_ONCE = frozenset(
    {
        ("argoproj.io", "Workflow"),
        ("kubevirt.io", "VirtualMachineInstance"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("tekton.dev", "TaskRun"),
    }
)


def permit(pod: PodFacts, jobs: Mapping[str, JobFacts], failed: float, now: float) -> Permit:
    """Tell whether a Pod may be evicted.

    Args:
        pod: A Pod that holds what has failed.
        jobs: Jobs by uid, as far as they are known.
        failed: When its device failed, and the present, both in seconds since 1970.
        now: See there.
    """
    if pod.is_mirror:
        return _kept("a mirror Pod, which its kubelet would start again")
    if pod.owner.kind == "DaemonSet":
        return _kept("of a DaemonSet, which would start it again on the same node")
    match pod.on_failure.partition("="):
        case ("evict", "", ""):
            return _GIVEN
        case ("ignore", "", ""):
            return _kept(f"it says {ON_FAILURE_ANNOTATION}: ignore")
        case ("after", "=", text):
            return _later(pod, text, jobs, failed, now)
    given = _replaced(pod, jobs)
    if pod.on_failure and not given.is_given:
        return _kept(f"{given.why}; its {pod.on_failure!r} is none of evict, ignore, after=30m")
    return given


def jobs_needed(pods: Iterable[PodFacts]) -> frozenset[tuple[str, str, str]]:
    """Return namespace, name and uid of the Jobs that ``permit`` would ask for.

    Users write who owns a Pod: what cannot be a Job's name is not looked up.
    """
    return frozenset(
        (pod.namespace, pod.owner.name, pod.owner.uid)
        for pod in pods
        if is_of_job(pod) and not dns_subdomain_problem(pod.owner.name)
    )


def is_of_job(pod: PodFacts) -> bool:
    """Tell whether a Pod is of a Job of Kubernetes' own; others have Jobs, too."""
    return pod.owner.kind == "Job" and pod.owner.group == _JOBS


def is_removable(
    pod: PodFacts,
    jobs: Mapping[str, JobFacts] = MappingProxyType({}),
    failed: float = 0.0,
    now: float = 0.0,
) -> bool:
    """Tell whether a dead Pod may be removed: by the rules for those that live (H9).

    The arguments are those of ``permit``; where they are not known it stays if they matter.
    """
    return permit(pod, jobs, failed, now).is_given


def _later(
    pod: PodFacts, text: str, jobs: Mapping[str, JobFacts], failed: float, now: float
) -> Permit:
    try:
        wait_s = parse_duration(text)
    except GpuspecError:
        given = _replaced(pod, jobs)
        said = f"its {ON_FAILURE_ANNOTATION}: {pod.on_failure!r} has no time such as 30m"
        return given if given.is_given else _kept(f"{given.why}; {said}")
    if now - failed >= wait_s:
        return _GIVEN
    return _kept(f"it asks to wait for {text} ({ON_FAILURE_ANNOTATION})")


def _replaced(pod: PodFacts, jobs: Mapping[str, JobFacts]) -> Permit:
    """Tell whether something would run in its place."""
    opt_in = f"; it may say {ON_FAILURE_ANNOTATION}: evict"
    if pod.owner.kind == "Pod":
        return _kept(f"nothing would replace it: it has no owner{opt_in}")
    if (pod.owner.group, pod.owner.kind) in _ONCE:
        return _kept(f"nothing would replace it: a {pod.owner.kind} runs it once{opt_in}")
    if not is_of_job(pod):
        return _GIVEN
    job = jobs.get(pod.owner.uid)
    if job is None:
        return _kept(f"its Job {pod.owner.name} cannot be looked at yet")
    if job.outlives(pod):
        return _GIVEN
    return _kept(
        f"its Job {pod.owner.name} would fail for good: give it a podFailurePolicy that ignores "
        f"DisruptionTarget, or retries{opt_in}"
    )


def _kept(why: str) -> Permit:
    return Permit(is_given=False, why=why)
