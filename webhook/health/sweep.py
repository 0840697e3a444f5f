"""Which quarantines still count against the budget (semantics H4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from webhook.health.cases import Case, Mark
from webhook.health.fences import counted_as, is_tainted
from webhook.health.ledger import Ledger
from webhook.health.marks import is_marked
from webhook.health.moment import Moment
from webhook.health.subjects import Subject

# A mark is seen within seconds of being placed; one that is not there by then never came about.
_SEEN_WITHIN_S = 60.0


def swept(ledger: Ledger, cases: Sequence[Case], moment: Moment) -> Ledger:
    """Return a ledger in which quarantines are those that are there, or are about to be.

    One that this process knows nothing of may be another controller's, whose mark is about to be
    seen, for whatever of the node; one that is known to be over makes room at once.
    """
    # A mark that was just planned is in the ledger; one that is remembered may be anybody's word.
    marked = {
        counted_as(case.subject, case.mark)
        for case in cases
        if case.mark is not Mark.NONE and is_marked(case, moment.observed)
    }
    by_node: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_node[case.subject.node].append(case)

    def counts(subject: Subject, at: float) -> bool:
        if subject in marked or _is_in_place(subject, moment):
            return True
        about = (one for one in by_node[subject.node] if subject.is_node or one.subject == subject)
        is_over = any(one.recovered >= at for one in about)
        return not is_over and moment.now - at < _SEEN_WITHIN_S

    quarantined = {subject: at for subject, at in ledger.quarantined.items() if counts(subject, at)}
    for subject in sorted(marked - quarantined.keys()):
        quarantined[subject] = moment.now
    return replace(ledger, quarantined=quarantined)


def _is_in_place(subject: Subject, moment: Moment) -> bool:
    node = moment.observed.nodes.get(subject.node)
    return node is not None and subject.is_node and is_tainted(node)
