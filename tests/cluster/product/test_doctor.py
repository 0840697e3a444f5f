"""``gpuspec doctor`` on a real control plane: a shipped installation, and what breaks it.

The admission plugin ExtendedResourceToleration is on there, which is off unless somebody wants it.
Behind fake kubelets nothing answers for the replicas' Pods, so what they say is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from certs.authority import create_authority
from tests.builders import GPU, PFN_TABLE, Json
from tests.cluster.api import ApiError, path, wait_until
from tests.cluster.claims.fleet import (
    CLASSES,
    device_class,
    fleets_table,
    publishing,
    slices_of,
)
from tests.cluster.components import Options
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import MODEL_LABEL, small_fleet
from tests.cluster.product.installation import ADMISSION, KEY
from tests.cluster.product.shipped import CONFIGURATIONS, NAMESPACE, SECRETS, Shipped
from tests.cluster.versions import ON_NEWEST
from tests.webhook.advice.doctor.world import encoded
from tests.webhook.cli.running import answer, run
from webhook.terms import RESERVED_TAINT, TABLES_PATH

pytestmark = ON_NEWEST

NODES = 13
PLUGINS = "--enable-admission-plugins=Priority,ResourceQuota,ExtendedResourceToleration"
SEEN_SECONDS = 60.0

Break = Callable[[ControlPlane], AbstractContextManager[None]]

MUTATING, VALIDATING = CONFIGURATIONS
MUTATING_LIST = path(ADMISSION, "mutatingwebhookconfigurations")
GUARD = path(ADMISSION, "validatingadmissionpolicies", "gpuspec-guard")
BINDING = path(ADMISSION, "validatingadmissionpolicybindings", "gpuspec-guard")
ROLE = path("rbac.authorization.k8s.io/v1", "clusterroles", "gpuspec-controller")
LIMITS = path("v1", "limitranges", namespace="default")
QUOTAS = path("v1", "resourcequotas", namespace="default")
DAEMON_SETS = path("apps/v1", "daemonsets", namespace="default")
PODS = path("v1", "pods", namespace="default")
WEBHOOKS = path("apps/v1", "deployments", "gpuspec-webhook", namespace=NAMESPACE)
SERVICE = path("v1", "services", "gpuspec-webhook", namespace=NAMESPACE)
TABLE = f"{TABLES_PATH}/default"
DEFINITION = path(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "selectiontables.gpuspec.preferred.jp"
)
CONTROLLERS = path("apps/v1", "deployments", "gpuspec-controller", namespace=NAMESPACE)


@pytest.fixture(scope="module")
def plane(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of our own, with an installation as shipped that serves a table."""
    options = Options(extra_flags={"kube-apiserver": [PLUGINS]})
    workdir = tmp_path_factory.mktemp(f"doctor-{kubernetes}-")
    nodes = small_fleet(NODES)
    with ControlPlane.start(kubernetes, nodes=nodes, options=options, workdir=workdir) as started:
        shipped = Shipped(started, tmp_path_factory.mktemp("shipped-"))
        shipped.apply("--server-side")
        with shipped.running():
            started.api.create(TABLES_PATH, pfn_table())
            wait_for_status(started)
            yield started


def pfn_table() -> Json:
    """The table of the worked candidates, as the one in use."""
    table: Json = yaml.safe_load(PFN_TABLE.read_text())
    table["metadata"]["name"] = "default"
    return table


def wait_for_status(plane: ControlPlane) -> None:
    wait_until(
        lambda: levels(plane)["status"] == "fine",
        timeout=SEEN_SECONDS,
        what="the table's status to be written",
        state=lambda: str(checks(plane)["status"]),
    )


def checks(plane: ControlPlane, *arguments: str, code: int | None = None) -> dict[str, Json]:
    """What each check says."""
    result = run("doctor", "-o", "json", "--kubeconfig", str(plane.kubeconfig), *arguments)
    found: Json = answer(result, result.exit_code if code is None else code)
    return {one["id"]: one for one in found["checks"]}


