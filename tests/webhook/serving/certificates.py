"""Certificates of every kind that a folder may hold, and a server that shows one."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from certs.authority import KeyPair, create_authority, issue
from tests.certs.handshake import shake

DAY = timedelta(days=1)
NAMES = ["localhost", "127.0.0.1"]


def authority() -> KeyPair:
    return create_authority("test authority", now=datetime.now(UTC), lifetime=30 * DAY)


def server(signer: KeyPair, *, begins: timedelta = timedelta(0), life: timedelta = DAY) -> KeyPair:
    """A server certificate that was issued ``begins`` from now."""
    return issue(signer, NAMES, now=datetime.now(UTC) + begins, lifetime=life)


def rsa_server(signer: KeyPair, *, bits: int = 2048, names: bool = True) -> KeyPair:
    """A server certificate with an RSA key, as other issuers make it."""
    issuer = x509.load_pem_x509_certificate(signer.certificate)
    issuer_key = serialization.load_pem_private_key(signer.key, password=None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    key = rsa.generate_private_key(65537, bits)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False
        )
    return KeyPair(
        certificate=builder.sign(issuer_key, hashes.SHA256()).public_bytes(
            serialization.Encoding.PEM
        ),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def behind_password(key: bytes, password: bytes) -> bytes:
    return serialization.load_pem_private_key(key, password=None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )


def serial(pair: KeyPair) -> str:
    return f"{x509.load_pem_x509_certificate(pair.certificate).serial_number:x}"


def shown_serial(context: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> str:
    """Shake hands in memory and return the serial number of the certificate that was shown."""
    der = shake(context, client, name).getpeercert(binary_form=True)
    assert der is not None
    return f"{x509.load_der_x509_certificate(der).serial_number:x}"


def client_of(signer: KeyPair) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=signer.certificate.decode())


async def over_tcp(context: ssl.SSLContext, client: ssl.SSLContext) -> bytes:
    """Send four bytes through a real connection and return what comes back."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(4))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context) as running:
        port = running.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client, server_hostname="localhost"
        )
        writer.write(b"ping")
        answer = await reader.read(4)
        writer.close()
        await writer.wait_closed()
        return answer
