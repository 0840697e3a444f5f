"""Where certificates are kept and who trusts them, and all of it as just read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from certs.authority import for_service
from certs.plans import Owner, Rules, Seen
from webhook.controllers.certificate_objects import (
    Entry,
    cert_manager_annotation,
    entries,
    stored,
)
from webhook.controllers.certificate_words import cert_manager_injects, cert_manager_keeps
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError
from webhook.terms import AUTHORITY_SECRET, SERVER_SECRET, SERVICE

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_CONFIGURATIONS = {
    "MutatingWebhookConfiguration": f"{_ADMISSION}/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": f"{_ADMISSION}/validatingwebhookconfigurations",
}


@dataclass(frozen=True, slots=True)
class CertificatePlaces:
    """Where certificates are kept and for what: names of objects in one namespace."""

    namespace: str
    service: str = SERVICE
    server_secret: str = SERVER_SECRET
    authority_secret: str = AUTHORITY_SECRET

    @property
    def secrets(self) -> dict[Owner, str]:
        """The Secret of each pair."""
        return {Owner.AUTHORITY: self.authority_secret, Owner.SERVER: self.server_secret}

    @property
    def secrets_path(self) -> str:
        """The namespace's Secrets."""
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    def configuration_path(self, configuration: Json) -> str:
        """A webhook configuration."""
        return f"{_CONFIGURATIONS[configuration['kind']]}/{configuration['metadata']['name']}"

    @property
    def rules(self) -> Rules:
        """What holds for the Service's certificate, with the usual lifetimes and waits."""
        return Rules(names=tuple(for_service(self.service, self.namespace)))


@dataclass(slots=True)
class Found:
    """What was just read.

    Attributes:
        secrets: The Secret of each pair.
        entries: What calls our Service, by what messages call it.
        injected: Configurations of it that cert-manager has trust another authority, in words.
        kept: Why all of it is cert-manager's, if it is.
    """

    secrets: dict[Owner, Json]
    entries: dict[str, Entry] = field(default_factory=dict)
    injected: list[str] = field(default_factory=list)
    kept: str = ""

    def seen(self, unwritable: Iterable[str]) -> Seen:
        """Return what decides what to write."""
        pairs = {owner: stored(secret) for owner, secret in self.secrets.items()}
        return Seen(
            pairs.get(Owner.AUTHORITY),
            pairs.get(Owner.SERVER),
            {name: entry.bundle for name, entry in self.entries.items()},
            frozenset(unwritable),
        )


def look(cluster: Cluster, places: CertificatePlaces) -> Found:
    """Read all that there is.

    Raises:
        ClusterError: The API server refuses or does not answer.
    """
    secrets = {}
    for owner, name in places.secrets.items():
        try:
            secrets[owner] = cluster.get(f"{places.secrets_path}/{name}")
        except ApiError as error:
            if not error.is_not_found:
                raise
    configurations = [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind} | item
        for kind, path in _CONFIGURATIONS.items()
        for item in cluster.items(path)
    ]
    found = Found(secrets)
    for secret in secrets.values():
        annotation = cert_manager_annotation(secret)
        if annotation is not None:
            found.kept = cert_manager_keeps(secret, annotation[0])
    for entry in entries(configurations, places.namespace, places.service):
        _sort(entry, found, places.namespace)
    return found


def _sort(entry: Entry, found: Found, namespace: str) -> None:
    """Tell whether an entry is cert-manager's; if it trusts what is ours, everything is."""
    annotation = cert_manager_annotation(entry.configuration)
    if annotation is None:
        found.entries[entry.name] = entry
    elif annotation[1].startswith(f"{namespace}/"):
        found.kept = cert_manager_keeps(entry.configuration, annotation[0])
    else:
        found.injected.append(cert_manager_injects(entry.configuration, annotation[0]))
