"""The loop that issues the webhook's certificate and has the API server trust it.

What to write is ``certs.rotation``'s to say. The webhook's Pods mount the server's Secret and need
no permission; the authority's key is in a Secret of its own, which nobody mounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Gauge

from certs.plans import Owner, Publish, Rules, Since, Store
from certs.rotation import plan
from webhook.controllers.board import Board, Part
from webhook.controllers.certificate_objects import Entry, written
from webhook.controllers.certificate_places import CertificatePlaces, Found, look
from webhook.controllers.certificate_words import (
    configuration_refused,
    kept_by_cert_manager,
    ready,
    secret_refused,
)
from webhook.inventory.conditions import Condition
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError
from webhook.logs import Log

# Of the shorter wait, so that neither ends much later than it could.
_LOOKS_A_WAIT = 4
# What was just written is read back before it counts.
_READ_BACK_S = 1.0

# Certificates are issued as valid from five minutes ago, so clocks may differ by less unnoticed.
_SKEW = timedelta(minutes=1)

# Somebody may have written or deleted the object since it was read: the next look tells.
_CHANGED = {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}
# The object may not be written: no permission or no room, or the API server finds it wrong.
_UNWRITABLE = {HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY}


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

    def looked(self, not_after: Mapping[Owner, datetime], problems: int) -> None:
        """Remember what one look found."""
        for owner, ends in not_after.items():
            self._not_after.labels(owner.value).set(ends.timestamp())
        self._problems.set(problems)


class CertificateLoop:
    """Keeps both Secrets and every ``caBundle`` of our webhook entries right.

    What may not be written, such as the configuration of somebody else who calls our Service, is
    told and tried again with every look, and delays nothing else.

    Args:
        cluster: The API server.
        places: Which objects.
        rules: Lifetimes and waits.
        board: Told whether all is well, for the table's status.
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
        board: Board,
        log: Log,
        metrics: CertificateMetrics,
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._places = places
        self._rules = rules
        self._board = board
        self._log = log
        self._metrics = metrics
        self._monotonic = monotonic
        self._look_s = rules.settle.total_seconds() / _LOOKS_A_WAIT
        self._since: Since = {}
        self._refused: dict[str, ApiError] = {}
        self._told: tuple[str, ...] = ()

    def run(self, now: datetime) -> float:
        """Write what is due; nothing while cert-manager keeps all of it."""
        try:
            return self._look(now)
        except ApiError as error:
            self._board.post(self.name, Part((ready([str(error)]),)))
            raise

    def _look(self, now: datetime) -> float:
        found = look(self._cluster, self._places)
        if found.kept:
            self._tell((found.kept,), kept_by_cert_manager(found.kept), {})
            return self._look_s
        present, problems = self._present(now)
        unwritable = [place for place, why in self._refused.items() if why.code in _UNWRITABLE]
        seen = found.seen(unwritable)
        made = plan(seen, self._rules, self._since, now=present, steady=self._monotonic())
        self._since = made.since
        former = self._refused
        self._refused, wrote = self._write_all(found, made.steps, present)
        problems += [*found.injected, *made.problems]
        # Whatever changed meanwhile is no problem unless it goes on so.
        problems += [
            self._refusal(found, place, why)
            for place, why in self._refused.items()
            if why.code in _UNWRITABLE or place in former
        ]
        told = tuple(dict.fromkeys(problems))
        ends = {one: when for one, when in made.not_after.items() if one not in self._refused}
        self._tell(told, ready(told), ends)
        soon = wrote or self._refused.keys() - former.keys()
        return min(_READ_BACK_S, self._look_s) if soon else self._look_s

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
        # In whole minutes: the same clocks give the same text with every look.
        apart = timedelta(minutes=round(abs(present - now).total_seconds() / 60))
        direction = "ahead of" if now > present else "behind"
        problem = (
            f"the clock of this node is {apart} {direction} that of the API server, which decides; "
            "set the wrong one"
        )
        return present, [problem]

    def _write_all(
        self, found: Found, steps: Iterable[Store | Publish], now: datetime
    ) -> tuple[dict[str, ApiError], bool]:
        """Carry steps out; return why some were refused, by places, and whether any was not."""
        refused: dict[str, ApiError] = {}
        wrote = False
        for step in steps:
            if Owner.AUTHORITY in refused:
                # Nothing may depend on an authority that was not stored; none of this is tried.
                if step.place in self._refused:
                    refused[step.place] = self._refused[step.place]
                continue
            try:
                self._write(found, step, now)
            except ApiError as error:
                if error.code not in _CHANGED | _UNWRITABLE:
                    raise
                if error.code in _CHANGED and step.place not in self._refused:
                    self._log.info("certificates changed meanwhile", why=str(error))
                refused[step.place] = error
            else:
                wrote = True
        return refused, wrote

    def _refusal(self, found: Found, place: str, why: ApiError) -> str:
        if place in found.entries:
            configuration = found.entries[place].configuration
            return configuration_refused(configuration, self._places.authority_secret, why)
        owner = Owner(place)
        return secret_refused(self._places.secrets[owner], found.secrets.get(owner), why)

    def _write(self, found: Found, step: Store | Publish, now: datetime) -> None:
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
        path = self._places.configuration_path(configuration)
        configuration["metadata"] = self._cluster.replace(path, configuration)["metadata"]

    def _tell(
        self, problems: tuple[str, ...], condition: Condition, ends: Mapping[Owner, datetime]
    ) -> None:
        """Log problems when they change, and say how things stand."""
        for problem in problems:
            if problem not in self._told:
                self._log.warning("certificates", problem=problem)
        self._told = problems
        self._metrics.looked(ends, len(problems))
        self._board.post(self.name, Part((condition,)))
