"""The shipped MutatingWebhookConfiguration, for a service on this machine."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import yaml

from tests.cluster.api import Json
from tests.cluster.components import HOST

_SHIPPED = Path(__file__).parents[2] / "manifests/base/mutatingwebhook.yaml"


def webhook_configuration(port: int, ca_bundle: bytes) -> Json:
    """Return it with the address and the trust of a service, and nothing else changed."""
    configuration: Json = yaml.safe_load(_SHIPPED.read_text())
    (webhook,) = configuration["webhooks"]
    at = webhook["clientConfig"]["service"]["path"]
    webhook["clientConfig"] = {
        "url": f"https://{HOST}:{port}{at}",
        "caBundle": b64encode(ca_bundle).decode(),
    }
    return configuration
