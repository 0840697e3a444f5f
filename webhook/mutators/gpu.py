"""The gpu mutator: a GPU Selection Spec becomes devices and a place (semantics N1 to N9, C1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from selection_spec.denial import few, problems, warnings, who
from selection_spec.errors import Level, Problem
from selection_spec.resolution import Resolution
from selection_spec.resolve import PolicyChoice, resolve
from selection_spec.rows import CLAIMS, Row
from webhook import marks
from webhook.jsonpatch import Drop, Edit, Extend, Put
from webhook.placement import claim, node
from webhook.pods import KEEP_THE_SPEC, Ask, PodRequest, demand_of
from webhook.snapshot import Snapshot
from webhook.terms import is_sibling

# What a row adds to a plan at most: terms, preferences and tolerations that no other row shares.
_PLAN_BYTES_A_ROW = 500


@dataclass(frozen=True, slots=True)
class Mutation:
    """What the mutator makes of a Pod; edits only where there is no problem."""

    edits: tuple[Edit, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    resolution: Resolution | None = None
    placement: node.NodePlacement | None = None
    claims: tuple[claim.PodClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an earlier pass left, and all that follows from the demand, whatever else is said."""

    before: claim.Earlier
    resolution: Resolution
    placement: node.NodePlacement | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def mutate(
    pod: dict[str, Any],
    request: PodRequest,
    choice: PolicyChoice,
    snapshot: Snapshot,
    *,
    daemon_set: str | None,
) -> Mutation:
    """Translate every spec of a readable Pod.

    Args:
        pod: The Pod as received; not changed.
        request: What ``pods.read`` found in it.
        choice: The Pod's policy (D3).
        snapshot: The table and what is known of its rows.
        daemon_set: The name of the DaemonSet that controls the Pod, None if none does (N8).
    """
    wrong = list(request.problems)
    if daemon_set is not None and request.wants_devices:
        wrong = [_daemon_set(daemon_set), *(_in_template(one) for one in wrong)]
    if not request.specs:
        if wrong:
            return Mutation(problems=tuple(wrong))
        return Mutation(edits=tuple(_zeros(request)), warnings=tuple(request.warnings))
    answer = _answer_of(pod, request, choice, snapshot)
    wrong += claim.doubled(pod, answer.before, request.specs, snapshot.table)
    wrong += (_with_origin(one, pod, request) for one in answer.problems)
    if wrong or answer.placement is None:
        return Mutation(problems=tuple(wrong), resolution=answer.resolution)
    if claim.is_taken(answer.resolution):
        return _with_claims(pod, request, answer, answer.placement, snapshot)
    return _with_resource(pod, request, answer, answer.placement)


def _answer_of(
    pod: dict[str, Any], request: PodRequest, choice: PolicyChoice, snapshot: Snapshot
) -> _Answer:
    table, before = snapshot.table, claim.earlier(pod)
    demand = replace(demand_of(pod, request, table), held=claim.held(before, table))
    resolution = resolve(table, demand, choice.policy, snapshot.availability)
    if resolution.failed:
        return _Answer(before, resolution, None, problems(resolution), ())
    placement = _plan(resolution, snapshot, nodes_first=request.nodes_first)
    return _Answer(before, resolution, placement, (), warnings(resolution))


def _with_origin(problem: Problem, pod: dict[str, Any], request: PodRequest) -> Problem:
    """Say whose selectors exclude everything where an earlier pass of ours wrote some (N4, R2)."""
    if problem.rule != "N4":
        return problem
    before = marks.translated_before(pod, request.specs)
    if not before:
        return problem
    specs = few(f'{one["spec"]} in "{one["name"]}"' for one in before)
    origin = f"if you did not write it, it came of {specs}, translated before"
    return replace(problem, hint=f"{problem.hint}; {origin}")


def _plan(resolution: Resolution, snapshot: Snapshot, *, nodes_first: bool) -> node.NodePlacement:
    """Return the plan for the candidates; many demands have the same ones.

    A plan follows from the table, its candidates, which of them were named and what decides the
    node, so that the memo is right to know it by these.
    """
    key = b"plan %x %x %d" % (resolution.kept, resolution.named, nodes_first)
    plan = cast("node.NodePlacement | None", snapshot.memo.get(key))
    if plan is None:
        plan = node.plan(resolution, nodes_first=nodes_first)
        snapshot.memo.put(key, plan, _PLAN_BYTES_A_ROW * len(resolution.candidates))
    return plan


