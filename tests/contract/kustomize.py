"""What ``kubectl kustomize`` makes of ``manifests/``, built once a session."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]

REPOSITORY = Path(__file__).parents[2]
MANIFESTS = REPOSITORY / "manifests"

OVERLAYS = ("cert-manager", "default")
PROCESSES = ("webhook", "controller")
NAMESPACE = "gpuspec-system"
SERVICE = "gpuspec-webhook"


@cache
def built(overlay: str) -> tuple[Document, ...]:
    """The documents of ``overlays/<overlay>``, in the order in which they are applied."""
    return build(MANIFESTS / "overlays" / overlay)


def build(folder: Path) -> tuple[Document, ...]:
    """The documents of one kustomization; fails on any warning too."""
    kubectl = Path(sysconfig.get_path("scripts")) / "kubectl"
    done = subprocess.run(
        [kubectl, "kustomize", folder], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return tuple(yaml.safe_load_all(done.stdout))


@cache
def with_component(component: str) -> tuple[Document, ...]:
    """The default overlay with a component, as an admin's own overlay has it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [os.path.relpath(MANIFESTS / "overlays/default", folder)],
            "components": [os.path.relpath(MANIFESTS / "components" / component, folder)],
        }
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return build(folder)


def one(documents: tuple[Document, ...], kind: str, name: str | None = None) -> Document:
    """The only document of this kind, or of this kind and name."""
    (found,) = (
        document
        for document in documents
        if document["kind"] == kind and name in (None, document["metadata"]["name"])
    )
    return found


def deployment(documents: tuple[Document, ...], process: str = "webhook") -> Document:
    """The Deployment of one of :data:`PROCESSES`."""
    return one(documents, "Deployment", f"gpuspec-{process}")


def pod_spec(documents: tuple[Document, ...], process: str = "webhook") -> Document:
    """The spec of a Deployment's Pods."""
    spec: Document = deployment(documents, process)["spec"]["template"]["spec"]
    return spec


def container(documents: tuple[Document, ...], process: str = "webhook") -> Document:
    """The only container of a Deployment's Pods."""
    (only,) = pod_spec(documents, process)["containers"]
    found: Document = only
    return found


def flags(documents: tuple[Document, ...], process: str = "webhook") -> dict[str, str]:
    """The flags that a Deployment gives its command, with their values; "" where there is none."""
    _, *given = container(documents, process)["args"]
    return {name: value for name, _, value in (flag.partition("=") for flag in given)}


def webhook(documents: tuple[Document, ...]) -> Document:
    """The only entry of the mutating webhook configuration."""
    (only,) = one(documents, "MutatingWebhookConfiguration")["webhooks"]
    found: Document = only
    return found


def validating_webhook(documents: tuple[Document, ...]) -> Document:
    """The entry of the validating webhook configuration that looks at tables."""
    return entry(documents, "ValidatingWebhookConfiguration", "table")


def entry(documents: tuple[Document, ...], kind: str, name: str) -> Document:
    """An entry of a webhook configuration, by its name within our domain."""
    wanted = f"{name}.gpuspec.preferred.jp"
    (only,) = (found for found in one(documents, kind)["webhooks"] if found["name"] == wanted)
    result: Document = only
    return result
