"""What ``explain`` says of one Pod, as JSON and as text for 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

from selection_spec.denial import few
from selection_spec.explain import Fate, explain, explain_container
from selection_spec.labels import Requirement, Toleration
from selection_spec.resolve import Resolution
from selection_spec.rows import Output
from webhook.admission import messages
from webhook.admission.translate import Context, Outcome, Verdict, translate
from webhook.cli.outputs import styled
from webhook.jsonpatch import write
from webhook.placement.node import NodePlacement
from webhook.selectors import requirements
from webhook.snapshot import Snapshot

_WIDTH = 80
_WIDEST_ID = 40

# What a screen holds beside the rest of an explanation.
_LONG_TABLE = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """One Pod, what becomes of it, and what would under another policy if that is open (D3).

    ``priority_class`` is the class that the Pod has or will have, None where that is not known.
    """

    pod: dict[str, Any]
    priority_class: str | None
    outcome: Outcome
    other: Outcome | None
    snapshot: Snapshot

    @property
    def allowed(self) -> bool:
        """Whether admission would let the Pod in."""
        return self.outcome.verdict is not Verdict.DENIED

    @property
    def differs(self) -> bool:
        """Whether the Pod's priority, which is not known, would make a difference."""
        return self.other is not None and (
            candidates(self.other) != candidates(self.outcome)
            or self.other.verdict is not self.outcome.verdict
        )


def explained(pod: dict[str, Any], context: Context, snapshot: Snapshot) -> Explanation:
    """Judge a Pod, and judge it by the other policy too where its priority is not known."""
    outcome = translate(pod, context, snapshot)
    other = None
    if outcome.choice is not None and not outcome.choice.certain:
        other = translate(pod, replace(context, policy=outcome.choice.policy.other), snapshot)
    spec = pod.get("spec")
    own_class = spec.get("priorityClassName") if isinstance(spec, dict) else None
    return Explanation(pod, context.priority_class or own_class, outcome, other, snapshot)


def candidates(outcome: Outcome) -> list[str]:
    """Return the ids of the rows that a Pod may use, in order."""
    if outcome.resolution is None or outcome.verdict is Verdict.DENIED:
        return []
    return [row.id for row in outcome.resolution.candidates]


def difference(explanation: Explanation) -> str:
    """Return the sentence that says what is not known of the priority, "" if it does not matter."""
    other, choice = explanation.other, explanation.outcome.choice
    name = explanation.priority_class
    table = explanation.snapshot.table
    known = frozenset().union(*(rule.class_names or () for rule in table.priorities))
    if name and name not in known and all(rule.min_value is None for rule in table.priorities):
        return f"table {table.name} has no rule for priority class {name}"
    if not explanation.differs or other is None or choice is None:
        return ""
    unknown, say = "its priority", "--priority-class or --priority"
    if explanation.priority_class:
        unknown, say = f"the number of priority class {explanation.priority_class}", "--priority"
    would = ", ".join(candidates(other)) or "denied"
    return f"{unknown} is not known; under {choice.policy.other} it would be {would} (say {say})"


def as_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation in its documented shape."""
    outcome, table = explanation.outcome, explanation.snapshot.table
    resolution, choice = outcome.resolution, outcome.choice
    result: dict[str, Any] = {
        "allowed": explanation.allowed,
        "message": messages.denial(outcome.problems),
        "policy": choice.policy.value if choice else None,
        "policyFrom": choice.source if choice else None,
        "output": Output.EXTENDED_RESOURCE.value,
        "table": {"name": table.name, "digest": table.digest},
        "candidates": candidates(outcome),
        "rows": [_fate(fate) for fate in explain(resolution)] if resolution else [],
        "containers": list(_containers(resolution)) if resolution else [],
        "placement": _placement(explanation),
        "warnings": messages.warnings(outcome.warnings),
    }
    if explanation.other is not None and choice is not None:
        result["otherPolicy"] = {
            "policy": choice.policy.other.value,
            "allowed": explanation.other.verdict is not Verdict.DENIED,
            "candidates": candidates(explanation.other),
        }
    return result


def _fate(fate: Fate) -> dict[str, Any]:
    return {"id": fate.row.id, "kept": fate.kept, "rule": fate.rule, "why": fate.why}


def _containers(resolution: Resolution) -> Iterator[dict[str, Any]]:
    for container in resolution.containers:
        fates = explain_container(resolution, container)
        yield {
            "name": container.need.name,
            "key": f"{resolution.table.domain}/{container.need.spec}",
            "count": container.need.count,
            "candidates": [fate.row.id for fate in fates if fate.kept],
            "rows": [_fate(fate) for fate in fates],
        }


def _placement(explanation: Explanation) -> dict[str, Any] | None:
    """Return the fields that the Pod would have; None where nothing is placed."""
    if explanation.outcome.resolution is None or not explanation.allowed:
        return None
    spec = write(explanation.pod, explanation.outcome.edits).after["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    return {
        "nodeSelector": spec.get("nodeSelector") or {},
        "affinity": spec.get("affinity") or {},
        "tolerations": spec.get("tolerations") or [],
        "resources": {one["name"]: one["resources"] for one in containers if one.get("resources")},
        "resourceClaims": [],
        "templates": [],
    }


def as_text(explanation: Explanation, *, show_all: bool = False) -> str:
    """Return the explanation for people; rows of a long table that share a reason share a line."""
    return "\n".join(_lines(explanation, show_all=show_all))


def _lines(explanation: Explanation, *, show_all: bool) -> Iterator[str]:
    outcome, table = explanation.outcome, explanation.snapshot.table
    resolution = outcome.resolution
    if not explanation.allowed:
        yield styled("denied", fg="red", bold=True)
        for problem in outcome.problems:
            yield _wrapped(problem.text(), "  ")
    elif resolution is None:
        yield f"allowed, {outcome.verdict.value}: {outcome.reason.sentence}"
    else:
        ids = _wrapped(", ".join(candidates(outcome)), "  ", "allowed: ")
        yield styled("allowed:", fg="green") + ids.removeprefix("allowed:")
    for warning in outcome.warnings:
        yield _wrapped(warning.text(), "  ", "warning: ")
    if outcome.choice is not None:
        policy = f"{outcome.choice.policy} (from {outcome.choice.source})"
        yield _wrapped(f"{policy}; table {table.name} {table.digest}", "  ", "policy: ")
    if text := difference(explanation):
        yield _wrapped(text, "  ", "note: ")
    if resolution is not None:
        yield ""
        fates = explain(resolution)
        is_long = len(fates) > _LONG_TABLE and not show_all
        yield from _row_lines(list(_by_reason(fates)) if is_long else _one_by_one(fates, show_all))
        if is_long:
            yield "(a line for each row: --all)"
    if resolution is not None and explanation.allowed:
        yield ""
        yield "The Pod gets:"
        yield from _resource_lines(resolution)
        yield from _place_lines(outcome.placement)


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
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
