"""Which permissions are asked about, and that the shipped roles grant exactly these."""

from __future__ import annotations

import yaml

from tests.builders import Json
from tests.webhook.advice.doctor.world import MANIFESTS, World, findings, forbidden
from webhook.advice.doctor.permissions import CONTROLLER, NEEDS, WEBHOOK, configuration_needs
from webhook.advice.doctor.seen import Refused, Seen, Topic

ROLES = ("base/webhook/rbac.yaml", "base/controller/rbac.yaml", "components/certificates/rbac.yaml")

Right = tuple[str, str, str, str, str]


def test_what_is_asked_about_is_what_the_shipped_roles_grant() -> None:
    """Component, verb, group, resource and name; both ways."""
    world = World()
    seen = Seen.begin(world.place, world.answers, lambda _: None)
    needed = {
        (need.component, need.verb, need.group, need.resource, need.name)
        for need in NEEDS + configuration_needs(seen)
    }
    granted = {right for file in ROLES for right in rights(file)}
    assert needed == granted


def rights(file: str) -> set[Right]:
    documents: list[Json] = list(yaml.safe_load_all((MANIFESTS / file).read_text()))
    component = WEBHOOK if "webhook" in file else CONTROLLER
    return {
        (component, verb, group, resource, name)
        for document in documents
        for rule in document.get("rules") or ()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or ("",)
    }


def test_what_is_missing_is_named_with_the_account() -> None:
    world = World()
    world.denied = {
        "controller/patch nodes",
        "controller/update secrets/gpuspec-ca",
        "webhook/watch selectiontables.gpuspec.preferred.jp",
    }
    assert findings(world, "permissions") == [
        (
            "error: ServiceAccount gpuspec-system/gpuspec-webhook may not: watch "
            "selectiontables.gpuspec.preferred.jp -> apply the roles and bindings of gpuspec's "
            "manifests"
        ),
        (
            "error: ServiceAccount gpuspec-system/gpuspec-controller may not: patch nodes; update "
            "secrets/gpuspec-ca -> apply the roles and bindings of gpuspec's manifests"
        ),
    ]


def test_a_controller_without_certificates_and_a_webhook_with_a_file_need_less() -> None:
    world = World()
    webhook, controller = (
        deployment["spec"]["template"]["spec"]["containers"][0]
        for deployment in world.items(Topic.DEPLOYMENTS)
    )
    webhook["args"] = ["serve", "--table=/etc/gpuspec/table.yaml"]
    controller["args"].append("--no-certificates")
    issuing = [need for need in NEEDS if need.for_certificates or need.component == WEBHOOK]
    assert findings(world, "permissions") == [
        f"fine: all {len(NEEDS) - len(issuing)} permissions are granted"
    ]


def test_nobody_to_ask_about() -> None:
    world = World()
    world.answers[Topic.DEPLOYMENTS] = []
    assert findings(world, "permissions") == [
        "unknown: could not look: no Deployment of gpuspec in namespace gpuspec-system"
    ]


def test_deployments_may_not_be_read() -> None:
    world = World()
    world.answers[Topic.DEPLOYMENTS] = forbidden("list deployments in namespace gpuspec-system")
    assert findings(world, "permissions") == [
        (
            "unknown: could not look: permission to list deployments in namespace gpuspec-system "
            "is missing"
        )
    ]


def test_what_was_not_seen_of_configurations_is_not_asked_about() -> None:
    world = World()
    refused = Refused(403, 'User "jane" cannot list', "list mutatingwebhookconfigurations")
    world.answers[Topic.MUTATING] = refused
    seen = Seen.begin(world.place, world.answers, lambda _: None)
    asked = len(NEEDS + configuration_needs(seen))
    assert findings(world, "permissions") == [f"fine: all {asked} permissions are granted"]
