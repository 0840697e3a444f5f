"""The loop that issues the webhook's certificate and has the API server trust it.

What to write is ``certs.rotation``'s to say. The webhook's Pods mount the server's Secret and need
no permission; the authority's key is in a Secret of its own, which nobody mounts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, Gauge

from certs.authority import for_service
from certs.plans import Owner, Plan, Publish, Rules, Seen, Since, Store
from certs.rotation import plan
from webhook.controllers.certificate_objects import (
    Entry,
    cert_manager_annotation,
    entries,
    stored,
    written,
)
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError
from webhook.logs import Log
from webhook.terms import AUTHORITY_SECRET, SERVER_SECRET, SERVICE

# Of the shorter wait, so that neither ends much later than it could.
_LOOKS_A_WAIT = 4
# What was just written is read back before it counts.
_READ_BACK_S = 1.0

# Certificates are issued as valid from five minutes ago, so clocks may differ by less unnoticed.
_SKEW = timedelta(minutes=1)

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

    @property
    def rules(self) -> Rules:
        """What holds for the Service's certificate, with the usual lifetimes and waits."""
        return Rules(names=tuple(for_service(self.service, self.namespace)))


class CertificateMetrics:
    """The loop's own series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._not_after = Gauge(
            "gpuspec_issued_certificate_not_after_timestamp_seconds",
            "When what the controller issued ends, in seconds since 1970.",
            ["certificate"],
            registry=registry,
        )
        self._problems = Gauge(
            "gpuspec_issued_certificate_problems",
            "How many things about certificates are wrong and wait; the log names them.",
            registry=registry,
        )

    def looked(self, made: Plan, problems: int) -> None:
        """Remember what one look found."""
        for owner, ends in made.not_after.items():
            self._not_after.labels(owner.value).set(ends.timestamp())
        self._problems.set(problems)


@dataclass(slots=True)
class _Found:
    """What was just read."""

    secrets: dict[Owner, Json]
    entries: dict[str, Entry]

    @property
    def seen(self) -> Seen:
        pairs = {owner: stored(secret) for owner, secret in self.secrets.items()}
        return Seen(
            pairs.get(Owner.AUTHORITY),
            pairs.get(Owner.SERVER),
            {name: entry.bundle for name, entry in self.entries.items()},
        )


class CertificateLoop:
    """Keeps both Secrets and every ``caBundle`` of our webhook entries right.

    Args:
        cluster: The API server.
        places: Which objects.
        rules: Lifetimes and waits.
        log: Told of every write, why, and of what is wrong.
        metrics: Told when certificates end.
        monotonic: Seconds that nobody can set, by which waits are counted.
    """

    name = "certificates"

    def __init__(  # noqa: PLR0913 -- each is a thing of its own, named where it is given
        self,
        cluster: Cluster,
        places: CertificatePlaces,
        rules: Rules,
        *,
        log: Log,
        metrics: CertificateMetrics,
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._places = places
        self._rules = rules
        self._log = log
        self._metrics = metrics
        self._monotonic = monotonic
        self._look_s = rules.settle.total_seconds() / _LOOKS_A_WAIT
        self._since: Since = {}
        self._told: tuple[str, ...] = ()

    def run(self, now: datetime) -> float:
        """Write what is due; nothing while cert-manager keeps any of it."""
        found = self._find()
        keeper = self._keeper(found)
        if keeper is not None:
            self._tell((keeper,))
            return self._look_s
        present, problems = self._present(now)
        made = plan(found.seen, self._rules, self._since, now=present, steady=self._monotonic())
        self._since = made.since
        self._tell((*problems, *made.problems))
        self._metrics.looked(made, len(problems) + len(made.problems))
        try:
            for step in made.steps:
                self._write(found, step, present)
        except ApiError as error:
            if not error.is_conflict:
                raise
            # Somebody else wrote it meanwhile: what to do is seen from what is there.
            self._log.info("certificates changed meanwhile", why=str(error))
            return min(_READ_BACK_S, self._look_s)
        return min(_READ_BACK_S, self._look_s) if made.steps else self._look_s

    def _find(self) -> _Found:
        secrets = {}
        for owner, name in self._places.secrets.items():
            try:
                secrets[owner] = self._cluster.get(f"{self._places.secrets_path}/{name}")
            except ApiError as error:
                if not error.is_not_found:
                    raise
        configurations = [
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind} | item
            for kind, path in _CONFIGURATIONS.items()
            for item in self._cluster.items(path)
        ]
        ours = entries(configurations, self._places.namespace, self._places.service)
        return _Found(secrets, {entry.name: entry for entry in ours})

    def _keeper(self, found: _Found) -> str | None:
        """Say that cert-manager keeps our certificates, where it does."""
        objects = [
            *found.secrets.values(),
            *(entry.configuration for entry in found.entries.values()),
        ]
        for one in objects:
            annotation = cert_manager_annotation(one)
            if annotation is not None:
                return (
                    f"{one.get('kind', 'Secret')} {one['metadata']['name']} has the annotation "
                    f"{annotation}: cert-manager keeps the certificates and nothing is written "
                    "here; run the controller with --no-certificates, or remove the annotation"
                )
        return None

    def _present(self, now: datetime) -> tuple[datetime, list[str]]:
        """Return the present by the clock of the API server, which is who verifies.

        It stamps whatever is created, even if that is only a dry run.
        """
        ours = {"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "gpuspec-now-"}}
        try:
            made = self._cluster.create(self._places.secrets_path, ours, dryRun="All")
        except ApiError as error:
            return now, [f"the API server's clock cannot be read, ours decides: {error}"]
        present = datetime.fromisoformat(made["metadata"]["creationTimestamp"])
        if abs(present - now) <= _SKEW:
            return present, []
        problem = (
            f"the clock of this node shows {now:%Y-%m-%dT%H:%M:%SZ}, that of the API server "
            f"{present:%Y-%m-%dT%H:%M:%SZ}, which decides; set the wrong one"
        )
        return present, [problem]

    def _write(self, found: _Found, step: Store | Publish, now: datetime) -> None:
        if isinstance(step, Publish):
            self._publish(found.entries[step.client], step.bundle)
            what = f"trust of {step.client}"
        else:
            name = self._places.secrets[step.owner]
            self._store(found.secrets.get(step.owner), name, step, now)
            what = f"Secret {name}"
        say = self._log.warning if step.alarming else self._log.info
        say("certificates written", what=what, why=step.why)

    def _store(self, former: Json | None, name: str, step: Store, now: datetime) -> None:
        secret = written(former, name, step, now)
        if former is None:
            self._cluster.create(self._places.secrets_path, secret)
        else:
            self._cluster.replace(f"{self._places.secrets_path}/{name}", secret)

    def _publish(self, entry: Entry, bundle: bytes) -> None:
        """Write the configuration of an entry as it was read; the next entry has its version."""
        entry.trust(bundle)
        configuration = entry.configuration
        path = f"{_CONFIGURATIONS[configuration['kind']]}/{configuration['metadata']['name']}"
        configuration["metadata"] = self._cluster.replace(path, configuration)["metadata"]

    def _tell(self, problems: tuple[str, ...]) -> None:
        """Log problems when they change."""
        for problem in problems:
            if problem not in self._told:
                self._log.warning("certificates", problem=problem)
        self._told = problems
