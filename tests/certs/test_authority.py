"""What the authority issues: X.509 properties, refusals, and real handshakes."""

from __future__ import annotations

import re
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.authority import BACKDATE, KeyPair, create_authority, for_service, issue
from tests.certs.handshake import handshake
from tests.certs.predicates import (
    assert_is_authority,
    assert_is_p256,
    assert_is_server,
    assert_valid_between,
    load,
    names_of,
)

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
YEAR = timedelta(days=365)
MONTH = timedelta(days=30)


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return create_authority("gpuspec authority", now=NOW, lifetime=YEAR)


def test_an_authority_signs_servers_but_no_authorities(authority: KeyPair) -> None:
    certificate = load(authority.certificate)

    assert_is_authority(certificate)
    assert_is_p256(certificate)
    assert_valid_between(certificate, NOW - BACKDATE, NOW + YEAR)


def test_a_server_certificate_serves_its_names_and_nothing_else(authority: KeyPair) -> None:
    names = ["webhook.gpuspec.svc", "127.0.0.1", "::1", "*.gpuspec.example"]

    certificate = load(issue(authority, names, now=NOW, lifetime=MONTH).certificate)

    assert_is_server(certificate)
    assert_is_p256(certificate)
    assert_valid_between(certificate, NOW - BACKDATE, NOW + MONTH)
    assert names_of(certificate) == names
    certificate.verify_directly_issued_by(load(authority.certificate))


def test_every_certificate_has_a_key_and_a_serial_number_of_its_own(authority: KeyPair) -> None:
    first = load(issue(authority, ["a.example"], now=NOW, lifetime=MONTH).certificate)
    second = load(issue(authority, ["a.example"], now=NOW, lifetime=MONTH).certificate)

    assert first.serial_number != second.serial_number
    assert first.public_key() != second.public_key()


def test_a_server_certificate_never_outlives_its_authority(authority: KeyPair) -> None:
    certificate = load(issue(authority, ["a.example"], now=NOW, lifetime=3 * YEAR).certificate)

    assert certificate.not_valid_after_utc == NOW + YEAR


def test_names_are_lower_case_and_each_there_once(authority: KeyPair) -> None:
    pair = issue(authority, ["A.Example", "a.example", "A.Example"], now=NOW, lifetime=MONTH)

    assert names_of(load(pair.certificate)) == ["a.example"]


def test_service_names_begin_with_the_one_that_the_api_server_asks_for() -> None:
    assert for_service("gpuspec", "gpu-system") == [
        "gpuspec.gpu-system.svc",
        "gpuspec.gpu-system.svc.cluster.local",
        "gpuspec.gpu-system",
    ]


def test_the_longest_service_name_fits(authority: KeyPair) -> None:
    """A Service and a namespace of 63 characters each are longer than a common name may be."""
    names = for_service("s" * 63, "n" * 63)

    assert names_of(load(issue(authority, names, now=NOW, lifetime=MONTH).certificate)) == names


def test_the_private_key_is_not_shown(authority: KeyPair) -> None:
    assert "PRIVATE KEY" not in repr(authority)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param(
            [], "a server certificate needs at least one DNS name or IP address", id="no name"
        ),
        pytest.param([""], "'' is neither a DNS name nor an IP address", id="empty"),
        pytest.param(
            ["ok.example", "under_score.example"],
            "'under_score.example' is neither a DNS name nor an IP address",
            id="underscore",
        ),
        pytest.param(
            ["https://a.example"],
            "'https://a.example' is neither a DNS name nor an IP address",
            id="URL",
        ),
        pytest.param(
            ["a.example:8443"],
            "'a.example:8443' is neither a DNS name nor an IP address",
            id="port",
        ),
        pytest.param(["gpu.例"], "'gpu.例' is neither a DNS name nor an IP address", id="unicode"),
        pytest.param(
            ["a.*.example"],
            "'a.*.example' is neither a DNS name nor an IP address",
            id="wildcard inside",
        ),
        pytest.param(
            [f"{'a' * 64}.example"],
            f"'{'a' * 64}.example' is neither a DNS name nor an IP address",
            id="label of 64",
        ),
    ],
)
def test_error_names(authority: KeyPair, names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        issue(authority, names, now=NOW, lifetime=MONTH)


def test_error_an_ended_authority_issues_nothing(authority: KeyPair) -> None:
    with pytest.raises(
        ValueError,
        match=r"^the authority ended at 2027-06-01T12:00:00\+00:00; "
        r"create a new one before issuing$",
    ):
        issue(authority, ["a.example"], now=NOW + YEAR, lifetime=MONTH)


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(days=-1)])
def test_error_a_lifetime_is_more_than_zero(authority: KeyPair, lifetime: timedelta) -> None:
    message = f"^a certificate's lifetime must be more than zero, not {re.escape(str(lifetime))}$"

    with pytest.raises(ValueError, match=message):
        issue(authority, ["a.example"], now=NOW, lifetime=lifetime)
    with pytest.raises(ValueError, match=message):
        create_authority("x", now=NOW, lifetime=lifetime)


class TestHandshake:
    """A real TLS client and server, each with the certificates as issued."""

    @pytest.mark.parametrize("name", ["gpuspec.gpu-system.svc", "localhost", "127.0.0.1", "::1"])
    def test_a_client_that_trusts_the_authority_is_served(self, tmp_path: Path, name: str) -> None:
        now = datetime.now(UTC)
        authority = create_authority("gpuspec authority", now=now, lifetime=YEAR)
        names = [*for_service("gpuspec", "gpu-system"), "localhost", "127.0.0.1", "::1"]
        pair = issue(authority, names, now=now, lifetime=MONTH)

        assert handshake(pair, authority.certificate, name, tmp_path) in {"TLSv1.2", "TLSv1.3"}

    def test_a_client_that_asks_for_another_name_refuses(self, tmp_path: Path) -> None:
        now = datetime.now(UTC)
        authority = create_authority("gpuspec authority", now=now, lifetime=YEAR)
        pair = issue(authority, ["localhost"], now=now, lifetime=MONTH)

        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            handshake(pair, authority.certificate, "other.example", tmp_path)

    def test_a_client_that_trusts_another_authority_refuses(self, tmp_path: Path) -> None:
        now = datetime.now(UTC)
        authority = create_authority("gpuspec authority", now=now, lifetime=YEAR)
        other = create_authority("gpuspec authority", now=now, lifetime=YEAR)
        pair = issue(authority, ["localhost"], now=now, lifetime=MONTH)

        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(pair, other.certificate, "localhost", tmp_path)
