"""What admission will say of the Pods of a document: its own words, at the line that is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from selection_spec.documents import field_path
from selection_spec.errors import Level, Problem, SpecError
from selection_spec.grammar import correct, is_ours, parse_spec
from selection_spec.table import Table
from webhook.admission.reasons import Reason
from webhook.admission.translate import Outcome, Verdict
from webhook.advice.findings import catalogue
from webhook.advice.findings.rule import Rule
from webhook.advice.findings.spot import Spot, spot_of
from webhook.advice.findings.views import View
from webhook.jsonpatch import Path


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
        yield _spot(view, problem, catalogue.of_denial(problem.rule), outcome, table)
    is_left = outcome.reason is Reason.LEFT_AS_IS
    rule = catalogue.LEFT_AS_IS if is_left else catalogue.ADMISSION_WARNS
    for warning in outcome.warnings:
        yield _spot(view, warning, rule, outcome, table)
    if judgement.difference and outcome.verdict is not Verdict.DENIED:
        problem = Problem(judgement.difference, rule="D3", level=Level.NOTE)
        yield _spot(view, problem, catalogue.PRIORITY_MATTERS, outcome, table)


def _spot(view: View, problem: Problem, rule: Rule, outcome: Outcome, table: Table) -> Spot:
    path = _meant(view, problem.path, outcome)
    found = spot_of(problem, rule, view.place(path), view.owner, view.object)
    key = str(path[-1]) if path else ""
    return found if rule is not catalogue.MISSPELT else _corrected(found, key, table)


def _meant(view: View, text: str, outcome: Outcome) -> Path:
    """Return the path in the Pod that a problem is about: a key of ours where it names none."""
    path = path_of(view.pod, text)
    asks = outcome.request.asks if outcome.request is not None else ()
    for ask in asks:
        here = ("spec", *ask.path)
        is_within = path[: len(here)] == here or here[: len(path)] == path
        if is_within and len(path) <= len(here) + len(("resources", "limits")):
            return (*here, "resources", ask.sides[0], ask.key)
    return path


def path_of(value: object, text: str) -> Path:
    """Return the path that a text names, as far as a value has it."""
    path: Path = ()
    while True:
        children: list[str | int] = []
        if isinstance(value, dict):
            children = [key for key in value if isinstance(key, str)]
        elif isinstance(value, list):
            children = list(range(len(value)))
        for step in children:
            longer = (*path, step)
            named = field_path(longer)
            if text == named or (text.startswith(named) and text[len(named)] in ".["):
                value = value[step]  # type: ignore[index]
                path = longer
                break
        else:
            return path


def _corrected(found: Spot, key: str, table: Table) -> Spot:
    """Add the right spelling, where there is one that the table knows."""
    prefix = f"{table.domain}/"
    text = key.removeprefix(prefix)
    if text == key or not is_ours(text):
        return found
    meant = correct(text, table.names.__contains__)
    if meant is None or not _is_same_but_spelling(text, meant):
        return found
    return Spot(
        found.rule,
        found.path,
        found.message,
        found.hint,
        found.owner,
        found.object,
        found.semantics,
        found.level,
        rename=prefix + meant,
    )


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
