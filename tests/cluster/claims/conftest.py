"""The fleet's devices as claims, and gpuspec in front of each version's control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.claims.fleet import CLASSES, device_class, fleets_table, publishing, slices_of
from tests.cluster.claims.running import Gpuspec, running
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fleet
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, priority_class
from tests.cluster.product.tables import defined

GRACE = "--template-grace-seconds=3"


@pytest.fixture(scope="package")
def driver(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Every device of the fleet is offered by a driver as well as by the device plugin."""
    made = device_class()
    cluster.api.create(CLASSES, made)
    with publishing(cluster.api, slices_of(fleet())):
        yield cluster
    cluster.api.delete(f"{CLASSES}/{made['metadata']['name']}")


@pytest.fixture(scope="package")
def gpuspec(driver: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpuspec]:
    """Our programs with the fleet's table; tests that change anything leave it as it was."""
    folder = tmp_path_factory.mktemp(f"claims-{driver.version}-")
    with (
        defined(driver.api),
        priority_class(driver.api, HIGH, HIGH_VALUE),
        running(driver, fleets_table(), folder, GRACE) as found,
    ):
        yield found
