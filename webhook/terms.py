"""Every label, annotation, taint key and limit that this project puts on objects or knows there.

One file, so that one look tells what belongs to whom.
"""

from __future__ import annotations

import re
from typing import Final

from selection_spec.laws import OUR_DOMAIN

SPEC_LABEL: Final = f"{OUR_DOMAIN}/spec"
"""Label on translated Pods: the spec, or ``mixed`` (semantics R5)."""

MIXED_SPECS: Final = "mixed"
"""Value of the label where the containers of a Pod ask for different specs (R5)."""

REQUEST_ANNOTATION: Final = f"{OUR_DOMAIN}/request"
"""Annotation on translated Pods: what was asked and what came of it, as JSON (R5)."""

CLAIMS_ANNOTATION: Final = f"{OUR_DOMAIN}/claims"
"""Annotation on Pods with claims: the spec of each ResourceClaimTemplate by its name (C2)."""

TEMPLATE_LABEL: Final = f"{OUR_DOMAIN}/template"
"""Label on the ResourceClaimTemplates that the controller makes, and sweeps (C3)."""

KUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""Label by which a Pod joins a queue of Kueue (C5)."""

KUEUE_NAMESPACE_LABEL: Final = f"{OUR_DOMAIN}/kueue"
"""Label of namespaces whose Pods Kueue admits, by the value ``true`` (C5)."""

TEMPLATES_PATH: Final = "/apis/resource.k8s.io/v1/resourceclaimtemplates"
"""Where the API server has all templates of claims; those of a namespace are below it."""

CLAIM_TEMPLATES: Final = "ClaimTemplates"
"""Condition of the table in use: no Pod waits for a ResourceClaimTemplate (C3)."""

TEMPLATES_MADE: Final = f"{OUR_DOMAIN}/{CLAIM_TEMPLATES}"
"""Condition of Pods that waited for theirs: writing it ends Kubernetes' own pause (C3)."""

DEVICES_RESERVED: Final = "DevicesReserved"
"""Reason of the Event on a Pod that waits for devices which were reserved since (N9)."""

TEMPLATE_MISSING: Final = "ClaimTemplateMissing"
"""Reason of the Event on a Pod that waits for a ResourceClaimTemplate (C3)."""

RESERVED_TAINT: Final = f"{OUR_DOMAIN}/reserved"
"""Taint key on the nodes of reserved rows; the value is the row id (D6, N9)."""

RESERVE_BLOCKED: Final = "ReserveBlocked"
"""Condition of a table: nodes are not tainted yet, for DaemonSets would be locked out (H7)."""

CERTIFICATES_READY: Final = "CertificatesReady"
"""Condition of the table in use: the webhook's certificates are as they should be."""

UNHEALTHY_TAINT: Final = f"{OUR_DOMAIN}/unhealthy"
"""Taint key on nodes at fault; nothing of ours ever tolerates it (H7, N5)."""

TABLE_GROUP: Final = OUR_DOMAIN
TABLE_VERSION: Final = "v1alpha1"
TABLE_KIND: Final = "SelectionTable"
TABLE_PLURAL: Final = "selectiontables"
"""The selection table as a custom resource (design §3)."""

PRIORITY_CLASSES_PATH: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
"""Where the API server has the classes that D3 goes by."""

DEFAULT_TABLE: Final = "default"
"""Name of the SelectionTable that is in use where nothing else was said."""

TABLE_API: Final = f"{TABLE_GROUP}/{TABLE_VERSION}"
TABLES_PATH: Final = f"/apis/{TABLE_API}/{TABLE_PLURAL}"
"""Its apiVersion, and where the API server has all of them."""

NODES_PATH: Final = "/api/v1/nodes"
"""Where the API server has all nodes."""

SLICES_PATH: Final = "/apis/resource.k8s.io/v1/resourceslices"
CLASSES_PATH: Final = "/apis/resource.k8s.io/v1/deviceclasses"
CLAIMS_PATH: Final = "/apis/resource.k8s.io/v1/resourceclaims"
"""What DRA drivers offer, by which names it is asked for, and who holds what of it."""

ALLOW_DELETE_ANNOTATION: Final = f"{OUR_DOMAIN}/allow-delete"
"""Annotation without which the table in use cannot be deleted (design §3)."""

HEALTH_LABEL: Final = f"{OUR_DOMAIN}/health"
"""Node label written by the health module (H7, N6)."""

