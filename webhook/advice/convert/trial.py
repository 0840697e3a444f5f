"""A spec that was tried for a Pod, and why none of those tried is the right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selection_spec.denial import few
from selection_spec.grammar import ANY, Spec
from selection_spec.labels import Toleration
from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.admission.translate import Outcome, Verdict
from webhook.advice.convert.sight import Json, Stay
from webhook.jsonpatch import Edit, Path


@dataclass(frozen=True, slots=True)
class Trial:
    """A spec, the Pod with it, and what admission makes of that.

    Attributes:
        spec: The spec.
        edits: What makes the Pod of the one by hand.
        gone: What need no longer be said then, as paths of the Pod.
        loosened: Those of it that chose among the rows or the nodes of one.
        stays: What stays by hand.
        outcomes: What becomes of the Pod, under each policy that it may have.
    """

    spec: Spec
    edits: tuple[Edit, ...]
    gone: tuple[Path, ...]
    loosened: tuple[Path, ...]
    stays: tuple[Stay, ...]
    outcomes: tuple[Outcome, ...]

    @staticmethod
    def rows(outcome: Outcome) -> frozenset[str]:
        """Return the ids of the rows that the Pod gets, none where it is denied."""
        if outcome.verdict is Verdict.DENIED or outcome.resolution is None:
            return frozenset()
        return frozenset(row.id for row in outcome.resolution.candidates)

    @property
    def narrowest(self) -> frozenset[str]:
        """The rows that it gets under every policy."""
        return frozenset.intersection(*map(self.rows, self.outcomes))

    @property
    def widest(self) -> frozenset[str]:
        """The rows that it gets under any policy."""
        return frozenset.union(*map(self.rows, self.outcomes))


def smallest(trials: Sequence[Trial], wanted: frozenset[str]) -> Trial | None:
    """Return the one with the fewest rows of those that include some; None where none does."""
    wider = [one for one in trials if wanted <= one.narrowest]
    return min(wider, key=lambda one: len(one.widest)) if wider else None


def specs_of(rows: Sequence[Row]) -> Iterator[Spec]:
    """Yield the specs that can mean all of some rows, the plainest first.

    One row is best named with its memory, so that it still means no less once there is a smaller
    one of that name; several by what they have in common.
    """
    least = min(row.vram_gb for row in rows)
    common = [
        name
        for name in dict.fromkeys((*(row.name for row in rows), *rows[0].aliases))
        if all(name in (row.name, *row.aliases) for row in rows)
    ]
    for name in (*common, ANY):
        exact, open_ended = Spec(name, least), Spec(name)
        is_one_row = len(rows) == 1 and name != ANY
        yield from (exact, open_ended) if is_one_row else (open_ended, exact)


def always_tolerated(outcomes: Sequence[Outcome]) -> list[Toleration]:
    """Return what a Pod comes to tolerate whichever policy it has."""
    placements = [one.placement.tolerations if one.placement else () for one in outcomes]
    return [one for one in placements[0] if all(one in other for other in placements)]


def always_preferred(outcomes: Sequence[Outcome]) -> list[Json]:
    """Return what a Pod comes to prefer whichever policy it has."""
    placements = [one.placement.preferred if one.placement else () for one in outcomes]
    return [one for one in placements[0] if all(one in other for other in placements)]


def why_none(trials: Sequence[Trial], wanted: frozenset[str], table: Table) -> tuple[str, ...]:
    """Say which spec comes nearest to what a Pod means, and how it differs.

    Args:
        trials: Of all specs that can mean its rows.
        wanted: The ids of its rows.
        table: Whose they are.

    Returns:
        One text, or one a problem where that spec would be denied.
    """
    reasons = (_means_more, _under_one_policy, _means_less)
    found = (reason(one, wanted, table) for reason in reasons for one in _nearest(trials, wanted))
    if text := next(filter(None, found), ""):
        return (text,)
    denials = (_denials(one, table) for one in trials)
    return next(filter(None, denials), (f"no spec means {_ids(wanted, table)}",))


def _nearest(trials: Sequence[Trial], wanted: frozenset[str]) -> Sequence[Trial]:
    """Return trials with the smallest that includes the rows first."""
    first = smallest(trials, wanted)
    return trials if first is None else [first, *trials]


def _means_more(one: Trial, wanted: frozenset[str], table: Table) -> str:
    if not wanted <= one.narrowest:
        return ""
    more = _ids(one.widest - wanted, table)
    return f"it means {_ids(wanted, table)} alone; {_key(one, table)} means {more}, too (--widen)"


def _under_one_policy(one: Trial, wanted: frozenset[str], table: Table) -> str:
    for outcome in one.outcomes:
        if one.rows(outcome) == wanted and outcome.choice is not None:
            return (
                f"{_key(one, table)} means the same under {outcome.choice.policy} only, and its "
                "priority is not known (say --priority-class or --priority)"
            )
    return ""


def _means_less(one: Trial, wanted: frozenset[str], table: Table) -> str:
    choice = one.outcomes[0].choice
    if choice is None or not one.widest or not one.widest < wanted:
        return ""
    return (
        f"it means {_ids(wanted, table)}, and {_key(one, table)} would, under {choice.policy}, "
        f"mean {_ids(one.widest, table)} alone"
    )


def _denials(one: Trial, table: Table) -> tuple[str, ...]:
    problems = (problem.message for outcome in one.outcomes for problem in outcome.problems)
    return tuple(f"{_key(one, table)} would be denied: {text}" for text in dict.fromkeys(problems))


def _key(one: Trial, table: Table) -> str:
    return f"{table.domain}/{one.spec}"


def _ids(rows: frozenset[str], table: Table) -> str:
    return few(row.id for row in table.rows if row.id in rows)
