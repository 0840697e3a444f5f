"""Sick nodes and devices, as kubelets, drivers and monitors would tell of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from selection_spec.table import load_table
from tests.builders import PodBuilder
from tests.cluster.api import Api, ApiError, Json, path, wait_until
from tests.cluster.claims.allocated import wait_claims_gone
from tests.cluster.claims.devices import NVIDIA, SLICES
from tests.cluster.claims.fleet import CLASSES, DRA
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU, MODEL_LABEL
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller, Replica
from tests.cluster.nodes import NODES, wait_nodes_ready
from tests.cluster.pods import node_of
from tests.cluster.product.places import in_parallel
from tests.cluster.product.workloads import (
    create_workload,
    pods_of,
    wait_pods,
    workload,
    workload_path,
)
from webhook.terms import HEALTH_LABEL, HEALTH_OBJECT, UNHEALTHY_TAINT, VERDICTS_ANNOTATION

SECONDS = 60.0

FAST: Mapping[str, Any] = {
    "observations": {"every": "1s", "bad": 3, "good": 2},
    "recovery": {"after": "4s", "atMost": "1h"},
}
"""Settings with which a test need not wait for minutes."""

_CONFIG_MAP = path("v1", "configmaps", HEALTH_OBJECT, namespace="default")


class Ward:
    """A cluster with a controller whose table has health settings.

    Attributes:
        namespace: Where the test's Pods are.
    """

    def __init__(self, plane: ControlPlane, webhook: Replica, folder: Path, namespace: str) -> None:
        self.plane = plane
        self.controller = Controller("one", plane.kubeconfig, folder)
        self._folder = folder / "second"
        self.webhook = webhook
        self.namespace = namespace
        self._tainted: set[tuple[str, str]] = set()
        self._broken: set[str] = set()

    @property
    def api(self) -> Api:
        """The admin's connection."""
        return self.plane.api

    def begin(self, mode: str, table: Json | None = None, **settings: object) -> None:
        """Use a table with health settings, and start the controller on it."""
        self.use(mode, table, **settings)
        self.controller.start()
        digest = load_table(json.dumps(self._table)).digest
        wait_until(
            lambda: (
                tables.status(self.api).get("digest") == digest
                and tables.condition(self.api, "Health")
            ),
            timeout=SECONDS,
            what="the controller to watch",
            state=self.controller.process.log_end,
        )

    def use(self, mode: str, table: Json | None = None, **settings: object) -> None:
        """Change the table in use, and wait until the webhook decides by it."""
        self._table = table or tables.example()
        self._table["spec"]["health"] = {**FAST, "mode": mode, **settings}
        tables.apply(self.api, self._table)
        digest = load_table(json.dumps(self._table)).digest
        wait_until(
            lambda: self.webhook.digest == digest, timeout=SECONDS, what="the table to be in use"
        )

    def deployment(self, name: str, spec: str, replicas: int, count: int = 1) -> list[Json]:
        """Pods of a Deployment that ask for a spec, once all run."""
        pod = PodBuilder(name).container("main", {f"preferred.jp/{spec}": str(count)})
        create_workload(
            self.api, self.namespace, workload("Deployment", name, pod, replicas=replicas)
        )
        return wait_pods(self.api, self.namespace, name, replicas)

    def is_old(self) -> bool:
        """Whether this Kubernetes drops what tells of single devices by default (1.35)."""
        return self.plane.version == "1.35"

    @contextmanager
    def only(self, *nodes: str) -> Iterator[None]:
        """A time in which the other nodes of a model take no new Pods."""
        model = self.api.get(path("v1", "nodes", nodes[0]))["metadata"]["labels"][MODEL_LABEL]
        alike = self.api.list(NODES, labelSelector=f"{MODEL_LABEL}={model}")
        others = [one["metadata"]["name"] for one in alike if one["metadata"]["name"] not in nodes]
        try:
            for one in others:
                self.api.patch(path("v1", "nodes", one), {"spec": {"unschedulable": True}})
            yield
        finally:
            for one in others:
                self.api.patch(path("v1", "nodes", one), {"spec": {"unschedulable": False}})
            wait_nodes_ready(self.api, others)

    def delete_deployment(self, name: str) -> None:
        """A Deployment is deleted, and its Pods and their claims are gone."""
        self.api.delete(workload_path("Deployment", self.namespace, name))
        wait_until(
            lambda: not pods_of(self.api, self.namespace, name), timeout=SECONDS, what="no Pods"
        )
        wait_claims_gone(self.api, self.namespace)

    def eight_on(self, node: str) -> list[Json]:
        """Eight Pods of a Deployment, each with one device of a node of V100 with 32 GB."""
        with self.only(node):
            pods = self.deployment("web", "gpu-v100-32gb", 8)
        assert {node_of(one) for one in pods} == {node}
        return pods

    def tell(self, pods: Sequence[Json], *unhealthy: int) -> None:
        """The kubelet tells each Pod of its device, some of which are Unhealthy."""
        for number, one in enumerate(pods):
            health = "Unhealthy" if number in unhealthy else "Healthy"
            self.resource_health(one, {f"GPU-{number}": health})

    def pods(self, app: str) -> list[Json]:
        """The Pods of a workload that are there now and not leaving."""
        return [
            one
            for one in pods_of(self.api, self.namespace, app)
            if "deletionTimestamp" not in one["metadata"]
        ]

    @contextmanager
    def without_plugin(self, node: str) -> Iterator[None]:
        """A time in which a node has no device plugin, only a driver."""
        at = path("v1", "nodes", node)
        before = self.api.get(at)["status"]["capacity"][GPU]
        gone = {"capacity": {GPU: None}, "allocatable": {GPU: None}}
        self.api.patch(f"{at}/status", {"status": gone})
        try:
            yield
        finally:
            back = {"capacity": {GPU: before}, "allocatable": {GPU: before}}
            self.api.patch(f"{at}/status", {"status": back})

    @contextmanager
    def serving_resource(self) -> Iterator[None]:
        """A time in which NVIDIA's DeviceClass serves the plugin's resource."""
        at = f"{CLASSES}/{NVIDIA}"
        self.api.patch(at, {"spec": {"extendedResourceName": GPU}})
        try:
            yield
        finally:
            self.api.patch(at, {"spec": {"extendedResourceName": None}})

    def condition(self, node: str, kind: str, status: str, reason: str = "Test") -> None:
        """A monitor sets a condition."""
        self._broken.add(node)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {
            "type": kind,
            "status": status,
            "reason": reason,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        self._status(path("v1", "nodes", node), {"conditions": [condition]})

    def conditions(self, nodes: Iterable[str], kind: str, status: str) -> None:
        """A monitor sets the same condition on many nodes, all at once."""
        in_parallel(lambda node: self.condition(node, kind, status), nodes)

    @contextmanager
    def second(self) -> Iterator[Controller]:
        """A time in which a second controller leads too: it goes by the same name.

        So each takes the other's lease for its own.
        """
        self._folder.mkdir()
        one = Controller(self.controller.name, self.plane.kubeconfig, self._folder)
        try:
            one.start()
            yield one
        finally:
            one.process.stop()

    def allocatable(self, node: str, count: int) -> None:
        """The kubelet withholds devices."""
        self._broken.add(node)
        self._status(path("v1", "nodes", node), {"allocatable": {GPU: str(count)}})

    def resource_health(self, pod: Json, devices: Mapping[str, str], name: str = GPU) -> None:
        """The kubelet tells a Pod of its devices: by id, how they are (KEP-4680)."""
        resources = [{"resourceID": one, "health": health} for one, health in devices.items()]
        (container,) = pod["status"]["containerStatuses"]
        told = [{"name": name, "resources": resources}]
        self._containers(pod, {**container, "allocatedResourcesStatus": told})

    def device_taint(self, node: str, device: str, taint: Json | None) -> None:
        """A DRA driver publishes a device of a node with a taint, or without one."""
        at = f"{SLICES}/{node}-{NVIDIA}"
        self._tainted.add((node, device))
        found = self.api.get(at)
        for one in found["spec"]["devices"]:
            if one["name"] == device:
                one["taints"] = [] if taint is None else [taint]
        found["spec"]["pool"]["generation"] += 1
        self.api.replace(at, found)

    def rules(self) -> list[Json]:
        """The DeviceTaintRules, where there are any."""
        try:
            return self.api.list(path(DRA, "devicetaintrules"))
        except ApiError as error:
            if error.code != httpx.codes.NOT_FOUND:
                raise
            return []

    def crash(self, pod: Json, **fields: object) -> None:
        """A container of a Pod ends with an error, and its kubelet starts it again."""
        (container,) = pod["status"]["containerStatuses"]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ended = {"exitCode": 1, "reason": "Error", "finishedAt": now, **fields}
        self._containers(pod, {**container, "lastState": {"terminated": ended}})

    def end(self, pod: Json) -> None:
        """The kubelet has ended a Pod that is being deleted."""
        self._status(_of_pod(pod), {"phase": "Failed"})

    def reject(self, pod: Json) -> None:
        """The kubelet cannot give a Pod its devices."""
        status = {
            "phase": "Failed",
            "reason": "UnexpectedAdmissionError",
            "message": "Allocate failed due to rpc error: no such device, which is unexpected",
            "containerStatuses": [],
        }
        self._status(_of_pod(pod), status)

    def _containers(self, pod: Json, container: Json) -> None:
        self._status(_of_pod(pod), {"containerStatuses": [container]})

    def taints(self, node: str) -> list[Json]:
        """A node's taints of ours."""
        found = self.api.get(path("v1", "nodes", node))["spec"].get("taints", ())
        return [one for one in found if one["key"] == UNHEALTHY_TAINT]

    def is_suspect(self, node: str) -> bool:
        """Whether a node has our label."""
        labels = self.api.get(path("v1", "nodes", node))["metadata"]["labels"]
        return bool(labels.get(HEALTH_LABEL) == "suspect")

    def cases(self, node: str) -> list[Json]:
        """What is written down about a node and its devices."""
        annotations = self.api.get(path("v1", "nodes", node))["metadata"].get("annotations", {})
        found: list[Json] = json.loads(annotations.get(VERDICTS_ANNOTATION, "{}")).get("cases", [])
        return found

    def wait(self, condition: Callable[[], object], what: str) -> float:
        """Wait for something; in how many seconds it came."""
        started = time.monotonic()
        wait_until(
            condition,
            timeout=SECONDS,
            what=what,
            state=lambda: f"{self.told()}\n{self.controller.process.log_end()}",
        )
        return time.monotonic() - started

    def stays(self, condition: Callable[[], object], seconds: float) -> None:
        """See that something holds for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert condition(), self.told()
            time.sleep(0.1)

    def looked(self) -> None:
        """Wait until the controller has judged what is there now, twice."""
        self.controller.wait_runs("health", 2)

    def actions(self, **labels: str) -> float:
        """How many actions the controller has taken, of those with these labels."""
        return self.controller.total("gpuspec_health_actions_total", **labels)

    def told(self) -> str:
        """What the table's status says about health."""
        status = tables.status(self.api)
        said = [
            f"{one['type']}={one['status']} {one['message']}"
            for one in status.get("conditions", ())
            if one["type"].startswith("Health")
        ]
        return "\n".join([*said, str(status.get("health"))])

    def replaced(self, app: str, gone: Sequence[Json], count: int) -> bool:
        """Whether Pods are gone, and as many as before run."""
        pods = self.pods(app)
        running = [one for one in pods if one["status"].get("phase") == "Running"]
        return len(running) == count and not uids(gone) & uids(pods)

    def heal(self) -> None:
        """End the controller, and bring every node back to what it was."""
        self.controller.process.stop()
        for node in self.api.list(NODES):
            self._heal(node)
        for name, device in sorted(self._tainted):
            self.device_taint(name, device, None)
        for rule in self.rules():
            self.api.delete(path(DRA, "devicetaintrules", rule["metadata"]["name"]))
        if self.api.find(_CONFIG_MAP) is not None:
            self.api.delete(_CONFIG_MAP)

    def _heal(self, node: Json) -> None:
        at = path("v1", "nodes", node["metadata"]["name"])
        taints = [t for t in node["spec"].get("taints", ()) if t["key"] != UNHEALTHY_TAINT]
        metadata = {
            "labels": {HEALTH_LABEL: None},
            "annotations": {VERDICTS_ANNOTATION: None},
        }
        self.api.patch(at, {"metadata": metadata, "spec": {"taints": taints}})
        if node["metadata"]["name"] in self._broken:
            kept = [
                one
                for one in node["status"]["conditions"]
                if one["type"] in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
                or one["type"] == "NetworkUnavailable"
            ]
            status = {"conditions": kept, "allocatable": node["status"]["capacity"]}
            self.api.patch(f"{at}/status", {"status": status})

    def _status(self, at: str, status: Json) -> None:
        self.api.patch(f"{at}/status", {"status": status}, kind="strategic")


def _of_pod(pod: Json) -> str:
    metadata = pod["metadata"]
    return path("v1", "pods", metadata["name"], namespace=metadata["namespace"])


def uids(pods: Iterable[Json]) -> set[str]:
    """Tells Pods from others that have, or had, their names."""
    return {one["metadata"]["uid"] for one in pods}
