"""From a text to its findings: every document is read, every Pod judged, every rule asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from selection_spec.documents import Document, survey_manifests
from selection_spec.errors import Level, Problem
from selection_spec.table import Table, problems_of
from webhook.advice.findings import admission, rules_of_texts, suppressions
from webhook.advice.findings.admission import Judge
from webhook.advice.findings.by_hand import by_hand
from webhook.advice.findings.finding import Finding, Place
from webhook.advice.findings.fleet import Sizes, beyond
from webhook.advice.findings.helm import rendered_from, rests_on_actions, unrendered
from webhook.advice.findings.located import Text, located
from webhook.advice.findings.placeholders import rests_on_placeholders
from webhook.advice.findings.rule import Rule
from webhook.advice.findings.rules_of_objects import FLEET, TABLE, TABLE_SMELL
from webhook.advice.findings.spot import Spot
from webhook.advice.findings.strays import strays
from webhook.advice.findings.suppressions import Suppression
from webhook.advice.findings.views import objects, views
from webhook.inventory.facts import mapping
from webhook.jsonpatch import Path
from webhook.terms import TABLE_API, TABLE_KIND

# What every manifest has, and few other files: those are nobody's to judge.
_MANIFEST: Final = re.compile(r"""^[ \t{"'\ufeff-]*(?:apiVersion|kind)["']?\s*:""", re.MULTILINE)

_MOST_UNREADABLE: Final = 50

# What cannot be read has no annotations.
_NO_DOCUMENT: Final = -1

# Who it is said of, where one text stands for several containers.
_CONTAINER: Final = re.compile(r'(?:init )?container "[^"]*"')


@dataclass(frozen=True, slots=True)
class Source:
    """A text to be judged.

    Attributes:
        file: What it is called.
        raw: Its bytes, or a part of them with whole documents.
        before: How many lines of the file come before this part.
        characters: How many characters of it do.
        is_named: Whether a person has named it, rather than a folder that it is in: then it is
            taken for manifests whatever it looks like.
    """

    file: str
    raw: bytes
    before: int = 0
    characters: int = 0
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class Validated:
    """What a text came to: findings in its order, and how much was in it."""

    findings: tuple[Finding, ...]
    documents: int
    pods: int


def validate(
    source: Source, judge: Judge, table: Table, sizes: Sizes = MappingProxyType({})
) -> Validated:
    """Judge all that is in a text.

    Args:
        source: The text.
        judge: Judges a Pod as admission would.
        table: By which it does; its domain is ours.
        sizes: How large its rows are, as far as that is known.
    """
    survey = survey_manifests(source.raw)
    is_utf8 = _is_utf8(source.raw)
    text = Text(source.file, survey.text, source.before, source.characters, is_utf8=is_utf8)
    if not source.is_named and _MANIFEST.search(survey.text) is None:
        return Validated((), 0, 0)
    heard = suppressions.in_comments(text)
    run = _Run(text, judge, table, sizes, list(heard.suppressions))
    templates = unrendered(text, survey)
    for finding in templates.findings:
        run.template(finding)
    run.unreadable([one for one in survey.problems if not templates.has(one.line, one.column)])
    for number, document in enumerate(survey.documents):
        if _is_manifest(document) and not templates.has(*document.position(())):
            run.document(number, document, is_template=number in templates.within)
    run.suppressions([(text.moved(place), said) for place, said in heard.wrong])
    found = tuple(sorted(run.findings, key=_order))
    return Validated(found, run.documents, run.pods)


class _Run:
    """Collects what is found in one text."""

    def __init__(
        self, text: Text, judge: Judge, table: Table, sizes: Sizes, among: list[Suppression]
    ) -> None:
        self._text = text
        self._sizes = sizes
        # Without knowing how much there is, nobody can tell who asks for more.
        self._unasked = set() if sizes else {FLEET.id}
        self._judge = judge
        self._table = table
        self._among = among
        self._wrong: list[tuple[Place, str]] = []
        self.findings: list[Finding] = []
        self.documents = 0
        self.pods = 0

    def template(self, finding: Finding) -> None:
        self._add(finding, finding.place.line - self._text.before, (_NO_DOCUMENT, ()))

    def unreadable(self, problems: Sequence[Problem]) -> None:
        # One is enough to look at a line, and a picture has a thousand lines by mistake.
        by_line = {problem.line: problem for problem in reversed(problems)}
        for line in sorted(by_line)[:_MOST_UNREADABLE]:
            self._of_problem(rules_of_texts.UNREADABLE, by_line[line], Level.ERROR)

    def document(self, number: int, document: Document, *, is_template: bool) -> None:
        self.documents += 1
        self._annotations(number, document)
        for surprise in document.findings:
            self._of_problem(rules_of_texts.SURPRISE, surprise, Level.WARNING, number)
        value = mapping(document.value)
        if value.get("kind") == TABLE_KIND and value.get("apiVersion") == TABLE_API:
            for problem in problems_of(document):
                is_bad = problem.level is Level.ERROR
                rule = TABLE if is_bad else TABLE_SMELL
                self._of_problem(rule, problem, problem.level, number)
            return
        template = rendered_from(self._text, document.line)
        told: set[tuple[Path, str, int, int, str]] = set()
        for spot in self._spots(document, is_template=is_template):
            finding = replace(located(spot, document, self._text), template=template)
            # What an anchor shares is found once for each container, and to be mended once; what
            # other objects share with it has suppressions of its own.
            at, said = finding.place, _CONTAINER.sub("", finding.message)
            same = (spot.object, finding.rule.id, at.line, at.column, said)
            if same not in told:
                told.add(same)
                line = finding.place.line - self._text.before
                self._add(finding, line, (number, spot.object))

    def suppressions(self, wrong: list[tuple[Place, str]]) -> None:
        """Add what is wrong with suppressions themselves; all else was found by now."""
        for place, said in [*wrong, *self._wrong]:
            self._about_these(rules_of_texts.UNREASONED, place, said)
        for place, said in suppressions.of_no_use(self._among, self._unasked):
            self._about_these(rules_of_texts.UNUSED, self._text.moved(place), said)

    def _spots(self, document: Document, *, is_template: bool) -> Iterator[Spot]:
        found = list(views(document.value))
        judged = [
            view
            for view in found
            if not rests_on_placeholders(view) and not (is_template and rests_on_actions(view.pod))
        ]
        self.pods += len(judged)
        for view in judged:
            judgement = self._judge(view)
            yield from admission.spots(view, judgement, self._table)
            yield from beyond(view, judgement.outcome, self._sizes)
            yield from by_hand(view, self._table)
        yield from strays(document.value, found, self._table)

    def _annotations(self, number: int, document: Document) -> None:
        for path, at, said in suppressions.written_on(document.value):
            line, column = document.key_position(path)
            place = Place(self._text.file, line, column, self._text.end(line, column))
            heard = suppressions.in_annotation(said, place, (number, at))
            self._among += heard.suppressions
            wrong = dict.fromkeys(heard.wrong)
            self._wrong += [(self._text.moved(where), why) for where, why in wrong]

    def _of_problem(
        self, rule: Rule, problem: Problem, level: Level, number: int = _NO_DOCUMENT
    ) -> None:
        place = self._text.place(problem.line, problem.column, problem.path)
        source = self._text.line(problem.line)
        finding = Finding(rule, place, problem.message, problem.hint, level, problem.rule, source)
        self._add(finding, problem.line, (number, ()))

    def _add(self, finding: Finding, line: int, of: tuple[int, Path]) -> None:
        why = suppressions.suppressed_by(finding.rule, line, of, self._among)
        self.findings.append(replace(finding, suppressed=why) if why else finding)

    def _about_these(self, rule: Rule, place: Place, said: str) -> None:
        source = self._text.line(place.line - self._text.before)
        self.findings.append(Finding(rule, place, said, "", rule.level, source=source))


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_manifest(document: Document) -> bool:
    """Tell whether a document is of Kubernetes: values of a chart and the like are not."""
    return any(isinstance(one.value.get("kind"), str) for one in objects(document.value))


def _order(finding: Finding) -> tuple[int, int, str]:
    return finding.place.line, finding.place.column, finding.rule.id
