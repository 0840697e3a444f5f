"""A control plane, the real controller beside it as a process, and what it asks of the API server.

The API server's audit log is where requests are counted: the controller's own counters could not
tell of what it forgot to count.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.machine import cpu_seconds, python
from tests.bench.population import Population
from tests.bench.reviews import Json
from tests.cluster.api import Api, path, wait_until
from tests.cluster.components import HOST, Options
from tests.cluster.control_plane import ControlPlane
from tests.cluster.live.tables import apply, install_resource
from tests.cluster.namespaces import create_namespace
from tests.cluster.ports import free_ports
from tests.cluster.product.rights import AUDIT_POLICY
from tests.cluster.product.shipped import NAMESPACE

LOOPS = ("table-status", "reserve")

_NEEDED = ("etcd", "kube-apiserver")
_START_S = 60.0
_STOP_S = 30.0
_ACCOUNT = "gpuspec-controller"
_READS = frozenset({"get", "list", "watch"})


@dataclass(frozen=True)
class Runs:
    """How often a loop has run, and the seconds that it took."""

    count: float
    seconds: float

    def __sub__(self, earlier: Runs) -> Runs:
        return Runs(self.count - earlier.count, self.seconds - earlier.seconds)


class Controller:
    """``gpuspec controller`` as a process."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._url = f"http://{HOST}:{(port := free_ports(['controller'], HOST)['controller'])}"
        command = python(
            "-m",
            "webhook",
            "controller",
            f"--namespace={NAMESPACE}",
            f"--listen={HOST}:{port}",
            f"--kubeconfig={kubeconfig}",
            "--no-certificates",
        )
        with log.open("a") as to:
            self._process = subprocess.Popen(command, stdout=to, stderr=to)
        self._log = log

    def stop(self) -> None:
        """Let it hand over and end."""
        self._process.terminate()
        self._process.wait(_STOP_S)

    def wait_leads(self) -> None:
        """Wait until it acts."""
        wait_until(
            lambda: self._metric("gpuspec_leader") == 1,
            timeout=_START_S,
            what="the controller to lead",
            state=self._log.read_text,
        )

    def runs(self) -> dict[str, Runs]:
        """Return how often each loop has run."""
        return {
            loop: Runs(
                self._metric("gpuspec_loop_seconds_count", loop),
                self._metric("gpuspec_loop_seconds_sum", loop),
            )
            for loop in LOOPS
        }

    @property
    def failures(self) -> float:
        """How many runs failed."""
        return sum(
            self._metric("gpuspec_loop_runs_total", loop, result="failure") for loop in LOOPS
        )

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time so far, None where nobody tells."""
        return cpu_seconds(self._process.pid)

    def memory_mib(self, name: str) -> float | None:
        """``VmHWM``, the most memory that it ever held, or ``VmRSS``, what it holds now."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return None
        found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
        return None if found is None else int(found[1]) / 1024

    def _metric(self, name: str, loop: str = "", **labels: str) -> float:
        if self._process.poll() is not None:
            raise RuntimeError(f"the controller ended:\n{self._log.read_text()}")
        wanted = labels | ({"loop": loop} if loop else {})
        try:
            text = httpx.get(f"{self._url}/metrics").raise_for_status().text
        except httpx.ConnectError:  # it is starting
            return 0.0
        return next(
            (
                sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == name and sample.labels == wanted
            ),
            0.0,
        )


@dataclass
class Asked:
    """The controller's requests, as the API server wrote them down, by verb and resource."""

    log: Path
    _position: int = 0
    _counted: Counter[tuple[str, str]] = field(default_factory=Counter)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return how often each was asked so far: ``("patch", "nodes")``; leases are left out."""
        with self.log.open("rb") as lines:
            lines.seek(self._position)
            for line in lines:
                if not line.endswith(b"\n"):  # half written
                    break
                self._position += len(line)
                self._count(json.loads(line))
        return self._counted.copy()

    def _count(self, event: Json) -> None:
        at = event.get("objectRef") or {}
        # A watch is written down when it begins and when it ends, all else when it is answered.
        begun = event["verb"] == "watch" and event["stage"] == "ResponseStarted"
        answered = event["verb"] != "watch" and event["stage"] == "ResponseComplete"
        if (begun or answered) and at.get("resource") != "leases":
            parts = [at.get("resource", ""), at.get("subresource", "")]
            self._counted[event["verb"], "/".join(filter(None, parts))] += 1


def writes(counts: Counter[tuple[str, str]]) -> int:
    """Return how many of the requests change something."""
    return sum(count for (verb, _), count in counts.items() if verb not in _READS)


@dataclass(frozen=True)
class Followed:
    """A control plane whose table is applied, and what is needed to run the controller on it."""

    plane: ControlPlane
    asked: Asked
    _folder: Path

    @property
    def api(self) -> Api:
        """The admin's connection."""
        return self.plane.api

    @property
    def port(self) -> int:
        """Where the API server listens."""
        return int(self.plane.server.rpartition(":")[2])

    @contextmanager
    def controller(self) -> Iterator[Controller]:
        """Run the controller as its ServiceAccount."""
        token = self.plane.service_account_token(NAMESPACE, _ACCOUNT)
        kubeconfig = self.plane.write_kubeconfig(self._folder / "kubeconfig", token)
        one = Controller(kubeconfig, self._folder / "controller.log")
        try:
            yield one
        finally:
            one.stop()


@contextmanager
def followed(version: str, population: Population) -> Iterator[Followed]:
    """Start a control plane of a version; nobody schedules on it or plays a kubelet."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gpuspec-bench-")))
        log, policy = folder / "audit.log", folder / "policy.json"
        policy.write_text(json.dumps(AUDIT_POLICY))
        flags = (
            f"--audit-policy-file={policy}",
            f"--audit-log-path={log}",
            # No kubelet ever reports these nodes ready, so they are as they were made.
            "--disable-admission-plugins=TaintNodesByCondition",
        )
        options = Options(extra_flags={"kube-apiserver": flags})
        plane = stack.enter_context(ControlPlane.start(version, options=options))
        create_namespace(plane.api, NAMESPACE)
        _create_account(plane.api)
        for name, process in plane.processes.items():
            if name not in _NEEDED:
                process.stop()
        install_resource(plane.api)
        apply(plane.api, population.table())
        log.touch()
        yield Followed(plane, Asked(log), folder)


def _create_account(api: Api) -> None:
    """Make the account that is counted; it may do everything, for rights are tested elsewhere."""
    api.create(path("v1", "serviceaccounts", namespace=NAMESPACE), {"metadata": {"name": _ACCOUNT}})
    api.create(
        path("rbac.authorization.k8s.io/v1", "clusterrolebindings"),
        {
            "metadata": {"name": _ACCOUNT},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": NAMESPACE},
            ],
        },
    )
