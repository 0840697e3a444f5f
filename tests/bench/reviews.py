"""Pods of a Deployment and their reviews as an API server sends them, 4 to 6 KB, without an end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.load import post

Json = dict[str, Any]

_SERIAL = "serialnumber"
_DIGITS = len(_SERIAL)
_OF_OTHERS = ("priority", "preemptionPolicy", "serviceAccount", "serviceAccountName")


@dataclass(frozen=True)
class Workload:
    """Endless reviews of one kind, all of the same size.

    Attributes:
        name: What it is called.
        about: What kind of Pods these are.
        pod: The Pod; where it has the serial number, each review has another.
    """

    name: str
    about: str
    pod: Json

    @property
    def review_bytes(self) -> int:
        """The size of a review."""
        return len(review(self.pod))

    @property
    def request(self) -> Numbered:
        """The requests."""
        return Numbered(post(review(self.pod)))


class Numbered:
    """Requests that differ in a serial number and nothing else."""

    def __init__(self, request: bytes) -> None:
        self._parts = request.split(_SERIAL.encode())

    def __call__(self, digits: bytes) -> bytes:
        """Return the request with this number in it."""
        return digits.join(self._parts)


def serial(number: int) -> bytes:
    """Return a number as it stands in a request, and in the uid of its answer."""
    return b"%0*d" % (_DIGITS, number)


def workloads() -> tuple[Workload, ...]:
    """What the service meets in a cluster, and what costs it most."""
    return (
        Workload("replicas", "Pods of one Deployment", gpu_pod()),
        Workload("different", "no two Pods alike", gpu_pod(container=f"main-{_SERIAL}")),
        Workload("no-spec", "Pods without a key of ours", plain_pod()),
    )


def gpu_pod(container: str = "main") -> Json:
    """Return a Pod that asks for a GPU by a spec."""
    return _pod(container, {"preferred.jp/gpu-any-24gb": "1"})


def plain_pod() -> Json:
    """Return the same Pod without a GPU."""
    return _pod("main", {})


def as_sent(pod: Json) -> Json:
    """Return what of a Pod its creator sends: the rest is the API server's to add."""
    kept = {key: pod["metadata"][key] for key in ("name", "labels", "annotations")}
    spec = {key: value for key, value in pod["spec"].items() if key not in _OF_OTHERS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


def review(pod: Json) -> bytes:
    """Return the review in which the API server asks about a Pod."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    document = {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": f"705ab4f5-6393-11e8-b7cc-{_SERIAL}",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "namespace": "research",
            "operation": "CREATE",
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller",
                "uid": "2f1ad1a3-0c1f-4f0b-8f0e-6f7f2e1a3c11",
                "groups": [
                    "system:serviceaccounts",
                    "system:serviceaccounts:kube-system",
                    "system:authenticated",
                ],
            },
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _pod(container: str, devices: dict[str, str]) -> Json:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"trainer-6f7c9d8b5c-{_SERIAL}",
            "generateName": "trainer-6f7c9d8b5c-",
            "namespace": "research",
            "uid": "8e4b1a7c-5a55-4a36-9d0c-0d3f6a0c2b7e",
            "creationTimestamp": "2026-06-01T12:00:00Z",
            "labels": {
                "app.kubernetes.io/name": "trainer",
                "app.kubernetes.io/instance": "trainer-vision",
                "app.kubernetes.io/part-of": "vision",
                "pod-template-hash": "6f7c9d8b5c",
            },
            "annotations": {
                "prometheus.io/scrape": "true",
                "prometheus.io/port": "9100",
                "example.com/owner": "vision-team@example.com",
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "trainer-6f7c9d8b5c",
                    "uid": "1c6b3a50-7a7f-4c1e-9a43-5d2b8e9f0a11",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [_managed_fields()],
        },
        "spec": _spec(container, devices),
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _managed_fields() -> Json:
    """Return what the API server notes of who set what; it is a part of every review."""
    container: Json = {name: {} for name in ("f:args", "f:command", "f:env", "f:image", "f:name")}
    spec: Json = {
        name: {} for name in ("f:dnsPolicy", "f:restartPolicy", "f:schedulerName", "f:volumes")
    }
    return {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-06-01T12:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}}},
            "f:spec": {**spec, "f:containers": {'k:{"name":"main"}': container}},
        },
    }


def _spec(container: str, devices: dict[str, str]) -> Json:
    return {
        "containers": [
            {
                "name": container,
                "image": "registry.example.com/vision/trainer:2026.06.1",
                "command": ["python", "-m", "trainer.main"],
                "args": ["--config", "/etc/trainer/config.yaml", "--epochs", "90"],
                "env": [_env(number) for number in range(12)],
                "resources": {
                    "limits": {"cpu": "8", "memory": "64Gi", **devices},
                    "requests": {"cpu": "8", "memory": "64Gi", **devices},
                },
                "volumeMounts": [
                    {"name": "config", "mountPath": "/etc/trainer", "readOnly": True},
                    {"name": "scratch", "mountPath": "/scratch"},
                    _TOKEN_MOUNT,
                ],
                "livenessProbe": {
                    "httpGet": {"path": "/healthz", "port": 9100, "scheme": "HTTP"},
                    "periodSeconds": 20,
                    "timeoutSeconds": 2,
                },
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            },
            {
                "name": "metrics",
                "image": "registry.example.com/metrics/exporter:1.4.2",
                "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "100m"}},
                "volumeMounts": [_TOKEN_MOUNT],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            },
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": "trainer-config", "defaultMode": 420}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "200Gi"}},
            _TOKEN_VOLUME,
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "trainer",
        "serviceAccount": "trainer",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000},
        "schedulerName": "default-scheduler",
        "tolerations": [_not_ready("not-ready"), _not_ready("unreachable")],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _env(number: int) -> Json:
    return {"name": f"TRAINER_OPTION_{number}", "value": f"value-of-option-{number}"}


def _not_ready(condition: str) -> Json:
    return {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }


_TOKEN_MOUNT = {
    "name": "kube-api-access-x7k2p",
    "readOnly": True,
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
}

_TOKEN_VOLUME = {
    "name": "kube-api-access-x7k2p",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
    },
}
