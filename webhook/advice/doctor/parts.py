"""Whether what an installation consists of is there: what is gone answers no question about it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.doctor.entries import VALIDATING_PATH, our_entries
from webhook.advice.doctor.findings import Finding, error, fine
from webhook.advice.doctor.permissions import CONTROLLER, WEBHOOK, component_of
from webhook.advice.doctor.seen import Seen, Topic

_WITHOUT = {
    WEBHOOK: "Pods with a spec are refused",
    CONTROLLER: "nobody keeps status, reserve taints and certificates",
}


def deployments(seen: Seen) -> Iterator[Finding]:
    """Check that webhook and controller are deployed."""
    found = {component_of(one): one["metadata"]["name"] for one in seen.items(Topic.DEPLOYMENTS)}
    for component, without in _WITHOUT.items():
        if component not in found:
            yield error(
                f"there is no Deployment of gpuspec's {component} in namespace "
                f"{seen.place.namespace}: {without}",
                "apply gpuspec's manifests, or say with --namespace where it is installed",
            )
    there = [found[component] for component in _WITHOUT if component in found]
    if there:
        yield fine(" and ".join(there))


def validation(seen: Seen) -> Iterator[Finding]:
    """Check that tables are looked at before they are stored."""
    ours = [one for one in our_entries(seen, Topic.VALIDATING) if one.path == VALIDATING_PATH]
    if ours:
        yield fine(f"by {', '.join(dict.fromkeys(entry.configuration for entry in ours))}")
        return
    yield error(
        "no ValidatingWebhookConfiguration is gpuspec's: nothing checks tables before they are "
        "stored, and nothing keeps the one in use from being deleted",
        "apply gpuspec's manifests",
    )
