"""What befell Pods on a subject: crashes and rejections, remembered for a while (H2 f, g)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from webhook.health.observed import Observed
from webhook.health.readings import SKEW_S, Source
from webhook.health.subjects import Subject, device_named, node_subject
from webhook.inventory.pod_facts import PodFacts

# Of one node's so many: enough to judge by, and a node's annotation stays small.
_REMEMBERED = 100


@dataclass(frozen=True, slots=True, order=True)
class Mishap:
    """One event.

    Attributes:
        at: When it happened, in seconds since 1970.
        source: ``CRASHES`` or ``REJECTED``.
        program: What was to run, the same for all replicas of a workload.
        pod: The Pod's uid.
    """

    at: float
    source: Source
    program: str
    pod: str
    subject: Subject


def mishaps(observed: Observed) -> Iterator[Mishap]:
    """Yield what befell the Pods that are there, as their statuses tell."""
    for pod in observed.pods:
        if pod.trouble is None or pod.node not in observed.nodes:
            continue
        if pod.trouble.rejected and _asks(pod, observed):
            yield _mishap(pod, Source.REJECTED, node_subject(pod.node), pod.trouble.rejected)
        for at in pod.trouble.crashes:
            for subject in held_by(pod, observed):
                yield _mishap(pod, Source.CRASHES, subject, at)


def held_by(pod: PodFacts, observed: Observed) -> Iterable[Subject]:
    """Return the devices that a Pod is known to hold; of a device plugin's few are known."""
    by_claim = (observed.devices.subject(key) for key in observed.holdings.devices.get(pod.uid, ()))
    named = pod.trouble.devices if pod.trouble is not None else ()
    by_status = (device_named(pod.node, name, identity) for name, identity in named)
    found = (one for one in (*by_claim, *by_status) if one is not None)
    return dict.fromkeys(one for one in found if observed.judges(one))


def by_node(
    former: Mapping[str, tuple[Mishap, ...]],
    observed: Observed,
    now: float,
    window_s: float,
    booted: Mapping[str, float] | None = None,
) -> dict[str, tuple[Mishap, ...]]:
    """Return what is to be remembered of each node: new mishaps and former ones of the window.

    What a kubelet dates ahead of us is believed only while a Pod tells of it.

    Args:
        former: What was remembered.
        observed: What there is.
        now: Seconds since 1970.
        window_s: For how long they count.
        booted: By node when it has booted, in seconds since 1970, if that is not long ago: what
            befell Pods before does not count (H3).
    """
    found: dict[str, set[Mishap]] = defaultdict(set)
    for node, those in former.items():
        if node in observed.nodes:
            found[node].update(one for one in those if one.at <= now + SKEW_S)
    for one in mishaps(observed):
        found[one.subject.node].add(one)
    recent = {
        node: sorted(one for one in those if _since(node, booted, now - window_s) < one.at)
        for node, those in found.items()
    }
    return {node: tuple(_kept(those)) for node, those in recent.items() if those}


def _kept(those: list[Mishap]) -> list[Mishap]:
    """Return as many as are remembered, in order: in turns the newest of each program on a subject.

    So a program that crashes again and again hides no other one.
    """
    if len(those) <= _REMEMBERED:
        return those
    turns: Counter[tuple[Source, Subject, str]] = Counter()
    by_turn = []
    for one in reversed(those):
        whose = one.source, one.subject, one.program
        by_turn.append((turns[whose], one))
        turns[whose] += 1
    by_turn.sort(key=lambda entry: entry[0])
    return sorted(one for _, one in by_turn[:_REMEMBERED])


def _since(node: str, booted: Mapping[str, float] | None, otherwise: float) -> float:
    return max(otherwise, (booted or {}).get(node, 0.0))


def _asks(pod: PodFacts, observed: Observed) -> bool:
    """Tell whether a rejected Pod lacked devices of ours: others' are rejected the same way."""
    named = pod.trouble.lacking if pod.trouble is not None else ()
    return not observed.resources.isdisjoint(named or pod.devices)


def _mishap(pod: PodFacts, source: Source, subject: Subject, at: float) -> Mishap:
    return Mishap(at, source, pod.program, pod.uid, subject)