def levels(plane: ControlPlane) -> dict[str, str]:
    """How bad it is, check by check."""
    return {name: one["level"] for name, one in checks(plane).items()}


def texts(found: Json) -> str:
    return "\n".join(one["what"] for one in found["findings"])


def test_a_shipped_installation_is_right(plane: ControlPlane) -> None:
    found = checks(plane, code=0)
    odd = {name: one["level"] for name, one in found.items() if one["level"] != "fine"}
    assert odd == {"replicas": "unknown", "tolerations": "warning"}
    assert texts(found["replicas"]).count("could not ask gpuspec-webhook-") == 2
    assert texts(found["tolerations"]) == (
        "the admission plugin ExtendedResourceToleration is on: every Pod with nvidia.com/gpu "
        "tolerates the taint nvidia.com/gpu:NoSchedule, though 4 rows of the table would not"
    )
    assert texts(found["translation"]) == f"{KEY}: 1 in namespace default becomes {GPU}: 1"


@contextmanager
def patched(plane: ControlPlane, at: str, *operations: Json) -> Iterator[None]:
    """A time in which an object is another; then its spec, rules or webhooks are as before."""
    before = plane.api.get(at)
    plane.api.patch(at, list(operations), kind="json")
    try:
        yield
    finally:
        parts = [part for part in ("spec", "rules", "webhooks") if part in before]
        undo = [{"op": "replace", "path": f"/{part}", "value": before[part]} for part in parts]
        plane.api.patch(at, undo, kind="json")


@contextmanager
def created(plane: ControlPlane, at: str, body: Json) -> Iterator[None]:
    """A time in which an object exists."""
    made = plane.api.create(at, body)
    try:
        yield
    finally:
        plane.api.delete(f"{at}/{made['metadata']['name']}", gracePeriodSeconds="0")


def replaced(at: str, where: str, value: object) -> Break:
    return lambda plane: patched(plane, at, {"op": "replace", "path": where, "value": value})


def removed(at: str, where: str) -> Break:
    return lambda plane: patched(plane, at, {"op": "remove", "path": where})


def with_object(at: str, **body: Json) -> Break:
    return lambda plane: created(plane, at, {"metadata": {"name": "broken"}, **body})


@contextmanager
def foreign_authority(plane: ControlPlane) -> Iterator[None]:
    """The controller, which would put it right, waits: there is nothing that it may list."""
    lifetime = timedelta(days=1)
    pem = create_authority("foreign", now=datetime.now(UTC), lifetime=lifetime).certificate
    role = path("rbac.authorization.k8s.io/v1", "clusterroles", "gpuspec-certificates")
    at = "/webhooks/0/clientConfig/caBundle"
    with (
        patched(plane, role, {"op": "replace", "path": "/rules", "value": []}),
        patched(plane, MUTATING, {"op": "replace", "path": at, "value": encoded(pem)}),
    ):
        yield


def gone(at: str) -> Break:
    @contextmanager
    def deleted(plane: ControlPlane) -> Iterator[None]:
        body = plane.api.get(at)
        kept = ("name", "namespace", "labels", "annotations")
        body.pop("status", None)
        metadata = {part: body["metadata"][part] for part in kept if part in body["metadata"]}
        plane.api.delete(at)
        try:
            wait_until(
                lambda: plane.api.find(at) is None, timeout=SEEN_SECONDS, what=f"{at} to be gone"
            )
            yield
        finally:
            plane.api.create(at.rpartition("/")[0], {**body, "metadata": metadata})

    return deleted


unbound = gone(BINDING)


@contextmanager
def without_secret(plane: ControlPlane) -> Iterator[None]:
    """The controller, which would make it anew, waits: it may see none."""
    role = path(
        "rbac.authorization.k8s.io/v1", "roles", "gpuspec-certificates", namespace=NAMESPACE
    )
    with (
        patched(plane, role, {"op": "replace", "path": "/rules", "value": []}),
        gone(SECRETS["gpuspec-webhook-tls"])(plane),
    ):
        yield


