"""What becomes of a Pod under two tables: whether it is admitted otherwise, and in which way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from selection_spec.errors import Level
from selection_spec.labels import Toleration
from selection_spec.rows import CLAIMS, Row
from webhook.admission.translate import Context, Outcome, Verdict, translate
from webhook.advice.spec_changes import shift
from webhook.advice.words import held_as
from webhook.inventory.facts import mapping, mappings
from webhook.inventory.pod_facts import tolerations_of
from webhook.jsonpatch import write
from webhook.placement.templates import asked_of, canonical
from webhook.selectors import PREFERRED, required_terms, requirements
from webhook.snapshot import Snapshot
from webhook.terms import HEALTH_LABEL

Json = dict[str, Any]


class Fate(StrEnum):
    """What a change of the table means for a Pod."""

    DENIED = "denied"
    STRANDED = "stranded"
    MOVED = "moved"
    OTHERWISE = "otherwise"
    ALLOWED = "allowed"
    UNKNOWN = "cannot tell"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class PodVerdict:
    """What becomes of a Pod, how bad that is, and why, in words."""

    fate: Fate
    reason: str = ""
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """What a table makes of a Pod, and the Pod as it would be stored."""

    outcome: Outcome
    pod: Json

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that it may use, in D8 order."""
        resolution = self.outcome.resolution
        return resolution.candidates if resolution is not None else ()

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Everything that it tolerates, its own and ours."""
        return tolerations_of(self.pod["spec"])


def admit(pod: Json, context: Context, snapshot: Snapshot) -> Admission:
    """Translate a Pod and apply what comes of it; it itself is not changed."""
    outcome = translate(pod, context, snapshot)
    return Admission(outcome, write(pod, outcome.edits).after)


def verdict_on(before: Admission, after: Admission, successors: Mapping[str, str]) -> PodVerdict:
    """Compare what two tables make of one Pod.

    Args:
        before: By the old table.
        after: By the new table.
        successors: For each old row id the new one (``row_changes``).
    """
    was, will = before.outcome, after.outcome
    if was.verdict is Verdict.DENIED:
        if will.verdict is Verdict.DENIED:
            return PodVerdict(Fate.SAME)
        return PodVerdict(Fate.ALLOWED, f"was denied: {_problems(was)}")
    if will.verdict is Verdict.DENIED:
        return PodVerdict(Fate.DENIED, _problems(will), Level.ERROR)
    if was.resolution is not None and will.resolution is None:
        reason = "its key is none of the new table, so that it would pend for ever"
        return PodVerdict(Fate.DENIED, reason, Level.ERROR)
    moved = shift(before.rows, after.rows, successors)
    parts = [*_policies(was, will), *([str(moved)] if moved else ()), *_resources(before, after)]
    reason = "; ".join(parts or _other_words(before, after))
    if not reason:
        return PodVerdict(Fate.SAME)
    return PodVerdict(Fate.OTHERWISE, reason, Level.WARNING if moved.lost else None)


def _problems(outcome: Outcome) -> str:
    more = len(outcome.problems) - 1
    return outcome.problems[0].text() + (f" (and {more} more)" if more else "")


def _policies(was: Outcome, will: Outcome) -> Iterator[str]:
    if was.choice is not None and will.choice is not None:
        old, new = was.choice.policy, will.choice.policy
        if old is not new:
            yield f"{old} becomes {new}"


def _resources(before: Admission, after: Admission) -> Iterator[str]:
    """Compare the resource that the rows share (D9); claims are no resource."""
    if before.rows and after.rows and before.rows[0].pool != after.rows[0].pool:
        verb = "become" if before.rows[0].pool == CLAIMS else "becomes"
        yield f"{held_as(before.rows[0])} {verb} {held_as(after.rows[0])}"


def _other_words(before: Admission, after: Admission) -> Iterator[str]:
    """Name what differs in a Pod that gets the same devices."""
    was, will = before.pod["spec"], after.pod["spec"]
    claimed, claims = _claims(before.outcome), _claims(after.outcome)
    if _required(was) != _required(will):
        yield "the same devices by other node labels"
    elif list(map(frozenset, claimed)) != list(map(frozenset, claims)):
        yield "the same rows, and claims that mean other devices of them"
    elif claimed != claims or _order(was) != _order(will):
        yield "the same devices preferred in another order"
    if (avoids := _avoids_suspects(will)) != _avoids_suspects(was):
        yield (
            "nodes that health calls suspect are avoided where there are others"
            if avoids
            else "nodes that health calls suspect are no longer avoided"
        )
    if set(before.tolerations) != set(after.tolerations):
        yield "other tolerations"


def _claims(outcome: Outcome) -> list[list[str]]:
    """Return for each claim what its alternatives ask for, whatever they are called."""
    return [
        [canonical({**one, "name": ""}) for one in asked_of(claim.content.spec)]
        for claim in outcome.claims
    ]


def _required(spec: Json) -> object:
    """Return what a Pod demands of a node; the order of alternatives and values says nothing."""
    terms = required_terms(spec) or ()
    return spec.get("nodeSelector") or {}, {_term(term) for term in terms}


def _order(spec: Json) -> object:
    """Return which nodes a Pod prefers; that it avoids suspect ones is told apart."""
    return {
        (one.get("weight"), _term(mapping(one.get("preference"))))
        for one in _preferences(spec)
        if not _is_of_health(one)
    }


def _avoids_suspects(spec: Json) -> bool:
    return any(map(_is_of_health, _preferences(spec)))


def _preferences(spec: Json) -> Iterable[Json]:
    node = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    return mappings(node.get(PREFERRED))


def _is_of_health(preference: Json) -> bool:
    """Tell whether a preference is ours for nodes without the label that health gives (H7)."""
    said = requirements(mapping(preference.get("preference")))
    return any(one.key == HEALTH_LABEL for one in said)


def _term(term: Json | None) -> object:
    """Return a term as a value that is equal for equal meanings."""
    said = mapping(term)
    fields = orjson.dumps(said.get("matchFields"), option=orjson.OPT_SORT_KEYS)
    return fields, frozenset(
        (one.key, one.operator, frozenset(one.values)) for one in requirements(said)
    )
