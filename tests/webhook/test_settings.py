"""What the service can be told."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from certs.folder import Lifetimes
from webhook.settings import (
    Address,
    CertificateFiles,
    SelfSignedFolder,
    Settings,
    parse_address,
)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8443", "127.0.0.1", 8443),
        ("localhost:0", "localhost", 0),
        ("[::1]:65535", "::1", 65535),
        ("[::]:8443", "::", 8443),
        (":8443", "::", 8443),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host, port)


NO_ADDRESS = "is no address; write HOST:PORT, or [ADDRESS]:PORT for IPv6"
NO_PORT = "is no port; write a number from 0 to 65535"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"'' {NO_ADDRESS}"),
        ("8443", f"'8443' {NO_ADDRESS}"),
        ("::1:8443", f"'::1:8443' {NO_ADDRESS}"),
        ("localhost:", f"'' in 'localhost:' {NO_PORT}"),
        ("localhost:https", f"'https' in 'localhost:https' {NO_PORT}"),
        ("localhost:65536", f"'65536' in 'localhost:65536' {NO_PORT}"),
        ("localhost:-1", f"'-1' in 'localhost:-1' {NO_PORT}"),
        ("localhost:８４４３", f"'８４４３' in 'localhost:８４４３' {NO_PORT}"),
        ("https://localhost:1", f"'https://localhost:1' {NO_ADDRESS}"),
    ],
)
def test_error_addresses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_address(text)


@pytest.mark.parametrize("text", ["127.0.0.1:8443", "[::1]:0", "localhost:1"])
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_address(text)) == text


def test_effective_settings_have_the_defaults() -> None:
    settings = Settings(
        listen=Address("::", 8443),
        table=None,
        tls=CertificateFiles(Path("/tls/tls.crt"), Path("/tls/tls.key")),
    )

    assert settings.effective() == {
        "listen": "[::]:8443",
        "table": "built-in",
        "tls": {"certificate": "/tls/tls.crt", "key": "/tls/tls.key"},
        "drainSeconds": 5.0,
        "requestSeconds": 10.0,
        "pollSeconds": 1.0,
    }


def test_names_of_this_machine_are_always_in_a_certificate_of_ours() -> None:
    folder = SelfSignedFolder(Path("tls"), ("gpu.example",))

    assert folder.names == ("localhost", "127.0.0.1", "::1", "gpu.example")
    assert folder.lifetimes == Lifetimes(authority=timedelta(days=3650), server=timedelta(days=90))
