"""What ``explain`` says of one Pod as text for 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import fill

from selection_spec.denial import few
from selection_spec.explain import Fate, explain
from selection_spec.labels import Requirement, Toleration
from selection_spec.resolution import Resolution
from selection_spec.table import Table
from webhook.admission.messages import one_line
from webhook.cli.explanation import Explanation, candidates, difference
from webhook.cli.explanation_claims import claim_lines
from webhook.cli.outputs import styled
from webhook.marks import Mark
from webhook.placement.node import NodePlacement
from webhook.selectors import requirements
from webhook.terms import REQUEST_ANNOTATION

_WIDTH = 80
_WIDEST_ID = 40

# What a screen holds beside the rest of an explanation.
_LONG_TABLE = 12


def as_text(explanation: Explanation, *, show_all: bool = False) -> str:
    """Return the explanation for people; rows of a long table that share a reason share a line."""
    return "\n".join(_lines(explanation, show_all=show_all))


def _lines(explanation: Explanation, *, show_all: bool) -> Iterator[str]:
    resolution = explanation.outcome.resolution
    yield from _verdict_lines(explanation)
    yield from _ground_lines(explanation)
    if resolution is not None:
        is_long = len(resolution.table.rows) > _LONG_TABLE and not show_all
        for part in resolution.apart or (resolution,):
            yield ""
            if resolution.apart:
                yield _wrapped(_names(part), "  ", "for ") + ":"
            fates = explain(part)
            rows = list(_by_reason(fates)) if is_long else _one_by_one(fates, show_all)
            yield from _row_lines(rows)
        if is_long:
            yield "(a line for each row: --all)"
    if resolution is not None and explanation.allowed:
        yield ""
        yield "The Pod gets:"
        if explanation.outcome.claims:
            yield from claim_lines(explanation.outcome.claims, resolution)
        else:
            yield from _resource_lines(resolution)
        yield from _place_lines(explanation.outcome.placement)


def _names(part: Resolution) -> str:
    """Return the containers that share the rows of a resolution."""
    return " and ".join(container.need.name for container in part.containers)


def _verdict_lines(explanation: Explanation) -> Iterator[str]:
    outcome = explanation.outcome
    if not explanation.allowed:
        yield styled("denied", fg="red", bold=True)
        for problem in outcome.problems:
            yield _wrapped(problem.text(), "  ")
    elif outcome.resolution is None:
        yield f"allowed, {outcome.verdict.value}: {outcome.reason.sentence}"
    else:
        ids = _wrapped(", ".join(candidates(outcome)), "  ", "allowed: ")
        yield styled("allowed:", fg="green") + ids.removeprefix("allowed:")


def _ground_lines(explanation: Explanation) -> Iterator[str]:
    """Say what the verdict rests on, and what else is known."""
    outcome, table = explanation.outcome, explanation.snapshot.table
    if explanation.admitted is not None:
        yield _wrapped(_history(explanation.admitted, table), "  ", "admitted: ")
    for warning in outcome.warnings:
        yield _wrapped(warning.text(), "  ", "warning: ")
    if outcome.choice is not None:
        policy = f"{outcome.choice.policy} (from {outcome.choice.source})"
        yield _wrapped(f"{policy}; table {table.name} {table.digest}", "  ", "policy: ")
    if text := difference(explanation):
        yield _wrapped(text, "  ", "note: ")


def _history(mark: Mark, table: Table) -> str:
    """Say what a Pod's annotation says of its admission; it is information, never permission."""
    asked = few(f"{one['name']} with {one['spec']}: {one['count']}" for one in mark.containers)
    other = "" if mark.table == table.digest else f", not by {table.name} {table.digest} as here"
    return (
        f"{asked} got {', '.join(mark.candidates)} ({mark.policy}, by table {mark.table}{other}; "
        f"so says its annotation {REQUEST_ANNOTATION})"
    )


def _one_by_one(fates: Iterable[Fate], show_aliases: bool) -> list[tuple[str, Fate]]:  # noqa: FBT001
    """Return each row by its id, with its other names where all is to be shown."""
    return [(fate.row.id, _with_aliases(fate) if show_aliases else fate) for fate in fates]


def _with_aliases(fate: Fate) -> Fate:
    names = ", ".join(fate.row.aliases)
    return replace(fate, why=f"{fate.why} (also called {names})") if names else fate


def _by_reason(fates: Iterable[Fate]) -> Iterator[tuple[str, Fate]]:
    """Yield rows that share a rule and a reason as one, those that are kept first."""
    groups: dict[tuple[bool, str, str], list[Fate]] = {}
    for fate in fates:
        groups.setdefault((not fate.kept, fate.rule, fate.why), []).append(fate)
    for same in sorted(groups.values(), key=lambda same: not same[0].kept):
        more = f" and {len(same) - 1} more" if len(same) > 1 else ""
        yield f"{same[0].row.id}{more}", same[0]


def _row_lines(rows: Sequence[tuple[str, Fate]]) -> Iterator[str]:
    wide = min(_WIDEST_ID, max(len("ROW"), *(len(name) for name, _ in rows)))
    indent = " " * len(f"{'':{wide}}  KEPT  RULE  ")
    yield f"{'ROW':{wide}}  KEPT  RULE  WHY"
    for name, fate in rows:
        kept = "yes" if fate.kept else "no"
        head = f"{name:{wide}}  {kept:4}  {fate.rule:4}  "
        if len(head) > len(indent):
            line = f"{head.rstrip()}\n{_wrapped(fate.why, indent)}"
        else:
            line = _wrapped(fate.why, indent, head)
        yield styled(line, fg="green") if fate.kept else line


def _resource_lines(resolution: Resolution) -> Iterator[str]:
    resource = resolution.candidates[0].resource
    for container in resolution.containers:
        need = container.need
        yield _wrapped(f"{resource}: {need.count}", "    ", f"  limits of {need.name}: ")


def _place_lines(placement: NodePlacement | None) -> Iterator[str]:
    """Say where the Pod may run, beside what it says itself."""
    if placement is None:
        yield "  no node affinity and no tolerations: its spec.nodeName already names a node"
        return
    for number, term in enumerate(placement.terms):
        head = "  or one with: " if number else "  requires a node with: "
        yield _wrapped(_expressions(term), "    ", head)
    for preferred in placement.preferred:
        head = f"  prefers (weight {preferred['weight']}): "
        yield _wrapped(_expressions(requirements(preferred["preference"])), "    ", head)
    if placement.tolerations:
        tolerations = ", ".join(map(_toleration, placement.tolerations))
        yield _wrapped(tolerations, "    ", "  tolerates: ")


def _expressions(term: Iterable[Requirement]) -> str:
    return " and ".join(
        f"{one.key} = {one.values[0]}"
        if one.is_plain
        else " ".join((one.key, one.operator, few(one.values))).strip()
        for one in term
    )


def _toleration(toleration: Toleration) -> str:
    value = "" if toleration.value is None else f"={toleration.value}"
    return f"{toleration.key}{value}:{toleration.effect or '*'}"


def _wrapped(text: str, indent: str, head: str | None = None) -> str:
    first = indent if head is None else head
    return fill(
        one_line(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
