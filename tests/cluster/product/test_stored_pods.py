"""What the API server stores of a translated Pod: all that was written, and our part."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.builders import GPU, Json, asking, make_pod
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import KEY, Installation
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION, SPEC_LABEL

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("webhook")]

RARE = {
    "activeDeadlineSeconds": 3600,
    "automountServiceAccountToken": False,
    "dnsConfig": {"nameservers": ["10.9.8.7"], "options": [{"name": "ndots", "value": "2"}]},
    "enableServiceLinks": False,
    "hostAliases": [{"ip": "10.1.2.3", "hostnames": ["licence.example.com"]}],
    "hostname": "worker",
    "os": {"name": "linux"},
    "readinessGates": [{"conditionType": "example.com/registered"}],
    "restartPolicy": "OnFailure",
    "schedulingGates": [{"name": "example.com/wait"}],
    "securityContext": {"fsGroup": 7, "supplementalGroupsPolicy": "Strict"},
    "setHostnameAsFQDN": True,
    "shareProcessNamespace": True,
    "subdomain": "team",
    "terminationGracePeriodSeconds": 7,
    "topologySpreadConstraints": [
        {
            "maxSkew": 2,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "x"}},
            "nodeTaintsPolicy": "Honor",
        }
    ],
    "volumes": [
        {
            "name": "scratch",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    }
                }
            },
        },
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    ],
}
RARE_OF_A_CONTAINER = {
    "env": [{"name": "MODEL", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
    "livenessProbe": {"grpc": {"port": 9000, "service": "alive"}, "periodSeconds": 30},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    "volumeMounts": [{"name": "memory", "mountPath": "/scratch", "subPathExpr": "$(MODEL)"}],
}


@pytest.mark.rule("N1", "N2", "N5", "N6", "R5", "R7")
def test_kubectl_shows_the_translated_pod_and_stores_what_it_showed(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    before = webhook.service.reviews()
    command = ("create", "-n", namespace, "-o", "yaml", "-f", "-")
    pod = asking(any_24gb=2).spec(automountServiceAccountToken=False)
    manifest = json.dumps(pod.build())
    shown = yaml.safe_load(cluster.kubectl(*command, "--dry-run=server", stdin=manifest))
    stored = yaml.safe_load(cluster.kubectl(*command, stdin=manifest))

    assert lasting(shown) == lasting(stored)
    (main,) = stored["spec"]["containers"]
    assert main["resources"] == {"limits": {GPU: "2"}, "requests": {GPU: "2"}}
    assert "preferred.jp/gpu-any-24gb" not in json.dumps(stored["spec"])
    assert stored["metadata"]["labels"] == {SPEC_LABEL: "gpu-any-24gb"}
    assert json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION]) == {
        "containers": [{"name": "main", "spec": "gpu-any-24gb", "count": 2}],
        "policy": "EveryFit",
        "candidates": ["v100-32gb", "a30-24gb", "a100-80gb"],
        "table": webhook.service.digest,
    }
    assert [one["value"] for one in stored["spec"]["tolerations"] if one["key"] == "gpu-model"] == [
        "v100-32gb",
        "a30-24gb",
        "a100-80gb",
    ]
    # the dry run is no demand
    assert webhook.service.reviews() - before == {
        ("dry_run", "Translated"): 1,
        ("patched", "Translated"): 1,
    }


@pytest.mark.rule("R3")
def test_rare_fields_survive(cluster: ControlPlane, namespace: str) -> None:
    """The same Pod, asking for the devices by hand, does not reach us; all else must be equal."""
    ours, native = (
        lasting(create_pod(cluster.api, namespace, rare_pod(name, limits)))
        for name, limits in (("ours", {KEY: "1"}), ("native", {GPU: "1"}))
    )
    for added in ("labels", "annotations"):
        del ours["metadata"][added]
    del ours["spec"]["affinity"]
    ours["spec"]["tolerations"] = [
        one for one in ours["spec"]["tolerations"] if one["key"] != "gpu-model"
    ]
    assert (ours["metadata"].pop("name"), native["metadata"].pop("name")) == ("ours", "native")
    assert ours == native
    (main,) = ours["spec"]["containers"]
    assert RARE.keys() <= ours["spec"].keys()
    assert RARE_OF_A_CONTAINER.keys() <= main.keys()


def rare_pod(name: str, limits: dict[str, str]) -> Json:
    body = make_pod(name).container("main", limits).spec(**RARE).build()
    body["spec"]["containers"][0] |= RARE_OF_A_CONTAINER
    return body


def lasting(stored: Json) -> Json:
    """A stored Pod without what the API server makes up anew for each."""
    made_up = ("uid", "creationTimestamp", "managedFields", "resourceVersion", "generation")
    metadata = {key: value for key, value in stored["metadata"].items() if key not in made_up}
    return {"metadata": metadata, "spec": stored["spec"]}
