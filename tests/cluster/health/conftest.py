"""A small fleet of its own for each version: these tests break its nodes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api import Json
from tests.cluster.claims.running import called
from tests.cluster.components import Options
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fleet
from tests.cluster.health.ward import Ward
from tests.cluster.live import tables
from tests.cluster.live.programs import Replica
from tests.cluster.namespaces import create_namespace, empty_namespace

_OF_A_POOL = 10


def nodes() -> list[Json]:
    """The first nodes of each pool."""
    return [one for one in fleet() if int(one["metadata"]["name"][-3:]) < _OF_A_POOL]


@pytest.fixture(scope="package")
def plane(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Ten nodes of each kind, and SelectionTables as a resource."""
    workdir = tmp_path_factory.mktemp(f"health-{kubernetes}-")
    options = Options(jobs_run_on=True)
    with ControlPlane.start(
        kubernetes, options=options, nodes=nodes(), workdir=workdir
    ) as control_plane:
        tables.install_resource(control_plane.api)
        tables.apply(control_plane.api, tables.example())
        yield control_plane


@pytest.fixture(scope="package")
def webhook(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """A replica of the webhook that the API server calls."""
    folder = tmp_path_factory.mktemp(f"webhook-{plane.version}-")
    replica = Replica("replica", plane.kubeconfig, folder)
    try:
        replica.start()
        with called(plane.api, replica):
            yield replica
    finally:
        replica.close()


@pytest.fixture
def namespace_of(plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace; afterwards its Pods are gone from the nodes."""
    name = f"health-{uuid.uuid4().hex[:8]}"
    create_namespace(plane.api, name)
    yield name
    empty_namespace(plane.api, name)


@pytest.fixture
def ward(
    plane: ControlPlane, webhook: Replica, namespace_of: str, tmp_path: Path
) -> Iterator[Ward]:
    """A controller that has not begun yet; afterwards every node is as it was."""
    found = Ward(plane, webhook, tmp_path, namespace_of)
    try:
        yield found
    finally:
        found.heal()
