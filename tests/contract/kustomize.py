"""What ``kubectl kustomize`` makes of ``manifests/``, built once a session."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from certs.__main__ import main as certs_main

Document = dict[str, Any]

REPOSITORY = Path(__file__).parents[2]
MANIFESTS = REPOSITORY / "manifests"

OVERLAYS = ("cert-manager", "own-ca")
NAMESPACE = "gpuspec-system"
SERVICE = "gpuspec-webhook"


@cache
def built(overlay: str) -> tuple[Document, ...]:
    """The documents of ``overlays/<overlay>``, in the order in which they are applied."""
    with tempfile.TemporaryDirectory() as folder:
        manifests = Path(folder) / "manifests"
        shutil.copytree(MANIFESTS, manifests, ignore=shutil.ignore_patterns("pki"))
        if overlay == "own-ca":
            make_pki(manifests / "overlays/own-ca/pki")
        return build(manifests / "overlays" / overlay)


def make_pki(folder: Path) -> None:
    """Do what the overlay's comment tells its reader to do first."""
    arguments = ["--dir", str(folder), "--service", SERVICE, "--namespace", NAMESPACE]
    assert certs_main(arguments) == 0


def build(folder: Path) -> tuple[Document, ...]:
    """The documents of one kustomization; fails on any warning too."""
    kubectl = Path(sysconfig.get_path("scripts")) / "kubectl"
    done = subprocess.run(
        [kubectl, "kustomize", folder], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return tuple(yaml.safe_load_all(done.stdout))


def one(documents: tuple[Document, ...], kind: str, name: str | None = None) -> Document:
    """The only document of this kind, or of this kind and name."""
    (found,) = (
        document
        for document in documents
        if document["kind"] == kind and name in (None, document["metadata"]["name"])
    )
    return found


def pod_spec(documents: tuple[Document, ...]) -> Document:
    """The spec of the Deployment's Pods."""
    spec: Document = one(documents, "Deployment")["spec"]["template"]["spec"]
    return spec


def container(documents: tuple[Document, ...]) -> Document:
    """The Deployment's only container."""
    (only,) = pod_spec(documents)["containers"]
    found: Document = only
    return found


def serve_flags(documents: tuple[Document, ...]) -> dict[str, str]:
    """The flags that the Deployment gives ``gpuspec serve``, with their values."""
    command, *flags = container(documents)["args"]
    assert command == "serve"
    return dict(flag.split("=", 1) for flag in flags)


def webhook(documents: tuple[Document, ...]) -> Document:
    """The only entry of the webhook configuration."""
    (only,) = one(documents, "MutatingWebhookConfiguration")["webhooks"]
    found: Document = only
    return found
