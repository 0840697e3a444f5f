"""A stored Pod as it was before admission, as well as that can be told.

What was asked stands in its annotation (semantics R5); what admission added is what the table says
of the rows that the annotation names. Taking that away is a guess, and the guess is checked: the
table has to make of it again what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from selection_spec.demand import Demand, Kind, Need
from selection_spec.errors import SpecError
from selection_spec.grammar import parse_spec
from selection_spec.resolve import resolve
from selection_spec.rows import Output, Policy, Row
from webhook import marks
from webhook.admission.essence import essence_of
from webhook.admission.translate import ADMISSION, translate
from webhook.inventory.facts import mapping, mappings, whole
from webhook.jsonpatch import write
from webhook.placement.claim import earlier, held
from webhook.placement.node import NodePlacement, plan
from webhook.placement.templates import asked_of, malformed, wanted
from webhook.selectors import PREFERRED, REQUIRED
from webhook.shapes import CONTAINER_LISTS, SIDES, unreadable
from webhook.snapshot import Snapshot
from webhook.terms import CLAIMS_ANNOTATION, KUEUE_LABEL, REQUEST_ANNOTATION, SPEC_LABEL

Json = dict[str, Any]


class CannotTellError(Exception):
    """What a Pod was before admission cannot be told; the text says why."""


def rebuild(pod: Json, old: Snapshot) -> Json:
    """Return the essence of a stored Pod as the API server sent it to admission.

    Args:
        pod: A Pod that admission has translated, as it is stored; not changed.
        old: The table that is in force.

    Raises:
        CannotTellError: There is no such Pod that the table would translate into the stored one.
    """
    if unreadable(pod):
        raise CannotTellError("it is not shaped as a Pod")
    stored = essence_of(pod)
    stored["spec"].pop("nodeName", None)
    mark = marks.read(stored)
    if mark is None:
        raise CannotTellError(f"its annotation {REQUEST_ANNOTATION} cannot be read")
    prefix = f"{old.table.domain}/"
    ours = wanted(stored)
    then = _taken_by(Output.RESOURCE_CLAIM if ours else Output.EXTENDED_RESOURCE, mark, old)
    rows = _rows(mark, then)
    if ours:
        bare = _without_claims(stored, mark, prefix, ours)
    elif not rows[0].resource:
        raise CannotTellError(f"it has no claim of ours, and {rows[0].id} has no resource")
    else:
        bare = _asking_again(stored, mark, rows[0].resource, prefix)
    placement = _placement(mark, rows, then)
    guesses = [_without_placement(bare, placement)]
    if mark.table == old.digest and mark.policy == Policy.EVERY_FIT:
        # Selectors of the user's own may be all that the Pod has; the same table under EveryFit
        # adds nothing to them. (Under SmallestFit live status may have chosen another tier, D7.)
        guesses.append(_without_tolerations(bare, placement))
    if _names_one_row(ours):
        guesses += [_queued(guess) for guess in guesses]
    there = _comparable(stored, then)
    for guess in guesses:
        if _comparable(translated(guess, then), then) == there:
            return guess
    by = "this table" if mark.table == old.digest else f"table {mark.table}"
    raise CannotTellError(f"admitted by {by}, which is not what the old table makes of it now")


def translated(pod: Json, snapshot: Snapshot) -> Json:
    """Return a Pod as admission by a table stores it; unchanged where it is denied."""
    return write(pod, translate(pod, ADMISSION, snapshot).edits).after


def _taken_by(output: Output, mark: marks.Mark, old: Snapshot) -> Snapshot:
    """Return the old table with the output that a Pod's rows had when it was admitted.

    Rows that were moved to another output since are moved back; running Pods keep what they have.
    """
    moved = [
        replace(row, output=output)
        if row.id in mark.candidates
        and (row.claim is not None if output is Output.RESOURCE_CLAIM else row.resource)
        else row
        for row in old.table.rows
    ]
    if moved == list(old.table.rows):
        return old
    return Snapshot(replace(old.table, rows=tuple(moved)), old.availability)


def _rows(mark: marks.Mark, old: Snapshot) -> tuple[Row, ...]:
    """Return the rows that admission found, as the old table has them."""
    known = {row.id: row for row in old.table.rows}
    missing = [one for one in mark.candidates if one not in known]
    if not mark.candidates:
        raise CannotTellError("its annotation names no row")
    if missing:
        ids = ", ".join(missing)
        raise CannotTellError(f"its annotation names {ids}, which the old table does not have")
    return tuple(known[one] for one in mark.candidates)


def _placement(mark: marks.Mark, rows: tuple[Row, ...], old: Snapshot) -> NodePlacement:
    """Return what admission asked of the node for these rows."""
    try:
        needs = tuple(
            Need(one["name"], Kind.MAIN, "", parse_spec(one["spec"]), one["count"])
            for one in mark.containers
        )
    except SpecError as error:
        raise CannotTellError(f"its annotation holds a spec that is none: {error}") from None
    # Only the rows and which of them were named count here, not the policy.
    resolution = resolve(old.table, Demand(needs), Policy.EVERY_FIT)
    return plan(replace(resolution, candidates=rows))


def _unmarked(stored: Json) -> tuple[Json, Json]:
    """Return a copy without our marks, and its containers by name."""
    pod: Json = deepcopy(stored)
    for holder, key in (
        ("labels", SPEC_LABEL),
        ("annotations", REQUEST_ANNOTATION),
        ("annotations", CLAIMS_ANNOTATION),
    ):
        mapping(mapping(pod.get("metadata")).get(holder)).pop(key, None)
    return pod, {one["name"]: one for of in CONTAINER_LISTS for one in pod["spec"].get(of) or ()}


def _without_claims(stored: Json, mark: marks.Mark, prefix: str, ours: Json) -> Json:
    """Put the specs back in place of claims on our templates, and take away our marks."""
    pod, containers = _unmarked(stored)
    claims = {one.get("name") for one in pod["spec"]["resourceClaims"] if _is_one_of(ours, one)}
    pod["spec"]["resourceClaims"] = [
        one for one in pod["spec"]["resourceClaims"] if not _is_one_of(ours, one)
    ]
    for asked in mark.containers:
        name = asked["name"]
        resources = mapping(mapping(containers.get(name)).get("resources"))
        used = list(mappings(resources.get("claims")))
        own = [one for one in used if one.get("name") not in claims]
        if own == used:
            raise CannotTellError(f'container "{name}" uses no claim of its annotation')
        resources["claims"] = own
        for side in SIDES:
            amounts = resources[side] = mapping(resources.get(side))
            amounts[prefix + asked["spec"]] = str(asked["count"])
    return pod


def _is_one_of(templates: Mapping[str, Json], claim: object) -> bool:
    return mapping(claim).get("resourceClaimTemplateName") in templates


def _names_one_row(templates: Json) -> bool:
    """Tell whether claims may be those of a Pod in a namespace of Kueue's, which nothing tells."""
    specs = list(templates.values())
    return bool(specs) and all(not malformed(one) and len(asked_of(one)) == 1 for one in specs)


