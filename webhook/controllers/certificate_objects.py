"""Certificates as Kubernetes has them: Secrets, and the webhook entries that trust a bundle."""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from certs.authority import KeyPair
from certs.plans import Store, Stored
from webhook.terms import CONTROLLER_NAME, SEAL_ANNOTATION, WRITTEN_ANNOTATION

Json = dict[str, Any]

_CERT_MANAGER = "cert-manager.io/"

_CERTIFICATE, _KEY, _BUNDLE = "tls.crt", "tls.key", "ca.crt"

_LABELS = {
    "app.kubernetes.io/name": "gpuspec",
    "app.kubernetes.io/part-of": "gpuspec",
    "app.kubernetes.io/managed-by": CONTROLLER_NAME,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A webhook entry that calls our Service, within its configuration as just read."""

    configuration: Json
    index: int

    @property
    def name(self) -> str:
        """What messages call it."""
        configuration = self.configuration
        return f"{configuration['kind']} {configuration['metadata']['name']}, {self._entry['name']}"

    @property
    def bundle(self) -> bytes:
        """The authorities that it trusts, PEM; empty where it has none."""
        return _decoded(self._entry["clientConfig"].get("caBundle"))

    def trust(self, bundle: bytes) -> None:
        """Have it trust other authorities, in the configuration at hand."""
        self._entry["clientConfig"]["caBundle"] = b64encode(bundle).decode()

    @property
    def _entry(self) -> Json:
        entry: Json = self.configuration["webhooks"][self.index]
        return entry


def entries(configurations: Iterable[Json], namespace: str, service: str) -> Iterator[Entry]:
    """Yield the entries of webhook configurations that call a Service."""
    for configuration in configurations:
        for index, entry in enumerate(configuration.get("webhooks") or ()):
            called = entry["clientConfig"].get("service") or {}
            if (called.get("namespace"), called.get("name")) == (namespace, service):
                yield Entry(configuration, index)


def cert_manager_annotation(found: Json) -> tuple[str, str] | None:
    """Return the annotation by which cert-manager keeps an object, None where there is none.

    Its value, on a webhook configuration, is the namespace and name of what is to be trusted.
    """
    annotations = found["metadata"].get("annotations") or {}
    kept = (one for one in sorted(annotations.items()) if one[0].startswith(_CERT_MANAGER))
    return next(kept, None)


def stored(secret: Json) -> Stored:
    """Read a Secret; what it lacks is empty, and then it is not as it was written."""
    data = secret.get("data") or {}
    certificate, key, bundle = (_decoded(data.get(part)) for part in (_CERTIFICATE, _KEY, _BUNDLE))
    pair = KeyPair(certificate, key)
    annotations = secret["metadata"].get("annotations") or {}
    return Stored(pair, bundle, annotations.get(SEAL_ANNOTATION) == _seal(pair, bundle))


def written(former: Json | None, name: str, step: Store, now: datetime) -> Json:
    """Return a Secret that holds a pair; the rest of a former one, its version too, stays."""
    secret: Json = former or {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": _LABELS},
        "type": "kubernetes.io/tls",
    }
    parts = {
        _CERTIFICATE: step.pair.certificate,
        _KEY: step.pair.key,
        _BUNDLE: step.bundle,
    }
    marks = {
        SEAL_ANNOTATION: _seal(step.pair, step.bundle),
        WRITTEN_ANNOTATION: f"{now:%Y-%m-%dT%H:%M:%SZ}: {step.why}",
    }
    annotations = secret["metadata"].get("annotations") or {}
    return secret | {
        "metadata": secret["metadata"] | {"annotations": annotations | marks},
        "data": {part: b64encode(content).decode() for part, content in parts.items()},
    }


def _decoded(value: object) -> bytes:
    """Return what base64 text stands for; nothing where it is none."""
    if not isinstance(value, str):
        return b""
    try:
        return b64decode(value)
    except (binascii.Error, ValueError):
        return b""


def _seal(pair: KeyPair, bundle: bytes) -> str:
    """Return a hash that tells whether anything was changed; it keeps nobody from changing it."""
    parts = (pair.certificate, pair.key, bundle)
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
