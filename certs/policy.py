"""When a certificate has to be replaced, and which authorities clients must trust meanwhile.

Every decision is a pure function of what is there and of the present, and returns the reason in
words, which is what the caller logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from certs.authority import KeyPair, identity_names

# A certificate is replaced when this share of its life is over. The last third is the time in which
# a broken renewal can be noticed and repaired before anything stops.
RENEW_AT = 2 / 3


class Renewal(NamedTuple):
    """Whether a certificate is due for replacement, and why; the reason is empty when it is not."""

    due: bool
    reason: str


NOT_DUE = Renewal(due=False, reason="")


def authority_due(pair: KeyPair | None, *, now: datetime, renew_at: float = RENEW_AT) -> Renewal:
    """Decide whether the certificate authority has to be replaced.

    Args:
        pair: What is stored, None when nothing is.
        now: The present, with a time zone.
        renew_at: The share of its life, 0 to 1, after which it is replaced.
    """
    found = _usable(pair, "authority", now, renew_at)
    if isinstance(found, Renewal):
        return found
    try:
        constraints = found.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return _due("the authority's certificate is not one of an authority")
    if not constraints.value.ca:
        return _due("the authority's certificate is not one of an authority")
    return NOT_DUE


def server_due(
    pair: KeyPair | None,
    bundle: bytes,
    names: Iterable[str],
    *,
    now: datetime,
    renew_at: float = RENEW_AT,
) -> Renewal:
    """Decide whether a server certificate has to be replaced.

    Args:
        pair: What is stored, None when nothing is.
        bundle: The PEM of the authorities that clients trust, as ``trust_bundle`` writes it.
        names: The DNS names and addresses that it has to carry; more than these are fine.
        now: The present, with a time zone.
        renew_at: The share of its life, 0 to 1, after which it is replaced.
    """
    found = _usable(pair, "server", now, renew_at)
    if isinstance(found, Renewal):
        return found
    if not any(is_signed(found, by=issuer) for issuer in certificates_in(bundle)):
        return _due("no authority that clients trust has signed the server certificate")
    missing = [
        str(name.value) for name in identity_names(names) if name not in _alternative_names(found)
    ]
    if missing:
        return _due(f"the server certificate lacks the names {', '.join(missing)}")
    return NOT_DUE


def trust_bundle(current: bytes, previous: bytes, *, now: datetime) -> bytes:
    """Return the PEM that clients should trust: the current authority, then former ones.

    A client that was told only of the new authority would refuse every server whose certificate the
    old one signed, and the other way round; so both are published for as long as the old one is
    valid. Certificates that are past their end, unreadable or there already are left out.

    Args:
        current: The PEM of the authority that signs now.
        previous: The bundle published before, empty at first.
        now: The present, with a time zone.
    """
    kept = dict.fromkeys(
        certificate.public_bytes(serialization.Encoding.PEM)
        for certificate in (*certificates_in(current), *certificates_in(previous))
        if certificate.not_valid_after_utc > now
    )
    return b"".join(kept)


def certificates_in(pem: bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM text, none where any of it cannot be read."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        return []


def is_signed(certificate: x509.Certificate, *, by: x509.Certificate) -> bool:
    """Tell whether one certificate was issued by the other: name and signature, not the dates."""
    try:
        certificate.verify_directly_issued_by(by)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _usable(
    pair: KeyPair | None, kind: str, now: datetime, renew_at: float
) -> x509.Certificate | Renewal:
    if pair is None:
        return _due(f"there is no {kind} certificate yet")
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
    except ValueError:
        return _due(f"the {kind} certificate is no PEM certificate")
    try:
        key = serialization.load_pem_private_key(pair.key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return _due(f"the {kind} key is no PEM private key without a password")
    if key.public_key() != certificate.public_key():
        return _due(f"the {kind} key does not belong to the {kind} certificate")
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now >= end:
        return _due(f"the {kind} certificate expired at {end.isoformat()}")
    renewal = start + (end - start) * renew_at
    if now >= renewal:
        return _due(
            f"the {kind} certificate reached its renewal time {renewal.isoformat()} "
            f"(it ends at {end.isoformat()})"
        )
    return certificate


def _due(reason: str) -> Renewal:
    return Renewal(due=True, reason=reason)


def _alternative_names(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return list(found.value)
