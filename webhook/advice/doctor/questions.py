"""What is asked of a cluster: first what is always there to be read, then what that leads to."""

from __future__ import annotations

from webhook.advice.doctor.claims import claim_questions
from webhook.advice.doctor.permissions import access_questions
from webhook.advice.doctor.replicas import WEBHOOK_LABELS, readiness_questions
from webhook.advice.doctor.seen import Place, Question, Seen, Topic
from webhook.advice.doctor.trial import trials
from webhook.inventory.facts import Json, mapping
from webhook.terms import (
    CONTROLLER_NAME,
    KUEUE_NAMESPACE_LABEL,
    NODES_PATH,
    SERVER_SECRET,
    TABLES_PATH,
)

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def first_questions(place: Place) -> dict[str, Question]:
    """Return what is asked in any case, by topic."""
    namespace, within = place.namespace, f"in namespace {place.namespace}"
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    labels = ",".join(f"{key}={value}" for key, value in WEBHOOK_LABELS.items())
    waiting = {"fieldSelector": "status.phase=Pending,spec.nodeName="}
    return {
        Topic.MUTATING: _everywhere(f"{_ADMISSION}/mutatingwebhookconfigurations"),
        Topic.VALIDATING: _everywhere(f"{_ADMISSION}/validatingwebhookconfigurations"),
        Topic.POLICIES: _everywhere(f"{_ADMISSION}/validatingadmissionpolicies"),
        Topic.BINDINGS: _everywhere(f"{_ADMISSION}/validatingadmissionpolicybindings"),
        Topic.TABLES: _everywhere(TABLES_PATH),
        Topic.NODES: Question(NODES_PATH, "list nodes", keep=_node),
        Topic.DAEMON_SETS: _everywhere("/apis/apps/v1/daemonsets"),
        Topic.LIMIT_RANGES: _everywhere("/api/v1/limitranges"),
        Topic.QUOTAS: _everywhere("/api/v1/resourcequotas"),
        Topic.PENDING: Question("/api/v1/pods", "list pods", waiting),
        Topic.QUEUED: Question(
            "/api/v1/namespaces",
            "list namespaces",
            {"labelSelector": f"{KUEUE_NAMESPACE_LABEL}=true"},
        ),
        Topic.SERVICES: Question(f"{core}/services", f"list services {within}"),
        Topic.ENDPOINTS: Question(slices, f"list endpointslices {within}"),
        Topic.DEPLOYMENTS: Question(
            f"{apps}/deployments",
            f"list deployments {within}",
            {"labelSelector": "app.kubernetes.io/name=gpuspec"},
        ),
        Topic.REPLICAS: Question(f"{core}/pods", f"list pods {within}", {"labelSelector": labels}),
        Topic.SECRET: Question(
            f"{core}/secrets/{SERVER_SECRET}",
            f"get secrets {within}",
            single=True,
            keep=_certificate,
        ),
        Topic.LEASE: Question(f"{leases}/{CONTROLLER_NAME}", f"get leases {within}", single=True),
    }


def further_questions(seen: Seen) -> dict[str, Question]:
    """Return what the first answers lead to: dry runs, replicas, permissions, DRA drivers."""
    return {
        **trials(seen),
        **readiness_questions(seen),
        **access_questions(seen),
        **claim_questions(seen),
    }


def _everywhere(path: str) -> Question:
    return Question(path, f"list {path.rpartition('/')[2]}")


def _node(node: Json) -> Json:
    """Keep of a node what the checks go by: labels, taints and devices, not images."""
    metadata, spec, status = (mapping(node.get(part)) for part in ("metadata", "spec", "status"))
    return {
        "metadata": {"name": metadata.get("name"), "labels": metadata.get("labels")},
        "spec": {"taints": spec.get("taints")},
        "status": {"capacity": status.get("capacity")},
    }


def _certificate(secret: Json) -> Json:
    """Keep the certificate; the key is nobody's business."""
    return {"data": {"tls.crt": mapping(secret.get("data")).get("tls.crt")}}
