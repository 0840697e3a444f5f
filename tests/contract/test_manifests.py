"""What an installation gives a cluster: the wanted objects, safe Pods, and parts that fit."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from tests.contract.kustomize import (
    MANIFESTS,
    NAMESPACE,
    OVERLAYS,
    REPOSITORY,
    SERVICE,
    Document,
    build,
    built,
    container,
    one,
    pod_spec,
    serve_flags,
    webhook,
)
from webhook.cli.serve import serve

Installation = tuple[Document, ...]

CLUSTER_SCOPED = {
    "Namespace",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
SHARED = [
    ("Namespace", NAMESPACE),
    ("ResourceQuota", "gpuspec-critical-pods"),
    ("ServiceAccount", "gpuspec-webhook"),
    ("ConfigMap", "gpuspec-table"),
    ("Service", SERVICE),
    ("Deployment", "gpuspec-webhook"),
    ("PodDisruptionBudget", "gpuspec-webhook"),
    ("NetworkPolicy", "gpuspec-webhook"),
    ("ValidatingAdmissionPolicy", "gpuspec-guard"),
    ("ValidatingAdmissionPolicyBinding", "gpuspec-guard"),
    ("MutatingWebhookConfiguration", "zz-gpuspec"),
]
CERTIFICATES = {
    "cert-manager": [
        ("Certificate", "gpuspec-ca"),
        ("Certificate", "gpuspec-webhook"),
        ("Issuer", "gpuspec-ca"),
        ("Issuer", "gpuspec-root"),
    ],
    "own-ca": [("Secret", "gpuspec-webhook-tls")],
}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_installation_is_these_objects_and_no_others(overlay: str) -> None:
    """Above all no Role and no binding: the service needs no permission, so it has none."""
    objects = [(d["kind"], d["metadata"]["name"]) for d in built(overlay)]
    assert sorted(objects) == sorted(SHARED + CERTIFICATES[overlay])


def test_the_namespace_comes_first_and_the_webhook_configuration_last(
    installation: Installation,
) -> None:
    kinds = [document["kind"] for document in installation]
    assert (kinds[0], kinds[-1]) == ("Namespace", "MutatingWebhookConfiguration")


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


def test_the_pod_may_do_nothing_but_serve(installation: Installation) -> None:
    spec, main = pod_spec(installation), container(installation)
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert main["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
    }
    assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC", "initContainers"}
    assert {next(iter(volume.keys() - {"name"})) for volume in spec["volumes"]} == {
        "configMap",
        "secret",
    }
    assert not any("hostPort" in port for port in main["ports"])


def test_the_service_account_has_no_token_to_steal(installation: Installation) -> None:
    account = one(installation, "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    assert pod_spec(installation)["serviceAccountName"] == account["metadata"]["name"]
    assert pod_spec(installation)["automountServiceAccountToken"] is False


def test_memory_is_bounded_and_cpu_is_not(installation: Installation) -> None:
    resources = container(installation)["resources"]
    assert resources["requests"].keys() == {"cpu", "memory"}
    assert resources["limits"].keys() == {"memory"}


def test_the_quota_admits_the_priority_of_our_pods_and_a_rollout(
    installation: Installation,
) -> None:
    """Where system priorities need a quota, Pods of the Deployment would be refused without it."""
    quota = one(installation, "ResourceQuota")["spec"]
    (scope,) = quota["scopeSelector"]["matchExpressions"]
    assert (scope["scopeName"], scope["operator"]) == ("PriorityClass", "In")
    assert scope["values"] == [pod_spec(installation)["priorityClassName"]]
    replicas = one(installation, "Deployment")["spec"]["replicas"]
    assert int(quota["hard"]["pods"]) >= 2 * replicas + 1


def test_every_selector_finds_the_pods(installation: Installation) -> None:
    labels = one(installation, "Deployment")["spec"]["template"]["metadata"]["labels"]
    spec = pod_spec(installation)
    (spread,) = spec["topologySpreadConstraints"]
    (apart,) = spec["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    for selector in (
        one(installation, "Deployment")["spec"]["selector"]["matchLabels"],
        one(installation, "Service")["spec"]["selector"],
        one(installation, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one(installation, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        spread["labelSelector"]["matchLabels"],
        apart["podAffinityTerm"]["labelSelector"]["matchLabels"],
    ):
        assert selector
        assert selector.items() <= labels.items()


def test_one_replica_always_stays(installation: Installation) -> None:
    deployment = one(installation, "Deployment")["spec"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    budget = one(installation, "PodDisruptionBudget")["spec"]
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
    assert serve_flags(installation)["--listen"] == f"[::]:{port['containerPort']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container(installation)[probe]["httpGet"]
        assert (asked["port"], asked["scheme"]) == (port["name"], "HTTPS")


def test_the_network_lets_callers_in_and_nothing_out(installation: Installation) -> None:
    (port,) = container(installation)["ports"]
    policy = one(installation, "NetworkPolicy")["spec"]
    assert sorted(policy["policyTypes"]) == ["Egress", "Ingress"]
    assert policy["ingress"] == [{"ports": [{"port": port["name"], "protocol": "TCP"}]}]
    assert "egress" not in policy


def test_files_are_mounted_as_directories_that_follow_their_source(
    installation: Installation,
) -> None:
    mounts = {mount["name"]: mount for mount in container(installation)["volumeMounts"]}
    assert all(m["readOnly"] and "subPath" not in m for m in mounts.values())
    volumes = {volume["name"]: volume for volume in pod_spec(installation)["volumes"]}
    given = serve_flags(installation)

    assert volumes["table"]["configMap"] == {"name": "gpuspec-table"}
    (file,) = one(installation, "ConfigMap", "gpuspec-table")["data"]
    assert given["--table"] == f"{mounts['table']['mountPath']}/{file}"

    assert volumes["tls"]["secret"] == {"defaultMode": 0o440, "secretName": "gpuspec-webhook-tls"}
    assert given["--tls-cert"] == f"{mounts['tls']['mountPath']}/tls.crt"
    assert given["--tls-key"] == f"{mounts['tls']['mountPath']}/tls.key"


def test_the_shipped_table_is_the_built_in_one(installation: Installation) -> None:
    shipped = (MANIFESTS / "base/table.yaml").read_bytes()
    built_in = (REPOSITORY / "selection_spec/data/default-table.yaml").read_bytes()
    assert shipped == built_in, "run `make manifests`"
    assert one(installation, "ConfigMap")["data"]["table.yaml"].encode() == shipped


def test_an_overlay_brings_a_registry_and_a_table_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(MANIFESTS, tmp_path / "manifests", ignore=shutil.ignore_patterns("pki"))
    mine = tmp_path / "manifests/overlays/mine"
    mine.mkdir()
    (mine / "table.yaml").write_text("kind: SelectionTable\n")
    (mine / "kustomization.yaml").write_text(
        """\
