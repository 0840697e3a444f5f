"""The shipped manifests, built once a session."""

from __future__ import annotations

import pytest

from tests.contract.kustomize import OVERLAYS, Document, built


@pytest.fixture(params=OVERLAYS)
def installation(request: pytest.FixtureRequest) -> tuple[Document, ...]:
    """Everything that one way to install gives the API server."""
    overlay: str = request.param
    return built(overlay)
