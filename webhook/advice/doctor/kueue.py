"""Namespaces whose Pods Kueue admits: whether their Pods are translated for it (semantics C5)."""

from __future__ import annotations

from collections.abc import Iterator

from selection_spec.denial import few
from webhook.advice.doctor.entries import QUEUED_PATH, our_entries
from webhook.advice.doctor.findings import Finding, fine, warning
from webhook.advice.doctor.seen import Seen, Topic
from webhook.advice.words import counted
from webhook.inventory.facts import texts
from webhook.terms import KUEUE_NAMESPACE_LABEL


def namespaces(seen: Seen) -> Iterator[Finding]:
    """Check that a webhook entry selects the namespaces that are labelled for Kueue."""
    found = {
        str(one["metadata"]["name"]): texts(one["metadata"].get("labels"))
        for one in seen.items(Topic.QUEUED)
    }
    label = f"{KUEUE_NAMESPACE_LABEL}=true"
    ours = [one for one in our_entries(seen, Topic.MUTATING) if one.sees_new_pods]
    queued = [one for one in ours if one.path == QUEUED_PATH]
    left_out = [
        name for name, labels in found.items() if not any(one.selects(labels) for one in queued)
    ]
    if not found:
        yield fine(f"no namespace is labelled {label}")
    elif not left_out:
        yield fine(f"{counted(len(found), 'namespace')}, each with an entry for {QUEUED_PATH}")
    else:
        yield warning(
            f"{_are(len(left_out))} labelled {label}, though no webhook entry for {QUEUED_PATH} "
            "selects such, so Pods there may get claims that Kueue refuses: "
            f"{few(sorted(left_out))}",
            "add components: [../../components/kueue] to the overlay",
        )


def _are(count: int) -> str:
    return "1 namespace is" if count == 1 else f"{count} namespaces are"
