"""``gpuspec serve`` at its start: what it refuses, in which words, and where it listens."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from tests.service import failed_start, running_service
from tests.webhook.documents import BROKEN_TABLE, table_text
from tests.webhook.serving.certificates import DAY, authority, server


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.yaml"
    path.write_bytes(table_text())
    return path


def plain(stderr: str) -> str:
    """What is for people: everything but the log's lines."""
    return "".join(
        line for line in stderr.splitlines(keepends=True) if not line.startswith('{"time"')
    )


class TestProblems:
    """Nothing bad is served: the process ends with exit code 2 and says all that is wrong."""

    def test_all_at_once(self, tmp_path: Path) -> None:
        signer = authority()
        table = tmp_path / "table.yaml"
        table.write_bytes(BROKEN_TABLE)
        (tmp_path / "tls.crt").write_bytes(server(signer).certificate)
        (tmp_path / "tls.key").write_bytes(server(signer).key)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            code, stdout, stderr = failed_start(
                *("--listen", address, "--table", str(table)),
                *("--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")),
            )

        assert (code, stdout) == (2, "")
        assert plain(stderr) == (
            "gpuspec serve cannot start:\n"
            f"  {tmp_path}/tls.crt and tls.key: "
            "the key does not belong to the certificate; replace both together\n"
            f"  {table}:12:7: spec.devices[1].vram: vram is missing\n"
            f"  {table}:12:7: spec.devices[1].perNode: perNode is missing\n"
            f"  {table}:13:7: spec.devices[1].perNodes: "
            "unknown key perNodes; did you mean perNode?\n"
            f"  cannot listen on {address}: Address already in use; choose another --listen\n"
        )

    def test_missing_files(self, tmp_path: Path) -> None:
        code, _, stderr = failed_start(
            *("--listen", "127.0.0.1:0", "--table", str(tmp_path / "table.yaml")),
            *("--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")),
        )

        assert code == 2
        assert plain(stderr) == (
            "gpuspec serve cannot start:\n"
            f"  cannot read {tmp_path}/tls.crt: No such file or directory\n"
            f"  cannot read {tmp_path}/table.yaml: No such file or directory\n"
        )

    def test_an_expired_certificate(self, tmp_path: Path, table: Path) -> None:
        expired = server(authority(), begins=-2 * DAY)
        (tmp_path / "tls.crt").write_bytes(expired.certificate)
        (tmp_path / "tls.key").write_bytes(expired.key)

        code, _, stderr = failed_start(
            *("--listen", "127.0.0.1:0", "--table", str(table)),
            *("--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")),
        )

        assert code == 2
        assert "the certificate expired at " in plain(stderr)

    def test_a_folder_that_cannot_be_made(self, table: Path) -> None:
        code, _, stderr = failed_start(
            *("--listen", "127.0.0.1:0", "--table", str(table)),
            *("--tls-self-signed", str(table / "tls")),
        )

        assert code == 2
        assert plain(stderr) == (
            "gpuspec serve cannot start:\n"
            f"  cannot renew the certificate: {table}/tls: Not a directory\n"
        )

    def test_a_name_that_is_none(self, tmp_path: Path, table: Path) -> None:
        code, _, stderr = failed_start(
            *("--listen", "127.0.0.1:0", "--table", str(table)),
            *("--tls-self-signed", str(tmp_path / "tls"), "--tls-name", "a_b"),
        )

        assert code == 2
        assert plain(stderr) == (
            "gpuspec serve cannot start:\n"
            "  cannot issue a certificate: 'a_b' is neither a DNS name nor an IP address\n"
        )

    def test_a_host_that_does_not_exist(self, tmp_path: Path, table: Path) -> None:
        code, _, stderr = failed_start(
            *("--listen", "no-such-host.invalid:0", "--table", str(table)),
            *("--tls-self-signed", str(tmp_path / "tls")),
        )

        assert code == 2
        assert plain(stderr).startswith(
            "gpuspec serve cannot start:\n  cannot listen on no-such-host.invalid:0: "
        )
        assert plain(stderr).endswith("; choose another --listen\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "give --tls-cert and --tls-key, or --tls-self-signed", id="no TLS"),
        pytest.param(
            ["--tls-cert", "a"], "give --tls-cert and --tls-key, or --tls-self-signed", id="no key"
        ),
        pytest.param(
            ["--tls-self-signed", "a", "--tls-key", "b"],
            "--tls-self-signed makes its own certificate; leave out --tls-cert and --tls-key",
            id="both",
        ),
        pytest.param(
            ["--tls-cert", "a", "--tls-key", "b", "--tls-name", "c"],
            "--tls-name is for --tls-self-signed",
            id="a name for a given certificate",
        ),
        pytest.param(
            ["--tls-self-signed", "a", "--listen", "8443"],
            "Invalid value for --listen: '8443' is no address; "
            "write HOST:PORT, or [ADDRESS]:PORT for IPv6",
            id="no address",
        ),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    code, stdout, stderr = failed_start(*arguments)

    assert (code, stdout) == (2, "")
    assert f"Error: {message}\n" in stderr


class TestListening:
    @pytest.mark.parametrize(
        ("listen", "url", "addresses"),
        [
            ("127.0.0.1:0", "https://127.0.0.1:", ["127.0.0.1"]),
            ("[::]:0", "https://localhost:", ["127.0.0.1", "::1"]),
            (":0", "https://localhost:", ["127.0.0.1", "::1"]),
            ("0.0.0.0:0", "https://localhost:", ["127.0.0.1"]),
            ("[::1]:0", "https://[::1]:", ["::1"]),
            ("localhost:0", "https://localhost:", []),
        ],
    )
    def test_addresses(
        self, tmp_path: Path, table: Path, listen: str, url: str, addresses: list[str]
    ) -> None:
        if "::1" in addresses and not socket.has_dualstack_ipv6():
            addresses = [address for address in addresses if address != "::1"]
        with running_service(tmp_path, "--table", str(table), "--listen", listen) as service:
            for address in addresses:
                with socket.create_connection((address, service.port), timeout=30) as plain_socket:
                    encrypted = service.tls().wrap_socket(plain_socket, server_hostname=address)
                    with encrypted:
                        assert encrypted.version() in {"TLSv1.2", "TLSv1.3"}

        assert service.url.startswith(url)
        assert service.port != 0

    def test_the_effective_settings_are_logged(self, tmp_path: Path, table: Path) -> None:
        with running_service(tmp_path, "--table", str(table), "--drain-seconds", "0") as service:
            (line,) = service.log("starting")
            (serving,) = service.log("serving")

        assert line["settings"] == {
            "listen": "127.0.0.1:0",
            "table": str(table),
            "tls": {
                "selfSigned": str(tmp_path / "tls"),
                "names": ["localhost", "127.0.0.1", "::1"],
                "serverDays": 90,
                "authorityDays": 3650,
            },
            "drainSeconds": 0.0,
            "requestSeconds": 10.0,
            "pollSeconds": 1.0,
        }
        assert serving["url"] == service.url


def test_without_a_table_the_built_in_one_serves(tmp_path: Path) -> None:
    with running_service(tmp_path) as service, service.client() as client:
        (line,) = service.log("table in use")
        ready = client.get("/readyz").json()

    assert line["source"] == "built-in"
    assert ready["checks"]["table"]["digest"] == line["digest"]


def test_a_certificate_for_other_names_is_the_clients_to_refuse(
    tmp_path: Path, table: Path
) -> None:
    with (
        running_service(tmp_path, "--table", str(table)) as service,
        pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"),
        service.connection(name="gpu.example"),
    ):
        pass
