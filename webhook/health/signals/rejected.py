"""Pods that kubelets rejected because they could not give them their devices (H2 f)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from webhook.health.mishaps import Mishap
from webhook.health.readings import Grade, Reading, Source
from webhook.health.subjects import Subject


def read(mishaps: Iterable[Mishap]) -> Iterator[Reading]:
    """Yield the nodes that rejected Pods; each Pod is one observation."""
    rejected: dict[Subject, list[Mishap]] = defaultdict(list)
    for one in mishaps:
        if one.source is Source.REJECTED:
            rejected[one.subject].append(one)
    for subject, those in rejected.items():
        pods = len({one.pod for one in those})
        were = "Pod was" if pods == 1 else "Pods were"
        yield Reading(
            subject,
            Source.REJECTED,
            "UnexpectedAdmissionError",
            Grade.ERROR,
            f"{pods} {were} rejected with UnexpectedAdmissionError",
            since=min(one.at for one in those),
            times=pods,
        )
