"""Programs of the control plane, built from pinned Go modules into the cache.

Each folder of ``gomodules/`` is a Go module that has nothing but ``tool`` lines; its go.mod is the
only place where versions stand, and go.sum holds the hashes that Go checks. To move to another
patch version, change every version of it in go.mod (the staging modules of Kubernetes 1.37.2 are
0.37.2) and run ``go mod tidy`` there.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.cache import cached_folder
from tests.cluster.progress import run
from tests.cluster.toolchain import Go, find_go

STAGES = "kwok-stages"
"""The folder beside ``kwok`` with the stage files that tell it how nodes and Pods behave."""

_GO_MODULES = Path(__file__).with_name("gomodules")
_STAGE_FILES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")


@dataclass(frozen=True)
class GoModule:
    """One folder of ``gomodules/`` and what it builds."""

    folder: str
    versioned_by: str
    packages: dict[str, str]  # program: package

    @property
    def version(self) -> str:
        """The version that go.mod pins, such as ``1.37.2``."""
        return self._pinned(rf"\b{re.escape(self.versioned_by)} v(\S+)")

    @property
    def _path(self) -> Path:
        return _GO_MODULES / self.folder

    def _pinned(self, pattern: str) -> str:
        match = re.search(pattern, (self._path / "go.mod").read_text())
        if match is None:
            raise ValueError(f"{self._path / 'go.mod'} has no {pattern}")
        return match[1]

    def built(self) -> Path:
        """The folder with the programs of this module, built when it is not in the cache."""
        digest = hashlib.sha256(f"{sys.platform} {platform.machine()}".encode())
        for name in ("go.mod", "go.sum"):
            digest.update((self._path / name).read_bytes())
        name = f"{self.folder}-{self.version}-{digest.hexdigest()[:12]}"
        return cached_folder(f"control-plane/{name}", self._build)

    def _build(self, folder: Path) -> None:
        major, minor = self._pinned(r"(?m)^go (\d+\.\d+)").split(".")
        go = find_go(at_least=(int(major), int(minor)))
        for number, (program, package) in enumerate(self.packages.items(), 1):
            run(
                f"building {program} (module {self.folder}, {number} of {len(self.packages)})",
                [
                    *(str(go.program), "build", "-trimpath", "-ldflags", self._link_flags()),
                    *("-o", str(folder / program), package),
                ],
                cwd=self._path,
                env=go.env,
            )
        if "kwok" in self.packages:
            self._copy_stages(go, folder / STAGES)

    def _link_flags(self) -> str:
        major, minor, _ = self.version.split(".")
        told = {"gitVersion": f"v{self.version}", "gitMajor": major, "gitMinor": minor}
        variables = (f"-X k8s.io/component-base/version.{k}={v}" for k, v in told.items())
        return " ".join(("-s -w", *variables))

    def _copy_stages(self, go: Go, target: Path) -> None:
        source = go.output("list", "-m", "-f", "{{.Dir}}", self.versioned_by, cwd=self._path)
        target.mkdir()
        for part in _STAGE_FILES:
            for file in sorted((Path(source) / "kustomize/stage" / part).glob("*.yaml")):
                if file.name != "kustomization.yaml":
                    shutil.copyfile(file, target / file.name)


_KUBERNETES = {
    program: f"k8s.io/kubernetes/cmd/{program}"
    for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
}
_ETCD = {"etcd": "go.etcd.io/etcd/server/v3"}
_ETCD_3_6 = GoModule("etcd-3.6", "go.etcd.io/etcd/server/v3", _ETCD)
_KWOK = GoModule("kwok", "sigs.k8s.io/kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})

GO_MODULES = {
    "1.35": (GoModule("1.35", "k8s.io/kubernetes", _KUBERNETES), _ETCD_3_6, _KWOK),
    "1.36": (GoModule("1.36", "k8s.io/kubernetes", _KUBERNETES), _ETCD_3_6, _KWOK),
    "1.37": (GoModule("1.37", "k8s.io/kubernetes", _ETCD | _KUBERNETES), _KWOK),
}
"""The modules that make up a control plane, per minor version of Kubernetes."""