@contextmanager
def without_definition(plane: ControlPlane) -> Iterator[None]:
    """It takes all tables along."""
    with gone(DEFINITION)(plane):
        yield
    wait_until(lambda: is_stored(plane), timeout=SEEN_SECONDS, what="the table to be stored again")
    wait_for_status(plane)


def is_stored(plane: ControlPlane) -> bool:
    """Whether the table is there, by now."""
    try:
        plane.api.create(TABLES_PATH, pfn_table())
    except ApiError as error:
        return error.reason == "AlreadyExists"
    return True


@contextmanager
def left_behind(plane: ControlPlane) -> Iterator[None]:
    """A Pod that was stored while nobody translated or refused it."""
    rules = {"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": ["UPDATE"]}
    body = {"metadata": {"name": "lost"}, "spec": {"containers": [container({KEY: "1"})]}}
    with unbound(plane), patched(plane, MUTATING, rules):
        wait_until(
            lambda: is_kept(plane, body), timeout=SEEN_SECONDS, what="a Pod to stay untranslated"
        )
        plane.api.create(PODS, body)
    try:
        yield
    finally:
        plane.api.delete(f"{PODS}/lost", gracePeriodSeconds="0")


def is_kept(plane: ControlPlane, body: Json) -> bool:
    """Whether a Pod would be stored with our key."""
    try:
        found = plane.api.create(PODS, body, dryRun="All")
    except ApiError:
        return False
    return KEY in str(found["spec"]["containers"])


def container(limits: Json) -> Json:
    return {"name": "main", "image": "x", "resources": {"limits": limits}}


def daemon_set() -> Json:
    labels = {"app": "driver"}
    tolerations = [{"key": MODEL_LABEL, "operator": "Exists"}]
    return {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [container({})], "tolerations": tolerations},
        },
    }


@contextmanager
def reserved_under_a_daemon_set(plane: ControlPlane) -> Iterator[None]:
    """It is there first, so that the controller waits with the taint."""
    reserve = {"op": "add", "path": "/spec/devices/3/reserved", "value": True}
    with (
        created(plane, DAEMON_SETS, {"metadata": {"name": "broken"}, "spec": daemon_set()}),
        patched(plane, TABLE, reserve),
    ):
        yield


OTHER = {"name": "h100", "nodes": {"matchLabels": {MODEL_LABEL: "h100"}}}
LATE = [
    {
        "name": "late.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}
        ],
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
]


CLAIMED = replaced(TABLE, "/spec", fleets_table()["spec"])


@contextmanager
def late_webhook(plane: ControlPlane) -> Iterator[None]:
    with created(plane, MUTATING_LIST, {"metadata": {"name": "zzz-late"}, "webhooks": LATE}):
        yield


