"""What admission will say of the Pods of a document: its own words, at the line that is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from selection_spec.documents import field_path
from selection_spec.errors import Level, Problem, SpecError
from selection_spec.grammar import correct, is_ours, parse_spec
from selection_spec.table import Table
from webhook.admission.reasons import Reason
from webhook.admission.translate import Outcome
from webhook.advice.findings import rules_of_admission as rules
from webhook.advice.findings.catalogue import of_denial
from webhook.advice.findings.rule import Rule
from webhook.advice.findings.spot import Spot, spot_of
from webhook.advice.findings.views import View
from webhook.inventory.facts import mapping
from webhook.jsonpatch import Path
from webhook.shapes import SIDES

_LIMITS: Final = '.resources.limits["'
# More than any container has; of more nobody says which of them are meant alike.
_MOST_KEYS: Final = 64
_NUMBER: Final = re.compile(r"\[(\d{1,9})\]")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of a Pod; ``difference`` says what its unknown priority would change, or ""."""

    outcome: Outcome
    difference: str = ""


Judge = Callable[[View], Judgement]
"""Judges a Pod as admission would."""


def spots(view: View, judgement: Judgement, table: Table) -> Iterator[Spot]:
    """Yield denials, warnings, and what the Pod's priority would change."""
    outcome = judgement.outcome
    for problem in outcome.problems:
        rule = of_denial(problem.rule)
        if rule is rules.MISSPELT:
            yield from _misspelt(view, problem, table)
        else:
            yield _spot(view, problem, rule, outcome)
    for warning in outcome.warnings:
        if outcome.reason is Reason.LEFT_AS_IS:
            # Its last word is the field, which stands in no path of its own.
            field = warning.message.rpartition(" ")[2]
            yield _spot(view, replace(warning, path=field), rules.LEFT_AS_IS, outcome)
        else:
            yield _spot(view, warning, rules.ADMISSION_WARNS, outcome)
    if judgement.difference:
        problem = Problem(judgement.difference, rule="D3", level=Level.NOTE)
        yield _spot(view, problem, rules.PRIORITY_MATTERS, outcome)


def _spot(view: View, problem: Problem, rule: Rule, outcome: Outcome) -> Spot:
    path = _meant(view.pod, problem.path, outcome)
    found = spot_of(problem, rule, view.place(path), view.owner, view.object)
    if problem.rule == "A4" and _is_all_that_is_asked(view.pod, path):
        return replace(found, rename="limits", renamed=view.place(path[:-1]))
    return found


def _misspelt(view: View, problem: Problem, table: Table) -> Iterator[Spot]:
    """Yield each place at which a key is misspelt: it may stand in limits and in requests."""
    for path in _written(view.pod, problem.path):
        place = view.place(path)
        found = spot_of(problem, rules.MISSPELT, place, view.owner, view.object)
        beside = mapping(value_at(view.pod, path[:-1]))
        yield replace(found, rename=_certain(str(path[-1]), beside, table))


def _certain(key: str, beside: Collection[str], table: Table) -> str:
    """Return what a key is to be called; "" where a person has to choose, as of two alike."""
    right = _corrected(key, table)
    if not right or len(beside) > _MOST_KEYS:
        return ""
    others = (one for one in beside if one != key)
    return "" if any(right in (one, _corrected(one, table)) for one in others) else right


def _is_all_that_is_asked(pod: object, path: Path) -> bool:
    """Tell whether a key stands alone in requests, without any limits: it was meant as a limit."""
    resources = mapping(value_at(pod, path[:-2]))
    return (
        path[-2:-1] == ("requests",)
        and "limits" not in resources
        and len(mapping(resources.get("requests"))) == 1
    )


def _meant(pod: object, text: str, outcome: Outcome) -> Path:
    """Return the path in the Pod that a problem is about: a key of ours where it names none."""
    path = _written(pod, text)[0]
    if len(path) > len(("spec", "containers", 0, "resources", "limits")):
        return path
    if path[:1] == ("metadata",):
        # Whose Pod it is stands nowhere in a template; its key is what can be changed.
        path = ()
    asks = outcome.request.asks if outcome.request is not None else ()
    for ask in asks:
        here = ("spec", *ask.path)
        is_within = path[: len(here)] == here or here[: len(path)] == path
        if is_within and len(path) <= len(here) + len(("resources", "limits")):
            return (*here, "resources", ask.sides[0], ask.key)
    return path


def _written(pod: object, text: str) -> list[Path]:
    """Return the paths that a text names; admission names limits for keys of requests as well."""
    before, found, behind = text.partition(_LIMITS)
    if not found:
        return [path_of(pod, text)]
    here, key = path_of(pod, before), behind.removesuffix('"]')
    resources = mapping(mapping(value_at(pod, here)).get("resources"))
    sides = [side for side in SIDES if key in mapping(resources.get(side))]
    return [(*here, "resources", side, key) for side in sides] or [path_of(pod, text)]


def path_of(value: object, text: str) -> Path:
    """Return the path that a text names, as far as a value has it."""
    path: Path = ()
    while (step := _step(value, path, text)) is not None:
        value = value[step]  # type: ignore[index]
        path = (*path, step)
    return path


def _step(value: object, path: Path, text: str) -> str | int | None:
    """Return the next step of the path that a text names; None where a value has none such."""
    if isinstance(value, list):
        match = _NUMBER.match(text, len(field_path(path)))
        number = int(match[1]) if match is not None else len(value)
        return number if number < len(value) else None
    for key in value if isinstance(value, dict) else ():
        named = field_path((*path, key))
        if text == named or (text.startswith(named) and text[len(named)] in ".["):
            return str(key)
    return None


def value_at(value: object, path: Path) -> object:
    """Return what stands at a path that a value has."""
    for step in path:
        value = value[step]  # type: ignore[index]
    return value


def _corrected(key: str, table: Table) -> str:
    """Return the right spelling where there is one that the table knows, else ""."""
    prefix = f"{table.domain}/"
    text = key.removeprefix(prefix)
    if text == key or not is_ours(text):
        return ""
    meant = correct(text, table.names.__contains__)
    return prefix + meant if meant is not None and _is_same_but_spelling(text, meant) else ""


def _is_same_but_spelling(text: str, meant: str) -> bool:
    """Tell whether two keys differ only in case and in how their parts are joined.

    Then nothing else can have been meant; a unit that is left out, or an amount that is rounded,
    is for a person to look at.
    """
    try:
        parse_spec(meant)
    except SpecError:
        return False
    return _bare(text) == _bare(meant)


def _bare(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())
