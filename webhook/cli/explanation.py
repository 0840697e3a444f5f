"""What ``explain`` knows of one Pod, and says of it as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from selection_spec.denial import few
from selection_spec.explain import Fate, explain, explain_container
from selection_spec.resolution import Resolution
from selection_spec.rows import Policy
from selection_spec.table import Table
from webhook import marks
from webhook.admission import messages
from webhook.admission.translate import Context, Outcome, Verdict, translate
from webhook.cli.basis import Basis
from webhook.jsonpatch import write
from webhook.placement.templates import template, wanted
from webhook.shapes import unreadable
from webhook.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Explanation:
    """One Pod, what becomes of it, and what would under another policy if that is open (D3).

    Attributes:
        priority_class: The class that the Pod has or will have, None where that is not known.
        priority: The number that it has or will have, None where that is not known.
        admitted: What an annotation says of its admission, None where there is none.
    """

    pod: dict[str, Any]
    priority_class: str | None
    priority: int | None
    outcome: Outcome
    other: Outcome | None
    snapshot: Snapshot
    admitted: marks.Mark | None

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


def explained(pod: dict[str, Any], context: Context, basis: Basis) -> Explanation:
    """Judge a Pod, and judge it by the other policy too where its priority is not known."""
    snapshot = basis.snapshot
    outcome = translate(pod, context, snapshot)
    if outcome.choice is not None:
        # It asks for something, so that its priority matters.
        outcome = translate(pod, basis.priorities.of_pod(pod, context), snapshot)
    other = None
    if outcome.choice is not None and not outcome.choice.certain:
        other = translate(pod, replace(context, policy=outcome.choice.policy.other), snapshot)
    readable = not unreadable(pod)
    spec = pod["spec"] if readable else {}
    name, number = spec.get("priorityClassName"), spec.get("priority")
    return Explanation(
        pod=pod,
        priority_class=context.priority_class or (name if isinstance(name, str) else None),
        priority=number if context.priority is None and type(number) is int else context.priority,
        outcome=outcome,
        other=other,
        snapshot=snapshot,
        admitted=marks.read(pod) if readable else None,
    )


def candidates(outcome: Outcome) -> list[str]:
    """Return the ids of the rows that a Pod may use, in order."""
    if outcome.resolution is None or outcome.verdict is Verdict.DENIED:
        return []
    return [row.id for row in outcome.resolution.candidates]


def difference(explanation: Explanation) -> str:
    """Return the sentence that says what is not known of the priority, "" if it does not matter."""
    other, choice = explanation.other, explanation.outcome.choice
    if choice is None:
        return ""
    name = explanation.priority_class
    if text := passed_over(explanation.snapshot.table, name, explanation.priority):
        return text
    if not explanation.differs or other is None:
        return ""
    return not_known(name, choice.policy.other, ", ".join(candidates(other)) or "denied")


def not_known(name: str | None, other: Policy, would: str) -> str:
    """Say that a Pod's priority, or its class's number, is not known, and what may come of it."""
    unknown, say = "its priority", "--priority-class or --priority"
    if name:
        unknown, say = f"the number of priority class {name}", "--priority"
    return f"{unknown} is not known; under {other} it would be {would} (say {say})"


def passed_over(table: Table, name: str | None, number: int | None) -> str:
    """Say so where a table that goes by classes only has no rule for a Pod's priority."""
    known = dict.fromkeys(one for rule in table.priorities for one in rule.class_names or ())
    if any(rule.min_value is not None for rule in table.priorities) or name in known:
        return ""
    if name:
        return f"table {table.name} has no rule for priority class {name}"
    # Zero is what a Pod without any class has.
    if number:
        only = f", only for priority class {few(known, ' or ')}" if known else ""
        return f"table {table.name} has no rule for priority {number}{only}"
    return ""


def as_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation in its documented shape."""
    outcome, table = explanation.outcome, explanation.snapshot.table
    resolution, choice = outcome.resolution, outcome.choice
    result: dict[str, Any] = {
        "allowed": explanation.allowed,
        "message": messages.denial(outcome.problems),
        "policy": choice.policy.value if choice else None,
        "policyFrom": choice.source if choice else None,
        "output": _output(outcome, table),
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
    if explanation.admitted is not None:
        result["admitted"] = _admitted(explanation.admitted, table.digest)
    return result


def _output(outcome: Outcome, table: Table) -> str | None:
    """Return what the Pod's devices come as; None where it is denied and the table has several."""
    candidates = outcome.resolution.candidates if outcome.resolution is not None else ()
    outputs = {row.output.value for row in candidates[:1] or table.rows}
    return outputs.pop() if len(outputs) == 1 else None


def _admitted(mark: marks.Mark, digest: str) -> dict[str, Any]:
    return {
        "containers": list(mark.containers),
        "policy": mark.policy,
        "candidates": list(mark.candidates),
        "table": mark.table,
        "byThisTable": mark.table == digest,
    }


def _fate(fate: Fate) -> dict[str, Any]:
    return {"id": fate.row.id, "kept": fate.kept, "rule": fate.rule, "why": fate.why}


def _containers(resolution: Resolution) -> Iterator[dict[str, Any]]:
    """Yield what each container's spec alone says of every row; all of it where it alone decides.

    That is so where each claim of the Pod keeps its own candidates (D1).
    """
    for container in resolution.containers:
        part = resolution.of(container.need.name)
        fates = explain(part) if resolution.apart else explain_container(resolution, container)
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
    after = write(explanation.pod, explanation.outcome.edits).after
    spec = after["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    return {
        "nodeSelector": spec.get("nodeSelector") or {},
        "affinity": spec.get("affinity") or {},
        "tolerations": spec.get("tolerations") or [],
        "resources": {one["name"]: one["resources"] for one in containers if one.get("resources")},
        "resourceClaims": spec.get("resourceClaims") or [],
        "templates": [template(name, held) for name, held in wanted(after).items()],
    }
