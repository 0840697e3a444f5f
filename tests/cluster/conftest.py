"""Fixtures of the tests against a real control plane."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.binaries import find_binaries
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fleet
from tests.cluster.namespaces import create_namespace, empty_namespace
from tests.cluster.versions import wanted_minors

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder that uses a control plane."""
    for item in items:
        if _FOLDER in item.path.parents and "kubernetes" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session", params=wanted_minors())
def kubernetes(request: pytest.FixtureRequest) -> str:
    """A minor version whose programs are there; building them shows through pytest's capture."""
    minor: str = request.param
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        find_binaries(minor)
    return minor


@pytest.fixture(scope="session")
def cluster(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with the whole fleet, one for all tests of a version."""
    workdir = tmp_path_factory.mktemp(f"kubernetes-{kubernetes}-")
    with ControlPlane.start(kubernetes, nodes=fleet(), workdir=workdir) as control_plane:
        yield control_plane


@pytest.fixture
def namespace(cluster: ControlPlane) -> Iterator[str]:
    """A fresh namespace; afterwards its Pods are gone from the nodes."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    create_namespace(cluster.api, name)
    yield name
    empty_namespace(cluster.api, name)
