"""Whether the ServiceAccounts of the installation may do what they have to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from webhook.advice.doctor.entries import entries
from webhook.advice.doctor.findings import CannotLookError, Finding, error, fine
from webhook.advice.doctor.seen import Place, Question, Refused, Seen, Topic
from webhook.advice.words import counted
from webhook.inventory.facts import Json, mapping, mappings
from webhook.terms import (
    AUTHORITY_SECRET,
    CONTROLLER_NAME,
    DRA_GROUP,
    HEALTH_OBJECT,
    RULES_RESOURCE,
    SERVER_SECRET,
    TABLE_GROUP,
    TABLE_PLURAL,
)

WEBHOOK, CONTROLLER = "webhook", "controller"
"""The components, by their label."""


_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_ADMISSION = "admissionregistration.k8s.io"
_NO_CERTIFICATES = "--no-certificates"


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a component has to be allowed.

    Attributes:
        component: Which.
        verb: As RBAC has it.
        resource: With its subresource, as ``nodes`` or ``selectiontables/status``.
        group: Its API group.
        name: The one object that it is about; "" for any.
        here: Whether it is about the installation's namespace alone.
        for_certificates: Whether only a controller that issues certificates needs it.
    """

    component: str
    verb: str
    resource: str
    group: str = ""
    name: str = ""
    here: bool = False
    for_certificates: bool = False

    def __str__(self) -> str:
        """Return it as ``kubectl auth can-i`` has it."""
        name = f"/{self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{'.' if self.group else ''}{self.group}{name}"


def _needs() -> Iterator[Need]:
    for verb in ("list", "watch"):
        yield Need(WEBHOOK, verb, TABLE_PLURAL, TABLE_GROUP)
        yield Need(CONTROLLER, verb, TABLE_PLURAL, TABLE_GROUP)
        for resource in ("nodes", "pods"):
            yield Need(CONTROLLER, verb, resource)
        yield Need(CONTROLLER, verb, "daemonsets", "apps")
        for resource in ("resourceslices", "deviceclasses", "resourceclaims"):
            yield Need(CONTROLLER, verb, resource, DRA_GROUP)
    yield Need(CONTROLLER, "patch", f"{TABLE_PLURAL}/status", TABLE_GROUP)
    yield Need(CONTROLLER, "get", "nodes")
    yield Need(CONTROLLER, "patch", "nodes")
    yield Need(CONTROLLER, "create", "events")
    for verb in ("list", "watch", "create", "delete"):
        yield Need(CONTROLLER, verb, "resourceclaimtemplates", DRA_GROUP)
    yield Need(CONTROLLER, "patch", "pods/status")
    yield from _health()
    yield Need(CONTROLLER, "create", "leases", "coordination.k8s.io", here=True)
    for verb in ("get", "update"):
        yield Need(CONTROLLER, verb, "leases", "coordination.k8s.io", CONTROLLER_NAME, here=True)
    yield _certificates("create", "secrets", here=True)
    for secret in (SERVER_SECRET, AUTHORITY_SECRET):
        for verb in ("get", "update"):
            yield _certificates(verb, "secrets", name=secret, here=True)


def _health() -> Iterator[Need]:
    for verb in ("get", "list", "watch", "create", "patch", "delete"):
        yield Need(CONTROLLER, verb, RULES_RESOURCE, DRA_GROUP)
    yield Need(CONTROLLER, "get", "pods")
    yield Need(CONTROLLER, "create", "pods/eviction")
    yield Need(CONTROLLER, "get", "jobs", "batch")
    yield Need(CONTROLLER, "create", "configmaps", here=True)
    for verb in ("get", "list", "watch", "update"):
        yield Need(CONTROLLER, verb, "configmaps", name=HEALTH_OBJECT, here=True)


def _certificates(
    verb: str, resource: str, group: str = "", name: str = "", *, here: bool = False
) -> Need:
    return Need(CONTROLLER, verb, resource, group, name, here=here, for_certificates=True)


NEEDS: tuple[Need, ...] = tuple(_needs())
"""Every permission that the loops and the webhook use."""


