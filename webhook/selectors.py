"""Node selector terms: what a Pod says, and what it says together with us (semantics N2 to N4).

Terms are ORed, the expressions in one are ANDed, and ``nodeSelector`` is ANDed with all of them
(Kubernetes). An empty term matches nothing. ``shapes`` has seen that the Pod can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from selection_spec.demand import Term
from selection_spec.labels import Operator, Requirement

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_OPERATORS = frozenset(Operator)


def node_selector(spec: dict[str, Any]) -> Term:
    """Return a Pod's ``nodeSelector`` as requirements; a null in it is the empty text (k8s)."""
    selector = spec.get("nodeSelector") or {}
    return tuple(Requirement(key, Operator.IN, (value or "",)) for key, value in selector.items())


def required_terms(spec: dict[str, Any]) -> list[Any] | None:
    """Return the Pod's own node selector terms; None where it has no required node affinity.

    An empty list stands for one that is there and empty, which the API server refuses (N3).
    """
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    return None if required is None else required.get("nodeSelectorTerms") or []


def pod_terms(spec: dict[str, Any], keys: frozenset[str]) -> tuple[Term, ...]:
    """Return where a Pod may run as alternatives, as far as the given label keys tell (N4).

    A term with nothing in it matches nothing and is not among them.
    """
    selector = tuple(one for one in node_selector(spec) if one.key in keys)
    terms = required_terms(spec)
    if not terms:
        return (selector,)
    return tuple(
        (*selector, *(one for one in requirements(term) if one.key in keys))
        for term in terms
        if not _is_empty(term)
    )


def requirements(term: dict[str, Any]) -> tuple[Requirement, ...]:
    """Return a term's expressions; the API server judges those of unknown operators."""
    return tuple(
        Requirement(one["key"], Operator(one["operator"]), tuple(one.get("values") or ()))
        for one in term.get("matchExpressions") or ()
        if one["operator"] in _OPERATORS
    )


def _is_empty(term: dict[str, Any] | None) -> bool:
    return not term or not (term.get("matchExpressions") or term.get("matchFields"))


def alternatives(rows: Iterable[Term]) -> tuple[Term, ...]:
    """Write rows as few alternatives: those on one label key become one ``In`` list (N2).

    The alternatives admit exactly the nodes that the rows do, in the rows' order.
    """
    shapes: dict[object, list[Term]] = {}
    for row in rows:
        shapes.setdefault(tuple((one.key, one.operator) for one in row), []).append(row)
    return tuple(term for same in shapes.values() for term in _merged(same))


def _merged(rows: list[Term]) -> list[Term]:
    """Merge rows of the same keys and operators on the key whose values differ most."""
    distinct = [len({row[place] for row in rows}) for place in range(len(rows[0]))]
    place = distinct.index(max(distinct))
    if rows[0][place].operator is not Operator.IN:
        return list(dict.fromkeys(rows))
    alike: dict[Term, dict[str, None]] = {}
    for row in rows:
        values = alike.setdefault((*row[:place], *row[place + 1 :]), {})
        values.update(dict.fromkeys(row[place].values))
    key = rows[0][place].key
    return [
        (*rest[:place], Requirement(key, Operator.IN, tuple(values)), *rest[place:])
        for rest, values in alike.items()
    ]


def narrowed(
    terms: Sequence[Any], selector: Term, ours: Sequence[Term], at_most: int
) -> list[Any] | None:
    """Return the Pod's terms ANDed with our alternatives (N3), None where that is too many.

    Every term is multiplied with every alternative; a product that contradicts itself is left out,
    a term that already lies within an alternative stays as it is, and an empty one stays empty.
    """
    if len(ours) > 1 and len(terms) * len(ours) > at_most * at_most:
        return None
    result: list[Any] = []
    for term in terms:
        if _is_empty(term):
            result.append(term)
            continue
        said = (*selector, *requirements(term))
        if within(said, ours):
            result.append(term)
            continue
        result += [
            _with_expressions(term, alternative, said)
            for alternative in ours
            if not _contradict(said, alternative)
        ]
    return None if len(ours) > 1 and len(result) > at_most else result


def within(said: Sequence[Requirement], ours: Iterable[Term]) -> bool:
    """Tell whether whatever fulfils these requirements also fulfils one of the alternatives."""
    return any(all(_implied(one, said) for one in alternative) for alternative in ours)


def _implied(wanted: Requirement, said: Sequence[Requirement]) -> bool:
    return any(
        one == wanted
        or (
            one.key == wanted.key
            and one.operator is wanted.operator is Operator.IN
            and set(one.values) <= set(wanted.values)
        )
        for one in said
    )


def _contradict(said: Sequence[Requirement], ours: Term) -> bool:
    """Tell whether no node can fulfil both sides; in doubt, they do not contradict."""
    return any(_excludes([other for other in said if other.key == one.key], one) for one in ours)


def _excludes(said: Sequence[Requirement], one: Requirement) -> bool:
    """Tell whether requirements on a label leave nothing of one more on the same label.

    Never where ``RowIndex`` keeps the row, or a candidate could lose its last term.
    """
    operators = {other.operator for other in said}
    match one.operator:
        case Operator.IN:
            return not any(all(other.admits(value) for other in said) for value in one.values)
        case Operator.NOT_IN:
            wanted = [set(other.values) for other in said if other.operator is Operator.IN]
            return bool(wanted) and set.intersection(*wanted) <= set(one.values)
        case Operator.DOES_NOT_EXIST:
            return not operators.isdisjoint((Operator.IN, Operator.EXISTS))
        case _:
            return Operator.DOES_NOT_EXIST in operators


def _with_expressions(
    term: dict[str, Any], ours: Term, said: Sequence[Requirement]
) -> dict[str, Any]:
    """Return a term with our expressions behind its own; ``matchFields`` stay beside them."""
    there = term.get("matchExpressions") or []
    added = [one.to_json() for one in ours if one not in said]
    return {**term, "matchExpressions": [*there, *added]}
