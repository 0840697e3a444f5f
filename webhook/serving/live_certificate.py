"""The serving certificate: checked apart first, then swapped under the running server.

uvicorn reads its certificate once. Loading another pair into the context that serves is no way out:
a pair that does not match leaves that context without a key, so that every handshake fails; and one
context keeps one certificate for each kind of key, so that after a change from RSA to ECDSA it goes
on showing the old one to some clients. So each pair gets a context of its own, and the context that
the server knows only points every handshake to the current one.
"""

from __future__ import annotations

import os
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from webhook.logs import Log
from webhook.metrics import Metrics, Reload


class UnusableCertificateError(Exception):
    """A certificate and key cannot serve; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A pair that serves.

    Attributes:
        context: The TLS context that was built from it alone.
        names: Its DNS names and addresses.
        not_before: When it starts to be valid.
        not_after: When it ends.
        serial: Its serial number, in hexadecimal.
        warnings: What is odd about it without being wrong.
    """

    context: ssl.SSLContext
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    serial: str
    warnings: tuple[str, ...]


def check(certificate: bytes, key: bytes, *, now: datetime) -> Certificate:
    """Build a TLS context from a pair, apart from everything that serves.

    Args:
        certificate: PEM: the server's certificate first, then what leads to its authority.
        key: PEM of its private key, without a password.
        now: The present.

    Raises:
        UnusableCertificateError: It cannot be read, is expired, or the key belongs to another.
    """
    leaf = _leaf(certificate)
    _check_key(leaf, key)
    if now >= leaf.not_valid_after_utc:
        raise UnusableCertificateError(
            f"the certificate expired at {leaf.not_valid_after_utc.isoformat()}; renew it"
        )
    names = _names(leaf)
    warnings = []
    if now < leaf.not_valid_before_utc:
        warnings.append(
            f"the certificate is not valid before {leaf.not_valid_before_utc.isoformat()}; "
            "compare the clocks of this machine and of the authority"
        )
    if not names:
        warnings.append(
            "the certificate has no subjectAltName, which the API server requires; "
            "issue it with the Service's name <service>.<namespace>.svc"
        )
    return Certificate(
        context=_context(certificate, key),
        names=names,
        not_before=leaf.not_valid_before_utc,
        not_after=leaf.not_valid_after_utc,
        serial=f"{leaf.serial_number:x}",
        warnings=tuple(warnings),
    )


class LiveCertificate:
    """Holds the certificate that serves and replaces it between two handshakes.

    A pair that cannot serve never replaces one that can: it is reported in the log, in
    ``gpuspec_certificate_reloads_total`` and, through ``problems``, by ``/readyz``.

    Attributes:
        context: What the server is given, once. It has no certificate itself.
        current: The pair that serves, None until the first good one.
        problems: What is wrong with the newest pair that was offered; empty when it serves.
    """

    def __init__(self, *, metrics: Metrics, log: Log, clock: Callable[[], datetime]) -> None:
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self.current: Certificate | None = None
        self.problems: tuple[str, ...] = ()
        self.context = _server_context()
        # Called at the start of every handshake, whether or not the client names a server.
        self.context.sni_callback = self._choose

    def offer(self, certificate: bytes, key: bytes, source: str) -> bool:
        """Serve with a pair if it can serve; say why where it cannot.

        Args:
            certificate: PEM of the certificate and what leads to its authority.
            key: PEM of the private key.
            source: Where they come from, for messages.

        Returns:
            Whether it is the pair that serves now.
        """
        try:
            self.load(certificate, key, source)
        except UnusableCertificateError as error:
            self.refuse((f"{source}: {error}",))
            return False
        return True

    def load(self, certificate: bytes, key: bytes, source: str) -> None:
        """Serve with a pair.

        Raises:
            UnusableCertificateError: It cannot serve; what is in use stays.
        """
        self._use(check(certificate, key, now=self._clock()), source)

    def _use(self, certificate: Certificate, source: str) -> None:
        self.current = certificate
        self.problems = ()
        self._metrics.certificate_in_use(certificate.not_after)
        self._metrics.certificate_reloaded(Reload.SUCCESS)
        say = self._log.warning if certificate.warnings else self._log.info
        say(
            "certificate in use",
            serial=certificate.serial,
            names=certificate.names,
            notBefore=certificate.not_before,
            notAfter=certificate.not_after,
            warnings=certificate.warnings,
            source=source,
        )

    def refuse(self, problems: tuple[str, ...]) -> None:
        """Keep what serves and remember why the newest does not."""
        self.problems = problems
        self._metrics.certificate_reloaded(Reload.FAILURE)
        current = self.current
        self._log.error(
            "certificate refused, the one in use stays",
            serial=None if current is None else current.serial,
            notAfter=None if current is None else current.not_after,
            problems=problems,
        )

    def _choose(
        self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        current = self.current
        if current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        handshake.context = current.context
        return None


def _leaf(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificates(certificate)[0]
    except ValueError as error:
        raise UnusableCertificateError(
            "the certificate file holds no readable PEM certificate; "
            "it must begin with -----BEGIN CERTIFICATE-----"
        ) from error


def _check_key(leaf: x509.Certificate, key: bytes) -> None:
    try:
        private = load_pem_private_key(key, password=None)
    except TypeError as error:
        raise UnusableCertificateError(
            "the key is protected by a password, which a service cannot type; store it without"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnusableCertificateError(
            "the key file holds no readable PEM private key; "
            "it must begin with -----BEGIN PRIVATE KEY----- or the like"
        ) from error
    if private.public_key() != leaf.public_key():
        raise UnusableCertificateError(
            "the key does not belong to the certificate; replace both together"
        )


def _names(leaf: x509.Certificate) -> tuple[str, ...]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return ()
    return tuple(str(name.value) for name in found.value)


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = _server_context()
    with _file_of(certificate) as certificate_file, _file_of(key) as key_file:
        try:
            context.load_cert_chain(certificate_file, key_file)
        except (ssl.SSLError, OSError) as error:
            raise UnusableCertificateError(
                f"OpenSSL cannot serve with this certificate: {error}; "
                "issue one with an ECDSA P-256 key, or RSA of 2048 bits or more"
            ) from error
    return context


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """Give bytes a path, since OpenSSL's loader takes nothing else.

    On Linux they never leave the memory of this process, which needs no writable folder and leaves
    no key behind.
    """
    if sys.platform == "linux":
        descriptor = os.memfd_create("pem")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
