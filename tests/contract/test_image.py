"""What the Dockerfile's steps give when they are carried out, as far as that goes here."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from certs.authority import create_authority, for_service, issue
from tests.cluster.api import wait_until
from tests.cluster.ports import free_ports
from tests.contract.dockerfile import Follower, files, parse
from tests.contract.kustomize import (
    NAMESPACE,
    REPOSITORY,
    SERVICE,
    Document,
    built,
    container,
    webhook,
)
from tests.contract.test_requirements import pins

NOBODY = 65532
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "5c6f",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "default",
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train"},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "x",
                        "resources": {"limits": {"preferred.jp/gpu-any-24gb": "1"}},
                    }
                ]
            },
        },
    },
}


@dataclass(frozen=True)
class Image:
    """What the Dockerfile's steps have made."""

    root: Path
    environment: dict[str, str]

    @property
    def tree(self) -> Path:
        return self.root / "opt/gpuspec"

    @contextmanager
    def running(self, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program as the image would run it; it is told to end at the end."""
        with subprocess.Popen(
            command, cwd="/", env=self.environment, user=other_user(), group=other_user()
        ) as process:
            try:
                yield process
            finally:
                process.terminate()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program as the image would: nobody in particular, nothing writable."""
        return subprocess.run(
            command,
            cwd="/",
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            user=other_user(),
            group=other_user(),
        )


def other_user() -> int | None:
    """Whom to become: only root can, and has to, become somebody else."""
    return NOBODY if os.geteuid() == 0 and PUBLIC_PYTHON else None


def public_python() -> Path | None:
    """A Python that everybody may run: this one, or else one of the system's."""
    own = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    installed = (
        shutil.which(f"python3{v}", path="/usr/local/bin:/usr/bin")
        for v in ("", ".13", ".12", ".11")
    )
    for candidate in (own, *(Path(found) for found in installed if found)):
        reachable = all(folder.stat().st_mode & 0o001 for folder in candidate.resolve().parents)
        check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
        if reachable and subprocess.run([candidate, "-c", check], check=False).returncode == 0:
            return candidate
    return None


PUBLIC_PYTHON = public_python()


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    build_stage, final_stage = parse((REPOSITORY / "Dockerfile").read_text())
    # Not pytest's own folder, which is closed to other users.
    root = Path(tempfile.mkdtemp(prefix="gpuspec-image-"))
    root.chmod(0o755)
    try:
        follower = Follower(REPOSITORY, root, PUBLIC_PYTHON or Path(sys.executable))
        follower.follow(build_stage)
        for made_only_to_build in ("src", "dist"):
            shutil.rmtree(root / made_only_to_build)
        follower.follow(final_stage)
        subprocess.run(["chmod", "-R", "a-w", follower.root / "opt"], check=True)
        yield Image(root, follower.environment)
    finally:
        subprocess.run(["chmod", "-R", "u+w", root], check=True)
        shutil.rmtree(root)


def test_the_installed_command_works_without_writing_anything(image: Image) -> None:
    before = list(files(image.root))
    version = image.run("gpuspec", "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.split()[-1] == "0.1.0"
    explained = image.run("gpuspec", "explain", "any-24gb")
    assert (explained.returncode, explained.stderr) == (0, "")
    assert "24" in explained.stdout
    assert list(files(image.root)) == before


def test_the_webhooks_command_serves_what_the_api_server_and_the_kubelet_ask(
    image: Image,
) -> None:
    """Every path in the manifests is answered, under the certificate's real name."""
    installation = built("default")
    tls = image.root / "etc/gpuspec/tls"
    mount_certificate(tls)
    with deployed(image, "webhook", "--drain-seconds=0") as (service, port):
        ask_every_path(installation, f"https://127.0.0.1:{port}", tls / "ca.crt")
    assert service.returncode == 0


def test_the_controllers_command_answers_what_the_kubelet_asks(image: Image) -> None:
    with deployed(image, "controller") as (process, port):
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container(built("default"), "controller")[probe]["httpGet"]["path"]
            answer = httpx.get(f"http://127.0.0.1:{port}{asked}", trust_env=False)
            assert answer.status_code == 200
    assert process.returncode == 0


def mount_certificate(folder: Path) -> None:
    """Write what the Secret of the webhook's Pods holds, as these would see it."""
    now, day = datetime.now(UTC), timedelta(days=1)
    authority = create_authority("test", now=now, lifetime=2 * day)
    server = issue(authority, for_service(SERVICE, NAMESPACE), now=now, lifetime=day)
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "tls.crt").write_bytes(server.certificate)
    (folder / "tls.key").write_bytes(server.key)


@contextmanager
def deployed(
    image: Image, process: str, *more: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A Deployment's command in a cluster that has nothing of what it asks for; and its port."""
    (port,) = free_ports([process], "127.0.0.1").values()
    (served,) = container(built("default"), process)["ports"]
    arguments = [
        argument.replace("/etc/gpuspec", str(image.root / "etc/gpuspec")).replace(
            f":{served['containerPort']}", f":{port}"
        )
        for argument in container(built("default"), process)["args"]
    ]
    with empty_api_server() as server:
        kubeconfig = write_kubeconfig(image.root / "kubeconfig", server)
        before = list(files(image.root))
        to_cluster = f"--kubeconfig={kubeconfig}"
        with image.running("gpuspec", *arguments, to_cluster, *more) as running:
            wait_until(lambda: accepts(port) or running.poll(), timeout=30, what=process)
            yield running, port
        assert list(files(image.root)) == before


@contextmanager
def empty_api_server() -> Iterator[str]:
    """The address of one that has no object and no kind of object."""

    class Nothing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/apis":  # to any path it does not know, in plain text
                self.send_error(404)
                return
            groups = json.dumps({"kind": "APIGroupList", "groups": []}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(groups)))
            self.end_headers()
            self.wfile.write(groups)

        def do_POST(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


def write_kubeconfig(to: Path, server: str) -> Path:
    """A kubeconfig (JSON is YAML) that whoever runs the image may read."""
    document = {
        "clusters": [{"name": "x", "cluster": {"server": server}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": {"token": "x"}}],
        "current-context": "x",
    }
    to.write_text(json.dumps(document))
    return to


def ask_every_path(installation: tuple[Document, ...], url: str, authority: Path) -> None:
    trust = ssl.create_default_context(cafile=authority)
    name = {"sni_hostname": f"{SERVICE}.{NAMESPACE}.svc"}
    with httpx.Client(verify=trust, base_url=url, trust_env=False) as client:
        wait_until(lambda: client.get("/readyz", extensions=name).is_success, timeout=30, what="it")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container(installation)[probe]["httpGet"]["path"]
            assert client.get(asked, extensions=name).status_code == 200
        path = webhook(installation)["clientConfig"]["service"]["path"]
        answer = client.post(path, json=REVIEW, extensions=name)
        assert (answer.status_code, answer.json()["response"]["allowed"]) == (200, True)
        assert answer.json()["response"]["patchType"] == "JSONPatch"


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_package_data_is_installed(image: Image) -> None:
    script = (
        "import importlib.resources as r, selection_spec as s; "
        "print(s.__file__); "
        "print((r.files(s) / 'data/default-table.yaml').read_text(), end='')"
    )
    done = image.run("python", "-c", script)
    assert done.returncode == 0, done.stderr
    where, _, table = done.stdout.partition("\n")
    assert Path(where).is_relative_to(image.tree)
    assert table == (REPOSITORY / "selection_spec/data/default-table.yaml").read_text()


def test_only_pinned_packages_and_ours_are_installed(image: Image) -> None:
    script = (
        "import importlib.metadata as m; "
        "print(*(d.name.lower().replace('_', '-') for d in m.distributions()))"
    )
    installed = set(image.run("python", "-c", script).stdout.split())
    assert installed == {*pins("runtime.txt"), "gpuspec"}


def test_no_pip_is_left(image: Image) -> None:
    base = image.root / "usr/local/bin/python"
    for python in ("python", str(base)):
        done = image.run(python, "-c", "import pip")
        assert "ModuleNotFoundError: No module named 'pip'" in done.stderr
    assert not list(image.tree.glob("bin/pip*"))


def test_every_module_is_compiled(image: Image) -> None:
    for package in ("selection_spec", "webhook", "certs"):
        (folder,) = image.tree.glob(f"lib/python3*/site-packages/{package}")
        sources = {p.stem for p in folder.rglob("*.py")}
        assert sources
        assert sources == {p.name.split(".")[0] for p in folder.rglob("__pycache__/*.pyc")}
