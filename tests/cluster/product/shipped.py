"""An installation as shipped: the manifests in a cluster, and their processes as their accounts.

Kubelets are fake, so nothing of the Deployments runs. The processes run beside the control plane
instead, each with a token of its ServiceAccount, and the webhook's files are the mounted Secret's.
It listens where its Service is, a loopback address; only the port is another, for that of the
manifests is root's.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cluster.api import ApiError, Json, path, wait_until
from tests.cluster.components import HOST
from tests.cluster.control_plane import ControlPlane
from tests.cluster.ports import free_ports
from tests.cluster.processes import Process
from tests.cluster.product.installation import ADMISSION, KEY, MANIFESTS
from tests.mounted import MountedVolume

NAMESPACE = "gpuspec-system"
CONFIGURATIONS = tuple(
    path(ADMISSION, plural, "zz-gpuspec")
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
)
SECRETS = {
    name: path("v1", "secrets", name, namespace=NAMESPACE)
    for name in ("gpuspec-ca", "gpuspec-webhook-tls")
}

_ROOT = MANIFESTS.parent
_PORT = {"kind": "Service", "fieldPath": "spec.ports.0.port"}
_ASKING = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_PODS = path("v1", "pods", namespace="default")
_SECONDS = 90.0
_MOUNT_SECONDS = 0.2


class Shipped:
    """The manifests, with an overlay as a user writes one, for one control plane."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        self.overlay = folder / "manifests/overlays/mine"
        self._tls = folder / "tls"
        self._port = free_ports(["webhook"], HOST)["webhook"]
        # The checkout may have an overlay of its user's own.
        ours = shutil.ignore_patterns("mine")
        shutil.copytree(MANIFESTS, folder / "manifests", ignore=ours)
        self.overlay.mkdir()
        self.write_overlay()

    def write_overlay(self, *patches: Json, resources: tuple[str, ...] = ()) -> None:
        """Write the overlay; patches and files beside it are what the user adds."""
        port = {"op": "replace", "path": "/spec/ports/0/port", "value": self._port}
        patches = ({"target": {"kind": "Service"}, "patch": yaml.safe_dump([port])}, *patches)
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": ["../default", *resources],
            "images": [{"name": "gpuspec", "newName": "registry.example/gpuspec"}],
            "patches": list(patches),
            # Whatever the user adds below it, every entry asks that port.
            "replacements": [{"source": _PORT, "targets": list(map(_asking, _ASKING))}],
        }
        (self.overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    def documents(self) -> list[Json]:
        """What the overlay gives the API server, in order."""
        return list(yaml.safe_load_all(self.plane.kubectl("kustomize", str(self.overlay))))

    def apply(self, *how: str) -> None:
        """Apply it, which must need no second try and cause no warning."""
        done = self.try_apply(*how)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr

    def try_apply(self, *how: str) -> subprocess.CompletedProcess[str]:
        """Apply it from a machine whose kubectl has never seen this cluster."""
        with tempfile.TemporaryDirectory() as cache:
            return self.plane.kubectl.run(
                "apply", f"--cache-dir={cache}", *how, "-k", str(self.overlay)
            )

    def remove(self) -> None:
        """Remove it and wait until it is gone."""
        self.plane.kubectl("delete", "-k", str(self.overlay), "--ignore-not-found")

    def trusted(self) -> list[str]:
        """The ``caBundle`` of each configuration, "" where there is none."""
        return [
            self.plane.api.get(one)["webhooks"][0]["clientConfig"].get("caBundle", "")
            for one in CONFIGURATIONS
        ]

    def what_becomes_of(self, *keys: str) -> str:
        """``created``, ``translated``, or why a Pod that asks for these keys is refused."""
        asked = {"limits": dict.fromkeys(keys, "1")}
        container = {"name": "main", "image": "x", "resources": asked}
        body = {"metadata": {"name": "probe"}, "spec": {"containers": [container]}}
        try:
            created = self.plane.api.create(_PODS, body, dryRun="All")
        except ApiError as error:
            return error.message
        (container,) = created["spec"]["containers"]
        untouched = container["resources"].get("limits", {}).keys() == set(keys)
        return "created" if untouched else "translated"

    def wait_translated(self) -> None:
        """Wait until the API server calls the webhook and believes its certificate."""
        wait_until(
            lambda: self.what_becomes_of(KEY) == "translated",
            timeout=_SECONDS,
            what="a Pod to be translated",
            state=lambda: self.what_becomes_of(KEY),
        )

    @contextmanager
    def running(self, *more: str) -> Iterator[tuple[Process, ...]]:
        """A time in which two controllers (with more flags) and the webhook run; yields all."""
        stopping = threading.Event()
        controllers = tuple(self._controller(f"controller-{n}", *more) for n in range(2))
        webhook = self._webhook()
        with contextlib.ExitStack() as stack:
            for one in controllers:
                stack.callback(one.start().crash)
            stack.callback(shutil.rmtree, self._tls)
            volume = self._mounted()
            mounting = threading.Thread(target=self._keep_mounted, args=(volume, stopping))
            mounting.start()
            stack.callback(mounting.join)
            stack.callback(stopping.set)
            stack.callback(webhook.start().crash)
            self.wait_translated()
            yield (*controllers, webhook)

    def _controller(self, name: str, *more: str) -> Process:
        listen = f"{HOST}:{free_ports([name], HOST)[name]}"
        flags = [f"--identity={name}", f"--listen={listen}", *more]
        return self._process(name, "controller", flags)

    def _webhook(self) -> Process:
        service = path("v1", "services", "gpuspec-webhook", namespace=NAMESPACE)
        address = self.plane.api.get(service)["spec"]["clusterIP"]
        return self._process(
            "webhook",
            "serve",
            [
                f"--listen={address}:{self._port}",
                "--table-name=default",
                f"--tls-cert={self._tls / 'tls.crt'}",
                f"--tls-key={self._tls / 'tls.key'}",
                "--poll-seconds=0.1",
            ],
        )

    def _process(self, name: str, command: str, arguments: list[str]) -> Process:
        account = "gpuspec-controller" if command == "controller" else "gpuspec-webhook"
        token = self.plane.service_account_token(NAMESPACE, account)
        kubeconfig = self.plane.write_kubeconfig(self.folder / f"{account}.kubeconfig", token)
        python = ("/usr/bin/env", f"PYTHONPATH={_ROOT}", sys.executable, "-m", "webhook")
        started = [*python, command, f"--kubeconfig={kubeconfig}", *arguments]
        return Process(name, started, self.folder / f"{name}.log")

    def _mounted(self) -> MountedVolume:
        """The Secret as a volume, as soon as there is one: a kubelet waits for it, too."""
        at = SECRETS["gpuspec-webhook-tls"]
        secret = self.plane.api.wait_for(at, lambda found: "data" in found, timeout=_SECONDS)
        return MountedVolume(self._tls, _files(secret))

    def _keep_mounted(self, volume: MountedVolume, stopping: threading.Event) -> None:
        seen = ""
        while not stopping.wait(_MOUNT_SECONDS):
            with contextlib.suppress(ApiError):  # deleted; what is mounted stays
                secret = self.plane.api.get(SECRETS["gpuspec-webhook-tls"])
                if secret["metadata"]["resourceVersion"] != seen:
                    seen = secret["metadata"]["resourceVersion"]
                    volume.swap(_files(secret))


def _files(secret: Json) -> dict[str, bytes]:
    return {name: b64decode(content) for name, content in secret["data"].items()}


def _asking(kind: str) -> Json:
    return {"select": {"kind": kind}, "fieldPaths": ["webhooks.*.clientConfig.service.port"]}
