"""Which spec says what a Pod says by hand, and what may go once it does.

A spec is tried by admission's own hand (``translate``): the Pod is changed, translated under every
policy that it may have, and the rows that it would get are compared with those that it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from selection_spec.denial import few
from selection_spec.grammar import Spec
from selection_spec.labels import Toleration
from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.admission.translate import Context, Outcome, translate
from webhook.advice.convert import needless
from webhook.advice.convert.by_hand import HandWritten, missing, read_by_hand
from webhook.advice.convert.sight import Json, Sight, Stay, misplaced
from webhook.advice.convert.trial import (
    Trial,
    always_preferred,
    always_tolerated,
    smallest,
    specs_of,
    why_none,
)
from webhook.jsonpatch import Drop, Edit, Extend, Path, Put, write
from webhook.snapshot import Snapshot

_ANY_POD = Context(is_template=True)
_RULE = "convert"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a Pod may say instead.

    Attributes:
        resource: The resource that it asks for by hand.
        key: The spec's key, which comes in its place in every container that asks.
        containers: These containers.
        edits: All that changes, as edits of the Pod.
        gone: What need no longer be said, as paths of the Pod.
        loosened: Those of them that chose among rows, or among the nodes of one; only where its
            author gave leave.
        stays: What stays by hand beside the spec, and why.
        rows: The rows that the Pod means by hand.
        added: Those that the spec means in addition; only where its author gave leave.
        tolerated: Taints, as text, that the Pod comes to tolerate besides; the same.
    """

    resource: str
    key: str
    containers: tuple[str, ...]
    edits: tuple[Edit, ...]
    gone: tuple[Path, ...]
    stays: tuple[Stay, ...]
    rows: tuple[Row, ...]
    loosened: tuple[Path, ...] = ()
    added: tuple[Row, ...] = ()
    tolerated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ByHand:
    """Why a Pod stays as it is."""

    stays: tuple[Stay, ...]


def proposal(view: Sight, table: Table, known: Context = _ANY_POD) -> Proposal | None:
    """Return how a spec says the same as a Pod says by hand; None where none does.

    Args:
        view: The Pod and where it stands.
        table: The table.
        known: What is known of it beside itself, its priority above all.
    """
    found = propose(view, table, known)
    return found if isinstance(found, Proposal) else None


def propose(
    view: Sight, table: Table, known: Context = _ANY_POD, *, widen: bool = False
) -> Proposal | ByHand | None:
    """Return how a spec says what a Pod says by hand, or why none does; None where nothing is said.

    Args:
        view: The Pod and where it stands.
        table: The table.
        known: What is known of it beside itself, its priority above all.
        widen: Whether a spec may mean more than the Pod does.
    """
    hand = read_by_hand(view, table)
    if hand is None:
        return None
    if isinstance(hand, tuple):
        return ByHand(hand)
    if not hand.admitted and not widen:
        hand = _tolerant(hand)
    search = _Search(hand, Snapshot(table), known)
    found = search.widened() if widen else search.exactly()
    besides = misplaced(view, found.edits) if isinstance(found, Proposal) else found.stays
    return ByHand((*hand.stays, *besides)) if hand.stays or besides else found