def _content(resolution: Resolution, count: int, snapshot: Snapshot) -> claim.Content:
    """Return what a claim on the candidates asks for; many demands have the same ones."""
    key = b"claim %x %d" % (resolution.kept, count)
    content = cast("claim.Content | None", snapshot.memo.get(key))
    if content is None:
        content = claim.content(resolution, count)
        # The text, and about as much again for the same as objects.
        snapshot.memo.put(key, content, 4 * len(content.text))
    return content


def _with_claims(
    pod: dict[str, Any],
    request: PodRequest,
    answer: _Answer,
    placement: node.NodePlacement,
    snapshot: Snapshot,
) -> Mutation:
    resolution, needs = answer.resolution, request.specs
    contents = [_content(resolution.of(need.name), need.count, snapshot) for need in needs]
    claims = claim.pod_claims(pod, needs, contents)
    annotation = claim.annotation_of(claims, answer.before)
    wrong = [*claim.problems(pod, snapshot.table, needs, claims, annotation)]
    if too_many := node.too_many_terms(pod, placement):
        wrong.append(too_many)
    if wrong:
        return Mutation(problems=tuple(wrong), resolution=resolution)
    named = {container: one.name for one in claims for container in one.containers}
    edits: list[Edit] = [*_zeros(request)]
    for ask in request.asks:
        if ask.need is not None:
            edits += _without_key(ask)
            path = ("spec", *ask.path, "resources", "claims")
            edits.append(Extend(path, ({"name": named[ask.need.name]},), "C1"))
    edits += claim.edits(claims, annotation)
    edits += node.edits(pod, placement)
    edits += marks.edits(pod, needs, resolution)
    return Mutation(
        edits=tuple(edits),
        warnings=(
            *answer.warnings,
            *claim.warnings(pod),
            *_neighbours(request, resolution.candidates[0]),
            *request.warnings,
        ),
        resolution=resolution,
        placement=placement,
        claims=claims,
    )


def _with_resource(
    pod: dict[str, Any], request: PodRequest, answer: _Answer, placement: node.NodePlacement
) -> Mutation:
    # With a node given, the scheduler is passed over: only the resource matters (N7).
    is_placed = bool(pod["spec"].get("nodeName"))
    too_many = None if is_placed else node.too_many_terms(pod, placement)
    if too_many is not None:
        return Mutation(problems=(too_many,), resolution=answer.resolution)
    row = answer.resolution.candidates[0]
    edits: list[Edit] = [*_zeros(request), *_resources(request, row)]
    if not is_placed:
        edits += node.edits(pod, placement)
    edits += marks.edits(pod, request.specs, answer.resolution)
    return Mutation(
        edits=tuple(edits),
        warnings=(*answer.warnings, *_neighbours(request, row), *request.warnings),
        resolution=answer.resolution,
        placement=None if is_placed else placement,
    )


def _zeros(request: PodRequest) -> Iterator[Edit]:
    """A3: a key of zero goes, and nothing else happens."""
    for ask in request.asks:
        if ask.need is None:
            yield from _without_key(ask)


def _without_key(ask: Ask) -> Iterator[Edit]:
    for side in ask.sides:
        yield Drop(("spec", *ask.path, "resources", side, ask.key), "N1")


def _resources(request: PodRequest, row: Row) -> Iterator[Edit]:
    """N1: the key leaves limits and requests, the row's resource enters both."""
    for ask in request.asks:
        if ask.need is not None:
            yield from _without_key(ask)
            for side in ("limits", "requests"):
                path = ("spec", *ask.path, "resources", side, row.resource)
                yield Put(path, str(ask.need.count), "N1")


def _neighbours(request: PodRequest, row: Row) -> Iterator[Problem]:
    """A6: raw devices beside a spec are allowed; only those of the chosen nodes are there."""
    for place, resource in request.neighbours:
        found = "it gets devices of the same node"
        if row.pool == CLAIMS:
            found = "that is counted apart from the Pod's claims"
        elif not is_sibling(resource, frozenset((row.resource,))):
            found = f"nodes of {row.id} do not have that"
        text = f"{who(place)} asks for {resource} by itself; {found}"
        yield Problem(text, f"{place.path}.resources", rule="A6", level=Level.WARNING)


def _in_template(problem: Problem) -> Problem:
    """Say what a resource beside a spec means in a DaemonSet: half of it was translated (N8)."""
    if problem.hint != KEEP_THE_SPEC:
        return problem
    hint = "take the spec out of the template: applying a translated one over it left it there"
    return replace(problem, hint=hint)


def _daemon_set(name: str) -> Problem:
    return Problem(
        f'this Pod belongs to DaemonSet "{name}", which picks its nodes before admission, so it '
        "would pend for ever",
        "metadata.ownerReferences",
        "put selectors, tolerations and resource into its template: "
        '"gpuspec mutate --cluster -f FILE" writes them',
        "N8",
    )
