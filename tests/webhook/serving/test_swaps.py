"""A real service under load while its table and its certificate are swapped under it."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvloop
from cryptography import x509

from certs.authority import KeyPair
from selection_spec.table import load_table
from tests.load import Load, Tally, post
from tests.mounted import MountedVolume
from tests.service import Service, running_service
from tests.webhook.documents import BROKEN_TABLE, UID, review_bytes, table_text
from tests.webhook.serving.certificates import DAY, authority, rsa_server, serial, server

SWAPS = 200
CONNECTIONS = 32
TABLES = (table_text(), table_text(per_node=4))
DIGESTS = tuple(load_table(table).digest for table in TABLES)
AUTHORITY = authority()
# Keys of both kinds: every change between them is also a change of the signature algorithm.
PAIRS = (server(AUTHORITY), rsa_server(AUTHORITY))


class Mounted:
    """A service whose table and certificate are mounted as in a Pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = MountedVolume(folder / "table", {"table.yaml": TABLES[0]})
        self.tls = MountedVolume(folder / "tls", files(PAIRS[0]))
        self.authority = folder / "ca.crt"
        self.authority.write_bytes(AUTHORITY.certificate)

    @contextmanager
    def running(self) -> Iterator[Service]:
        arguments = {
            "--table": self.table / "table.yaml",
            "--tls-cert": self.tls / "tls.crt",
            "--tls-key": self.tls / "tls.key",
            "--poll-seconds": 0.02,
        }
        words = [str(word) for pair in arguments.items() for word in pair]
        with running_service(self.folder, *words, authority=self.authority) as service:
            yield service


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


def files(pair: KeyPair) -> dict[str, bytes]:
    return {"tls.crt": pair.certificate, "tls.key": pair.key}