class _Search:
    """Looks for the spec of one Pod."""

    def __init__(self, hand: HandWritten, snapshot: Snapshot, known: Context) -> None:
        self._pod: Json = hand.pod
        self._hand = hand
        self._snapshot = snapshot
        self._table = snapshot.table
        self._known = replace(known, daemon_set=None)

    def exactly(self) -> Proposal | ByHand:
        """Return the spec whose rows are those that the Pod means, no more and no less."""
        rows = self._hand.admitted
        wanted = frozenset(row.id for row in rows)
        trials = []
        for spec in specs_of(rows):
            trials.append(one := self._trial(spec, rows, widen=False))
            if one.narrowest == one.widest == wanted:
                return self._proposal(one, rows)
        return ByHand(self._stays(trials, wanted))

    def widened(self) -> Proposal | ByHand:
        """Return the smallest spec whose rows include those that the Pod means."""
        rows = self._hand.admitted or self._hand.chosen
        wanted = frozenset(row.id for row in rows)
        trials: list[Trial] = []
        found = None
        # What chooses among rows may be what makes a spec fit, and then it stays.
        for loosely in (True, False):
            if found is None:
                trials = [self._trial(spec, rows, widen=loosely) for spec in specs_of(rows)]
                found = smallest(trials, wanted)
        if found is None:
            return ByHand(self._stays(trials, wanted))
        return self._proposal(found, rows)

    def _stays(self, trials: Sequence[Trial], wanted: frozenset[str]) -> tuple[Stay, ...]:
        first = self._hand.places[0][1]
        return tuple(Stay(first, why) for why in why_none(trials, wanted, self._table))

    def _trial(self, tried: Spec, rows: Sequence[Row], *, widen: bool) -> Trial:
        """Put a spec into the Pod, take out what is needless then, and translate that."""
        spec = self._pod["spec"]
        renamed = [*_renamed(self._pod, self._hand, f"{self._table.domain}/{tried}")]
        said = needless.selectors(spec, rows, self._table, widen=widen)
        first = self._with(renamed, said.gone)
        ours = self._outcomes(write(self._pod, first).after)
        tolerated = needless.tolerations(spec, always_tolerated(ours), rows, self._table)
        preferred = needless.preferences(spec, always_preferred(ours), self._table)
        gone = [*said.gone, *tolerated.gone, *preferred.gone]
        edits = tuple(self._with(renamed, gone))
        strictly = (
            needless.selectors(spec, rows, self._table, widen=False).gone if widen else said.gone
        )
        return Trial(
            spec=tried,
            edits=edits,
            gone=tuple(gone),
            loosened=tuple(path for path in said.gone if path not in strictly),
            stays=(*said.stays, *tolerated.stays, *preferred.stays),
            outcomes=self._outcomes(write(self._pod, edits).after),
        )

    def _with(self, renamed: Sequence[Edit], gone: Sequence[Path]) -> list[Edit]:
        drops = [one.path for one in renamed if isinstance(one, Drop)]
        puts = [one for one in renamed if isinstance(one, Put)]
        named = write(self._pod, puts).after
        return [*puts, *(Drop(path, _RULE) for path in needless.pruned(named, [*drops, *gone]))]

    def _outcomes(self, pod: Json) -> tuple[Outcome, ...]:
        """Translate a Pod under the policy that it has, under both where that is not known."""
        outcome = translate(pod, self._known, self._snapshot)
        if outcome.choice is None or outcome.choice.certain:
            return (outcome,)
        other = replace(self._known, policy=outcome.choice.policy.other)
        return outcome, translate(pod, other, self._snapshot)

    def _proposal(self, one: Trial, rows: Sequence[Row]) -> Proposal:
        wanted = {row.id for row in rows}
        return Proposal(
            resource=self._hand.resource,
            key=f"{self._table.domain}/{one.spec}",
            containers=tuple(name for name, _ in self._hand.places),
            edits=one.edits,
            gone=one.gone,
            stays=one.stays,
            rows=tuple(rows),
            loosened=one.loosened,
            added=tuple(
                row for row in self._table.rows if row.id in one.widest and row.id not in wanted
            ),
            tolerated=tuple(_taints(_missing(self._pod, rows))),
        )


def _tolerant(hand: HandWritten) -> HandWritten:
    """Return a Pod that tolerates none of its rows as if it did, and that this is to be mended."""
    wanted = tuple(_missing(hand.pod, hand.chosen))
    why = (
        f"its selectors choose {_ids(hand.chosen)}, but it does not tolerate their "
        f"{few(_taints(wanted))}, and a spec would (--widen)"
    )
    tolerating = Extend(("spec", "tolerations"), tuple(one.to_json() for one in wanted), _RULE)
    return replace(
        hand,
        pod=write(hand.pod, [tolerating]).after,
        stays=(*hand.stays, Stay(tolerating.path, why)),
        admitted=hand.chosen,
    )


def _missing(pod: Json, rows: Sequence[Row]) -> Iterator[Toleration]:
    """Yield what a Pod would have to tolerate besides by hand, each once."""
    own = list(pod["spec"].get("tolerations") or ())
    yield from dict.fromkeys(one for row in rows for one in missing(row, own))


def _taints(tolerations: Iterable[Toleration]) -> Iterator[str]:
    for one in tolerations:
        yield f"{one.key}{f'={one.value}' if one.value else ''}:{one.effect or 'any effect'}"


def _renamed(pod: Json, hand: HandWritten, key: str) -> Iterator[Edit]:
    """Yield the edits by which the key stands under limits, and the resource nowhere."""
    for _, path in hand.places:
        resources = pod["spec"][path[1]][path[2]]["resources"]
        yield Put((*path, "limits", key), resources["limits"][hand.resource], _RULE)
        for side in ("limits", "requests"):
            if hand.resource in (resources.get(side) or {}):
                yield Drop((*path, side, hand.resource), _RULE)


def _ids(rows: Sequence[Row]) -> str:
    return few(row.id for row in rows)
