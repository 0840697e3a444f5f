"""The product, installed once in front of each version's control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import EXAMPLE_TABLE, Installation, installed
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, create_priority_class


@pytest.fixture(scope="session")
def webhook(cluster: ControlPlane) -> Iterator[Installation]:
    """Our webhook with the fleet's table, and the class ``high`` for SmallestFit.

    Tests that change it (a table, an outage) leave it as it was.
    """
    create_priority_class(cluster.api, HIGH, HIGH_VALUE)
    folder = cluster.workdir / "gpuspec"
    with installed(cluster.api, folder, EXAMPLE_TABLE.read_bytes()) as installation:
        yield installation