def checks(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/readyz").json()["checks"]
    return found


def until(holds: Callable[[], bool], *, seconds: float = 20) -> None:
    """Wait for what another process is about to do."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def shown_serial(service: Service) -> str:
    """The serial number of the certificate that a new connection is shown."""
    with service.connection() as connection:
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return f"{x509.load_der_x509_certificate(der).serial_number:x}"


def test_no_request_fails_during_swaps(mounted: Mounted) -> None:
    """Each swap is waited for, so that every table decided and every certificate was shown."""

    def swap(service: Service) -> None:
        with service.client() as client:
            for number in range(1, SWAPS + 1):
                digest, pair = DIGESTS[number % 2], PAIRS[number % 2]
                mounted.table.swap({"table.yaml": TABLES[number % 2]})
                mounted.tls.swap(files(pair))
                until(lambda digest=digest, pair=pair: in_use(client) == (digest, serial(pair)))  # type: ignore[misc]
                assert shown_serial(service) == serial(pair)

    def in_use(client: httpx.Client) -> tuple[str, str]:
        found = checks(client)
        return found["table"]["digest"], found["certificate"]["serial"]

    async def under_load(service: Service) -> Tally:
        load = Load(
            service.port,
            service.tls(),
            post(review_bytes()),
            is_right=lambda body: UID.encode() in body and b'"patch"' in body,
            per_connection=50,
        )
        running = asyncio.create_task(load.run(CONNECTIONS))
        try:
            await asyncio.to_thread(swap, service)
        finally:
            load.stop()
            tally = await running
        return tally

    with mounted.running() as service:
        tally = uvloop.run(under_load(service))
        metrics = samples(service)
        exit_code = service.stop()
        lines = service.log("review")

    print(f"{SWAPS} swaps of table and certificate: {tally}")
    assert tally.failures == []
    assert set(tally.statuses) == {200}
    assert metrics['gpuspec_table_reloads_total{result="success"}'] == SWAPS + 1
    assert metrics['gpuspec_certificate_reloads_total{result="success"}'] == SWAPS + 1
    assert metrics['gpuspec_table_reloads_total{result="failure"}'] == 0
    assert metrics['gpuspec_certificate_reloads_total{result="failure"}'] == 0
    assert exit_code == 0
    assert len(lines) == tally.answers, "a line a decision, none lost"


def samples(service: Service) -> dict[str, float]:
    with service.client() as client:
        text = client.get("/metrics").text
    pairs = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        pytest.param(
            {"tls.crt": PAIRS[1].certificate, "tls.key": PAIRS[0].key},
            "the key does not belong to the certificate; replace both together",
            id="key that does not match",
        ),
        pytest.param(
            files(server(AUTHORITY, begins=-2 * DAY)), "the certificate expired at ", id="expired"
        ),
        pytest.param(
            {"tls.crt": PAIRS[1].certificate[:500], "tls.key": PAIRS[1].key},
            "the certificate file holds no readable PEM certificate; ",
            id="half written",
        ),
        pytest.param(
            {"tls.crt": PAIRS[1].certificate},
            "No such file or directory",
            id="key missing",
        ),
    ],
)
def test_a_bad_certificate_leaves_the_good_one(
    mounted: Mounted, bad: dict[str, bytes], problem: str
) -> None:
    with mounted.running() as service, service.client() as client:
        mounted.tls.swap(bad)
        until(lambda: bool(checks(client)["certificate"]["problems"]))
        refused = checks(client)["certificate"]
        ready = client.get("/readyz").status_code
        while_bad = shown_serial(service)
        counted = samples(service)['gpuspec_certificate_reloads_total{result="failure"}']

        mounted.tls.swap(files(PAIRS[1]))
        until(lambda: checks(client)["certificate"]["serial"] == serial(PAIRS[1]))
        afterwards = checks(client)["certificate"]
        logged = service.log("certificate refused, the one in use stays")

    assert ready == 200
    assert refused["ok"] is True
    assert problem in refused["problems"][0]
    assert while_bad == serial(PAIRS[0])
    assert counted == 1
    assert [line["problems"] for line in logged] == [refused["problems"]]
    assert afterwards["problems"] == []


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(BROKEN_TABLE, id="breaks the schema"),
        pytest.param(TABLES[1][:-200], id="half written"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_bad_table_leaves_the_good_one(mounted: Mounted, bad: bytes) -> None:
    with mounted.running() as service, service.client() as client:
        mounted.table.swap({"table.yaml": bad})
        until(lambda: bool(checks(client)["table"]["problems"]))
        refused = checks(client)["table"]
        answer = client.post("/mutate", content=review_bytes(), headers=JSON).json()
        counted = samples(service)

        mounted.table.swap({"table.yaml": TABLES[1]})
        until(lambda: checks(client)["table"]["digest"] == DIGESTS[1])
        afterwards = checks(client)["table"]
        logged = service.log("table refused, the one in use stays")

    assert refused["ok"] is True
    assert refused["digest"] == DIGESTS[0]
    assert refused["problems"][0].startswith(f"{mounted.table / 'table.yaml'}:")
    assert answer["response"]["allowed"] is True
    assert counted['gpuspec_table_reloads_total{result="failure"}'] == 1
    assert counted[f'gpuspec_table_info{{digest="{DIGESTS[0]}",name="small"}}'] == 1
    assert [line["problems"] for line in logged] == [refused["problems"]]
    assert afterwards["problems"] == []


JSON = {"content-type": "application/json"}


class TestSelfSigned:
    """The service's own certificate heals and renews in the running process."""

    def test_a_pair_that_disappears_is_issued_anew(self, tmp_path: Path) -> None:
        table = tmp_path / "table.yaml"
        table.write_bytes(TABLES[0])
        with running_service(tmp_path, "--table", str(table), "--poll-seconds", "0.02") as service:
            before = shown_serial(service)

            (tmp_path / "tls" / "tls.crt").unlink()
            until(lambda: shown_serial(service) != before)

            # The client was told of the authority before, and that has stayed the same.
            with service.client() as client:
                assert client.get("/readyz").json()["ready"] is True

    def test_an_expired_pair_is_renewed(self, tmp_path: Path) -> None:
        table = tmp_path / "table.yaml"
        table.write_bytes(TABLES[0])
        with running_service(tmp_path, "--table", str(table), "--poll-seconds", "0.02") as service:
            before = shown_serial(service)
            signer = KeyPair(
                certificate=(tmp_path / "tls" / "ca.crt").read_bytes(),
                key=(tmp_path / "tls" / "ca.key").read_bytes(),
            )
            expired = server(signer, begins=-2 * DAY)
            for name, content in files(expired).items():
                (tmp_path / "tls" / name).write_bytes(content)
            until(lambda: shown_serial(service) not in {before, serial(expired)})

            assert any(
                "the server certificate expired at" in line["message"] for line in service.log()
            )

    def test_a_further_name_is_served(self, tmp_path: Path) -> None:
        table = tmp_path / "table.yaml"
        table.write_bytes(TABLES[0])
        with (
            running_service(
                tmp_path, "--table", str(table), "--tls-name", "gpu.example"
            ) as service,
            service.connection(name="gpu.example") as connection,
        ):
            assert connection.version() in {"TLSv1.2", "TLSv1.3"}
        with (
            pytest.raises(ssl.SSLCertVerificationError),
            running_service(tmp_path, "--table", str(table)) as service,
            service.connection(name="other.example"),
        ):
            pass
