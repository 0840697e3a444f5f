"""What an installation gives a cluster: the wanted objects, safe Pods, and parts that fit."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import click
import pytest

from tests.contract import crd
from tests.contract.kustomize import (
    MANIFESTS,
    NAMESPACE,
    OVERLAYS,
    PROCESSES,
    REPOSITORY,
    SERVICE,
    Document,
    build,
    built,
    container,
    deployment,
    flags,
    one,
    pod_spec,
    validating_webhook,
    webhook,
)
from webhook.cli.controller import controller
from webhook.cli.serve import serve
from webhook.terms import TABLE_GROUP, TABLE_PLURAL

Installation = tuple[Document, ...]

CLUSTER_SCOPED = {
    "Namespace",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
SHARED = [
    ("Namespace", NAMESPACE),
    ("ResourceQuota", "gpuspec-critical-pods"),
    ("CustomResourceDefinition", "selectiontables.gpuspec.preferred.jp"),
    ("ClusterRole", "gpuspec-view"),
    ("ClusterRoleBinding", "gpuspec-view"),
    *(
        (kind, f"gpuspec-{process}")
        for process in PROCESSES
        for kind in (
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Deployment",
            "PodDisruptionBudget",
            "NetworkPolicy",
        )
    ),
    ("Role", "gpuspec-controller"),
    ("RoleBinding", "gpuspec-controller"),
    ("Service", SERVICE),
    ("ValidatingAdmissionPolicy", "gpuspec-guard"),
    ("ValidatingAdmissionPolicyBinding", "gpuspec-guard"),
    ("MutatingWebhookConfiguration", "zz-gpuspec"),
    ("ValidatingWebhookConfiguration", "zz-gpuspec"),
]
CERTIFICATES = {
    "cert-manager": [
        ("Certificate", "gpuspec-ca"),
        ("Certificate", "gpuspec-webhook"),
        ("Issuer", "gpuspec-ca"),
        ("Issuer", "gpuspec-root"),
    ],
    "default": [
        ("Role", "gpuspec-certificates"),
        ("RoleBinding", "gpuspec-certificates"),
        ("ClusterRole", "gpuspec-certificates"),
        ("ClusterRoleBinding", "gpuspec-certificates"),
    ],
}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_installation_is_these_objects_and_no_others(overlay: str) -> None:
    """No Secret among them, and no SelectionTable: both are made in the cluster, and stay."""
    objects = [(d["kind"], d["metadata"]["name"]) for d in built(overlay)]
    assert sorted(objects) == sorted(SHARED + CERTIFICATES[overlay])


def test_what_others_need_comes_first_and_the_webhook_configurations_last(
    installation: Installation,
) -> None:
    """Then one `kubectl apply` is enough: whatever is named exists before whoever names it."""
    kinds = [document["kind"] for document in installation]
    assert kinds[:3] == ["Namespace", "ResourceQuota", "CustomResourceDefinition"]
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    assert kinds.index("Deployment") > kinds.index("ClusterRoleBinding")


def test_every_object_is_labelled_and_lives_in_our_namespace(installation: Installation) -> None:
    for document in installation:
        metadata = document["metadata"]
        assert metadata["labels"]["app.kubernetes.io/name"] == "gpuspec", metadata["name"]
        home = None if document["kind"] in CLUSTER_SCOPED else NAMESPACE
        assert metadata.get("namespace") == home, metadata["name"]


def test_the_namespace_demands_restricted_pods(installation: Installation) -> None:
    labels = one(installation, "Namespace")["metadata"]["labels"]
    modes = {k: v for k, v in labels.items() if k.startswith("pod-security.kubernetes.io/")}
    assert modes == {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
    }


def test_the_pod_may_do_nothing_but_its_work(installation: Installation, process: str) -> None:
    spec, main = pod_spec(installation, process), container(installation, process)
    group = {"fsGroup": 65532} if process == "webhook" else {}  # the certificate's
    assert spec["securityContext"] == group | {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert main["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
    }
    assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC", "initContainers"}
    assert not any("hostPort" in port for port in main["ports"])


def test_only_the_processes_get_their_accounts_tokens(
    installation: Installation, process: str
) -> None:
    account = one(installation, "ServiceAccount", f"gpuspec-{process}")
    assert account["automountServiceAccountToken"] is False
    assert pod_spec(installation, process)["serviceAccountName"] == account["metadata"]["name"]
    assert pod_spec(installation, process)["automountServiceAccountToken"] is True


def test_memory_is_bounded_and_cpu_is_not(installation: Installation, process: str) -> None:
    resources = container(installation, process)["resources"]
    assert resources["requests"].keys() == {"cpu", "memory"}
    assert resources["limits"].keys() == {"memory"}


def test_the_quota_admits_the_priority_of_our_pods_and_a_rollout(
    installation: Installation,
) -> None:
    """Where system priorities need a quota, our Pods would be refused without it."""
    quota = one(installation, "ResourceQuota")["spec"]
    (scope,) = quota["scopeSelector"]["matchExpressions"]
    assert (scope["scopeName"], scope["operator"]) == ("PriorityClass", "In")
    replicas = 0
    for process in PROCESSES:
        assert scope["values"] == [pod_spec(installation, process)["priorityClassName"]]
        replicas += deployment(installation, process)["spec"]["replicas"]
    # all of them leaving while as many are there, and one more each for the rollout
    assert int(quota["hard"]["pods"]) >= 2 * replicas + len(PROCESSES)


def test_every_selector_finds_the_pods(installation: Installation, process: str) -> None:
    name = f"gpuspec-{process}"
    found = deployment(installation, process)["spec"]
    spec = pod_spec(installation, process)
    (apart,) = spec["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    wanted = {"app.kubernetes.io/name": "gpuspec", "app.kubernetes.io/component": process}
    for selector in (
        found["selector"]["matchLabels"],
        one(installation, "PodDisruptionBudget", name)["spec"]["selector"]["matchLabels"],
        one(installation, "NetworkPolicy", name)["spec"]["podSelector"]["matchLabels"],
        apart["podAffinityTerm"]["labelSelector"]["matchLabels"],
        *(c["labelSelector"]["matchLabels"] for c in spec.get("topologySpreadConstraints", ())),
    ):
        assert selector == wanted
    assert wanted.items() <= found["template"]["metadata"]["labels"].items()


def test_the_service_finds_the_webhook_and_nothing_else(installation: Installation) -> None:
    selector = one(installation, "Service")["spec"]["selector"]
    assert selector == deployment(installation)["spec"]["selector"]["matchLabels"]


def test_one_replica_always_stays(installation: Installation, process: str) -> None:
    spec = deployment(installation, process)["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    budget = one(installation, "PodDisruptionBudget", f"gpuspec-{process}")["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_the_one_port_is_the_same_for_everybody(installation: Installation) -> None:
    """It is called: API server, Service, policy, probes, container, ``--listen``."""
    (port,) = container(installation)["ports"]
    (served,) = one(installation, "Service")["spec"]["ports"]
    assert (served["port"], served["targetPort"]) == (443, port["name"])
    assert webhook(installation)["clientConfig"]["service"] == {
        "name": SERVICE,
        "namespace": NAMESPACE,
        "path": "/mutate",
        "port": served["port"],
    }
    assert validating_webhook(installation)["clientConfig"]["service"] == {
        "name": SERVICE,
        "namespace": NAMESPACE,
        "path": "/validate",
        "port": served["port"],
    }
    assert flags(installation)["--listen"] == f"[::]:{port['containerPort']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container(installation)[probe]["httpGet"]
        assert (asked["port"], asked["scheme"]) == (port["name"], "HTTPS")


def test_the_controllers_one_port_is_the_same_for_everybody(installation: Installation) -> None:
    (port,) = container(installation, "controller")["ports"]
    assert flags(installation, "controller")["--listen"] == f"[::]:{port['containerPort']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container(installation, "controller")[probe]["httpGet"]
        assert asked == {"path": "/healthz", "port": port["name"]}


def test_the_network_lets_callers_in_and_to_the_api_server_out(
    installation: Installation, process: str
) -> None:
    (port,) = container(installation, process)["ports"]
    policy = one(installation, "NetworkPolicy", f"gpuspec-{process}")["spec"]
    assert sorted(policy["policyTypes"]) == ["Egress", "Ingress"]
    assert policy["ingress"] == [{"ports": [{"port": port["name"], "protocol": "TCP"}]}]
    api_server = [{"port": number, "protocol": "TCP"} for number in (443, 6443)]
    assert policy["egress"] == [{"ports": api_server}]


def test_the_certificate_is_mounted_as_a_directory_that_follows_its_source(
    installation: Installation,
) -> None:
    """The volume is not optional, so that the webhook starts when there is a certificate."""
    (mount,) = container(installation)["volumeMounts"]
    assert mount == {"name": "tls", "mountPath": "/etc/gpuspec/tls", "readOnly": True}
    (volume,) = pod_spec(installation)["volumes"]
    secret = {"defaultMode": 0o440, "secretName": "gpuspec-webhook-tls"}
    assert volume == {"name": "tls", "secret": secret}
    given = flags(installation)
    assert given["--tls-cert"] == f"{mount['mountPath']}/tls.crt"
    assert given["--tls-key"] == f"{mount['mountPath']}/tls.key"


def test_the_controller_mounts_nothing(installation: Installation) -> None:
    assert "volumes" not in pod_spec(installation, "controller")


def test_the_shipped_resource_definition_is_made_from_the_model() -> None:
    shipped = (MANIFESTS / "base/crd.yaml").read_text()
    assert shipped == crd.text(), "run `make manifests`"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_of_your_own_brings_the_registry(tmp_path: Path, overlay: str) -> None:
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    mine = tmp_path / "manifests/overlays/mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(
        f"""\