@pytest.mark.parametrize(
    ("breaks", "check", "level", "text"),
    [
        pytest.param(
            replaced(WEBHOOKS, "/spec/replicas", 0),
            "endpoints",
            "error",
            f"Service {NAMESPACE}/gpuspec-webhook has no ready endpoint: Pods with a spec are "
            "refused",
            id="no-replica",
        ),
        pytest.param(
            foreign_authority,
            "translation",
            "error",
            "failed to verify certificate: x509: certificate signed by unknown authority",
            id="not-believed",
        ),
        pytest.param(
            foreign_authority,
            "certificate",
            "error",
            "caBundle of webhook gpu.gpuspec.preferred.jp has no authority that signed the serving "
            "certificate: the API server refuses to talk to the webhook",
            id="foreign-authority",
        ),
        pytest.param(
            replaced(MUTATING, "/webhooks/0/failurePolicy", "Ignore"),
            "outage",
            "warning",
            "zz-gpuspec has failurePolicy Ignore: while no replica answers, Pods with a spec are "
            "stored as they are written",
            id="ignore",
        ),
        pytest.param(
            replaced(MUTATING, "/webhooks/0/rules/0/operations", ["UPDATE"]),
            "translation",
            "error",
            f"a Pod with {KEY} in namespace default is not translated, so the guard refuses it: ",
            id="guarded",
        ),
        pytest.param(
            replaced(MUTATING, "/webhooks/0/matchConditions/0/expression", "'x/gpu' != ''"),
            "prefix",
            "error",
            "zz-gpuspec looks for keys that begin with x/gpu; the table's resourceDomain is "
            "preferred.jp",
            id="prefix",
        ),
        pytest.param(
            replaced(CONTROLLERS, "/spec/template/spec/containers/0/image", "x/gpuspec:9.9"),
            "versions",
            "warning",
            "9.9 (gpuspec-controller)",
            id="version",
        ),
        pytest.param(
            removed(ROLE, "/rules/2"),
            "permissions",
            "error",
            f"ServiceAccount {NAMESPACE}/gpuspec-controller may not: list nodes; watch nodes; get "
            "nodes; patch nodes",
            id="permission",
        ),
        pytest.param(
            unbound,
            "guard",
            "error",
            "ValidatingAdmissionPolicy gpuspec-guard has no binding, so it does nothing",
            id="unbound-guard",
        ),
        pytest.param(
            late_webhook,
            "order",
            "warning",
            "called after zz-gpuspec, so what they add to a Pod is not translated: zzz-late",
            id="late-webhook",
        ),
        pytest.param(
            with_object(LIMITS, spec={"limits": [{"type": "Container", "max": {GPU: "4"}}]}),
            "limitRanges",
            "error",
            "LimitRange default/broken adds nvidia.com/gpu to every container that does not ask "
            "for it, so Pods with a spec are refused there (A5)",
            id="limit-range",
        ),
        pytest.param(
            with_object(LIMITS, spec={"limits": [{"type": "Container", "max": {GPU: "4"}}]}),
            "translation",
            "warning",
            f"the webhook answers, and denies a Pod with {KEY} in namespace default: admission "
            'webhook "gpu.gpuspec.preferred.jp" denied the request: ',
            id="limit-range-denies",
        ),
        pytest.param(
            CLAIMED,
            "claims",
            "error",
            "DeviceClass gpu.nvidia.com does not exist, so nobody gets v100-16gb, v100-32gb, "
            "a30-24gb, a100-80gb (C3); there is none",
            id="no-device-class",
        ),
        pytest.param(
            with_object(QUOTAS, spec={"hard": {f"requests.{KEY}": "1"}}),
            "quotas",
            "warning",
            f"ResourceQuota default/broken limits nothing with requests.{KEY}: admission removes "
            "the key before Pods are counted",
            id="quota",
        ),
        pytest.param(
            reserved_under_a_daemon_set,
            "daemonSets",
            "warning",
            "1 DaemonSet of reserved nodes would not come back to one with our taint "
            f"{RESERVED_TAINT}: default/broken",
            id="daemon-set",
        ),
        pytest.param(
            replaced(TABLE, "/spec/devices", [{**pfn_table()["spec"]["devices"][0], **OTHER}]),
            "nodes",
            "error",
            "0 of 11 GPU nodes match a row of SelectionTable default: no Pod with a spec can start",
            id="no-node-matches",
        ),
        pytest.param(
            removed(TABLE, "/spec/devices/3"),
            "nodes",
            "warning",
            "GPU nodes match no row of SelectionTable default, so no Pod with a spec is placed "
            "there: ",
            id="some-nodes-match",
        ),
        pytest.param(
            gone(MUTATING),
            "endpoints",
            "error",
            "no MutatingWebhookConfiguration is gpuspec's: no Pod with a spec is translated",
            id="no-webhook",
        ),
        pytest.param(
            gone(VALIDATING),
            "validation",
            "error",
            "no ValidatingWebhookConfiguration is gpuspec's: nothing checks tables before they are "
            "stored, and nothing keeps the one in use from being deleted",
            id="no-validation",
        ),
        pytest.param(
            gone(GUARD),
            "guard",
            "error",
            "there is no ValidatingAdmissionPolicy gpuspec-guard: a Pod whose key is not "
            "translated pends for ever, and nothing says so",
            id="no-guard",
        ),
        pytest.param(
            gone(WEBHOOKS),
            "deployments",
            "error",
            f"there is no Deployment of gpuspec's webhook in namespace {NAMESPACE}: Pods with a "
            "spec are refused",
            id="no-webhook-deployment",
        ),
        pytest.param(
            gone(CONTROLLERS),
            "deployments",
            "error",
            f"there is no Deployment of gpuspec's controller in namespace {NAMESPACE}: nobody "
            "keeps status, reserve taints and certificates",
            id="no-controller-deployment",
        ),
        pytest.param(
            gone(SERVICE),
            "endpoints",
            "error",
            f"there is no Service {NAMESPACE}/gpuspec-webhook, which the configuration calls: Pods "
            "with a spec are refused",
            id="no-service",
        ),
        pytest.param(
            without_secret,
            "certificate",
            "error",
            f"there is no Secret {NAMESPACE}/gpuspec-webhook-tls: no replica of the webhook can "
            "start without it",
            id="no-secret",
        ),
        pytest.param(
            left_behind,
            "pending",
            "error",
            "1 Pod waits for a key that no node has, stored while nobody translated it: "
            f"default/lost ({KEY})",
            id="untranslated",
        ),
        pytest.param(
            without_definition,
            "table",
            "error",
            "the cluster knows no SelectionTables: the CRD is missing, and the built-in table "
            "serves",
            id="no-definition",
        ),
    ],
)
def test_what_is_broken_is_named(
    plane: ControlPlane, breaks: Break, check: str, level: str, text: str
) -> None:
    """As soon as the API server acts on it; and when it is mended, all is well again."""
    with breaks(plane):
        wait_until(
            lambda: text in texts(checks(plane)[check]),
            timeout=SEEN_SECONDS,
            what=text,
            state=lambda: str(checks(plane)[check]),
        )
        assert checks(plane)[check]["level"] == level
    wait_until(
        lambda: levels(plane)[check] == "fine",
        timeout=SEEN_SECONDS,
        what=f"the check {check} to be fine again",
        state=lambda: str(checks(plane)[check]),
    )


