"""The product, installed once in front of each version's control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import Installation, installed


@pytest.fixture(scope="session")
def webhook(cluster: ControlPlane) -> Iterator[Installation]:
    """Our webhook; tests that change it (a table, an outage) leave it as it was."""
    with installed(cluster) as installation:
        yield installation