def _queued(pod: Json) -> Json:
    """Return a Pod that says itself what its namespace said (C5)."""
    labels = {**mapping(mapping(pod.get("metadata")).get("labels")), KUEUE_LABEL: ""}
    return {**pod, "metadata": {**mapping(pod.get("metadata")), "labels": labels}}


def _asking_again(stored: Json, mark: marks.Mark, resource: str, prefix: str) -> Json:
    """Put the specs back in place of the resource, and take away our marks."""
    pod, containers = _unmarked(stored)
    for asked in mark.containers:
        name, count = asked["name"], asked["count"]
        resources = mapping(mapping(containers.get(name)).get("resources"))
        for side in SIDES:
            amounts = mapping(resources.get(side))
            if whole(amounts.pop(resource, None)) != count:
                raise CannotTellError(
                    f'container "{name}" does not hold the {count} {resource} of its annotation'
                )
            amounts[prefix + asked["spec"]] = str(count)
    return pod


def _without_placement(bare: Json, placement: NodePlacement) -> Json:
    """Return the Pod without selectors, tolerations and preferences that admission adds."""
    pod = _without_tolerations(bare, placement)
    if not placement.terms:
        return pod
    spec = pod["spec"]
    if len(placement.terms) == 1 and all(one.is_plain for one in placement.terms[0]):
        selector = mapping(spec.get("nodeSelector"))
        for one in placement.terms[0]:
            if selector.get(one.key) == one.values[0]:
                del selector[one.key]
        return pod
    node = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    terms = mapping(node.get(REQUIRED)).get("nodeSelectorTerms")
    ours = [one.to_json() for term in placement.terms for one in term]
    if isinstance(terms, list):
        own = list(_own_terms(terms, ours))
        if own:
            node[REQUIRED]["nodeSelectorTerms"] = own
        else:
            del node[REQUIRED]
    return pod


def _own_terms(terms: list[Any], ours: Sequence[Json]) -> Iterator[Any]:
    """Yield the user's own terms, each once: what admission adds stands at the end of each (N3)."""
    seen: list[Any] = []
    for term in terms:
        expressions = list(mapping(term).get("matchExpressions") or ())
        while expressions and expressions[-1] in ours:
            expressions.pop()
        own = {**mapping(term), "matchExpressions": expressions}
        if not expressions:
            del own["matchExpressions"]
        is_ours_alone = bool(term) and not own
        if own not in seen and not is_ours_alone:
            seen.append(own)
            yield own


def _without_tolerations(bare: Json, placement: NodePlacement) -> Json:
    """Return the Pod without tolerations and preferences that admission adds."""
    pod: Json = deepcopy(bare)
    spec = pod["spec"]
    ours = [one.to_json() for one in placement.tolerations]
    if isinstance(spec.get("tolerations"), list):
        spec["tolerations"] = [one for one in spec["tolerations"] if one not in ours]
    node = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    if isinstance(node.get(PREFERRED), list):
        node[PREFERRED] = [one for one in node[PREFERRED] if one not in placement.preferred]
    return pod


def _comparable(pod: Json, old: Snapshot) -> list[object]:
    """Return all that decides where a Pod may go and what it holds, alike for alike Pods.

    Others may have added tolerations behind ours, so that their order says nothing. Preferences are
    left out: a changed cost makes others (N6), also among the alternatives of a claim, and they
    keep a Pod from no node.
    """
    spec, before = pod["spec"], earlier(pod)
    node = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    return [
        spec.get("nodeSelector") or {},
        mapping(node.get(REQUIRED)).get("nodeSelectorTerms"),
        sorted(json.dumps(one, sort_keys=True) for one in spec.get("tolerations") or ()),
        *((one["name"], _held_by(one)) for of in CONTAINER_LISTS for one in spec.get(of) or ()),
        [
            one.get("name") if _is_one_of(before.specs, one) else one
            for one in spec.get("resourceClaims") or ()
        ],
        held(before, old.table),
    ]


def _held_by(container: Json) -> Json:
    """Return a container's resources; an empty part of them says nothing."""
    return {part: held for part, held in mapping(container.get("resources")).items() if held}
