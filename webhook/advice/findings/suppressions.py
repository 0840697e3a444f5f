"""Findings that somebody does not want to be told, and why (by a comment, or an annotation)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from webhook.advice.findings.catalogue import BY_ID, UNREASONED, UNUSED
from webhook.advice.findings.finding import Place
from webhook.advice.findings.rule import Rule
from webhook.advice.findings.views import objects
from webhook.inventory.facts import mapping
from webhook.jsonpatch import Path
from webhook.terms import IGNORE_ANNOTATION

# A comment of YAML begins a line or follows a space.
_COMMENT: Final = re.compile(r"(?:^|\s)#\s*gpuspec:\s*ignore\b[ \t]*(.*)$")
_SAID: Final = re.compile(r"((?:GS\d{3}(?:\s*,\s*|\s+)?)+)(?:--|:)\s*(\S.*)", re.ASCII)
_ID: Final = re.compile(r"GS\d{3}", re.ASCII)

# What can be suppressed by no suppression: what is wrong with suppressions.
_ABOUT_THESE: Final = frozenset({UNUSED.id, UNREASONED.id})


@dataclass(slots=True)
class Suppression:
    """What is not to be told, and where it says so.

    Attributes:
        rules: The ids.
        reason: Somebody's words.
        place: Where it stands.
        line: The line that a comment is for; 0 for an annotation.
        owner: The object that an annotation is for; "" for a comment.
        used: The ids that suppressed something.
    """

    rules: frozenset[str]
    reason: str
    place: Place
    line: int = 0
    object: tuple[int, Path] = (-1, ())
    used: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a text says about findings; ``wrong`` are suppressions that are none."""

    suppressions: tuple[Suppression, ...]
    wrong: tuple[tuple[Place, str], ...]


def in_comments(file: str, lines: Iterable[str]) -> Heard:
    """Return what comments say: for their own line, or alone on a line for the next one."""
    found: list[Suppression] = []
    wrong: list[tuple[Place, str]] = []
    for number, line in enumerate(lines, start=1):
        if "gpuspec:" not in line or (match := _COMMENT.search(line)) is None:
            continue
        at = line.index("#", match.start())
        place = Place(file, number, at + 1, len(line.rstrip()) + 1)
        is_alone = not line[:at].strip()
        said = _read(match[1])
        if isinstance(said, str):
            wrong.append((place, said))
        else:
            found.append(Suppression(*said, place, number + is_alone))
    return Heard(tuple(found), tuple(wrong))


def written_on(document: object) -> Iterator[tuple[Path, Path, str]]:
    """Yield annotations about findings: path, their object's path, and what they say."""
    for one in objects(document):
        text = mapping(mapping(one.value.get("metadata")).get("annotations")).get(IGNORE_ANNOTATION)
        if isinstance(text, str):
            yield (*one.path, "metadata", "annotations", IGNORE_ANNOTATION), one.path, text


def in_annotation(text: str, place: Place, of: tuple[int, Path]) -> Heard:
    """Return what an annotation says: a line each, for all of its object."""
    found: list[Suppression] = []
    wrong: list[tuple[Place, str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        said = _read(line)
        if isinstance(said, str):
            wrong.append((place, said))
        else:
            found.append(Suppression(*said, place, object=of))
    return Heard(tuple(found), tuple(wrong))


def _read(text: str) -> tuple[frozenset[str], str] | str:
    """Return the rules and the reason, or what is wrong."""
    match = _SAID.fullmatch(text.strip())
    if match is None:
        return "it needs a rule and a reason, as in: gpuspec: ignore GS104 -- it comes in March"
    rules = frozenset(_ID.findall(match[1]))
    if unknown := sorted(rules - BY_ID.keys()):
        return f"there is no rule {', '.join(unknown)}; gpuspec validate --explain lists them"
    return rules, match[2].strip()


def suppressed_by(rule: Rule, line: int, of: tuple[int, Path], among: Iterable[Suppression]) -> str:
    """Return why a finding is not to be told, "" if it is; note what was of use."""
    if rule.id in _ABOUT_THESE:
        return ""
    for one in among:
        is_meant = one.line == line if one.line else one.object == of
        if is_meant and rule.id in one.rules:
            one.used.add(rule.id)
            return one.reason
    return ""


def of_no_use(among: Iterable[Suppression]) -> Iterator[tuple[Place, str]]:
    """Yield suppressions of what is not there."""
    for one in among:
        if unused := sorted(one.rules - one.used):
            yield one.place, f"nothing here is {', '.join(unused)}: it suppresses nothing"
