"""When certificates are due, and whom clients trust while authorities change."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.authority import BACKDATE, KeyPair, create_authority, issue
from certs.policy import NOT_DUE, authority_due, server_due, trust_bundle
from tests.certs.handshake import handshake
from tests.certs.predicates import load

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
LIFE = timedelta(days=90)
NAMES = ["gpuspec.gpu-system.svc", "127.0.0.1"]

AUTHORITY = create_authority("gpuspec authority", now=NOW, lifetime=10 * LIFE)
OTHER = create_authority("gpuspec authority", now=NOW, lifetime=10 * LIFE)
SERVER = issue(AUTHORITY, NAMES, now=NOW, lifetime=LIFE)


def mixed(certificate: KeyPair, key: KeyPair) -> KeyPair:
    return KeyPair(certificate=certificate.certificate, key=key.key)


def test_a_young_authority_stays() -> None:
    assert authority_due(AUTHORITY, now=NOW) == NOT_DUE


def test_a_young_server_certificate_stays() -> None:
    assert server_due(SERVER, AUTHORITY.certificate, NAMES, now=NOW) == NOT_DUE


def test_a_certificate_with_more_names_than_needed_stays() -> None:
    assert server_due(SERVER, AUTHORITY.certificate, NAMES[:1], now=NOW) == NOT_DUE


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        pytest.param(None, "there is no authority certificate yet", id="missing"),
        pytest.param(
            KeyPair(certificate=b"garbage", key=AUTHORITY.key),
            "the authority certificate is no PEM certificate",
            id="certificate unreadable",
        ),
        pytest.param(
            KeyPair(certificate=AUTHORITY.certificate, key=b""),
            "the authority key is no PEM private key without a password",
            id="key unreadable",
        ),
        pytest.param(
            mixed(AUTHORITY, OTHER),
            "the authority key does not belong to the authority certificate",
            id="key of another",
        ),
        pytest.param(
            SERVER, "the authority's certificate is not one of an authority", id="a server's"
        ),
    ],
)
def test_an_authority_is_due(pair: KeyPair | None, reason: str) -> None:
    assert authority_due(pair, now=NOW) == (True, reason)


@pytest.mark.parametrize(
    ("pair", "names", "reason"),
    [
        pytest.param(None, NAMES, "there is no server certificate yet", id="missing"),
        pytest.param(
            KeyPair(certificate=SERVER.certificate[:200], key=SERVER.key),
            NAMES,
            "the server certificate is no PEM certificate",
            id="certificate cut short",
        ),
        pytest.param(
            KeyPair(certificate=SERVER.certificate, key=SERVER.key[:100]),
            NAMES,
            "the server key is no PEM private key without a password",
            id="key cut short",
        ),
        pytest.param(
            mixed(SERVER, AUTHORITY),
            NAMES,
            "the server key does not belong to the server certificate",
            id="key of another",
        ),
        pytest.param(
            issue(OTHER, NAMES, now=NOW, lifetime=LIFE),
            NAMES,
            "no authority that clients trust has signed the server certificate",
            id="signed by another authority of the same name",
        ),
        pytest.param(
            SERVER,
            [*NAMES, "::1", "b.example"],
            "the server certificate lacks the names ::1, b.example",
            id="names missing",
        ),
    ],
)
def test_a_server_certificate_is_due(pair: KeyPair | None, names: list[str], reason: str) -> None:
    assert server_due(pair, AUTHORITY.certificate, names, now=NOW) == (True, reason)


class TestRenewalTime:
    """A certificate is replaced after two thirds of its life, which starts at ``BACKDATE``."""

    LIFE_WHOLE = LIFE + BACKDATE
    TURN = NOW - BACKDATE + LIFE_WHOLE * 2 / 3
    END = NOW + LIFE

    @pytest.mark.parametrize(
        ("now", "expected"),
        [
            pytest.param(TURN - timedelta(seconds=1), (False, ""), id="a second before"),
            pytest.param(
                TURN,
                (
                    True,
                    (
                        f"the server certificate reached its renewal time {TURN.isoformat()} "
                        f"(it ends at {END.isoformat()})"
                    ),
                ),
                id="at the turn",
            ),
            pytest.param(
                END,
                (True, f"the server certificate expired at {END.isoformat()}"),
                id="expired",
            ),
        ],
    )
    def test_two_thirds(self, now: datetime, expected: tuple[bool, str]) -> None:
        assert server_due(SERVER, AUTHORITY.certificate, NAMES, now=now) == expected

    def test_the_share_is_a_value(self) -> None:
        now = NOW + LIFE / 2

        assert not server_due(SERVER, AUTHORITY.certificate, NAMES, now=now).due
        assert server_due(SERVER, AUTHORITY.certificate, NAMES, now=now, renew_at=0.4).due

    def test_an_authority_is_renewed_too(self) -> None:
        assert not authority_due(AUTHORITY, now=NOW + 6 * LIFE).due
        assert authority_due(AUTHORITY, now=NOW + 7 * LIFE).due


class TestTrustBundle:
    """Clients trust the old and the new authority while both can have signed a server."""

    def test_the_current_authority_comes_first(self) -> None:
        bundle = trust_bundle(OTHER.certificate, AUTHORITY.certificate, now=NOW)

        assert bundle == OTHER.certificate + AUTHORITY.certificate

    def test_it_does_not_grow_when_nothing_changes(self) -> None:
        bundle = trust_bundle(AUTHORITY.certificate, AUTHORITY.certificate, now=NOW)

        assert bundle == AUTHORITY.certificate
        assert trust_bundle(AUTHORITY.certificate, bundle, now=NOW) == bundle

    def test_an_expired_authority_is_dropped(self) -> None:
        late = NOW + 10 * LIFE
        new = create_authority("gpuspec authority", now=late, lifetime=LIFE)

        assert trust_bundle(new.certificate, AUTHORITY.certificate, now=late) == new.certificate

    @pytest.mark.parametrize("previous", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\n"])
    def test_what_cannot_be_read_is_dropped(self, previous: bytes) -> None:
        assert trust_bundle(AUTHORITY.certificate, previous, now=NOW) == AUTHORITY.certificate

    def test_servers_of_both_authorities_are_believed_during_the_overlap(
        self, tmp_path: Path
    ) -> None:
        now = datetime.now(UTC)
        old = create_authority("gpuspec authority", now=now, lifetime=LIFE)
        new = create_authority("gpuspec authority", now=now, lifetime=LIFE)
        bundle = trust_bundle(new.certificate, old.certificate, now=now)

        for signer in (old, new):
            pair = issue(signer, ["localhost"], now=now, lifetime=LIFE)
            assert handshake(pair, bundle, "localhost", tmp_path)
            assert not server_due(pair, bundle, ["localhost"], now=now).due

    def test_a_client_of_the_old_bundle_still_believes_the_old_server(self, tmp_path: Path) -> None:
        """The server keeps its certificate when only the authority was renewed."""
        now = datetime.now(UTC)
        old = create_authority("gpuspec authority", now=now, lifetime=LIFE)
        new = create_authority("gpuspec authority", now=now, lifetime=LIFE)
        pair = issue(old, ["localhost"], now=now, lifetime=LIFE)

        assert handshake(pair, old.certificate, "localhost", tmp_path)
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(pair, new.certificate, "localhost", tmp_path)


def test_the_fixtures_share_a_name_but_no_key() -> None:
    """Signature checks would mean nothing if the two authorities differed by name."""
    assert load(AUTHORITY.certificate).subject == load(OTHER.certificate).subject
    assert load(AUTHORITY.certificate).public_key() != load(OTHER.certificate).public_key()
