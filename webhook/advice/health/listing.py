"""All that is not healthy in a cluster, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from selection_spec.health import Mode
from webhook.advice.health.judged import NO_ROW, Judged
from webhook.advice.health.phrases import lasting
from webhook.advice.health.subject_text import evidence, headline, measures
from webhook.advice.words import NOTHING, counted, some, wrapped
from webhook.health.cases import Verdict
from webhook.health.ledger import Ledger
from webhook.health.plan import Decision
from webhook.health.subjects import Kind

Mark = Callable[[Verdict, str], str]
"""Colours what is said of a subject."""

_HEAD = 10
_INDENT = " " * _HEAD
_NODES = 6


def listing(judged: Judged, mark: Mark) -> str:
    """Return the whole report, in lines of 80 columns."""
    parts = [_head(judged), *_rows(judged, mark), _budget(judged)]
    parts += [part for part in map("\n".join, (_breakers(judged), _notes(judged))) if part]
    return "\n\n".join(parts)


def summary(judged: Judged) -> str:
    """Return how many subjects there are of each verdict."""
    verdicts = Counter(one.case.verdict for one in judged.reported)
    said = ", ".join(
        f"{verdicts[one]} {one}" for one in (Verdict.FAILED, Verdict.SUSPECT, Verdict.UNKNOWN)
    )
    stopped = ", ".join(sorted(judged.step.breakers.rows))
    return f"{said}; stopped: {stopped or NOTHING}"


def _head(judged: Judged) -> str:
    about, policy, moment = judged.about, judged.moment.policy, judged.moment
    own = [f"{row} {mode}" for row, mode in sorted(policy.row_modes.items())]
    rows = f" ({', '.join(own)})" if own else ""
    nodes = counted(len(moment.observed.rows), "node")
    where = f"{about.server}, {about.kubernetes}: {nodes} of table {judged.table.name}"
    return "\n".join((wrapped(where), wrapped(f"mode {policy.mode}{rows}")))


def _rows(judged: Judged, mark: Mark) -> Iterator[str]:
    by_row = judged.by_row
    if not by_row:
        yield "Nothing is wrong with any node or device, as far as it is told."
    for row, decisions in by_row.items():
        of_row = decisions[0].mode
        mode = f", mode {of_row}" if of_row is not judged.moment.policy.mode else ""
        title = "nodes of no row" if row == NO_ROW else row
        yield "\n".join([f"{title}{mode}", *_subjects(judged, decisions, mark)])


def _subjects(judged: Judged, decisions: Sequence[Decision], mark: Mark) -> Iterator[str]:
    for one in decisions:
        verdict = one.case.verdict
        head = f"  {verdict:<{_HEAD - 2}}"
        line = wrapped(headline(one, judged), head, _INDENT)
        yield mark(verdict, head) + line.removeprefix(head)
        for said in evidence(one, judged):
            yield wrapped(said, f"{_INDENT}- ", f"{_INDENT}  ")
        for said in measures(one, judged):
            yield wrapped(said, _INDENT, f"{_INDENT}  ")


def _budget(judged: Judged) -> str:
    policy, budget = judged.moment.policy, judged.step.budget
    window = lasting(policy.eviction_window_s)
    left = max(budget.evictions_left, 0)
    spent = _by_namespace(budget.ledger)
    lines = [f"evictions: {left} of {policy.evictions} in {window} are left{spent}"]
    lines += [_quarantine(judged, row) for row in _touched(judged)]
    return "\n".join(["Budget, once what is next is done", *(wrapped(f"  {one}") for one in lines)])


def _by_namespace(ledger: Ledger) -> str:
    spent = Counter(one.namespace for one in ledger.evictions)
    return f" ({', '.join(f'{name} {spent[name]}' for name in sorted(spent))})" if spent else ""


def _touched(judged: Judged) -> list[str]:
    """Return the rows of which something is reported, or quarantined."""
    nodes = {one.case.subject.node for one in judged.reported}
    nodes |= {subject.node for subject in judged.step.budget.ledger.quarantined}
    return sorted({row for node in nodes for row in judged.moment.rows(node)})


def _quarantine(judged: Judged, row: str) -> str:
    observed, budget = judged.moment.observed, judged.step.budget
    left = [
        f"{max(budget.left(row, kind), 0)} more of {counted(observed.size(row, kind), name)}"
        for kind, name in ((Kind.NODE, "node"), (Kind.DRA, "device"))
        if observed.size(row, kind)
    ]
    return f"{row}: {' and '.join(left)} may be quarantined"


def _breakers(judged: Judged) -> Iterator[str]:
    breakers = judged.step.breakers
    for row, at in sorted(breakers.rows.items()):
        yield wrapped(
            f"STOPPED: {row}, for {lasting(judged.now - at)}: too much of it failed within 5 "
            f"minutes, so the sensor is suspected; look at it, then: gpuspec health resume {row}"
        )
    if breakers.stops_all:
        yield wrapped("Several rows have stopped, so nothing is done about any row.")


def _notes(judged: Judged) -> Iterator[str]:
    for note in (*judged.step.notes, *missing_signals(judged), *_left_behind(judged)):
        yield wrapped(f"note: {note}")


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
