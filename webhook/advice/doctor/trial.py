"""What becomes of a Pod with a spec, and of one with a device by name: dry runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selection_spec.rows import CLAIMS
from selection_spec.table import Table
from webhook.advice.doctor.entries import translating
from webhook.advice.doctor.findings import CannotLookError, Finding, error, fine, unknown, warning
from webhook.advice.doctor.seen import Place, Question, Refused, Seen
from webhook.advice.words import counted
from webhook.inventory.facts import Json, Taint, mapping, mappings
from webhook.inventory.pod_facts import tolerations_of
from webhook.inventory.taints import tolerated
from webhook.placement.templates import asked_of, wanted
from webhook.terms import CLAIMS_ANNOTATION, is_template_name

SPEC = "dryRun/spec"
DEVICE = "dryRun/device"
"""The answers' keys: a Pod with a spec, and one with a row's resource."""

_GUARD = "'gpuspec-guard'"


def trials(seen: Seen) -> dict[str, Question]:
    """Return the dry runs to ask for."""
    table = seen.served.table
    asked = {SPEC: _key(table, seen.domain)}
    resource = _resource(table)
    if resource:
        asked[DEVICE] = resource
    return {key: _create(seen.place, resource) for key, resource in asked.items()}


def translation(seen: Seen) -> Iterator[Finding]:
    """Check that a Pod with a spec is translated."""
    key = _key(seen.served.table, seen.domain)
    at = f"in namespace {seen.place.try_in}"
    answer = seen.answers[SPEC]
    if isinstance(answer, Refused):
        yield _refusal(answer, f"a Pod with {key} {at}", seen.place.namespace)
        return
    limits = _limits(answer[0])
    if key in limits:
        yield error(
            f"a Pod with {key} {at} is stored as it was written",
            "see whether the webhook's configuration leaves this namespace out "
            "(namespaceSelector), has other matchConditions, or failurePolicy Ignore",
        )
        return
    if claims := _claims(answer[0]):
        yield from _with_claims(answer[0], claims, f"{key}: 1 {at}")
        return
    became = ", ".join(f"{name}: {amount}" for name, amount in sorted(limits.items()))
    yield fine(f"{key}: 1 {at} becomes {became}")


def _with_claims(pod: Json, claims: Iterable[str], asked: str) -> Iterator[Finding]:
    """Check that the controller will find in a Pod what to make its templates from (C2)."""
    written = wanted(pod)
    for name in claims:
        if name in written:
            kinds = counted(len(asked_of(written[name])), "kind")
            yield fine(f"{asked} becomes a claim on {kinds} of device, template {name}")
        else:
            yield error(
                f"{asked} becomes a claim, but what its template {name} holds is not in the "
                f"annotation {CLAIMS_ANNOTATION}: nobody can make it, and the Pod would wait",
                "see what else changes annotations of Pods",
            )


def failure_policy(seen: Seen) -> Iterator[Finding]:
    """Check what becomes of Pods while no replica answers."""
    ours = translating(seen)
    if all(one.raw.get("failurePolicy") != "Ignore" and one.conditions for one in ours):
        yield fine("Pods with a spec are refused, all others are created as ever")
    for entry in ours:
        if entry.raw.get("failurePolicy") == "Ignore":
            yield warning(
                f"{entry.configuration} has failurePolicy Ignore: while no replica answers, Pods "
                "with a spec are stored as they are written",
                "set it to Fail; its matchConditions keep all other Pods out of it",
            )
        elif not entry.conditions:
            yield warning(
                f"{entry.configuration} has no matchConditions: while no replica answers, no Pod "
                "at all can be created",
                "take matchConditions from gpuspec's manifests",
            )


def added_tolerations(seen: Seen) -> Iterator[Finding]:
    """Check for ExtendedResourceToleration, which cannot be read, only be seen at work."""
    resource = _resource(seen.table)
    if not resource:
        yield fine("no row is taken by an extended resource")
        return
    answer = seen.answers[DEVICE]
    if isinstance(answer, Refused):
        raise CannotLookError(answer.why)
    taint = Taint(resource, "", "NoSchedule")
    if not tolerated(taint, tolerations_of(mapping(answer[0].get("spec")))):
        yield fine(f"a Pod with {resource} gets no toleration that nobody wrote")
        return
    bare = [
        row.id
        for row in seen.table.rows
        if row.pool != CLAIMS
        and not tolerated(Taint(row.resource, "", "NoSchedule"), row.tolerations)
    ]
    said = "the admission plugin ExtendedResourceToleration is on"
    if not bare:
        yield fine(f"{said}; every row tolerates its resource's taint anyway")
        return
    yield warning(
        f"{said}: every Pod with {resource} tolerates the taint {taint}, though "
        f"{counted(len(bare), 'row')} of the table would not",
        f"keep Pods off nodes by another taint key than {resource}",
    )


def _refusal(answer: Refused, what: str, namespace: str) -> Finding:
    """Tell apart who refused: the API server could not call us, we said no, or somebody else."""
    message = answer.message
    if "failed calling webhook" in message and _ours(message):
        return error(
            f"{what} cannot be created: {message}",
            f"look at the replicas: kubectl -n {namespace} get pods -o wide; after that at the "
            "certificate, and at whether the API server's network reaches them",
        )
    if "admission webhook" in message and _ours(message):
        return warning(f"the webhook answers, and denies {what}: {message}")
    if _GUARD in message:
        return error(
            f"{what} is not translated, so the guard refuses it: {message}",
            "see whether the webhook's configuration is there, leaves this namespace out "
            "(namespaceSelector), or has other matchConditions than the guard",
        )
    return unknown(
        f"could not look: {answer.why}", "name a namespace where Pods are allowed with --try-in"
    )


def _ours(message: str) -> bool:
    return "gpuspec.preferred.jp" in message


def _key(table: Table | None, domain: str) -> str:
    """Return a key that the table knows; ``any`` where it stands for something."""
    if table is None or any(row.any and not row.reserved for row in table.rows):
        return f"{domain}/gpu-any"
    return f"{domain}/gpu-{table.rows[0].id}"


def _resource(table: Table | None) -> str:
    """Return the resource of the first row that is taken by one, "" where none is."""
    rows = () if table is None else table.rows
    return next((row.resource for row in rows if row.pool != CLAIMS), "")


def _create(place: Place, resource: str) -> Question:
    return Question(
        f"/api/v1/namespaces/{place.try_in}/pods",
        f"create pods in namespace {place.try_in}",
        {"dryRun": "All"},
        body=_pod(resource),
        single=True,
    )


def _pod(resource: str) -> Json:
    """Return a Pod that every level of Pod Security lets pass."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "gpuspec-doctor-"},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "main",
                    "image": "never-pulled",
                    "resources": {"limits": {resource: "1"}},
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


def _claims(pod: Json) -> list[str]:
    """Return the templates of ours that a Pod's claims are made from."""
    claims = mappings(mapping(pod.get("spec")).get("resourceClaims"))
    names = (one.get("resourceClaimTemplateName") for one in claims)
    return [name for name in names if isinstance(name, str) and is_template_name(name)]


def _limits(pod: Json) -> Json:
    containers = list(mappings(mapping(pod.get("spec")).get("containers")))
    return mapping(mapping(containers[0].get("resources")).get("limits")) if containers else {}
