"""One TLS handshake between the standard library's client and server, in memory."""

from __future__ import annotations

import ssl
from pathlib import Path

from certs.authority import KeyPair


def handshake(pair: KeyPair, trusted: bytes, name: str, folder: Path) -> str:
    """Return the protocol version that was agreed upon; raises what the client raises."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    client_context = ssl.create_default_context(cadata=trusted.decode())
    # What Python 3.13 asks for by default: a certificate has to keep all of RFC 5280's musts.
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    version = shake(server_context, client_context, name).version()
    assert version is not None
    return version


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Shake hands and return the client's side; raises what either side raises."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):  # A handshake is over after two round trips.
        for side in (near, far):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return near
