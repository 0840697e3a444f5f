"""Entries for the Pods of Kueue, and the namespaces that are labelled for them (semantics C5)."""

from __future__ import annotations

from copy import deepcopy

import pytest
import yaml

from tests.builders import Json
from tests.webhook.advice.doctor.world import AUTHORITY as TRUSTED
from tests.webhook.advice.doctor.world import MANIFESTS, Change, World, encoded, findings
from webhook.advice.doctor.findings import Level
from webhook.advice.doctor.seen import Topic

LABEL = "gpuspec.preferred.jp/kueue"
NO_ENTRY = (
    "warning: 1 namespace is labelled gpuspec.preferred.jp/kueue=true, though no webhook entry for "
    "/mutate/kueue selects such, so Pods there may get claims that Kueue refuses: team-q -> add "
    "components: [../../components/kueue] to the overlay"
)


def namespace(name: str = "team-q") -> Json:
    labels = {LABEL: "true", "kubernetes.io/metadata.name": name}
    return {"metadata": {"name": name, "labels": labels}}


def add_component(world: World) -> Json:
    """Add the component's entry as kustomize does, and return it."""
    document = yaml.safe_load((MANIFESTS / "components/kueue/entries.yaml").read_text())
    plain, queued = document["webhooks"]
    first = world.entry()
    first["namespaceSelector"] = plain["namespaceSelector"]
    entry: Json = deepcopy(queued)
    entry |= {part: first[part] for part in ("rules", "matchConditions")}
    entry["clientConfig"]["caBundle"] = encoded(TRUSTED.certificate)
    world.only(Topic.MUTATING)["webhooks"].append(entry)
    return entry


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.rule("C5")
def test_the_component_selects_what_is_labelled(world: World) -> None:
    assert findings(world, "kueue") == [
        "fine: no namespace is labelled gpuspec.preferred.jp/kueue=true"
    ]
    world.answers[Topic.QUEUED] = [namespace()]
    assert findings(world, "kueue") == [NO_ENTRY]
    add_component(world)
    assert {report.level for report in world.examine()} == {Level.FINE}
    assert findings(world, "kueue") == ["fine: 1 namespace, each with an entry for /mutate/kueue"]
    world.answers[Topic.QUEUED] = [namespace(), namespace("kube-system")]
    assert findings(world, "kueue") == [NO_ENTRY.replace("team-q", "kube-system")]


@pytest.mark.parametrize(
    ("selector", "level"),
    [
        ({}, Level.FINE),
        ({"matchLabels": {LABEL: "true"}}, Level.FINE),
        ({"matchLabels": {LABEL: "yes"}}, Level.WARNING),
        (
            {"matchExpressions": [{"key": "gpuspec.preferred.jp/kueue", "operator": "Exists"}]},
            Level.FINE,
        ),
        (
            {
                "matchExpressions": [
                    {"key": "gpuspec.preferred.jp/kueue", "operator": "DoesNotExist"}
                ]
            },
            Level.WARNING,
        ),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, Level.FINE),
    ],
    ids=str,
)
def test_selectors_are_read_as_kubernetes_reads_them(
    selector: Json,
    level: Level,
    world: World,
) -> None:
    world.answers[Topic.QUEUED] = [namespace()]
    add_component(world)["namespaceSelector"] = selector
    (said,) = findings(world, "kueue")
    assert said.startswith(f"{level}: 1 namespace")


def service(**fields: object) -> Change:
    def change(world: World) -> None:
        add_component(world)["clientConfig"]["service"].update(fields)

    return change


REFUSED = "Pods that it is called for are refused"
ENTRY = "webhook gpu-kueue.gpuspec.preferred.jp"


@pytest.mark.rule("C5")
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        pytest.param(
            service(port=8443),
            f"error: {ENTRY} calls port 8443 of Service gpuspec-system/gpuspec-webhook, which has "
            f"443: {REFUSED} -> set clientConfig.service.port of the webhook to a port of the "
            "Service",
            id="another port",
        ),
        pytest.param(
            service(path="/mutate/queue"),
            f"error: {ENTRY} calls /mutate/queue, where nothing is served: {REFUSED} -> set its "
            "path to /mutate or /mutate/kueue, as gpuspec's manifests do",
            id="another path",
        ),
        pytest.param(
            service(name="gpuspec"),
            "error: there is no Service gpuspec-system/gpuspec, which the configuration calls: "
            "Pods with a spec are refused -> apply gpuspec's manifests",
            id="another service",
        ),
    ],
)
def test_every_entry_is_looked_at(change: Change, wanted: str, world: World) -> None:
    change(world)
    fine, *wrong = findings(world, "endpoints")
    assert fine.startswith("fine: Service gpuspec-system/gpuspec-webhook")
    assert wrong == [wanted]


def test_an_entry_of_another_name_that_calls_us_is_looked_at_too(world: World) -> None:
    entry = add_component(world)
    entry["name"] = "queue.example.com"
    entry["clientConfig"]["caBundle"] = ""
    assert (
        "error: webhook queue.example.com has no caBundle: the API server trusts nobody there -> "
        "see that the controller runs and may patch the configuration"
    ) in findings(world, "certificate")