resources: [../cert-manager]
images:
  - name: gpuspec
    newName: registry.example.com/team/gpuspec
configMapGenerator:
  - name: gpuspec-table
    namespace: gpuspec-system
    behavior: replace
    files: [table.yaml]
"""
    )
    theirs = build(mine)
    assert one(theirs, "ConfigMap")["data"] == {"table.yaml": "kind: SelectionTable\n"}
    assert one(theirs, "ConfigMap")["metadata"] == one(built("own-ca"), "ConfigMap")["metadata"]
    assert container(theirs)["image"] == "registry.example.com/team/gpuspec:0.1.0"
    assert len(theirs) == len(built("cert-manager"))


def test_the_command_takes_the_flags(installation: Installation) -> None:
    command, *arguments = container(installation)["args"]
    assert command == serve.name
    given, told = serve_flags(installation), serve.make_context("serve", arguments).params
    assert told["listen"] == given["--listen"]
    assert [told["table"], told["tls_cert"], told["tls_key"]] == [
        Path(given[flag]) for flag in ("--table", "--tls-cert", "--tls-key")
    ]


def test_the_kubelet_waits_until_the_last_request_is_answered(installation: Installation) -> None:
    """First the drain, in which connections are still accepted, then what has begun."""
    _, *arguments = container(installation)["args"]
    told = serve.make_context("serve", arguments).params
    longest = told["drain_seconds"] + told["request_seconds"]
    assert pod_spec(installation)["terminationGracePeriodSeconds"] >= longest + 5


def test_image_version_is_the_project_version(installation: Installation) -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert container(installation)["image"] == f"gpuspec:{version}"
