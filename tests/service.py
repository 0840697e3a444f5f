"""A real ``gpuspec serve`` in a process of its own, on a free port, for as long as a test needs."""

from __future__ import annotations

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

_SERVE = (sys.executable, "-m", "webhook", "serve")
_START_S = 30
_STOP_S = 60


class Service:
    """A running service.

    Attributes:
        url: Where it listens, as it announced it.
        port: The port alone.
        authority: The file with the certificates to trust.
        process: The process itself.
    """

    def __init__(
        self, process: subprocess.Popen[str], url: str, authority: Path, log: Path
    ) -> None:
        self.process = process
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.authority = authority
        self._log = log

    def tls(self) -> ssl.SSLContext:
        """A client's context that trusts the service's authority and nothing else."""
        return ssl.create_default_context(cafile=self.authority)

    def client(self, timeout: float = 30) -> httpx.Client:
        """A client that is to be closed by the caller (``with service.client() as client``)."""
        return httpx.Client(
            base_url=f"https://localhost:{self.port}", verify=self.tls(), timeout=timeout
        )

    @contextmanager
    def connection(
        self, tls: ssl.SSLContext | None = None, *, name: str = "localhost"
    ) -> Iterator[ssl.SSLSocket]:
        """A connection to write bytes to that no HTTP client would send."""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=30) as plain,
            (tls or self.tls()).wrap_socket(plain, server_hostname=name) as encrypted,
        ):
            yield encrypted

    def log_text(self) -> str:
        """Everything that was written to standard error so far."""
        return self._log.read_text()

    def log(self, message: str | None = None) -> list[dict[str, Any]]:
        """The log's lines so far; every one must be JSON. Only those with a message if given."""
        lines = [json.loads(line) for line in self.log_text().splitlines()]
        return [line for line in lines if message in {None, line["message"]}]

    def memory_bytes(self, field: str) -> int:
        """``VmHWM``, the most memory that it ever held, or ``VmRSS``, what it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None, status
        return int(found[1]) * 1024

    def stop(self, sent: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop, wait until it has, and return its exit code."""
        self.process.send_signal(sent)
        return self.process.wait(_STOP_S)


@contextmanager
def running_service(
    folder: Path, *arguments: str, authority: Path | None = None, log_to_pipe: bool = False
) -> Iterator[Service]:
    """Start ``gpuspec serve`` and stop it in the end, whatever happened.

    Args:
        folder: Where the log and, without ``authority``, its own certificates are kept.
        arguments: Further arguments of ``serve``, which by default does not wait before it stops.
        authority: What clients trust, when the arguments name a certificate.
        log_to_pipe: Write the log to ``process.stderr`` instead of a file.
    """
    if authority is None:
        authority = folder / "tls" / "ca.crt"
        arguments = ("--tls-self-signed", str(folder / "tls"), *arguments)
    log = folder / "serve.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*_SERVE, "--listen", "127.0.0.1:0", "--drain-seconds", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if log_to_pipe else stderr,
            text=True,
        )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("https://"), f"it did not start: {log.read_text()}"
        yield Service(process, url, authority, log)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()


def failed_start(*arguments: str) -> tuple[int, str, str]:
    """Run ``gpuspec serve`` where it is expected to end by itself: exit code and both outputs."""
    done = subprocess.run(
        [*_SERVE, *arguments],
        capture_output=True,
        text=True,
        timeout=_START_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
