"""What is written about claim templates in one namespace, and what came of it (semantics C3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from http import HTTPStatus

from webhook.controllers.claim_texts import Refusal, Texts, judged
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError, ClusterError
from webhook.placement.templates import template
from webhook.terms import CONTROLLER_NAME

# What an object's own content is refused with; anything else is about its namespace.
_OF_CONTENT = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}


@dataclass(slots=True)
class Job:
    """What is to be written in a namespace; not changed any more once it was started.

    Attributes:
        makes: By the name of a template to make, Pods that may bring along what it holds; both in
            this order.
        classes: The DeviceClasses that templates may ask for.
        nudges: Pod statuses to apply, by the Pod's uid.
        events: Events to create, by name.
        sweeps: Templates to delete if still no Pod names them.
    """

    namespace: str
    makes: dict[str, tuple[PodFacts, ...]] = field(default_factory=dict)
    classes: frozenset[str] = frozenset()
    nudges: dict[str, Json] = field(default_factory=dict)
    events: dict[str, Json] = field(default_factory=dict)
    sweeps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a template could not be made.

    Attributes:
        kind: The same for the same cause, whatever else the words say: ``403 Forbidden``.
        text: The API server's own words.
        of_content: Whether other templates of the namespace may be made all the same.
        leaving: Whether the namespace or the Pod is being deleted, so that nothing of this matters.
        hangs: Whether there was no answer, so that whoever asks again may wait for as long.
    """

    kind: str
    text: str
    of_content: bool = False
    leaving: bool = False
    hangs: bool = False


_NO_ANSWER = Failure(
    "no answer",
    "the API server has not answered; a webhook of others that it calls may hang",
    hangs=True,
)

_GONE = Failure("gone", "the Pod that needs it is gone", of_content=True, leaving=True)


@dataclass(slots=True)
class Done:
    """What came of a job.

    Attributes:
        made: Templates that are there now.
        found: Templates that somebody else had made.
        failed: Why others could not be made.
        refused: Why others may not be made.
        empty: Pods' texts (``PodFacts.claims``), each with a template that it has nothing for.
        nudged: Uids of Pods that need no further nudge.
        told: Names of Events that need not be told again.
        swept: Templates that are gone.
        used: Templates that a Pod names after all.
        problems: What went wrong beside that, in words.
        is_cut_off: Whether the rest of the job was not tried, for it would have gone wrong, too.
    """

    namespace: str
    made: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    failed: dict[str, Failure] = field(default_factory=dict)
    refused: dict[str, Refusal] = field(default_factory=dict)
    empty: list[tuple[str, str]] = field(default_factory=list)
    nudged: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_cut_off: bool = False


class Jobs:
    """Does each namespace's work in its own time: one that hangs or refuses holds up no other.

    Args:
        cluster: Where it is done.
        hands: Has the threads.
        slow_hands: Has those for namespaces that hung last time: they take no hand of the others.
        ended: Called when a job has ended.
    """

    def __init__(
        self, cluster: Cluster, hands: Executor, slow_hands: Executor, ended: Callable[[], None]
    ) -> None:
        self._cluster = cluster
        self._hands = hands
        self._slow_hands = slow_hands
        self._ended = ended
        self._running: dict[str, Future[Done]] = {}

    def is_busy(self, namespace: str) -> bool:
        """Tell whether a namespace's last job has not been taken back yet."""
        return namespace in self._running

    def start(self, job: Job, *, is_slow: bool) -> None:
        """Begin a job; its namespace must not be busy."""
        hands = self._slow_hands if is_slow else self._hands
        future = self._running[job.namespace] = hands.submit(work, self._cluster, job)
        future.add_done_callback(lambda _: self._ended())

    def results(self) -> list[Done]:
        """Take back the jobs that have ended."""
        ended = [namespace for namespace, future in self._running.items() if future.done()]
        return [self._running.pop(namespace).result() for namespace in ended]