def configuration_needs(seen: Seen) -> tuple[Need, ...]:
    """Return what keeping ``caBundle`` right takes; our configurations may have other names."""
    found = []
    for topic, resource in (
        (Topic.MUTATING, "mutatingwebhookconfigurations"),
        (Topic.VALIDATING, "validatingwebhookconfigurations"),
    ):
        answer = seen.answers[topic]
        known = () if isinstance(answer, Refused) else entries(answer)
        ours = dict.fromkeys(entry.configuration for entry in known if entry.is_ours)
        for verb, name in (("list", ""), *(("update", name) for name in ours)):
            found.append(_certificates(verb, resource, _ADMISSION, name))
    return tuple(found)


def access_questions(seen: Seen) -> dict[str, Question]:
    """Ask the API server for each need of each component that there is."""
    answer = seen.answers[Topic.DEPLOYMENTS]
    if isinstance(answer, Refused):
        return {}
    return {
        _key(need): Question(
            _REVIEWS,
            "create subjectaccessreviews",
            body=_review(need, account, seen.place),
            single=True,
        )
        for need, account in _wanted(seen, answer)
    }


def permissions(seen: Seen) -> Iterator[Finding]:
    """Check what was answered."""
    wanted = list(_wanted(seen, seen.items(Topic.DEPLOYMENTS)))
    if not wanted:
        raise CannotLookError(f"no Deployment of gpuspec in namespace {seen.place.namespace}")
    missing: dict[str, list[str]] = defaultdict(list)
    for need, account in wanted:
        if not is_granted(seen, need):
            missing[account].append(str(need))
    for account, needs in missing.items():
        yield error(
            f"ServiceAccount {seen.place.namespace}/{account} may not: {'; '.join(needs)}",
            "apply the roles and bindings of gpuspec's manifests",
        )
    if not missing:
        yield fine(f"all {counted(len(wanted), 'permission')} are granted")


def is_granted(seen: Seen, need: Need) -> bool:
    """Tell whether a component may do one thing; so it is said where it was not asked.

    Raises:
        CannotLookError: It could not be asked.
    """
    if _key(need) not in seen.answers:
        return True
    (review,) = seen.items(_key(need))
    return mapping(review.get("status")).get("allowed") is True


def _wanted(seen: Seen, deployments: list[Json]) -> Iterator[tuple[Need, str]]:
    """Yield each need with the ServiceAccount that has to have it."""
    every = NEEDS + configuration_needs(seen)
    for deployment in deployments:
        spec = _pod_spec(deployment)
        arguments = _arguments(deployment)
        component = component_of(deployment)
        if component == WEBHOOK and not any("--table-name" in one for one in arguments):
            continue  # a table of a file takes no permission
        issues = _NO_CERTIFICATES not in arguments
        for need in every:
            if need.component == component and (issues or not need.for_certificates):
                yield need, str(spec.get("serviceAccountName") or "default")


def component_of(deployment: Json) -> str:
    """Return which component a Deployment is, "" for none of ours."""
    labels = mapping(deployment["metadata"].get("labels"))
    return str(labels.get("app.kubernetes.io/component") or "")


def issues_certificates(seen: Seen) -> bool | None:
    """Tell whether the controller makes certificates; None where there is none to be seen."""
    answer = seen.answers[Topic.DEPLOYMENTS]
    for deployment in () if isinstance(answer, Refused) else answer:
        if component_of(deployment) == CONTROLLER:
            return _NO_CERTIFICATES not in _arguments(deployment)
    return None


def _pod_spec(deployment: Json) -> Json:
    template = mapping(mapping(deployment.get("spec")).get("template"))
    return mapping(template.get("spec"))


def _arguments(deployment: Json) -> list[str]:
    return [
        str(argument)
        for container in mappings(_pod_spec(deployment).get("containers"))
        for part in ("command", "args")
        for argument in container.get(part) or ()
    ]


def _key(need: Need) -> str:
    return f"may/{need.component}/{need}"


def _review(need: Need, account: str, place: Place) -> Json:
    resource, _, subresource = need.resource.partition("/")
    attributes = {
        "verb": need.verb,
        "group": need.group,
        "resource": resource,
        "subresource": subresource,
        "name": need.name,
        "namespace": place.namespace if need.here else "",
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{place.namespace}:{account}",
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{place.namespace}",
                "system:authenticated",
            ],
            "resourceAttributes": {key: value for key, value in attributes.items() if value},
        },
    }
