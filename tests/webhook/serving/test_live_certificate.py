"""The certificate that serves is the last one that can."""

from __future__ import annotations

import asyncio
import re
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvloop
from cryptography import x509

from certs.authority import KeyPair
from tests.logbook import Logbook
from tests.mounted import MountedVolume
from tests.webhook.serving.certificates import (
    DAY,
    authority,
    behind_password,
    client_of,
    over_tcp,
    rsa_server,
    serial,
    server,
    shown_serial,
)
from webhook.metrics import Metrics
from webhook.serving.feeds import CertificateFeed
from webhook.serving.live_certificate import LiveCertificate, UnusableCertificateError, check

AUTHORITY = authority()
CLIENT = client_of(AUTHORITY)
FIRST = server(AUTHORITY)
SECOND = server(AUTHORITY)
RSA = rsa_server(AUTHORITY)
EXPIRED = server(AUTHORITY, begins=-2 * DAY)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Live:
    """A live certificate with everything that it reports to."""

    def __init__(self, *pairs: KeyPair) -> None:
        self.book = Logbook()
        self.metrics = Metrics()
        self.certificate = LiveCertificate(metrics=self.metrics, log=self.book.log, clock=utc_now)
        for pair in pairs:
            assert self.offer(pair)

    def offer(self, pair: KeyPair) -> bool:
        return self.certificate.offer(pair.certificate, pair.key, "tls.crt and tls.key")

    def shown(self, client: ssl.SSLContext = CLIENT, name: str = "localhost") -> str:
        return shown_serial(self.certificate.context, client, name)

    def sample(self, name: str, **labels: str) -> float | None:
        value: float | None = self.metrics.registry.get_sample_value(name, labels)
        return value


def mixed(certificate: KeyPair, key: KeyPair) -> KeyPair:
    return KeyPair(certificate=certificate.certificate, key=key.key)


class TestSwap:
    def test_the_next_handshake_shows_the_new_certificate(self) -> None:
        live = Live(FIRST)
        before = live.shown()

        assert live.offer(SECOND)

        assert (before, live.shown()) == (serial(FIRST), serial(SECOND))

    def test_it_is_logged_and_measured(self) -> None:
        live = Live(FIRST)
        current = live.certificate.current
        assert current is not None

        assert live.book.lines == [
            {
                "level": "info",
                "message": "certificate in use",
                "serial": serial(FIRST),
                "names": ["localhost", "127.0.0.1"],
                "notBefore": current.not_before.isoformat(),
                "notAfter": current.not_after.isoformat(),
                "warnings": [],
                "source": "tls.crt and tls.key",
            }
        ]
        assert live.sample("gpuspec_certificate_reloads_total", result="success") == 1
        assert (
            live.sample("gpuspec_certificate_not_after_timestamp_seconds")
            == current.not_after.timestamp()
        )

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    @pytest.mark.parametrize(
        "pairs", [(RSA, FIRST), (FIRST, RSA)], ids=["RSA to ECDSA", "ECDSA to RSA"]
    )
    def test_no_client_sees_the_former_certificate_of_another_kind_of_key(
        self, pairs: tuple[KeyPair, KeyPair], version: ssl.TLSVersion
    ) -> None:
        """One TLS context would keep both and choose by what the client likes."""
        client = client_of(AUTHORITY)
        client.maximum_version = version
        live = Live(*pairs)

        assert live.shown(client) == serial(pairs[1])

    @pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
    def test_clients_need_not_name_the_server(self, name: str) -> None:
        """A client that connects to an address sends no server name."""
        assert Live(FIRST).shown(name=name) == serial(FIRST)

    @pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
    def test_a_connection_outlives_its_certificate(self, run: object) -> None:
        assert callable(run)
        live = Live(FIRST)

        assert run(over_tcp(live.certificate.context, CLIENT)) == b"ping"
        assert live.offer(SECOND)
        assert run(over_tcp(live.certificate.context, CLIENT)) == b"ping"

    def test_before_the_first_certificate_handshakes_fail(self) -> None:
        with pytest.raises(ssl.SSLError, match="CALLBACK_FAILED"):
            Live().shown()


