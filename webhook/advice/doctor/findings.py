"""Findings as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    FINE = "fine"
    UNKNOWN = "unknown"
    WARNING = "warning"
    ERROR = "error"


_SEVERITY = {level: number for number, level in enumerate(Level)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        level: Error: something does not work. Warning: it works, and not as somebody thinks.
            Unknown: it could not be looked at. Fine: what was seen to be right.
        what: What is so, naming the objects.
        todo: What to do about it, in the imperative; "" where there is nothing to do.
    """

    level: Level
    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A check's findings.

    Attributes:
        id: A word for programs.
        title: What was looked at, for people.
        findings: At least one.
    """

    id: str
    title: str
    findings: tuple[Finding, ...]

    @property
    def level(self) -> Level:
        """The worst of them."""
        return worst(one.level for one in self.findings)


class CannotLookError(Exception):
    """What a check needs was not seen; the text says why, as a sentence that goes on."""


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of some levels, ``FINE`` where there are none."""
    return max(levels, key=_SEVERITY.__getitem__, default=Level.FINE)


def fine(what: str) -> Finding:
    """Return what is right."""
    return Finding(Level.FINE, what)


def unknown(what: str, todo: str = "") -> Finding:
    """Return what could not be looked at."""
    return Finding(Level.UNKNOWN, what, todo)


def warning(what: str, todo: str = "") -> Finding:
    """Return what works otherwise than somebody may think."""
    return Finding(Level.WARNING, what, todo)


def error(what: str, todo: str = "") -> Finding:
    """Return what does not work."""
    return Finding(Level.ERROR, what, todo)
