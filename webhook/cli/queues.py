"""Which Pods come to admission as those of Kueue, as far as a cluster tells (semantics C5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import click

from selection_spec.rows import CLAIMS
from webhook.admission.translate import Context, translate
from webhook.cli.cluster import refusals
from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path
from webhook.snapshot import Snapshot
from webhook.terms import KUEUE_NAMESPACE_LABEL

if TYPE_CHECKING:
    from webhook.advice.doctor.entries import Entry
    from webhook.kube.cluster import Cluster

_NAMESPACES: Final = "/api/v1/namespaces"
_CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"

Labels = Mapping[str, str]


def _nowhere(_name: str, _labels: Labels) -> bool:
    """Without a cluster no namespace is known."""
    return False


@dataclass(frozen=True, slots=True)
class Queues:
    """Fills in by which entry of the webhook's configuration a Pod would come.

    Attributes:
        default: The namespace of objects that name none.
        is_queued: Tells whether the entry for Kueue selects a namespace, by its name and the labels
            that it will have beside those it has.
        own: The labels of namespaces that are applied together with the Pods.
    """

    default: str = "default"
    is_queued: Callable[[str, Labels], bool] = _nowhere
    own: Mapping[str, Labels] = field(default_factory=dict)

    def beside(self, objects: Iterable[object]) -> Queues:
        """Return it for Pods that are applied together with these, namespaces among them."""
        own: dict[str, Labels] = {}
        for one in map(mapping, objects):
            if one.get("kind") == "Namespace":
                metadata = mapping(one.get("metadata"))
                own[str(metadata.get("name"))] = mapping(metadata.get("labels"))
        return replace(self, own=own)

    def of_pod(
        self, pod: dict[str, Any], said: Context, snapshot: Snapshot, namespace: str = ""
    ) -> Context:
        """Complete what was said of a Pod; the cluster is asked only where it matters.

        Args:
            pod: A Pod or a template.
            said: What is known of it.
            snapshot: What it is judged by.
            namespace: Where it is, "" where nothing says so.
        """
        resolution = translate(pod, said, snapshot).resolution
        if said.kueue or resolution is None:
            return said
        if not any(row.pool == CLAIMS for row in resolution.candidates[1:]):
            return said
        name = namespace or self.default
        return replace(said, kueue=self.is_queued(name, self.own.get(name, {})))


def namespace_at(document: object, path: Path) -> str:
    """Return the namespace that the object around a place of a document names, "" if none."""
    found = ""
    for step in (*path, None):
        node = mapping(document)
        if node.get("kind") and node.get("apiVersion"):
            found = str(mapping(node.get("metadata")).get("namespace") or "")
        if step is not None:
            document = document[step]  # type: ignore[index]
    return found


def queues_of(cluster: Cluster, default: str) -> Queues:
    """Return what a cluster knows; it is asked when that is needed, each thing once.

    Args:
        cluster: Who is asked.
        default: The namespace of objects that name none.

    Raises:
        UnreadableError: Later, by the methods: the cluster does not answer.
    """
    found = cache(lambda: _entries(cluster))

    @cache
    def labels(name: str) -> Labels | None:
        return _labels(cluster, name)

    @cache
    def told(text: str) -> None:
        click.echo(f"note: {text}", err=True)

    def is_queued(name: str, own: Labels) -> bool:
        entries, why = found()
        if entries == []:
            return False
        has = labels(name)
        if has is None and not own:
            told(f"whether namespace {name} is Kueue's may not be read; --kueue says so")
            return False
        has = {_NAME_LABEL: name, **(has or {}), **own}
        if entries is not None:
            return any(one.selects(has) for one in entries)
        is_labelled = has.get(KUEUE_NAMESPACE_LABEL) == "true"
        if is_labelled:
            told(f"namespace {name} is taken for one of Kueue's by its label: {why}")
        return is_labelled

    return Queues(default, is_queued)


def _entries(cluster: Cluster) -> tuple[list[Entry] | None, str]:
    """Return the entries for Kueue; None, and why, where they may not be read."""
    from webhook.advice.doctor.entries import QUEUED_PATH, entries  # noqa: PLC0415 -- slow to load
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    with refusals():
        try:
            found = entries(cluster.items(_CONFIGURATIONS))
            return [one for one in found if one.path == QUEUED_PATH], ""
        except ApiError as error:
            if not error.is_forbidden:
                raise
            return None, error.message


def _labels(cluster: Cluster, name: str) -> Labels | None:
    """Return the labels of a namespace, none where there is no such; None where it is hidden."""
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    with refusals():
        try:
            found: Json = cluster.get(f"{_NAMESPACES}/{name}")
        except ApiError as error:
            if error.is_not_found:
                return {}
            if not error.is_forbidden:
                raise
            return None
    return mapping(mapping(found.get("metadata")).get("labels"))
