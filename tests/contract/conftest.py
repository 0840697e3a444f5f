"""The shipped manifests, built once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract import readme
from tests.contract.kustomize import OVERLAYS, PROCESSES, Document, built


@pytest.fixture(params=OVERLAYS)
def installation(request: pytest.FixtureRequest) -> tuple[Document, ...]:
    """Everything that one way to install gives the API server."""
    overlay: str = request.param
    return built(overlay)


@pytest.fixture(params=PROCESSES)
def process(request: pytest.FixtureRequest) -> str:
    """What an installation runs."""
    name: str = request.param
    return name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's own files and the manifests."""
    readme.write_files(tmp_path)
    return tmp_path