VERDICTS_ANNOTATION: Final = f"{OUR_DOMAIN}/verdicts"
"""Node annotation with what the health module knows of the node and its devices, as JSON (H11)."""

ON_FAILURE_ANNOTATION: Final = f"{OUR_DOMAIN}/on-device-failure"
"""Pod annotation: what is to become of it when its device fails, ``evict``, ``ignore`` or
``after=30m`` (H9)."""

IGNORE_ANNOTATION: Final = f"{OUR_DOMAIN}/ignore"
"""Annotation on any object: rules of ``gpuspec validate`` that do not hold for it, and why."""

PROBE_CONDITION: Final = f"{OUR_DOMAIN}/ProbeFailed"
"""Node condition by which the probe tells its verdict; True is bad (H2)."""

DRA_GROUP: Final = "resource.k8s.io"
RULES_RESOURCE: Final = "devicetaintrules"
RULE_VERSIONS: Final = ("v1", "v1beta2", "v1alpha3")
"""DeviceTaintRules in the group of DRA, and the versions of it that have them, newest first."""

RULE_LABEL: Final = f"{OUR_DOMAIN}/device"
"""Label on the DeviceTaintRules that the controller places; the value is the taint's (H7)."""

HEALTH: Final = "Health"
HEALTH_BUDGET: Final = "HealthBudget"
HEALTH_BREAKER: Final = "HealthBreaker"
"""Conditions of the table in use: whether devices are watched, whether there is budget left, and
whether a breaker has stopped a row (H2, H4, H5)."""

HEALTH_OBJECT: Final = "gpuspec-health"
LEDGER_FIELD: Final = "ledger"
"""The ConfigMap of our namespace, and its field, with what was done lately (H4, H5)."""

SUSPECT: Final = "suspect"
"""Value of the health label for nodes better avoided (N6)."""

CONTROLLER_NAME: Final = "gpuspec-controller"
"""The controller's name: of its Lease, and on what it makes."""

SERVICE: Final = "gpuspec-webhook"
SERVER_SECRET: Final = "gpuspec-webhook-tls"  # noqa: S105 -- an object's name
AUTHORITY_SECRET: Final = "gpuspec-ca"  # noqa: S105 -- an object's name
"""The webhook's Service, its certificate's Secret, and the authority's, in our namespace."""

SEAL_ANNOTATION: Final = f"{OUR_DOMAIN}/seal"
"""Annotation on the Secrets of our certificates: a hash of what the controller wrote there."""

WRITTEN_ANNOTATION: Final = f"{OUR_DOMAIN}/written"
"""Annotation on the Secrets of our certificates: when and why their content was written."""

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
"""Annotation of mirror Pods, which the kubelet has already started (N7)."""

MAX_MESSAGE_BYTES: Final = 1000
"""A denial is read inside a ReplicaSet's event, which Kubernetes cuts at 1,024 bytes (R4)."""

MAX_TABLE_MESSAGE_BYTES: Final = 8192
"""A refused table is read in a terminal; more problems than fit nobody mends in one go."""

MAX_WARNINGS: Final = 5
MAX_WARNING_CHARACTERS: Final = 120
"""The API server asks for at most 120 characters a warning and drops what is beyond 4 KiB (R8)."""

MAX_CLAIMS_BYTES: Final = 131_072
"""The annotation with a Pod's claims (C2): half of what the API server allows all annotations."""

MAX_NODE_TERMS: Final = 64
"""Node selector terms of a Pod where several alternatives of ours meet several of its own (N3)."""


_TEMPLATE_NAME: Final = re.compile(r"gpuspec-[0-9a-f]{32}", re.ASCII)


def is_template_name(name: object) -> bool:
    """Tell whether a ResourceClaimTemplate is called as ours are: by a hash (C2)."""
    return isinstance(name, str) and _TEMPLATE_NAME.fullmatch(name) is not None


def is_sibling(resource: str, outputs: frozenset[str]) -> bool:
    """Tell whether a resource is another face of the devices that a table hands out (A5).

    ``nvidia.com/mig-1g.5gb``, ``nvidia.com/gpu.shared`` and ``nvidia.com/gpumem`` are siblings of
    ``nvidia.com/gpu``; ``nvidia.com/hostdev`` and ``rdma/hca`` are not.
    """
    domain, _, name = resource.partition("/")
    for output in outputs:
        output_domain, _, output_name = output.partition("/")
        if domain == output_domain and (
            name.startswith((output_name, "mig-")) or domain.startswith("gpu.")
        ):
            return True
    return False
