"""gpuspec in front of a control plane: a replica of the webhook and a controller, and their table.

Both are processes as an admin starts them; the table is the SelectionTable ``default``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selection_spec.table import load_table
from tests.cluster.api import Api, Json, path, wait_until
from tests.cluster.configuration import webhook_configuration
from tests.cluster.control_plane import ControlPlane
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller, Replica
from tests.cluster.product.installation import ADMISSION, KEY

CONFIGURATIONS = path(ADMISSION, "mutatingwebhookconfigurations")

_SECONDS = 60.0


class Gpuspec:
    """What runs, and what it decides by.

    Attributes:
        table: The SelectionTable in use.
    """

    def __init__(self, plane: ControlPlane, replica: Replica, controller: Controller) -> None:
        self.plane = plane
        self.replica = replica
        self.controller = controller
        self.table: Json = {}

    @property
    def api(self) -> Api:
        """The admin's connection."""
        return self.plane.api

    def use(self, table: Json) -> None:
        """Apply a table and wait until it decides, and its status tells of it."""
        tables.apply(self.api, table)
        self.table = table
        digest = load_table(json.dumps(table)).digest
        wait_until(
            lambda: self.replica.digest == digest,
            timeout=_SECONDS,
            what="the table to be in use",
            state=self.replica.process.log_end,
        )
        wait_until(
            lambda: tables.status(self.api).get("digest") == digest,
            timeout=_SECONDS,
            what="the table's status",
            state=self.controller.process.log_end,
        )

    @contextmanager
    def serving(self, table: Json) -> Iterator[None]:
        """A time in which another table decides."""
        former = self.table
        self.use(table)
        try:
            yield
        finally:
            self.use(former)


@contextmanager
def running(plane: ControlPlane, table: Json, folder: Path, *flags: str) -> Iterator[Gpuspec]:
    """Start both programs with a table, and have the API server call the webhook.

    Args:
        flags: For the controller.
    """
    replica = Replica("replica", plane.kubeconfig, folder)
    controller = Controller("controller", plane.kubeconfig, folder, "--no-certificates", *flags)
    tables.apply(plane.api, table)
    try:
        replica.start()
        controller.start()
        gpuspec = Gpuspec(plane, replica, controller)
        gpuspec.use(table)
        with called(plane.api, replica):
            yield gpuspec
    finally:
        controller.close()
        replica.close()


@contextmanager
def called(api: Api, replica: Replica) -> Iterator[None]:
    """A time in which the API server asks the replica about Pods."""
    configuration = webhook_configuration(replica.port, replica.ca_bundle)
    at = f"{CONFIGURATIONS}/{configuration['metadata']['name']}"
    api.create(CONFIGURATIONS, configuration)
    try:
        wait_until(lambda: _is_called(api), timeout=_SECONDS, what="Pods to be translated")
        yield
    finally:
        api.delete(at)
        wait_until(lambda: not _is_called(api), timeout=_SECONDS, what="Pods to be left alone")


def _is_called(api: Api) -> bool:
    container = {"name": "main", "image": "x", "resources": {"limits": {KEY: "1"}}}
    body = {"metadata": {"name": "probe"}, "spec": {"containers": [container]}}
    created = api.create(path("v1", "pods", namespace="default"), body, dryRun="All")
    (container,) = created["spec"]["containers"]
    return KEY not in container["resources"].get("limits", {})
