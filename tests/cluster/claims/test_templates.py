"""Templates are made for Pods that bring them along, and swept, on a real control plane (C3)."""

from __future__ import annotations

import contextlib
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api import Json, path, wait_until
from tests.cluster.claims.templates import (
    CLASS,
    claim_pod,
    create,
    node,
    offer,
    spec_of,
    templates,
    templates_path,
    told,
    wait_bound,
    wait_templates,
)
from tests.cluster.components import HOST
from tests.cluster.control_plane import ControlPlane
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller
from tests.cluster.namespaces import create_namespace, empty_namespace
from tests.cluster.pods import events_about
from tests.cluster.versions import ON_NEWEST
from webhook.placement.templates import canonical, template, template_name
from webhook.terms import CLASSES_PATH, SLICES_PATH

SECONDS = 60.0
GRACE = "--template-grace-seconds=1"
NODES = 3
PODS = 100


@pytest.fixture(scope="module")
def plane(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A few nodes full of devices of one driver, and SelectionTables as a resource."""
    workdir = tmp_path_factory.mktemp(f"templates-{kubernetes}-")
    nodes = [node(number) for number in range(NODES)]
    with ControlPlane.start(kubernetes, nodes=nodes, workdir=workdir) as control_plane:
        tables.install_resource(control_plane.api)
        control_plane.api.create(CLASSES_PATH, {"metadata": {"name": CLASS}, "spec": {}})
        for number in range(NODES):
            control_plane.api.create(SLICES_PATH, offer(number))
        yield control_plane


@pytest.fixture(autouse=True)
def table(plane: ControlPlane) -> Iterator[None]:
    tables.apply(plane.api, claims_table())
    yield
    tables.delete(plane.api)


def claims_table(**fields: object) -> Json:
    claim = {"deviceClassName": CLASS, "driver": CLASS}
    return tables.with_row("a30-24gb", claim=claim, **fields)


@pytest.fixture
def team(plane: ControlPlane) -> Iterator[str]:
    with namespace(plane) as name:
        yield name


@contextlib.contextmanager
def namespace(plane: ControlPlane) -> Iterator[str]:
    name = f"team-{uuid.uuid4().hex[:8]}"
    create_namespace(plane.api, name)
    yield name
    empty_namespace(plane.api, name)


@contextlib.contextmanager
def controller(
    plane: ControlPlane, folder: Path, *more: str, name: str = ""
) -> Iterator[Controller]:
    """A controller, ended without a chance to hand over."""
    name = name or f"controller-{uuid.uuid4().hex[:8]}"
    # Of a lease of its own: it leads at once, whoever was killed before.
    lease = f"lease-{uuid.uuid4().hex[:8]}"
    create_namespace(plane.api, lease)
    one = Controller(
        name, plane.kubeconfig, folder, "--no-certificates", f"--namespace={lease}", *more
    )
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.mark.rule("C3")
def test_what_a_pod_brings_along_is_made_and_swept_when_it_is_gone(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api, spec = plane.api, spec_of()
    with controller(plane, tmp_path, GRACE) as one:
        create(api, team, claim_pod("p", spec), claim_pod("q", spec))
        wait_bound(api, team, 2)
        name = template_name(spec)
        found = api.get(f"{templates_path(team)}/{name}")
        assert found["spec"]["spec"] == spec
        one.wait_runs("claim-templates", 4)
        assert templates(api, team) == [name]
        api.delete(path("v1", "pods", "p", namespace=team), gracePeriodSeconds="0")
        one.wait_runs("claim-templates", 4)
        assert templates(api, team) == [name]
        api.delete(path("v1", "pods", "q", namespace=team), gracePeriodSeconds="0")
        wait_templates(api, team, [])


@pytest.mark.rule("C2", "C3")
def test_pods_of_a_late_controller_are_bound_when_it_is_back_whatever_the_table_says_by_then(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api = plane.api
    specs = [spec_of(number) for number in range(1, 5)]
    pods = [claim_pod(f"p{number}", specs[number % 4]) for number in range(PODS)]
    create(api, team, *pods[: PODS // 2])
    tables.apply(api, claims_table(cost=7))
    create(api, team, *pods[PODS // 2 :])
    tables.apply(api, claims_table(cost=8, vram="48gb"))
    name = template_name(specs[0])

    def kubernetes_says_why() -> bool:
        found = events_about(api, team, "p0")
        return any(
            "FailedResourceClaimCreation" in one["reason"] and name in one["message"]
            for one in found
        )

    wait_until(kubernetes_says_why, timeout=SECONDS, what="Kubernetes' own Event")
    time.sleep(10)  # for Kubernetes' own pauses to have grown, where it has any
    with controller(plane, tmp_path) as one:
        wait_until(lambda: one.leads, timeout=SECONDS, what="it to lead", poll=0.02)
        started = time.monotonic()
        wait_bound(api, team, PODS)
        late = time.monotonic() - started
        wait_templates(api, team, [template_name(spec) for spec in specs])
        started = time.monotonic()
        create(api, team, *(claim_pod(f"q{number}", specs[number % 4]) for number in range(PODS)))
        wait_bound(api, team, 2 * PODS)
        usual = time.monotonic() - started
        nudged = one.metric("gpuspec_claim_template_writes_total", write="nudged")
        assert (nudged > 0) is (plane.version == "1.35")
    print(
        f"\n{plane.version}: {PODS} Pods bound {late:.1f} s after the controller was back; "
        f"with templates that were there before, {usual:.1f} s after the first was created; "
        f"{nudged:.0f} were nudged"
    )


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_forged_annotation_makes_nothing_and_the_pod_is_told(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api = plane.api
    admin = spec_of()
    admin["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    foreign = spec_of(device_class="other.example.com")
    cel = spec_of()
    cel["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "no CEL"}}]
    text = spec_of()
    text["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "\ud800"}}]
    other = canonical({template_name(spec_of()): spec_of(5)})
    pods = {
        "admin": claim_pod("admin", admin),
        "foreign": claim_pod("foreign", foreign),
        "cel": claim_pod("cel", cel),
        "text": claim_pod("text", text),
        "other": claim_pod("other", spec_of(), annotation=other),
        "none": claim_pod("none", spec_of(6), annotation="{"),
    }
    honest = spec_of(7)
    with controller(plane, tmp_path) as one:
        create(api, team, *pods.values(), claim_pod("honest", honest))
        wait_until(
            lambda: told(api, team).keys() == pods.keys(),
            timeout=SECONDS,
            what="everybody to be told",
            state=lambda: f"{told(api, team)}\n{one.process.log_end()}",
        )
        wait_bound(api, team, 1)
    assert templates(api, team) == [template_name(honest)]
    assert {len(messages) for messages in told(api, team).values()} == {1}
    said = {name: messages[0].partition(": ")[2] for name, messages in told(api, team).items()}
    annotation, again = "the Pod's annotation gpuspec.preferred.jp/claims: ", "create the Pod again"
    nothing = f"{annotation}it has nothing whose hash is this name; {again} by its spec"
    assert said["other"] == said["none"] == nothing
    assert said["admin"] == f"{annotation}it holds adminAccess; {again} by its spec"
    unknown = "no SelectionTable asks DeviceClass other.example.com"
    assert said["foreign"] == f"{unknown}; it is made as soon as one does"
    assert said["cel"].startswith("422 Invalid: ResourceClaimTemplate.resource.k8s.io ")


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_controller_killed_in_the_middle_leaves_nothing_undone_and_nothing_twice(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api = plane.api
    specs = [spec_of(number) for number in range(1, 81)]
    create(api, team, *(claim_pod(f"p{number}", spec) for number, spec in enumerate(specs)))
    with controller(plane, tmp_path) as one:
        wait_until(lambda: templates(api, team), timeout=SECONDS, what="a first one", poll=0.01)
        one.process.crash()
    made = len(templates(api, team))
    print(f"\n{plane.version}: killed after {made} of {len(specs)}")
    with controller(plane, tmp_path):
        wait_bound(api, team, len(specs))
    assert sorted(templates(api, team)) == sorted(map(template_name, specs))


@ON_NEWEST
@pytest.mark.rule("C3")
def test_two_controllers_that_both_believe_to_lead_do_no_harm(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api = plane.api
    specs = [spec_of(number) for number in range(1, 41)]
    with controller(plane, tmp_path, GRACE) as left, controller(plane, tmp_path, GRACE) as right:
        wait_until(lambda: left.leads and right.leads, timeout=SECONDS, what="both to lead")
        create(api, team, *(claim_pod(f"p{number}", spec) for number, spec in enumerate(specs)))
        wait_bound(api, team, len(specs))
        assert len(templates(api, team)) == len(specs)
        api.delete(path("v1", "pods", namespace=team), gracePeriodSeconds="0")
        wait_templates(api, team, [])
        for one in (left, right):
            assert "warning" not in one.process.log_end()
            assert one.metric("gpuspec_claim_template_writes_total", write="failed") == 0


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_template_deleted_by_hand_is_made_again(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api, spec = plane.api, spec_of()
    at = f"{templates_path(team)}/{template_name(spec)}"
    with controller(plane, tmp_path):
        create(api, team, claim_pod("p", spec, nodeSelector={"no": "where"}))
        first = api.wait_for(at, bool)["metadata"]["uid"]
        api.delete(at)
        api.wait_for(at, lambda found: found["metadata"]["uid"] != first)


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_template_of_somebody_else_is_known_by_its_content_and_never_changed(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api, asked = plane.api, spec_of(1)["devices"]["requests"][0]["exactly"]
    several = [{**asked, "name": name} for name in ("a30-24gb", "v100-32gb")]
    specs = {
        "one": spec_of(1),
        "several": {"devices": {"requests": [{"name": "gpu", "firstAvailable": several}]}},
        "odd": spec_of(2),
    }
    for name, spec in specs.items():
        held = spec_of(3) if name == "odd" else spec
        body = template(template_name(spec), held)
        del body["metadata"]["labels"]
        api.create(templates_path(team), body)
    with controller(plane, tmp_path):
        nowhere = {"no": "where"}
        for name, spec in specs.items():
            create(api, team, claim_pod(name, spec, nodeSelector=nowhere))
        wait_until(lambda: told(api, team), timeout=SECONDS, what="somebody to be told")
        api.delete(f"{templates_path(team)}/{template_name(specs['several'])}")
        wait_templates(api, team, [template_name(specs["several"])])
    said = (
        f"ResourceClaimTemplate {template_name(specs['odd'])} is not what its name says: somebody "
        "made it with other content; delete it, and it is made as it should be"
    )
    assert told(api, team) == {"odd": [said]}


@ON_NEWEST
@pytest.mark.rule("C3")
def test_sweeping_never_keeps_a_pod_from_its_claim(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    """Pods come just when their template is being swept."""
    api, spec = plane.api, spec_of()
    pods = path("v1", "pods", namespace=team)
    with controller(plane, tmp_path, GRACE) as one:
        for number in range(20):
            create(api, team, claim_pod(f"p{number}", spec))
            wait_bound(api, team, 1)
            api.delete(pods, gracePeriodSeconds="0")
            time.sleep(0.9 + number * 0.02)
        wait_templates(api, team, [])
        swept = one.metric("gpuspec_claim_template_writes_total", write="swept")
        print(f"\n{plane.version}: swept {swept:.0f} times between 20 Pods")
        assert swept > 1


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_quota_is_told_in_the_api_servers_words_and_holds_up_no_other_namespace(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api, spec = plane.api, spec_of()
    quotas = path("v1", "resourcequotas", namespace=team)
    counted = "count/resourceclaimtemplates.resource.k8s.io"
    api.create(quotas, {"metadata": {"name": "few"}, "spec": {"hard": {counted: "0"}}})
    api.wait_for(f"{quotas}/few", lambda found: found.get("status", {}).get("hard"))
    with controller(plane, tmp_path) as one, namespace(plane) as other:
        create(api, team, claim_pod("p", spec))
        create(api, other, claim_pod("q", spec))
        wait_bound(api, other, 1)
        wait_until(lambda: told(api, team), timeout=SECONDS, what="an Event")
        (message,) = told(api, team)["p"]
        name = template_name(spec)
        assert message == (
            f"ResourceClaimTemplate {name} cannot be made: 403 Forbidden: "
            f'resourceclaimtemplates.resource.k8s.io "{name}" is forbidden: exceeded quota: few, '
            f"requested: {counted}=1, used: {counted}=0, limited: {counted}=0; it is tried again"
        )
        wait_until(
            lambda: tables.condition(api, "ClaimTemplates").get("status") == "False",
            timeout=SECONDS,
            what="the condition",
            state=one.process.log_end,
        )
        said = tables.condition(api, "ClaimTemplates")["message"]
        assert said.startswith(f"namespace {team}: 1 Pod waits, 403 Forbidden: ")
        api.delete(f"{quotas}/few")
        wait_bound(api, team, 1, timeout=90)
        wait_until(
            lambda: tables.condition(api, "ClaimTemplates").get("status") == "True",
            timeout=SECONDS,
            what="the condition to end",
        )


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_webhook_of_others_that_hangs_in_a_namespace_holds_up_no_other(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api, spec = plane.api, spec_of()
    configurations = path("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations")
    with socket.create_server((HOST, 0)) as silent, controller(plane, tmp_path) as one:
        entry = {
            "name": "silent.example.com",
            "clientConfig": {"url": f"https://{HOST}:{silent.getsockname()[1]}/"},
            "rules": [
                {
                    "operations": ["CREATE"],
                    "apiGroups": ["resource.k8s.io"],
                    "apiVersions": ["v1"],
                    "resources": ["resourceclaimtemplates"],
                }
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "timeoutSeconds": 30,
        }
        api.create(configurations, {"metadata": {"name": "silent"}, "webhooks": [entry]})
        time.sleep(2)  # until the API server calls it
        create(api, team, claim_pod("p", spec))
        with namespace(plane) as other:
            for number in range(1, 11):
                create(api, other, claim_pod(f"q{number}", spec_of(number)))
                wait_bound(api, other, number, timeout=3)
        assert templates(api, team) == []
        wait_until(
            lambda: told(api, team), timeout=SECONDS, what="an Event", state=one.process.log_end
        )
        api.delete(f"{configurations}/silent")
        wait_bound(api, team, 1, timeout=90)


@ON_NEWEST
@pytest.mark.rule("C3")
def test_a_namespace_that_is_being_deleted_is_no_news(plane: ControlPlane, tmp_path: Path) -> None:
    api, spec = plane.api, spec_of()
    leaving = f"leaving-{uuid.uuid4().hex[:8]}"
    create_namespace(api, leaving)
    held = claim_pod("p", spec)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    create(api, leaving, held)
    api.delete(path("v1", "namespaces", leaving))
    with controller(plane, tmp_path) as one, namespace(plane) as other:
        create(api, other, claim_pod("q", spec))
        wait_bound(api, other, 1)
        one.wait_runs("claim-templates", 10)
        assert "warning" not in one.process.log_end()
        assert tables.condition(api, "ClaimTemplates").get("status") == "True"
    api.patch(path("v1", "pods", "p", namespace=leaving), {"metadata": {"finalizers": None}})


@ON_NEWEST
@pytest.mark.rule("C3")
def test_after_an_outage_of_the_api_server_pods_get_their_claims(
    plane: ControlPlane, team: str, tmp_path: Path
) -> None:
    api = plane.api
    with controller(plane, tmp_path) as one:
        create(api, team, claim_pod("p", spec_of(1)))
        wait_bound(api, team, 1)
        plane.processes["kube-apiserver"].crash()
        time.sleep(3)
        plane.restart("kube-apiserver")
        create(api, team, claim_pod("q", spec_of(2)))
        wait_bound(api, team, 2, timeout=120)
        one.process.require_running()
