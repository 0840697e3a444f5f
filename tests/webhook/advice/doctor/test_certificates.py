"""The serving certificate: dates, names, and who is trusted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs.authority import KeyPair, create_authority, issue
from tests.logbook import NOW
from tests.webhook.advice.doctor.world import (
    AUTHORITY,
    DAY,
    HOST,
    PAIR,
    REPLICAS,
    Change,
    World,
    encoded,
    findings,
    forbidden,
    readyz,
    set_certificate,
)
from webhook.advice.doctor.seen import Refused, Topic

OTHER = create_authority("other", now=NOW - DAY, lifetime=730 * DAY)
HEAL = (
    "delete the Secret and the controller makes a new one; with cert-manager, see its Certificate"
)
ENDS = "fine: the serving certificate ends in 89 days"
ENTRIES = [f"{name}.gpuspec.preferred.jp" for name in ("gpu", "table", "warn", "deny")]
GPU = f"webhook {ENTRIES[0]}"
DIFFERENT = (
    f"warning: webhooks {', '.join(ENTRIES)} do not trust the same authorities -> a rotation "
    "passes through this for some seconds; ask again"
)
UNTRUSTED = (
    f"error: caBundle of {GPU} has no authority that signed the serving certificate: the API "
    "server refuses to talk to the webhook -> see that the controller runs (it keeps caBundle "
    "right) and may patch the configuration; with cert-manager, that its CA injector runs"
)


@pytest.fixture
def world() -> World:
    return World()


def trust(world: World, pem: bytes, topic: Topic = Topic.MUTATING) -> None:
    """Have every entry of our configuration trust an authority, as the controller does."""
    for entry in world.only(topic)["webhooks"]:
        entry["clientConfig"]["caBundle"] = encoded(pem)


def store(world: World, pair: KeyPair) -> None:
    """Put a pair into the Secret that no replica could serve."""
    world.answers[Topic.SECRET] = [{"data": {"tls.crt": encoded(pair.certificate)}}]
    gone = Refused(503, "", "get pods/proxy in namespace gpuspec-system")
    world.readyz = dict.fromkeys(REPLICAS, gone)


def test_another_authority_is_trusted(world: World) -> None:
    trust(world, OTHER.certificate)
    assert findings(world, "certificate") == [DIFFERENT, ENDS, UNTRUSTED]


def test_while_an_authority_is_replaced_both_are_trusted(world: World) -> None:
    for topic in (Topic.MUTATING, Topic.VALIDATING):
        trust(world, OTHER.certificate + AUTHORITY.certificate, topic)
    assert findings(world, "certificate") == [ENDS]


def test_an_authority_that_has_ended_verifies_nothing(world: World) -> None:
    old = create_authority("old", now=NOW - 9 * DAY, lifetime=8 * DAY)
    store(world, issue(old, [HOST], now=NOW - 9 * DAY, lifetime=8 * DAY))
    for topic in (Topic.MUTATING, Topic.VALIDATING):
        trust(world, old.certificate, topic)
    ended, *untrusted = findings(world, "certificate")
    assert ended == f"error: the serving certificate ended at 2026-05-31 12:00 UTC -> {HEAL}"
    assert untrusted == [UNTRUSTED.replace(ENTRIES[0], one) for one in ENTRIES]


@pytest.mark.parametrize(
    ("bundle", "wanted"),
    [
        pytest.param(
            "",
            f"error: {GPU} has no caBundle: the API server trusts nobody there -> see that the "
            "controller runs and may patch the configuration",
            id="empty",
        ),
        pytest.param(
            "bm90aGluZw==",
            f"error: caBundle of {GPU} holds no certificate -> remove the field",
            id="no-certificate",
        ),
    ],
)
def test_nobody_is_trusted(world: World, bundle: str, wanted: str) -> None:
    world.entry()["clientConfig"]["caBundle"] = bundle
    found = findings(world, "certificate")
    assert found[:2] == [wanted, ENDS]


@pytest.mark.parametrize(
    ("start", "lifetime", "wanted"),
    [
        pytest.param(
            timedelta(hours=1),
            90 * DAY,
            "error: the serving certificate is valid only from 2026-06-01 12:55 UTC on -> compare "
            "the clocks",
            id="not-yet",
        ),
        pytest.param(
            -80 * DAY,
            90 * DAY,
            "warning: the serving certificate ends in 10 days, at 2026-06-11 12:00 UTC, and was "
            "not replaced in time -> see that the controller leads and may write the Secret; with "
            "cert-manager, see its Certificate",
            id="overdue",
        ),
        pytest.param(
            -timedelta(hours=1),
            timedelta(hours=11),
            "fine: the serving certificate ends in 10.0 hours",
            id="short-lived",
        ),
    ],
)
def test_dates(world: World, start: timedelta, lifetime: timedelta, wanted: str) -> None:
    authority = create_authority("x", now=NOW - 100 * DAY, lifetime=900 * DAY)
    store(world, issue(authority, [HOST], now=NOW + start, lifetime=lifetime))
    assert wanted in findings(world, "certificate")


def test_a_name_is_missing(world: World) -> None:
    set_certificate(world, issue(AUTHORITY, ["localhost"], now=NOW, lifetime=90 * DAY))
    assert findings(world, "certificate") == [
        "fine: the serving certificate ends in 90 days",
        (
            f"error: the serving certificate is not for {HOST}, which the API server asks for, but "
            f"for: localhost -> {HEAL}"
        ),
    ]


def test_a_replica_serves_another_certificate_than_the_secret_s(world: World) -> None:
    world.readyz["webhook-b"] = [readyz(pair=issue(AUTHORITY, [HOST], now=NOW, lifetime=90 * DAY))]
    assert findings(world, "certificate") == [
        ENDS,
        (
            "warning: not the Secret's certificate is served by webhook-b -> a kubelet brings a "
            "changed Secret within two minutes; ask again"
        ),
    ]


def test_an_intermediate_authority_leads_to_the_trusted_one(world: World) -> None:
    """The chain is in tls.crt, the authority in caBundle."""
    chain = PAIR.certificate + AUTHORITY.certificate
    world.answers[Topic.SECRET] = [{"data": {"tls.crt": encoded(chain)}}]
    assert findings(world, "certificate") == [ENDS]


def by_cert_manager(world: World) -> None:
    controller = world.items(Topic.DEPLOYMENTS)[1]["spec"]["template"]["spec"]["containers"][0]
    controller["args"].append("--no-certificates")


@pytest.mark.parametrize(
    ("change", "todo"),
    [
        pytest.param(
            lambda _: None,
            "the controller makes it within about a minute; if it does not, look at its log: "
            "kubectl -n gpuspec-system logs -l app.kubernetes.io/component=controller",
            id="the-controller-s",
        ),
        pytest.param(
            by_cert_manager,
            "cert-manager makes it; if it does not, see why: kubectl -n gpuspec-system describe "
            "certificates",
            id="cert-manager-s",
        ),
        pytest.param(
            lambda world: world.answers.update({Topic.DEPLOYMENTS: forbidden("list deployments")}),
            "the controller makes it, or cert-manager where that is used; see their logs",
            id="whose-is-not-seen",
        ),
    ],
)
def test_there_is_no_secret(world: World, change: Change, todo: str) -> None:
    world.answers[Topic.SECRET] = []
    change(world)
    assert findings(world, "certificate") == [
        (
            "error: there is no Secret gpuspec-system/gpuspec-webhook-tls: no replica of the "
            f"webhook can start without it -> {todo}"
        )
    ]


def test_the_secret_holds_no_certificate(world: World) -> None:
    world.answers[Topic.SECRET] = [{"data": {"tls.crt": "%"}}]
    assert findings(world, "certificate") == [
        f"error: Secret gpuspec-system/gpuspec-webhook-tls has no certificate in tls.crt -> {HEAL}"
    ]


def test_the_secret_may_not_be_read(world: World) -> None:
    world.answers[Topic.SECRET] = forbidden("get secrets in namespace gpuspec-system")
    assert findings(world, "certificate") == [
        "unknown: could not look: permission to get secrets in namespace gpuspec-system is missing"
    ]
