"""A folder that changes the way a mounted ConfigMap or Secret does."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path


class MountedVolume:
    """Files behind ``..data``, swapped as a whole as the kubelet's atomic writer does it.

    ``tls.crt -> ..data/tls.crt`` and ``..data -> ..<generation>``: a new generation is written
    beside the old one, a new link is renamed over ``..data``, and the old generation is removed.
    """

    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self.folder = folder
        self._generation = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.swap(files)
        for name in files:
            (folder / name).symlink_to(f"..data/{name}")

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def swap(self, files: Mapping[str, bytes]) -> None:
        """Replace all files at once."""
        former = self.folder / f"..{self._generation}"
        self._generation += 1
        current = self.folder / f"..{self._generation}"
        current.mkdir()
        for name, content in files.items():
            (current / name).write_bytes(content)
        link = self.folder / "..data_tmp"
        link.symlink_to(current.name)
        link.replace(self.folder / "..data")
        if former.exists():
            shutil.rmtree(former)
