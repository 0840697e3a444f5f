"""The shipped webhook configurations, for a service on this machine."""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from pathlib import Path

import yaml

from tests.cluster.api import Json
from tests.cluster.components import HOST
from tests.contract.kustomize import one, with_component

_SHIPPED = Path(__file__).parents[2] / "manifests/base"


def webhook_configuration(port: int, ca_bundle: bytes) -> Json:
    """Return the one for Pods with the address and the trust of a service, the rest unchanged."""
    return _pointed("mutatingwebhook.yaml", port, ca_bundle)


def table_webhook_configuration(port: int, ca_bundle: bytes) -> Json:
    """Return the one for SelectionTables and workloads, for a service in the same way."""
    return _pointed("validatingwebhook.yaml", port, ca_bundle)


def custom_workloads_configuration(port: int, ca_bundle: bytes) -> Json:
    """Return the same with the component for other makers' workloads."""
    documents = with_component("custom-workloads")
    return _at(one(documents, "ValidatingWebhookConfiguration"), port, ca_bundle)


def _pointed(file: str, port: int, ca_bundle: bytes) -> Json:
    return _at(yaml.safe_load((_SHIPPED / file).read_text()), port, ca_bundle)


def _at(shipped: Json, port: int, ca_bundle: bytes) -> Json:
    configuration = deepcopy(shipped)
    for webhook in configuration["webhooks"]:
        at = webhook["clientConfig"]["service"]["path"]
        webhook["clientConfig"] = {
            "url": f"https://{HOST}:{port}{at}",
            "caBundle": b64encode(ca_bundle).decode(),
        }
    return configuration