def work(cluster: Cluster, job: Job) -> Done:
    """Do a job as far as it goes; never raises."""
    done = Done(job.namespace)
    try:
        _make(cluster, job, done)
        _nudge(cluster, job, done)
        _tell(cluster, job, done)
        if job.sweeps:
            _sweep(cluster, job, done)
    except ClusterError as error:
        done.problems.append(str(error))
        done.is_cut_off = True
    except Exception as bug:  # noqa: BLE001 -- a bug in one namespace must not end the others' work
        done.problems.append(f"{type(bug).__name__}: {bug}")
        done.is_cut_off = True
    return done


def _make(cluster: Cluster, job: Job, done: Done) -> None:
    """Make templates until the namespace itself refuses."""
    texts = Texts(cluster, job.namespace)
    for name, pods in job.makes.items():
        spec = _brought(texts, name, pods, job.classes, done)
        if spec is None:
            continue
        try:
            cluster.create(_templates_of(job.namespace), template(name, spec, job.namespace))
        except ApiError as error:
            if error.reason == "AlreadyExists":
                done.found.append(name)
                continue
            failure = done.failed[name] = _failure(error)
            if not failure.of_content:
                return
        except ClusterError as error:
            done.failed[name] = _NO_ANSWER
            done.problems.append(str(error))
            return
        except Exception as bug:  # noqa: BLE001 -- a user wrote it; it must hold up nobody else
            kind = type(bug).__name__
            done.failed[name] = Failure(kind, f"{kind}: {bug}", of_content=True)
        else:
            done.made.append(name)


def _brought(
    texts: Texts,
    name: str,
    pods: Iterable[PodFacts],
    classes: frozenset[str],
    done: Done,
) -> Json | None:
    """Return what a template is to hold; None where no Pod brings it along, or it may not."""
    for pod in pods:
        brought = texts.of(pod)
        if brought is None:
            done.failed[name] = _GONE
            continue
        if name not in brought:
            done.empty.append((pod.claims, name))
            continue
        done.failed.pop(name, None)
        refusal = judged(brought[name], classes)
        if refusal is None:
            return brought[name]
        done.refused[name] = refusal
        return None
    return None


def _failure(error: ApiError) -> Failure:
    said = f"{error.code} {error.reason}".rstrip()
    of_content = error.code in _OF_CONTENT
    text = f"{said}: {error.message}"
    return Failure(said, text, of_content=of_content, leaving=error.is_leaving)


def _nudge(cluster: Cluster, job: Job, done: Done) -> None:
    for uid, body in job.nudges.items():
        at = f"/api/v1/namespaces/{job.namespace}/pods/{body['metadata']['name']}/status"
        how = {"fieldManager": CONTROLLER_NAME, "force": "true"}
        try:
            cluster.patch(at, body, "apply", **how)
        except ApiError as error:
            if not _is_final(error):
                raise
            if not (error.is_not_found or error.is_conflict):  # gone, or another of its name
                done.problems.append(str(error))
        done.nudged.append(uid)


def _tell(cluster: Cluster, job: Job, done: Done) -> None:
    for name, body in job.events.items():
        try:
            cluster.create(f"/api/v1/namespaces/{job.namespace}/events", body)
        except ApiError as error:
            if not _is_final(error):
                raise
            if not (error.is_conflict or error.is_leaving):  # another leader told it
                done.problems.append(str(error))
        done.told.append(name)


def _sweep(cluster: Cluster, job: Job, done: Done) -> None:
    """Delete what no Pod names right now, whatever the mirror said.

    A Pod that is created after this look still finds its template made again: it is needed then.
    """
    pods = map(pod_facts, cluster.items(f"/api/v1/namespaces/{job.namespace}/pods"))
    used = {name for pod in pods if not pod.finished for name in pod.templates}
    for name in job.sweeps:
        if name in used:
            done.used.append(name)
            continue
        try:
            cluster.delete(f"{_templates_of(job.namespace)}/{name}")
        except ApiError as error:
            if not error.is_not_found:
                raise
        done.swept.append(name)


def _is_final(error: ApiError) -> bool:
    """Tell whether asking again would be answered alike."""
    return error.code < HTTPStatus.TOO_MANY_REQUESTS


def _templates_of(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaimtemplates"