resources: [../{overlay}]
images:
  - name: gpuspec
    newName: registry.example.com/team/gpuspec
"""
    )
    theirs = build(mine)
    for process in PROCESSES:
        image = "registry.example.com/team/gpuspec:0.1.0"
        assert container(theirs, process)["image"] == image
    assert len(theirs) == len(built(overlay))


@pytest.mark.parametrize(
    ("process", "command"), [("webhook", serve), ("controller", controller)], ids=PROCESSES
)
def test_the_command_takes_the_flags(
    installation: Installation, process: str, command: click.Command
) -> None:
    name, *arguments = container(installation, process)["args"]
    assert name == command.name
    told = command.make_context(name, arguments).params
    for flag, value in flags(installation, process).items():
        if value:
            assert str(told[flag.strip("-").replace("-", "_")]).removesuffix(".0") == value
    assert told["table_name"] == "default"


def test_cert_manager_and_the_controller_never_both_make_certificates() -> None:
    assert "--no-certificates" in flags(built("cert-manager"), "controller")
    _, *arguments = container(built("default"), "controller")["args"]
    assert controller.make_context("controller", arguments).params["certificates"] is True


def test_with_cert_manager_nobody_of_ours_may_see_a_secret_or_a_webhook_configuration() -> None:
    theirs = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    assert granted_resources("default") - granted_resources("cert-manager") == theirs
    assert granted_resources("cert-manager") <= granted_resources("default")


def granted_resources(overlay: str) -> set[str]:
    roles = (d for d in built(overlay) if d["kind"] in {"Role", "ClusterRole"})
    return {name for role in roles for rule in role["rules"] for name in rule["resources"]}


def test_everybody_may_read_tables_and_priority_classes_and_nothing_else(
    installation: Installation,
) -> None:
    role, binding = (
        one(installation, kind, "gpuspec-view") for kind in ("ClusterRole", "ClusterRoleBinding")
    )
    assert role["rules"] == [
        {
            "apiGroups": [TABLE_GROUP],
            "resources": [TABLE_PLURAL],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["scheduling.k8s.io"],
            "resources": ["priorityclasses"],
            "verbs": ["get", "list"],
        },
    ]
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert [subject["name"] for subject in binding["subjects"]] == ["system:authenticated"]


def test_the_kubelet_waits_until_the_last_request_is_answered(installation: Installation) -> None:
    """First the drain, in which connections are still accepted, then what has begun."""
    _, *arguments = container(installation)["args"]
    told = serve.make_context("serve", arguments).params
    longest = told["drain_seconds"] + told["request_seconds"]
    assert pod_spec(installation)["terminationGracePeriodSeconds"] >= longest + 5


def test_image_version_is_the_project_version(installation: Installation, process: str) -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert container(installation, process)["image"] == f"gpuspec:{version}"
