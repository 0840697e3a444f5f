"""A real Kubernetes control plane for one test session: no containers, no root, loopback only."""

from __future__ import annotations

import shutil
import ssl
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import httpx

from tests.cluster.api import Api, Json, path, verify_with, wait_until
from tests.cluster.binaries import MINORS, Binaries, find_binaries
from tests.cluster.components import HOST, PORT_NAMES, Component, Layout, Options, components
from tests.cluster.credentials import (
    ADMIN_TOKEN,
    write_admin_token_file,
    write_issuer,
    write_kubeconfig,
    write_service_account_key,
)
from tests.cluster.kubectl import Kubectl
from tests.cluster.nodes import create_nodes
from tests.cluster.ports import free_ports
from tests.cluster.processes import Process

_START_SECONDS = 90.0
_COMPLETES = "pod-complete.yaml"
# Longer than anybody plays; nothing renews it, as a kubelet would.
_TOKEN_SECONDS = 24 * 3600
_FIRST = ("etcd", "kube-apiserver")
_FOLDER_PREFIX = "gpuspec-control-plane-"


class ControlPlane:
    """etcd, API server, controller manager, scheduler and KWOK, started and ended together.

    ``with ControlPlane.start("1.37") as control_plane: …``. Whatever happens to this process,
    SIGKILL too, the programs end with it. ``processes`` are there to be crashed and frozen.
    """

    def __init__(self, binaries: Binaries, options: Options, workdir: Path | None) -> None:
        self.version = binaries.minor
        self._remove_workdir = workdir is None
        self.workdir = (workdir or Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))).resolve()
        self._layout = Layout(self.workdir, free_ports(PORT_NAMES, HOST))
        self.server = self._layout.server
        self.ca_file = self._layout.ca_file
        self.kubeconfig = self._layout.kubeconfig
        self.kubectl = Kubectl(binaries.kubectl, self.kubeconfig)
        stages = [
            stage
            for stage in sorted(binaries.stages.glob("*.yaml"))
            if not (options.jobs_run_on and stage.name == _COMPLETES)
        ]
        self._components = {c.name: c for c in components(self._layout, options, stages)}
        self.processes = {
            name: Process(
                name,
                [
                    *(str(binaries.programs[name]), *component.flags),
                    *options.extra_flags.get(name, ()),
                ],
                self.workdir / f"{name}.log",
            )
            for name, component in self._components.items()
        }
        self._api: Api | None = None

    @classmethod
    def start(
        cls,
        version: str = MINORS[-1],
        *,
        options: Options | None = None,
        nodes: Iterable[Json] = (),
        workdir: Path | None = None,
    ) -> Self:
        """Start a control plane and wait until Pods can be created and scheduled on its nodes.

        Files and logs go to ``workdir``, else to a temporary folder that is removed at the end
        (after a failed start it stays, for its logs).
        """
        control_plane = cls(find_binaries(version), options or Options(), workdir)
        try:
            control_plane._start_all()
            create_nodes(control_plane.api, list(nodes))
        except BaseException:
            control_plane._remove_workdir = False
            control_plane.stop()
            raise
        return control_plane

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def api(self) -> Api:
        """The admin's connection."""
        if self._api is None:
            raise RuntimeError("the control plane was not started")
        return self._api

    def stop(self) -> None:
        """End all programs at once: nothing of the cluster is needed any more."""
        if self._api is not None:
            self._api.close()
        for process in self.processes.values():
            process.crash()
        if self._remove_workdir:
            shutil.rmtree(self.workdir)

    def restart(self, name: str) -> None:
        """Start one program again, whether it runs, was stopped or crashed, and wait for it."""
        self.processes[name].stop()
        self.processes[name].start()
        self._wait_healthy(name)

    def write_kubeconfig(self, to: Path, token: str) -> Path:
        """A kubeconfig for somebody else than the admin."""
        return write_kubeconfig(to, server=self.server, ca_file=self.ca_file, token=token)

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token of a ServiceAccount, as a Pod of it would have, to test what RBAC lets it do."""
        at = path("v1", "serviceaccounts", name, namespace=namespace, subresource="token")
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        }
        token: str = self.api.create(at, request)["status"]["token"]
        return token

    def _start_all(self) -> None:
        write_service_account_key(self._layout.service_account_key)
        write_admin_token_file(self._layout.token_file)
        for name in _FIRST:
            self.processes[name].start()
        for name in _FIRST:
            self._wait_healthy(name)
        write_issuer(self._layout.serving_chain, self.ca_file)
        self.write_kubeconfig(self.kubeconfig, ADMIN_TOKEN)
        self._api = Api(self.server, token=ADMIN_TOKEN, ca_file=self.ca_file)
        others = [name for name in self.processes if name not in _FIRST]
        for name in others:
            self.processes[name].start()
        for name in others:
            self._wait_healthy(name)
        # the API server refuses Pods of a ServiceAccount that does not exist yet
        account = path("v1", "serviceaccounts", "default", namespace="default")
        self.api.wait_for(account, bool, timeout=_START_SECONDS)

    def _wait_healthy(self, name: str) -> None:
        component, process = self._components[name], self.processes[name]

        def healthy() -> bool:
            process.require_running()
            return _answers_ok(component)

        wait_until(
            healthy, timeout=_START_SECONDS, what=f"{name} to be healthy", state=process.log_end
        )


def _answers_ok(component: Component) -> bool:
    try:
        trust = verify_with(component.health_ca) if component.health_ca else _trust_nobody()
        with httpx.Client(verify=trust, trust_env=False) as client:
            return client.get(component.health_url, timeout=5).is_success
    except (OSError, httpx.TransportError):  # no certificate, or nobody listening yet
        return False


def _trust_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
