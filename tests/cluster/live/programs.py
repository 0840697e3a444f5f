"""``gpuspec serve`` and ``gpuspec controller`` as processes that talk to an API server."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.api import verify_with, wait_until
from tests.cluster.components import HOST
from tests.cluster.ports import free_ports
from tests.cluster.processes import Process

ROOT = Path(__file__).parents[3]
_START_SECONDS = 60.0


def program(name: str, arguments: list[str], log: Path) -> Process:
    """This checkout's code, wherever the process runs and whatever else is installed."""
    command = ["/usr/bin/env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "webhook", *arguments]
    return Process(name, command, log)


class Replica:
    """One replica of the webhook, which follows a SelectionTable of the cluster."""

    def __init__(self, name: str, kubeconfig: Path, folder: Path) -> None:
        self._folder = folder / name
        self._folder.mkdir()
        self.port = free_ports([name], HOST)[name]
        self.process = program(
            name,
            [
                "serve",
                f"--listen={HOST}:{self.port}",
                f"--tls-self-signed={self._folder / 'tls'}",
                "--table-name=default",
                f"--kubeconfig={kubeconfig}",
                "--poll-seconds=0.1",
                "--drain-seconds=0.2",
            ],
            self._folder / "log",
        )
        self._client: httpx.Client | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.start_unready()
        self.wait_ready()

    def start_unready(self) -> None:
        """Start it and wait until it listens, ready or not."""
        self.process.start()
        authority = self._folder / "tls/ca.crt"
        wait_until(authority.exists, timeout=_START_SECONDS, what="the authority's certificate")
        url = f"https://{HOST}:{self.port}"
        self._client = httpx.Client(base_url=url, verify=verify_with(authority))
        wait_until(
            self.readiness,
            timeout=_START_SECONDS,
            what="the replica to listen",
            state=self.process.log_end,
        )

    def wait_ready(self) -> None:
        """Wait until it is ready."""
        wait_until(
            lambda: self.readiness().get("ready") is True,
            timeout=_START_SECONDS,
            what="the replica to be ready",
            state=self.process.log_end,
        )

    def close(self) -> None:
        """End it."""
        if self._client is not None:
            self._client.close()
        self.process.crash()

    @property
    def ca_bundle(self) -> bytes:
        """Whom to trust, PEM."""
        return (self._folder / "tls/ca.crt").read_bytes()

    def readiness(self) -> dict[str, Any]:
        """What ``/readyz`` says; empty while nobody listens."""
        if self._client is None:
            return {}
        try:
            body: dict[str, Any] = self._client.get("/readyz").json()
        except httpx.TransportError:
            return {}
        return body

    @property
    def table(self) -> dict[str, Any]:
        """What ``/readyz`` says of the table."""
        found: dict[str, Any] = self.readiness()["checks"]["table"]
        return found

    @property
    def digest(self) -> str:
        """The digest of the table that decides now."""
        return str(self.table["digest"])

    def metric(self, name: str) -> float:
        """A series without labels of ``/metrics``."""
        if self._client is None:
            raise RuntimeError("the replica was not started")
        return _sample(self._client.get("/metrics").raise_for_status().text, name)


class Controller:
    """One replica of the controller."""

    def __init__(self, name: str, kubeconfig: Path, folder: Path, *more: str) -> None:
        self.name = name
        self.port = free_ports([name], HOST)[name]
        self.process = program(
            name,
            [
                "controller",
                "--namespace=default",
                f"--identity={name}",
                f"--listen={HOST}:{self.port}",
                f"--kubeconfig={kubeconfig}",
                *(more or ("--no-certificates",)),
            ],
            folder / f"{name}.log",
        )

    def start(self) -> None:
        """Start it and wait until it takes part."""
        self.process.start()
        wait_until(
            self.takes_part,
            timeout=_START_SECONDS,
            what="the controller to take part",
            state=self.process.log_end,
        )

    def close(self) -> None:
        """End it without a chance to hand over."""
        self.process.crash()

    def takes_part(self) -> bool:
        """Whether it answers its probe."""
        self.process.require_running()
        try:
            return httpx.get(f"http://{HOST}:{self.port}/healthz").is_success
        except httpx.TransportError:
            return False

    @property
    def leads(self) -> bool:
        """Whether it acts, by its own word."""
        return self.metric("gpuspec_leader") == 1

    def metric(self, name: str, **labels: str) -> float:
        """A series of ``/metrics``."""
        text = httpx.get(f"http://{HOST}:{self.port}/metrics").raise_for_status().text
        return _sample(text, name, labels)

    def total(self, name: str, **labels: str) -> float:
        """The sum of all series of a name that have these labels."""
        text = httpx.get(f"http://{HOST}:{self.port}/metrics").raise_for_status().text
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def wait_runs(self, loop: str, more: int) -> None:
        """Wait until a loop has run so many times more."""
        series = "gpuspec_loop_runs_total"
        before = self.metric(series, loop=loop, result="success")
        wait_until(
            lambda: self.metric(series, loop=loop, result="success") >= before + more,
            timeout=_START_SECONDS,
            what=f"{more} more runs of {loop}",
            state=self.process.log_end,
        )


def _sample(text: str, name: str, labels: dict[str, str] | None = None) -> float:
    return next(
        (
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and sample.labels == (labels or {})
        ),
        0.0,  # nothing was counted yet
    )


def agree(replicas: list[Replica], digest: str) -> float:
    """Wait until every replica decides by a table; in how many seconds they did."""
    started = time.monotonic()
    wait_until(
        lambda: all(one.digest == digest for one in replicas),
        timeout=_START_SECONDS,
        what=f"all replicas to use {digest}",
        state=lambda: str([one.table for one in replicas]),
        poll=0.02,
    )
    return time.monotonic() - started
