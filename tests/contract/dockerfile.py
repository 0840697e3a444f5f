"""Read a Dockerfile, and follow it as far as a machine without a container engine can.

The base image is played by a fresh virtual environment, and each absolute path of the image by the
same path below a folder. Nothing outside that folder is written.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    """One instruction with its continuation lines joined: ``RUN``, ``pip install …``."""

    name: str
    argument: str


@dataclass(frozen=True)
class Stage:
    """One ``FROM`` and what follows it."""

    image: str
    name: str
    instructions: tuple[Instruction, ...]

    def arguments(self, name: str) -> list[str]:
        """The arguments of all instructions of this name, in order."""
        return [i.argument for i in self.instructions if i.name == name]

    def settings(self, name: str) -> dict[str, str]:
        """The ``KEY=value`` pairs of all ``ENV`` or ``LABEL`` instructions."""
        pair = re.compile(r'([\w.]+)=("[^"]*"|\S+)')
        return {
            key: value.strip('"')
            for argument in self.arguments(name)
            for key, value in pair.findall(argument)
        }


def parse(text: str) -> list[Stage]:
    """The stages, with every ``ARG`` before the first replaced by its default."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    instructions = [
        Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()
    ]
    starts = [number for number, i in enumerate(instructions) if i.name == "FROM"]
    arguments = dict(i.argument.split("=", 1) for i in instructions[: starts[0]])
    stages = []
    for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
        image, _, name = instructions[start].argument.partition(" AS ")
        for key, value in arguments.items():
            image = image.replace(f"${{{key}}}", value)
        stages.append(Stage(image, name, tuple(instructions[start + 1 : end])))
    return stages


@dataclass
class Follower:
    """Carries instructions out below ``root``."""

    context: Path
    root: Path
    python: Path
    """What plays the base image's Python."""
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"

    @property
    def base(self) -> Path:
        """The folder that plays the base image's ``/usr/local``."""
        return self.root / "usr/local"

    def follow(self, stage: Stage) -> None:
        """Carry out the instructions that change files, on the base image as left so far."""
        if not self.base.exists():
            subprocess.run([self.python, "-m", "venv", self.base], check=True)
        self.environment = {"PATH": self._usual_path}
        self.workdir = "/"
        for instruction in stage.instructions:
            if instruction.name == "WORKDIR":
                self.workdir = instruction.argument
                self._placed(self.workdir).mkdir(parents=True, exist_ok=True)
            elif instruction.name == "ENV":
                for name, value in Stage("", "", (instruction,)).settings("ENV").items():
                    # A cold cache is the image's way; here a warm one saves the network.
                    if name != "PIP_NO_CACHE_DIR":
                        self._set(name, value)
            elif instruction.name == "COPY" and not instruction.argument.startswith("--from"):
                self._copy(instruction.argument)
            elif instruction.name == "RUN":
                self._run(self._in_root(instruction.argument))

    @property
    def _usual_path(self) -> str:
        return f"{self.base}/bin:/usr/bin:/bin"

    def _set(self, name: str, value: str) -> None:
        self.environment[name] = self._in_root(value).replace("$PATH", self._usual_path)

    def _copy(self, argument: str) -> None:
        *sources, target = argument.split()
        folder = self._placed(self.workdir) / target
        for source in sources:
            found = self.context / source
            if found.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(found, folder, ignore=ignored)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, folder)

    def _run(self, command: str) -> None:
        # Settings of this machine that tell pip where to find packages apply here as well.
        outer = {k: v for k, v in os.environ.items() if k.startswith("PIP_") or k == "HOME"}
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self._placed(self.workdir),
            env=outer | self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def _placed(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _in_root(self, text: str) -> str:
        return re.sub(r"(?<![\w./*-])/(?=(?:opt|dist|src|usr/local)\b)", f"{self.root}/", text)


def files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Each file's path, size and time of change: what is equal before and after was not written."""
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        yield str(path), state.st_size, state.st_mtime_ns