class TestRefusal:
    """A pair that cannot serve never touches the one that does."""

    @pytest.mark.parametrize(
        ("pair", "problem"),
        [
            pytest.param(
                mixed(SECOND, FIRST),
                "the key does not belong to the certificate; replace both together",
                id="key of the former certificate",
            ),
            pytest.param(
                mixed(RSA, FIRST),
                "the key does not belong to the certificate; replace both together",
                id="key of another kind",
            ),
            pytest.param(
                KeyPair(certificate=SECOND.certificate[:-40], key=SECOND.key),
                "the certificate file holds no readable PEM certificate; "
                "it must begin with -----BEGIN CERTIFICATE-----",
                id="certificate half written",
            ),
            pytest.param(
                KeyPair(certificate=b"", key=SECOND.key),
                "the certificate file holds no readable PEM certificate; "
                "it must begin with -----BEGIN CERTIFICATE-----",
                id="certificate empty",
            ),
            pytest.param(
                KeyPair(certificate=SECOND.certificate, key=SECOND.key[:60]),
                "the key file holds no readable PEM private key; "
                "it must begin with -----BEGIN PRIVATE KEY----- or the like",
                id="key half written",
            ),
            pytest.param(
                KeyPair(certificate=SECOND.key, key=SECOND.certificate),
                "the certificate file holds no readable PEM certificate; "
                "it must begin with -----BEGIN CERTIFICATE-----",
                id="swapped",
            ),
        ],
    )
    def test_the_former_pair_goes_on_serving(self, pair: KeyPair, problem: str) -> None:
        live = Live(FIRST)

        assert not live.offer(pair)

        assert live.shown() == serial(FIRST)
        assert live.certificate.problems == (f"tls.crt and tls.key: {problem}",)
        assert live.sample("gpuspec_certificate_reloads_total", result="failure") == 1
        line = live.book.lines[-1]
        assert (line["level"], line["message"]) == (
            "error",
            "certificate refused, the one in use stays",
        )
        assert line["serial"] == serial(FIRST)
        assert line["problems"] == [f"tls.crt and tls.key: {problem}"]

    def test_an_expired_certificate(self) -> None:
        live = Live(FIRST)
        end = x509.load_pem_x509_certificate(EXPIRED.certificate).not_valid_after_utc

        assert not live.offer(EXPIRED)

        assert live.shown() == serial(FIRST)
        assert live.certificate.problems == (
            f"tls.crt and tls.key: the certificate expired at {end.isoformat()}; renew it",
        )

    def test_a_key_behind_a_password_is_refused_without_asking_for_it(self) -> None:
        live = Live(FIRST)

        assert not live.offer(
            KeyPair(certificate=RSA.certificate, key=behind_password(RSA.key, b"secret"))
        )

        assert live.certificate.problems == (
            (
                "tls.crt and tls.key: the key is protected by a password, "
                "which a service cannot type; store it without"
            ),
        )

    def test_a_key_that_openssl_finds_too_short(self) -> None:
        short = rsa_server(AUTHORITY, bits=1024)

        with pytest.raises(
            UnusableCertificateError,
            match=re.escape("OpenSSL cannot serve with this certificate: ")
            + r".*EE_KEY_TOO_SMALL.*"
            + re.escape("; issue one with an ECDSA P-256 key, or RSA of 2048 bits or more"),
        ):
            check(short.certificate, short.key, now=utc_now())

    def test_a_good_pair_ends_the_problems_of_a_bad_one(self) -> None:
        live = Live(FIRST)
        assert not live.offer(mixed(SECOND, FIRST))

        assert live.offer(SECOND)

        assert live.certificate.problems == ()
        assert live.shown() == serial(SECOND)


