"""What a Pod need no longer say by hand once a spec says it: what all nodes of its rows fulfil.

Judged by what the rows say of their nodes' labels: what goes is fulfilled by each of these nodes,
whatever other labels it has. A label that no row speaks of is the author's own business, and so are
operating system and architecture: they follow from the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from selection_spec.denial import few
from selection_spec.labels import PLATFORM_LABELS, Operator, Requirement, Toleration
from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.advice.convert.sight import Stay
from webhook.jsonpatch import Path
from webhook.placement.node import covers
from webhook.selectors import PREFERRED, REQUIRED
from webhook.terms import RESERVED_TAINT

_NODE_AFFINITY: Path = ("spec", "affinity", "nodeAffinity")
_REQUIRED: Path = (*_NODE_AFFINITY, REQUIRED)
_TERMS: Path = (*_REQUIRED, "nodeSelectorTerms")
_OPERATORS = frozenset(Operator)


@dataclass(slots=True)
class Needless:
    """What may go and what stays, as paths of the Pod.

    Attributes:
        gone: Entries and items that may go, each whole.
        stays: What stays of the fields that place a Pod, and why.
    """

    gone: list[Path] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)


def selectors(spec: dict[str, Any], rows: Sequence[Row], table: Table, *, widen: bool) -> Needless:
    """Tell which selectors and affinity terms may go where the Pod gets nodes of some rows.

    Args:
        spec: The Pod's.
        rows: The rows.
        table: Whose rows they are.
        widen: Whether also those may go that choose among these rows, or a part of one's nodes.
    """
    judge = _Judge(rows, table, widen)
    found = Needless()
    for key, value in (spec.get("nodeSelector") or {}).items():
        path = ("spec", "nodeSelector", key)
        judge.decide(found, path, Requirement(key, Operator.IN, (value or "",)))
    _of_affinity((spec.get("affinity") or {}).get("nodeAffinity") or {}, judge, found)
    return found


class _Judge:
    """Knows of which requirements all nodes of some rows fulfil."""

    def __init__(self, rows: Sequence[Row], table: Table, widen: bool) -> None:  # noqa: FBT001
        self.rows = rows
        self._table = table
        self._widen = widen

    def decide(self, found: Needless, path: Path, one: Requirement) -> None:
        if self.goes(one, self.rows):
            found.gone.append(path)
        else:
            found.stays.append(Stay(path, self.why(one)))

    def goes(self, one: Requirement, rows: Iterable[Row]) -> bool:
        if not self.is_told_by(one.key):
            return False
        return self._widen or all(self._implies(row, one) for row in rows)

    def is_told_by(self, key: str) -> bool:
        """Tell whether rows know their nodes by a label."""
        return key in self._table.index.label_keys and key not in PLATFORM_LABELS

    def why(self, one: Requirement) -> str:
        """Say why a requirement stays."""
        if one.key in PLATFORM_LABELS:
            return "a spec says nothing about operating system and architecture"
        if not self.is_told_by(one.key):
            return f"no row of table {self._table.name} knows its nodes by {one.key}"
        return f"it chooses among the nodes of {few(row.id for row in self.rows)}"

    def _implies(self, row: Row, one: Requirement) -> bool:
        """Tell whether every node of a row fulfils a requirement."""
        said = next((other for other in row.nodes if other.key == one.key), None)
        if said is None:
            # N4 takes it that such a node does not have the label; that is no proof of it.
            return False
        if said == one:
            return True
        values, wanted = set(said.values), set(one.values)
        match one.operator:
            case Operator.IN:
                return said.operator is Operator.IN and values <= wanted
            case Operator.NOT_IN:
                return (
                    (said.operator is Operator.IN and values.isdisjoint(wanted))
                    or (said.operator is Operator.NOT_IN and wanted <= values)
                    or said.operator is Operator.DOES_NOT_EXIST
                )
            case Operator.EXISTS:
                return said.operator in (Operator.IN, Operator.EXISTS, Operator.GT, Operator.LT)
            case _:
                return False


def _of_affinity(affinity: dict[str, Any], judge: _Judge, found: Needless) -> None:
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if terms and _all_admitted(terms, judge):
        found.gone.append(_REQUIRED)
    else:
        for number, term in enumerate(terms):
            _of_term(term or {}, (*_TERMS, number), judge, found)


def preferences(spec: dict[str, Any], ours: Sequence[dict[str, Any]], table: Table) -> Needless:
    """Tell which preferences may go where the Pod gets others; those of other labels are no matter.

    Args:
        spec: The Pod's.
        ours: What it gets.
        table: Whose labels count.
    """
    found = Needless()
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    for number, one in enumerate(affinity.get(PREFERRED) or ()):
        path = (*_NODE_AFFINITY, PREFERRED, number)
        term = one.get("preference") if isinstance(one, dict) else None
        keys = {said.key for said in _requirements(term) if said is not None}
        if one in ours:
            found.gone.append(path)
        elif keys & table.index.label_keys:
            why = "it is a preference; a spec prefers cheaper devices by itself"
            found.stays.append(Stay(path, why))
    return found


def _all_admitted(terms: Sequence[Any], judge: _Judge) -> bool:
    """Tell whether every node of every row fulfils one term or another wholly."""
    return all(any(_fulfils(row, term or {}, judge) for term in terms) for row in judge.rows)


def _fulfils(row: Row, term: dict[str, Any], judge: _Judge) -> bool:
    wanted = _requirements(term)
    if term.get("matchFields") or not wanted:
        return False
    return all(one is not None and judge.goes(one, (row,)) for one in wanted)


def _of_term(term: dict[str, Any], path: Path, judge: _Judge, found: Needless) -> None:
    for number, one in enumerate(_requirements(term)):
        place = (*path, "matchExpressions", number)
        if one is None:
            found.stays.append(Stay(place, "its operator is not known"))
        else:
            judge.decide(found, place, one)
    if term.get("matchFields"):
        why = "it chooses nodes by name, which no spec does"
        found.stays.append(Stay((*path, "matchFields"), why))


def _requirements(term: object) -> list[Requirement | None]:
    """Return a term's expressions in their order, None for those of unknown operators."""
    expressions = term.get("matchExpressions") if isinstance(term, dict) else None
    return [_requirement(one) for one in expressions or ()]


