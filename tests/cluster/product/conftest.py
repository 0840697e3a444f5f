"""The product, installed in front of each version's control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import Installation, installed
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, priority_class


@pytest.fixture(scope="package")
def webhook(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """Our webhook; tests that change it (a table, an outage) leave it as it was."""
    folder = tmp_path_factory.mktemp(f"gpuspec-{cluster.version}-")
    with (
        priority_class(cluster.api, HIGH, HIGH_VALUE),
        installed(cluster.api, folder) as installation,
    ):
        yield installation
        installation.switch_off()  # others use the control plane after us
