"""Certificates of the controller: a real API server calls real services, which mount the Secret."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from certs.authority import create_authority, issue
from certs.plans import Rules
from certs.policy import certificates_in
from tests.cluster.api import Api, path, wait_until
from tests.cluster.components import HOST
from tests.cluster.control_plane import ControlPlane
from tests.cluster.ports import free_ports
from tests.cluster.product.certified import (
    CONFIGURATION,
    PLACES,
    PLURALS,
    Server,
    Stage,
    called,
    controller,
    secret,
    secret_path,
)
from tests.cluster.product.installation import ADMISSION
from tests.cluster.versions import ON_NEWEST
from tests.logbook import Logbook
from webhook.logs import utc_now

pytestmark = ON_NEWEST

# The waits are short, and the kubelets quicker than they are in life, in the same proportions.
CALM = replace(PLACES.rules, settle=timedelta(seconds=3), overlap=timedelta(seconds=6))
KUBELET_LAGS_S = (0.3, 2.0)
# Both begin five minutes ago, so two thirds of the authority's life are over 17 s from now, of the
# server's 8 s from now.
HASTY = replace(
    CALM, authority_lifetime=timedelta(seconds=175), server_lifetime=timedelta(seconds=162)
)
ROTATIONS = 2
WAIT_S = 120.0

AUTHORITY, SERVER = PLACES.authority_secret, PLACES.server_secret

Opened = Callable[[Rules, int], Stage]


@pytest.fixture
def opened(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Opened]:
    """Starts everything in an empty cluster: some controllers, two servers that lag differently."""
    with ExitStack() as all_of_it:

        def start(rules: Rules, controllers: int) -> Stage:
            stage = Stage(cluster.api, Logbook())
            place = all_of_it.enter_context(called(cluster.api, namespace))
            for _ in range(controllers):
                all_of_it.enter_context(controller(cluster, stage.logbook, rules))
            wait(lambda: bool(secret(cluster.api)), "a first certificate", stage)
            places = (place, (HOST, free_ports(["second"], HOST)["second"]))
            for number, (at, lag_s) in enumerate(zip(places, KUBELET_LAGS_S, strict=True)):
                server = Server(cluster.api, tmp_path / str(number), at, lag_s)
                stage.servers.append(all_of_it.enter_context(server))
            wait(lambda: stage.all_serve(stage.bundles()[0]), "both servers to serve", stage)
            wait(lambda: not stage.create(namespace), "a Pod to be translated", stage)
            return stage

        yield start


def wait(probe: Callable[[], bool], what: str, stage: Stage) -> None:
    def state() -> str:
        return "\n".join(str(line) for line in stage.logbook.lines[-20:])

    wait_until(probe, timeout=WAIT_S, what=what, state=state, poll=0.1)


def test_no_create_fails_while_authority_and_certificate_are_replaced_again_and_again(
    opened: Opened, namespace: str
) -> None:
    """Two controllers at once, which both hold themselves for the leader."""
    stage = opened(HASTY, 2)
    authorities: set[int] = set()
    served: set[bytes] = set()
    sizes: set[int] = set()

    def rotated() -> bool:
        found = certificates_in(stage.bundles()[0])
        authorities.add(found[0].serial_number)
        sizes.add(len(found))
        served.add(secret(stage.api)["tls.crt"])
        return len(authorities) > ROTATIONS and len(found) == 1

    with stage.load(namespace) as load:
        started = time.monotonic()
        wait(rotated, "authorities to come and go", stage)
        seconds = time.monotonic() - started
    print(
        f"{seconds:.0f} s, {dict(load.done)}, {len(authorities)} authorities, {len(served)} served"
    )
    assert load.failures == []
    assert sizes == {1, 2}
    assert len(served) > ROTATIONS
    assert min(load.done.values()) > 0


def damaged(api: Api, name: str, **parts: bytes) -> None:
    """Somebody else writes parts of a Secret; a key's ``_`` stands for a dot."""
    data = {key.replace("_", "."): b64encode(part).decode() for key, part in parts.items()}
    api.patch(secret_path(name), {"data": data})


FOREIGN = create_authority("gpuspec authority", now=utc_now(), lifetime=timedelta(days=1))
FOREIGN_SERVER = issue(FOREIGN, PLACES.rules.names, now=utc_now(), lifetime=timedelta(days=1))


CHANGED = "the {} certificate is not as it was written here: somebody changed it"
GONE = "there is no {} certificate any more"
HARMLESS: dict[str, tuple[Callable[[Api], object], tuple[str, str]]] = {
    "the server's Secret is deleted": (
        lambda api: api.delete(secret_path(SERVER)),
        (SERVER, GONE.format("server")),
    ),
    "the authority's Secret is deleted": (
        lambda api: api.delete(secret_path(AUTHORITY)),
        (AUTHORITY, GONE.format("authority")),
    ),
    "another key": (
        lambda api: damaged(api, SERVER, tls_key=FOREIGN.key),
        (SERVER, CHANGED.format("server")),
    ),
    "a foreign authority": (
        lambda api: damaged(api, AUTHORITY, tls_crt=FOREIGN.certificate, tls_key=FOREIGN.key),
        (AUTHORITY, CHANGED.format("authority")),
    ),
    "garbage": (
        lambda api: damaged(api, AUTHORITY, tls_crt=b"garbage"),
        (AUTHORITY, CHANGED.format("authority")),
    ),
    "another bundle": (
        lambda api: damaged(api, SERVER, ca_crt=FOREIGN.certificate),
        (SERVER, CHANGED.format("server")),
    ),
}


def test_what_somebody_else_deletes_or_changes_heals_and_is_reported(
    opened: Opened, namespace: str
) -> None:
    stage = opened(CALM, 1)
    for what, (happens, (name, why)) in HARMLESS.items():
        wait(stage.one_authority, f"one authority before {what}", stage)
        told = len(stage.written())
        reported = ("warning", f"Secret {name}", why)

        def healed(told: int = told, reported: tuple[str, str, str] = reported) -> bool:
            return reported in stage.written()[told:] and stage.one_authority()

        with stage.load(namespace) as load:
            happens(stage.api)
            wait(healed, f"healing after: {what}", stage)
        print(what, dict(load.done))
        assert load.failures == [], what
    heal_what_breaks_the_service(stage, namespace)
    keys_are_in_no_log(stage)


def heal_what_breaks_the_service(stage: Stage, namespace: str) -> None:
    """A foreign certificate, then no trust in anything: creates fail until it is mended."""
    damaged(stage.api, SERVER, tls_crt=FOREIGN_SERVER.certificate, tls_key=FOREIGN_SERVER.key)
    wait(lambda: stage.one_authority() and not stage.create(namespace), "our server", stage)
    assert stage.written()[-1] == ("warning", f"Secret {SERVER}", CHANGED.format("server"))
    for plural in PLURALS:
        patch = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        stage.api.patch(path(ADMISSION, plural, CONFIGURATION), patch, kind="json")
    wait(lambda: stage.one_authority() and not stage.create(namespace), "trust", stage)
    assert stage.written()[-2:] == [
        ("info", f"trust of {kind} {CONFIGURATION}, {entry}", "it lacks our authority")
        for kind, entry in (
            ("MutatingWebhookConfiguration", "gpu.gpuspec.preferred.jp"),
            ("ValidatingWebhookConfiguration", "certificates.gpuspec.preferred.jp"),
        )
    ]


def keys_are_in_no_log(stage: Stage) -> None:
    written = b"".join(stage.logbook.written)
    for name in (AUTHORITY, SERVER):
        assert secret(stage.api, name)["tls.key"].splitlines()[1] not in written
