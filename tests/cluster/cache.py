"""Folders that are expensive to make, kept under the user's cache and made once."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.cluster.progress import exclusive


def cache_root() -> Path:
    """Where this project keeps what it can make again (``XDG_CACHE_HOME``, else ``~/.cache``)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gpuspec"


def cached_folder(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, made when it is not there.

    ``make`` fills an empty folder that is renamed when it is complete: a folder that exists is
    whole, however the process that made it ended.
    """
    folder = cache_root() / name
    if folder.is_dir():
        return folder
    with exclusive(folder.with_name(f".{folder.name}.lock"), name):
        if folder.is_dir():
            return folder
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            make(unfinished)
            unfinished.rename(folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    return folder
