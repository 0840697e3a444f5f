"""A control plane of its own for each version: these tests take its API server away."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api import wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import small_fleet
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller, Replica
from tests.cluster.namespaces import create_namespace, empty_namespace

NODES = 26
"""A tenth of the fleet, in the same shares."""


@pytest.fixture(scope="package")
def plane(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A small fleet, and SelectionTables as a resource."""
    workdir = tmp_path_factory.mktemp(f"live-{kubernetes}-")
    with ControlPlane.start(kubernetes, nodes=small_fleet(NODES), workdir=workdir) as control_plane:
        tables.install_resource(control_plane.api)
        yield control_plane


@pytest.fixture
def namespace_of(plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace; afterwards its Pods are gone from the nodes."""
    name = f"live-{uuid.uuid4().hex[:8]}"
    create_namespace(plane.api, name)
    yield name
    empty_namespace(plane.api, name)


@pytest.fixture
def table(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The same, with the fleet's table; afterwards there is none."""
    tables.apply(plane.api, tables.example())
    yield plane
    tables.delete(plane.api)


@pytest.fixture
def controller(table: ControlPlane, tmp_path: Path) -> Iterator[Controller]:
    """A controller that works on it."""
    one = Controller("one", table.kubeconfig, tmp_path)
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture
def known(table: ControlPlane, controller: Controller) -> ControlPlane:
    """The same, when the controller has counted it for the first time."""
    wait_until(
        lambda: tables.condition(table.api, "Ready").get("status") == "True",
        timeout=tables.SEEN_SECONDS,
        what="the table to be ready",
        state=controller.process.log_end,
    )
    return table


@pytest.fixture
def replicas(plane: ControlPlane, tmp_path: Path) -> Iterator[list[Replica]]:
    found = [Replica(name, plane.kubeconfig, tmp_path) for name in ("left", "right")]
    try:
        for one in found:
            one.start()
        yield found
    finally:
        for one in found:
            one.close()
