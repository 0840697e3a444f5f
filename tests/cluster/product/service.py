"""A real ``gpuspec serve`` beside a control plane, with files that change as mounted ones do."""

from __future__ import annotations

import json
import ssl
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from certs.authority import create_authority, issue
from tests.cluster.api import verify_with, wait_until
from tests.cluster.components import HOST
from tests.cluster.ports import free_ports
from tests.cluster.processes import Process
from tests.mounted import MountedVolume

_ROOT = Path(__file__).parents[3]
_START_SECONDS = 60.0
_TAKE_UP_SECONDS = 30.0
_LIFETIME = timedelta(days=30)


class Service:
    """The webhook in a process of its own, which ends when we do.

    Args:
        folder: Where the table, the certificate and the log are kept; empty.
        table: The selection table, YAML.
    """

    def __init__(self, folder: Path, table: bytes) -> None:
        self._authority = create_authority("test", now=datetime.now(UTC), lifetime=_LIFETIME)
        self._authority_file = folder / "ca.crt"
        self._authority_file.write_bytes(self._authority.certificate)
        self._table = MountedVolume(folder / "table", {"table.yaml": table})
        self._certificate = MountedVolume(folder / "tls", self._issued())
        self.table_file = self._table / "table.yaml"
        self.port = free_ports(["gpuspec"], HOST)["gpuspec"]
        self.process = Process("gpuspec", self._command(), folder / "gpuspec.log")
        self._client = httpx.Client(
            base_url=f"https://{HOST}:{self.port}", verify=verify_with(self._authority_file)
        )

    @property
    def ca_bundle(self) -> bytes:
        """The certificate to trust, PEM."""
        return self._authority.certificate

    def start(self) -> None:
        """Start it, for the first time or again, and wait until it is ready."""
        self.process.start()
        self._wait_ready()

    def close(self) -> None:
        """End it."""
        self._client.close()
        self.process.crash()

    @contextmanager
    def down(self) -> Iterator[None]:
        """A time in which nobody listens: the process was killed."""
        self.process.crash()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """A time in which connections are accepted and nothing answers."""
        self.process.freeze()
        try:
            yield
        finally:
            self.process.thaw()
            self._wait_ready()  # and done with what was asked meanwhile

    @contextmanager
    def serving(self, table: bytes) -> Iterator[None]:
        """A time in which another table decides."""
        former = self.table
        self.swap_table(table)
        try:
            yield
        finally:
            self.swap_table(former)

    def swap_table(self, table: bytes) -> str:
        """Replace the table and return the new one's digest, as soon as it decides."""
        former = self.digest
        self._table.swap({"table.yaml": table})
        wait_until(
            lambda: self.digest != former,
            timeout=_TAKE_UP_SECONDS,
            what="the new table to be in use",
            state=self.process.log_end,
        )
        return self.digest

    def swap_certificate(self) -> None:
        """Replace the certificate by a new one of the same authority and wait until it is shown."""
        former = self.shown_certificate()
        self._certificate.swap(self._issued())
        wait_until(
            lambda: self.shown_certificate() != former,
            timeout=_TAKE_UP_SECONDS,
            what="the new certificate to be in use",
            state=self.process.log_end,
        )

    @property
    def table(self) -> bytes:
        """The selection table, YAML."""
        return self.table_file.read_bytes()

    def shown_certificate(self) -> str:
        """The certificate that a new connection is shown, PEM."""
        return ssl.get_server_certificate((HOST, self.port), ca_certs=str(self._authority_file))

    @property
    def digest(self) -> str:
        """The digest of the table that decides now."""
        (digest,) = (labels["digest"] for labels, _ in self._samples("gpuspec_table_info"))
        return digest

    def reviews(self) -> Counter[tuple[str, str]]:
        """How many reviews there were since the start, by outcome and reason (``/metrics``)."""
        return Counter(
            {
                (labels["outcome"], labels["reason"]): int(value)
                for labels, value in self._samples("gpuspec_reviews_total")
            }
        )

    def logged_reviews(self, namespace: str) -> list[dict[str, Any]]:
        """The log's lines about Pods of a namespace so far, in order."""
        whole = self.process.log.read_text().rpartition("\n")[0]
        # the first line is what it prints on standard output, its address
        lines = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("namespace") == namespace]

    def _samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        text = self._client.get("/metrics").raise_for_status().text
        return [
            (sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        ]

    def _wait_ready(self) -> None:
        wait_until(
            self._is_ready,
            timeout=_START_SECONDS,
            what="gpuspec to be ready",
            state=self.process.log_end,
        )

    def _is_ready(self) -> bool:
        self.process.require_running()
        try:
            return self._client.get("/readyz").is_success
        except httpx.TransportError:  # nobody listens yet
            return False

    def _issued(self) -> dict[str, bytes]:
        now = datetime.now(UTC)
        pair = issue(self._authority, [HOST, "localhost"], now=now, lifetime=_LIFETIME)
        return {"tls.crt": pair.certificate, "tls.key": pair.key}

    def _command(self) -> list[str]:
        return [
            # this checkout's code, wherever the process runs and whatever else is installed
            *("/usr/bin/env", f"PYTHONPATH={_ROOT}", sys.executable, "-m", "webhook", "serve"),
            f"--listen={HOST}:{self.port}",
            f"--table={self.table_file}",
            f"--tls-cert={self._certificate / 'tls.crt'}",
            f"--tls-key={self._certificate / 'tls.key'}",
            "--poll-seconds=0.1",
        ]
