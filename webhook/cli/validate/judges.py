"""Pods of files are judged as ``explain`` judges them, with what the files say of priorities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from selection_spec.documents import survey_manifests
from webhook.admission.translate import Context
from webhook.advice.findings.admission import Judgement
from webhook.advice.findings.views import View, objects
from webhook.cli.basis import Basis
from webhook.cli.explanation import Explanation, candidates, explained, not_known
from webhook.cli.validate.parts import Part
from webhook.inventory.facts import Json, mapping
from webhook.inventory.priority_classes import PriorityClasses


@dataclass(frozen=True, slots=True)
class PodJudge:
    """Judges a Pod in a file.

    Attributes:
        basis: The table, and what a cluster tells.
        known: What was said of all Pods.
        classes: The PriorityClasses among the files; of others nothing is known.
    """

    basis: Basis
    known: Context
    classes: PriorityClasses

    def __call__(self, view: View) -> Judgement:
        """Judge it; a DaemonSet's as its Pods would be judged (N8)."""
        metadata, basis = mapping(view.item.get("metadata")), self.basis
        is_set = view.kind == "DaemonSet"
        context = replace(
            self.known,
            is_template=view.kind != "Pod",
            daemon_set=view.owner.partition("/")[2] if is_set else None,
            kueue=self.known.kueue or view.is_queued,
        )
        context = self._with_class(view.pod, context)
        if basis.snapshot.table.index.claims:
            namespace = str(metadata.get("namespace") or "")
            context = basis.queues.of_pod(view.pod, context, basis.snapshot, namespace)
        explanation = explained(view.pod, context, basis)
        return Judgement(explanation.outcome, _difference(explanation))

    def _with_class(self, pod: Json, context: Context) -> Context:
        """Add the number of the Pod's class, where a file tells it."""
        if context.priority is not None:
            return context
        name = context.priority_class or mapping(pod.get("spec")).get("priorityClassName")
        name = name or self.classes.default
        value = self.classes.values.get(name) if isinstance(name, str) else None
        if value is None or mapping(pod.get("spec")).get("priority") is not None:
            return context
        return replace(context, priority_class=name, priority=value)


def _difference(explanation: Explanation) -> str:
    """Say what may come of a priority that is not known; a table that never asks is no finding."""
    other, choice = explanation.other, explanation.outcome.choice
    if other is None or choice is None or not explanation.differs:
        return ""
    would = ", ".join(candidates(other)) or "denied"
    return not_known(explanation.priority_class, choice.policy.other, would)


def classes_in(parts: Iterable[Part]) -> Iterator[Json]:
    """Yield the PriorityClasses of a file; a part that has none is not even read."""
    for part in parts:
        if b"PriorityClass" in part.raw or b"\0" in part.raw:
            for document in survey_manifests(part.raw).documents:
                yield from (
                    one.value for one in objects(document.value) if one.kind == "PriorityClass"
                )