class TestWarnings:
    def test_a_certificate_of_tomorrow_serves_with_a_warning(self) -> None:
        """A clock may be wrong; refusing would stop a service that most clients could use."""
        pair = server(AUTHORITY, begins=timedelta(hours=2))
        start = x509.load_pem_x509_certificate(pair.certificate).not_valid_before_utc
        live = Live(pair)

        line = live.book.lines[-1]
        assert line["level"] == "warning"
        assert line["warnings"] == [
            (
                f"the certificate is not valid before {start.isoformat()}; "
                "compare the clocks of this machine and of the authority"
            )
        ]

    def test_a_certificate_without_names_serves_with_a_warning(self) -> None:
        live = Live(rsa_server(AUTHORITY, names=False))

        assert live.book.lines[-1]["warnings"] == [
            (
                "the certificate has no subjectAltName, which the API server requires; "
                "issue it with the Service's name <service>.<namespace>.svc"
            )
        ]


class TestFeed:
    """From the files to the live certificate."""

    def test_at_the_start_problems_are_returned_and_not_logged(self, tmp_path: Path) -> None:
        live = Live()
        volume = MountedVolume(tmp_path / "tls", files(mixed(SECOND, FIRST)))

        problems = feed_of(volume, live).begin()

        assert problems == (
            (
                f"{volume / 'tls.crt'} and tls.key: "
                "the key does not belong to the certificate; replace both together"
            ),
        )
        assert live.book.lines == []

    def test_at_the_start_a_missing_file_is_a_problem(self, tmp_path: Path) -> None:
        live = Live()
        feed = CertificateFeed(tmp_path / "tls.crt", tmp_path / "tls.key", live.certificate)

        assert feed.begin() == (f"cannot read {tmp_path}/tls.crt: No such file or directory",)

    def test_a_swap_is_followed(self, tmp_path: Path) -> None:
        live = Live()
        volume = MountedVolume(tmp_path / "tls", files(FIRST))
        feed = feed_of(volume, live)
        assert feed.begin() == ()

        volume.swap(files(SECOND))
        feed.look()
        feed.look()

        assert live.shown() == serial(SECOND)

    def test_a_certificate_whose_key_comes_later_is_waited_for(self, tmp_path: Path) -> None:
        """The usual order of ``cp``: no failure is reported for the moment between the two."""
        live = Live()
        for name, content in files(FIRST).items():
            (tmp_path / name).write_bytes(content)
        feed = CertificateFeed(tmp_path / "tls.crt", tmp_path / "tls.key", live.certificate)
        assert feed.begin() == ()

        (tmp_path / "tls.crt").write_bytes(SECOND.certificate)
        feed.look()
        (tmp_path / "tls.key").write_bytes(SECOND.key)
        feed.look()
        feed.look()

        assert live.shown() == serial(SECOND)
        assert live.certificate.problems == ()
        assert live.sample("gpuspec_certificate_reloads_total", result="failure") == 0

    def test_a_failing_renewal_is_reported_once_and_the_pair_serves_on(
        self, tmp_path: Path
    ) -> None:
        live = Live()
        volume = MountedVolume(tmp_path / "tls", files(FIRST))
        broken = False

        def renew() -> None:
            if broken:
                raise PermissionError(13, "Permission denied", "/etc/tls")

        feed = CertificateFeed(
            volume / "tls.crt", volume / "tls.key", live.certificate, renew=renew
        )
        assert feed.begin() == ()

        broken = True
        for _ in range(3):
            feed.look()

        assert live.shown() == serial(FIRST)
        assert live.certificate.problems == (
            "cannot renew the certificate: /etc/tls: Permission denied",
        )
        assert live.sample("gpuspec_certificate_reloads_total", result="failure") == 1


def files(pair: KeyPair) -> dict[str, bytes]:
    return {"tls.crt": pair.certificate, "tls.key": pair.key}


def feed_of(volume: MountedVolume, live: Live) -> CertificateFeed:
    return CertificateFeed(volume / "tls.crt", volume / "tls.key", live.certificate)
