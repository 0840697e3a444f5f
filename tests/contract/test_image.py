"""What the Dockerfile's steps give when they are carried out, as far as that goes here."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

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
    one,
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


def test_the_deployments_command_serves_what_the_api_server_and_the_kubelet_ask(
    image: Image,
) -> None:
    """Every path in the manifests is answered, under the certificate's real name."""
    installation = built("own-ca")
    mounted = image.root / "etc/gpuspec"
    mount(installation, mounted)
    before = list(files(image.root))
    (port,) = free_ports(["webhook"], "127.0.0.1").values()
    arguments = [
        argument.replace("/etc/gpuspec", str(mounted)).replace(":8443", f":{port}")
        for argument in container(installation)["args"]
    ]
    with image.running("gpuspec", *arguments, "--drain-seconds=0") as service:
        wait_until(lambda: accepts(port) or service.poll(), timeout=30, what="the service")
        ask_every_path(installation, f"https://127.0.0.1:{port}", mounted / "tls/ca.crt")
    assert service.returncode == 0
    assert list(files(image.root)) == before


def ask_every_path(installation: tuple[Document, ...], url: str, authority: Path) -> None:
    trust = ssl.create_default_context(cafile=authority)
    name = {"sni_hostname": f"{SERVICE}.{NAMESPACE}.svc"}
    with httpx.Client(verify=trust, base_url=url, trust_env=False) as client:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container(installation)[probe]["httpGet"]["path"]
            assert client.get(asked, extensions=name).status_code == 200
        path = webhook(installation)["clientConfig"]["service"]["path"]
        answer = client.post(path, json=REVIEW, extensions=name)
        assert (answer.status_code, answer.json()["response"]["allowed"]) == (200, True)
        assert answer.json()["response"]["patchType"] == "JSONPatch"


def mount(installation: tuple[Document, ...], folder: Path) -> None:
    """Write the ConfigMap's and the Secret's files where the Pod would see them."""
    secret = {k: b64decode(v) for k, v in one(installation, "Secret")["data"].items()}
    table = {k: v.encode() for k, v in one(installation, "ConfigMap")["data"].items()}
    for name, contents in (("tls", secret), ("table", table)):
        (folder / name).mkdir(parents=True)
        for file, content in contents.items():
            (folder / name / file).write_bytes(content)


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