def _requirement(one: object) -> Requirement | None:
    if not isinstance(one, dict) or one.get("operator") not in _OPERATORS:
        return None
    values = tuple(one.get("values") or ())
    return Requirement(str(one.get("key")), Operator(one["operator"]), values)


def tolerations(
    spec: dict[str, Any], ours: Sequence[Toleration], rows: Sequence[Row], table: Table
) -> Needless:
    """Tell which tolerations may go where the Pod gets others.

    Args:
        spec: The Pod's.
        ours: What it gets.
        rows: For which rows.
        table: Whose rows they are.
    """
    found = Needless()
    known = {one.key for row in table.rows for one in row.tolerations}
    for number, one in enumerate(spec.get("tolerations") or ()):
        path = ("spec", "tolerations", number)
        wanted = _toleration(one)
        if wanted is not None and any(covers(other.to_json(), wanted) for other in ours):
            found.gone.append(path)
        else:
            found.stays.append(Stay(path, _why_tolerated(one, known, rows)))
    return found


def _toleration(one: object) -> Toleration | None:
    """Return a toleration as a row would say it; None for one that no row can say."""
    if not isinstance(one, dict) or not one.get("key") or "tolerationSeconds" in one:
        return None
    operator = one.get("operator") or "Equal"
    value = (one.get("value") or "") if operator == "Equal" else None
    return Toleration(str(one["key"]), str(operator), value, one.get("effect") or None)


def _why_tolerated(one: object, known: set[str], rows: Sequence[Row]) -> str:
    key = one.get("key") if isinstance(one, dict) else None
    if key in known or key == RESERVED_TAINT:
        return f"it tolerates more than the nodes of {few(row.id for row in rows)} need"
    return f"no row tolerates {key}" if key else "it tolerates whatever there is"


def pruned(pod: object, gone: Iterable[Path]) -> Iterator[Path]:
    """Yield what has to go so that nothing empty is left, in an order in which it can.

    A list or a mapping of which everything goes goes itself; a Pod's ``spec``, its containers and
    their resources never do.
    """
    paths = set(gone)
    for path in sorted(paths, key=len, reverse=True):
        _fold(pod, path, paths)
    yield from sorted(paths, key=_order, reverse=True)


def _fold(pod: object, path: Path, paths: set[Path]) -> None:
    parent = path[:-1]
    is_container = path[1:2] and path[1] in ("containers", "initContainers")
    if path not in paths or len(parent) < (5 if is_container else 2):
        return
    value = _at(pod, parent)
    steps: Iterable[str | int] = range(len(value)) if isinstance(value, list) else value
    children = {(*parent, step) for step in steps}
    if children <= paths:
        paths -= children
        paths.add(parent)
        _fold(pod, parent, paths)


def _at(value: Any, path: Path) -> Any:  # noqa: ANN401 - any JSON
    for step in path:
        value = value[step]
    return value


def _order(path: Path) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in path]