@pytest.mark.rule("C1")
def test_an_installation_whose_rows_are_taken_by_claims_is_right(plane: ControlPlane) -> None:
    with (
        created(plane, CLASSES, device_class()),
        publishing(plane.api, slices_of(small_fleet(NODES))),
        CLAIMED(plane),
    ):
        said = f"{KEY}: 1 in namespace default becomes a claim on 4 kinds of device, template "
        wait_until(
            lambda: said in texts(checks(plane)["translation"]),
            timeout=SEEN_SECONDS,
            what="a Pod to become one with claims",
            state=lambda: str(checks(plane)["translation"]),
        )
        found = checks(plane)
        for check in ("translation", "nodes", "tolerations", "quotas"):
            assert found[check]["level"] == "fine", found[check]
        # The nodes' own devices are still there, as those of a device plugin.
        told = [one["what"] for one in found["claims"]["findings"]]
        assert told[-1] == "and 1 more problem"
        assert all("nodes have nvidia.com/gpu of a device plugin too" in one for one in told[:-1])
    wait_for_status(plane)


def test_who_may_see_little_is_told_which_permission_is_missing(plane: ControlPlane) -> None:
    token = plane.service_account_token("default", "default")
    kubeconfig = plane.write_kubeconfig(plane.workdir / "nobody", token)
    result = run("doctor", "--kubeconfig", str(kubeconfig))
    assert result.exit_code == 0
    assert (
        "?     LimitRanges\n      could not look: permission to list limitranges is missing\n"
    ) in result.stdout
    assert result.stderr == "\n24 checks: 4 ok, 0 warnings, 0 failed, 20 unknown\n"
