"""Pods of several programs that crashed on one subject (H2 g)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from webhook.health.mishaps import Mishap
from webhook.health.readings import Grade, Reading, Source
from webhook.health.subjects import Subject

# One program that crashes is a bug of that program.
_PROGRAMS = 2

# A program that crashed on so many devices is named, for whoever looks for the reason.
_NOTED_DEVICES = 3


def read(mishaps: Iterable[Mishap]) -> Iterator[Reading]:
    """Yield the subjects on which Pods of at least two owners crashed.

    The first crash of a second owner is the first observation.
    """
    crashed: dict[Subject, list[Mishap]] = defaultdict(list)
    for one in mishaps:
        if one.source is Source.CRASHES:
            crashed[one.subject].append(one)
    for subject, those in crashed.items():
        programs = sorted({one.program for one in those})
        if len(programs) >= _PROGRAMS:
            yield Reading(
                subject,
                Source.CRASHES,
                "CrashLoop",
                Grade.ERROR,
                f"{len(those)} crashes of {len(programs)} programs on it: "
                + ", ".join(programs[:_NOTED_DEVICES]),
                since=min(one.at for one in those),
                times=_times(those),
            )


def _times(those: list[Mishap]) -> int:
    """Count crashes from the first one of a second program on."""
    in_order = sorted(those)
    first = in_order[0].program
    return len(in_order) - next(
        number for number, one in enumerate(in_order) if one.program != first
    )


def notes(mishaps: Iterable[Mishap]) -> Iterator[str]:
    """Yield programs that crash wherever they run: no device is at fault."""
    subjects: dict[str, set[Subject]] = defaultdict(set)
    for one in mishaps:
        if one.source is Source.CRASHES:
            subjects[one.program].add(one.subject)
    for program, those in sorted(subjects.items()):
        if len(those) >= _NOTED_DEVICES:
            yield f"{program} crashed on {len(those)} devices, so the program is to blame"
