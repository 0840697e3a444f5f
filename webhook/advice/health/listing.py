"""All that is not healthy in a cluster, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from selection_spec.health import Mode
from webhook.advice.health.folds import Fold, folds, names
from webhook.advice.health.judged import NO_ROW, Judged
from webhook.advice.health.phrases import ACT_AT_ONCE, untaint
from webhook.advice.health.spending import budget, evicted
from webhook.advice.health.stopped import stopped
from webhook.advice.health.subject_text import evidence, headline, measures
from webhook.advice.words import NOTHING, counted, some, wrapped
from webhook.health.cases import Verdict
from webhook.health.decisions import Decision, HeldBack
from webhook.health.fences import UNHEALTHY, Fence

Mark = Callable[[Verdict, str], str]
"""Colours what is said of a subject."""

_HEAD = 10
_INDENT = " " * _HEAD
_NODES = 6


def listing(judged: Judged, mark: Mark, *, show_all: bool = False) -> str:
    """Return the whole report, in lines of 80 columns.

    Args:
        judged: What is told of.
        mark: Colours verdicts.
        show_all: Whether each subject stands by itself, and no list is cut.
    """
    report = _Report(judged, mark, show_all=show_all)
    parts = [_paragraphs(stopped(judged)), _head(judged), *report.rows()]
    parts += [_paragraphs(evicted(judged)), _paragraphs(budget(judged))]
    parts += ["\n".join(_notes(judged)), report.hint]
    return "\n\n".join(part for part in parts if part)


def summary(judged: Judged) -> str:
    """Return how many subjects there are of each verdict."""
    verdicts = Counter(one.case.verdict for one in judged.reported)
    said = ", ".join(
        f"{verdicts[one]} {one}" for one in (Verdict.FAILED, Verdict.SUSPECT, Verdict.UNKNOWN)
    )
    rows = ", ".join(sorted(judged.step.breakers.rows))
    return f"{said}; stopped: {rows or NOTHING}"


def _paragraphs(lines: Iterator[str]) -> str:
    """Break lines, what follows of each a little further in than it begins."""
    return "\n".join(map(_paragraph, lines))


def _paragraph(line: str) -> str:
    text = line.lstrip()
    lead = " " * (len(line) - len(text))
    return wrapped(text, lead, f"{lead}  ")


def _head(judged: Judged) -> str:
    about, policy, moment = judged.about, judged.moment.policy, judged.moment
    own = [f"{row} {mode}" for row, mode in sorted(policy.row_modes.items())]
    rows = f" ({', '.join(own)})" if own else ""
    nodes = counted(len(moment.observed.rows), "node")
    where = f"{about.server}, {about.kubernetes}: {nodes} of table {judged.table.name}"
    return "\n".join((wrapped(where), wrapped(f"mode {policy.mode}{rows}")))


class _Report:
    """Writes what is said of each row; knows how much of long lists to show."""

    def __init__(self, judged: Judged, mark: Mark, *, show_all: bool) -> None:
        self._judged = judged
        self._mark = mark
        self._show_all = show_all
        self._is_folded = False

    @property
    def hint(self) -> str:
        """How to see each subject by itself; "" where each stands by itself."""
        return "(--all tells of each by itself)" if self._is_folded else ""

    def rows(self) -> Iterator[str]:
        """Yield a paragraph a row."""
        by_row = self._judged.by_row
        if not by_row:
            yield "Nothing is wrong with any node or device, as far as it is told."
        for row, decisions in by_row.items():
            of_row = decisions[0].mode
            mode = f", mode {of_row}" if of_row is not self._judged.moment.policy.mode else ""
            title = "nodes of no row" if row == NO_ROW else row
            yield "\n".join([f"{title}{mode}", *self._subjects(decisions)])

    def _subjects(self, decisions: Sequence[Decision]) -> Iterator[str]:
        for fold in folds(decisions, self._judged, show_all=self._show_all):
            self._is_folded = self._is_folded or len(fold) > 1
            verdict = fold[0].case.verdict
            head = f"  {verdict:<{_HEAD - 2}}"
            line = wrapped(headline(fold, self._judged), head, _INDENT)
            yield self._mark(verdict, head) + line.removeprefix(head)
            yield from self._said(fold)

    def _said(self, fold: Fold) -> Iterator[str]:
        judged = self._judged
        each = {"at_most": None} if self._show_all else {}
        if named := names(fold):
            yield wrapped(named, _INDENT, f"{_INDENT}  ")
        for said in evidence(fold, judged, **each):
            yield wrapped(said, f"{_INDENT}- ", f"{_INDENT}  ")
        for said in measures(fold, judged, **each):
            yield wrapped(said, _INDENT, f"{_INDENT}  ")


def _notes(judged: Judged) -> Iterator[str]:
    found = (
        *judged.step.notes,
        *missing_signals(judged),
        *_left_behind(judged),
        *by_hand(judged, judged.out_for_nothing),
        *at_once(judged.reported),
    )
    for note in found:
        yield wrapped(f"note: {note}")


def by_hand(judged: Judged, nodes: Sequence[str]) -> Iterator[str]:
    """Yield which healthy nodes a person's taint keeps out of service, and how to end that."""
    if not judged.tainted_by_hand.isdisjoint(nodes):
        yield (
            f"{some(nodes, _NODES)}: nothing there has failed, but our taint {UNHEALTHY} keeps "
            "new Pods away, and nothing tells that gpuspec has placed it: a person did, and has to "
            f"take it off: {untaint(nodes)}"
        )


def at_once(decisions: Iterable[Decision]) -> Iterator[str]:
    """Yield, once for all, how a person's removal of our taint is taken back (H10)."""
    waived = (
        one
        for one in decisions
        if one.held_back is HeldBack.WAIVED and one.mode is not Mode.OBSERVE
        if one.fence is not None and one.fence.by is Fence.TAINT
    )
    if any(waived):
        yield ACT_AT_ONCE


def missing_signals(judged: Judged) -> Iterator[str]:
    """Yield which signals this Kubernetes does not pass on (H2)."""
    about = judged.about
    if about.missing:
        yield f"Kubernetes {about.kubernetes} drops by default: {', '.join(about.missing)}"


def _left_behind(judged: Judged) -> Iterator[str]:
    left = judged.left_behind
    if left:
        nodes = some([one.node for one in left], _NODES)
        yield (
            f"marks of ours are left on {nodes}, which mode {Mode.OBSERVE} neither keeps up nor "
            f"removes; gpuspec health clear {left[0].node if len(left) == 1 else 'NODE…'} removes "
            "them"
        )
