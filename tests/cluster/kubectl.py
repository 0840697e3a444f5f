"""The real kubectl, for what users type and for manifests as they are shipped."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


class KubectlError(Exception):
    """kubectl failed; the message has what it wrote to standard error."""


@dataclass(frozen=True)
class Kubectl:
    """``kubectl`` bound to one cluster: ``kubectl("get", "pods", "-n", "x")``."""

    program: Path
    kubeconfig: Path

    def __call__(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> str:
        """What kubectl prints; raises when it fails."""
        done = self.run(*arguments, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            command = " ".join(("kubectl", *arguments))
            raise KubectlError(f"{command}: exit code {done.returncode}\n{done.stderr.strip()}")
        return done.stdout

    def run(
        self, *arguments: str, stdin: str | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end, whatever the exit code, for tests of failures."""
        return subprocess.run(
            [self.program, "--kubeconfig", self.kubeconfig, *arguments],
            input=stdin if stdin is not None else "",
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
