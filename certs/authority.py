"""A certificate authority and the server certificates that it issues.

Keys are ECDSA P-256 throughout: every TLS client that Kubernetes ships verifies it, and a signature
costs a twentieth of what RSA 2048 costs. Server certificates are good for ``serverAuth`` and
nothing else, since a certificate that also passed for a client could be used to log in somewhere.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Clocks in a cluster differ by seconds, seldom by minutes. Without this margin a client whose clock
# is behind refuses a certificate that was issued just now.
BACKDATE = timedelta(minutes=5)

# RFC 1123 labels, with one wildcard label allowed in front as RFC 6125 does.
_DNS_NAME = re.compile(
    r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*",
    re.ASCII | re.IGNORECASE,
)
_LONGEST_DNS_NAME = 253


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM.

    Attributes:
        certificate: The certificate; for a server the chain without the authority.
        key: The private key, PKCS#8 without a password. Never shown by ``repr``.
    """

    certificate: bytes
    key: bytes = field(repr=False)


def create_authority(common_name: str, *, now: datetime, lifetime: timedelta) -> KeyPair:
    """Make a self-signed certificate authority that can sign servers but no further authorities.

    Args:
        common_name: What certificate viewers show, at most 64 characters.
        now: The present, with a time zone; validity starts ``BACKDATE`` earlier.
        lifetime: How long from ``now`` it is valid, more than zero.

    Raises:
        ValueError: The lifetime is not positive, or the name is empty or too long.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _builder(name, name, key.public_key(), now, _end(now, lifetime))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate, key)


def issue(
    authority: KeyPair, names: Iterable[str], *, now: datetime, lifetime: timedelta
) -> KeyPair:
    """Issue a server certificate with a new key.

    Args:
        authority: Who signs, as ``create_authority`` made it.
        names: DNS names (``*.example.com`` too) and IP addresses, at least one.
        now: The present, with a time zone; validity starts ``BACKDATE`` earlier.
        lifetime: How long from ``now`` it is valid; cut to what the authority has left, because a
            client stops believing it then anyway.

    Raises:
        ValueError: A name is neither a DNS name nor an address, there is none, the lifetime is not
            positive, or the authority's PEM cannot be read or is past its end.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise ValueError(  # noqa: TRY004 -- it is the content of the PEM that is wrong
            "the authority's key is no elliptic curve key; create a new authority"
        )
    end = min(_end(now, lifetime), issuer.not_valid_after_utc)
    if end <= now:
        raise ValueError(
            f"the authority ended at {issuer.not_valid_after_utc.isoformat()}; "
            "create a new one before issuing"
        )
    identities = identity_names(names)
    key = ec.generate_private_key(ec.SECP256R1())
    # The common name is only for people to read: clients look at the alternative names alone, and
    # a Service's name can be longer than the 64 characters that fit here.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpuspec server")])
    certificate = (
        _builder(subject, issuer.subject, key.public_key(), now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(identities), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .sign(issuer_key, hashes.SHA256())
    )
    return _pem(certificate, key)


def for_service(service: str, namespace: str, cluster_domain: str = "cluster.local") -> list[str]:
    """Return the names under which a cluster reaches a Service.

    The API server asks for the first, ``<service>.<namespace>.svc``; the others are what people
    and probes inside the cluster write.
    """
    stem = f"{service}.{namespace}"
    return [f"{stem}.svc", f"{stem}.svc.{cluster_domain}", stem]


def identity_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """Turn DNS names and IP addresses into alternative names, in order and each once.

    Raises:
        ValueError: A name is neither, or there is none; the message names it.
    """
    identities = dict.fromkeys(_identity(name) for name in names)
    if not identities:
        raise ValueError("a server certificate needs at least one DNS name or IP address")
    return list(identities)


def _identity(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    if len(name) > _LONGEST_DNS_NAME or _DNS_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is neither a DNS name nor an IP address")
    return x509.DNSName(name.lower())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(end)
    )


def _end(now: datetime, lifetime: timedelta) -> datetime:
    if lifetime <= timedelta(0):
        raise ValueError(f"a certificate's lifetime must be more than zero, not {lifetime}")
    return now + lifetime


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
