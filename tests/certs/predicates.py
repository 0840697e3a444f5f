"""What must be true of a certificate, each as one assertion with a name."""

from __future__ import annotations

from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID


def load(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def assert_is_authority(certificate: x509.Certificate) -> None:
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert constraints.critical
    assert constraints.value == x509.BasicConstraints(ca=True, path_length=0)
    assert usage.critical
    assert usage.value.key_cert_sign
    assert usage.value.crl_sign
    assert not usage.value.digital_signature
    assert certificate.issuer == certificate.subject
    certificate.verify_directly_issued_by(certificate)


def assert_is_server(certificate: x509.Certificate) -> None:
    """A server certificate signs TLS handshakes and is good for nothing else."""
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    extended = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    assert constraints.value == x509.BasicConstraints(ca=False, path_length=None)
    assert usage.value.digital_signature
    assert not usage.value.key_cert_sign
    assert not usage.value.key_encipherment
    assert list(extended.value) == [ExtendedKeyUsageOID.SERVER_AUTH]


def assert_is_p256(certificate: x509.Certificate) -> None:
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"


def assert_valid_between(certificate: x509.Certificate, start: datetime, end: datetime) -> None:
    assert certificate.not_valid_before_utc == start
    assert certificate.not_valid_after_utc == end


def names_of(certificate: x509.Certificate) -> list[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return [str(name.value) for name in found.value]
