"""Findings that somebody does not want to be told, and why (by a comment, or an annotation)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from selection_spec.documents import Within
from webhook.advice.findings.catalogue import BY_ID
from webhook.advice.findings.finding import Place
from webhook.advice.findings.located import Text
from webhook.advice.findings.rule import Rule
from webhook.advice.findings.rules_of_texts import UNREASONED, UNUSED
from webhook.advice.findings.views import objects
from webhook.inventory.facts import mapping
from webhook.jsonpatch import Path
from webhook.terms import IGNORE_ANNOTATION

# A comment of YAML begins a line or follows a space; a byte order mark may come before a line.
_COMMENT: Final = re.compile(r"(?:(?<=[\s\ufeff])|^)#\s*gpuspec:\s*ignore\b[ \t]*(.*)$")
_IS_COMMENT: Final = re.compile(r"\ufeff?\s*#")
_BEFORE_COMMENT: Final = re.compile(r"\ufeff?\s*")
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
        object: What an annotation is for: the number of a document, and the path of an object in
            it; None for a comment.
        used: The ids that suppressed something.
    """

    rules: frozenset[str]
    reason: str
    place: Place
    line: int = 0
    object: tuple[int, Path] | None = None
    used: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a text says about findings; ``wrong`` are suppressions that are none."""

    suppressions: tuple[Suppression, ...]
    wrong: tuple[tuple[Place, str], ...]


def in_comments(text: Text) -> Heard:
    """Return what comments say: for their own line, or alone on a line for the next one."""
    found: list[Suppression] = []
    wrong: list[tuple[Place, str]] = []
    if "gpuspec:" not in text.text:
        return Heard((), ())
    content = 0
    for number, line in enumerate(text.lines, start=1):
        if "gpuspec:" not in line or (at := _comment(text, number, line)) is None:
            continue
        place = Place(text.file, number, at.start() + 1, len(line.rstrip()) + 1)
        said = _read(at[1])
        if isinstance(said, str):
            wrong.append((place, said))
        elif _BEFORE_COMMENT.fullmatch(line, 0, at.start()):
            # Of comments that stand above each other all are for the same line.
            content = content if content > number else _next_content(text.lines, number)
            found.append(Suppression(*said, place, content))
        else:
            found.append(Suppression(*said, place, number))
    return Heard(tuple(found), tuple(wrong))


def _comment(text: Text, number: int, line: str) -> re.Match[str] | None:
    """Return a line's comment about findings; what stands within a scalar is none."""
    for match in _COMMENT.finditer(line):
        if text.within(number, match.start() + 1) is Within.NO_SCALAR:
            return match
    return None


def _next_content(lines: Sequence[str], number: int) -> int:
    """Return the number of the next line that is more than a comment: several may stand above."""
    behind = number + 1
    while behind <= len(lines) and _IS_COMMENT.match(lines[behind - 1]):
        behind += 1
    return behind


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


def suppressed_by(rule: Rule, line: int, of: tuple[int, Path], among: Sequence[Suppression]) -> str:
    """Return why a finding is not to be told, "" if it is; note what was of use.

    Args:
        rule: The finding's rule.
        line: Its line of the text.
        of: The number of its document, and the path of its object in that.
        among: Everything heard, in the order of the text: first comments, then annotations.
    """
    if rule.id in _ABOUT_THESE:
        return ""
    for meant in (_of_line(line), _of_object(of)):
        begin = bisect_left(among, meant, key=_meant_by)
        for number in range(begin, bisect_right(among, meant, begin, key=_meant_by)):
            if rule.id in among[number].rules:
                among[number].used.add(rule.id)
                return among[number].reason
    return ""


def _meant_by(one: Suppression) -> tuple[int, int, Path]:
    """Return what a suppression is for, in an order that is that of the text."""
    return _of_line(one.line) if one.object is None else _of_object(one.object)


def _of_line(line: int) -> tuple[int, int, Path]:
    return 0, line, ()


def _of_object(of: tuple[int, Path]) -> tuple[int, int, Path]:
    return 1, *of


def of_no_use(
    among: Iterable[Suppression], unasked: AbstractSet[str]
) -> Iterator[tuple[Place, str]]:
    """Yield suppressions of what is not there.

    Args:
        among: All of them.
        unasked: The ids of rules that were not looked at: of these nobody can tell.
    """
    for one in among:
        if unused := sorted(one.rules - one.used - unasked):
            yield one.place, f"nothing here is {', '.join(unused)}: it suppresses nothing"
