"""Little clusters of raw objects, as the API server has them, read and judged like real ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from selection_spec.health import HealthPolicy, Mode
from selection_spec.table import Table
from tests.builders import DRIVER, GPU, Json, claim_row, make_row, make_table
from webhook.health.actions import Action, Doing
from webhook.health.decisions import Decision
from webhook.health.gather import Facts, Homes, devices_of
from webhook.health.moment import Moment
from webhook.health.observed import Holdings, Observed
from webhook.health.records import State
from webhook.health.step import Step, step
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.daemon_facts import daemon_facts
from webhook.inventory.facts import node_facts
from webhook.inventory.job_facts import job_facts
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.rule_facts import rule_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.times import written

NOW: Final = 1_800_000_000.0
ROW: Final = "a100-80gb"
OTHER_ROW: Final = "v100-16gb"
DRA_ROW: Final = "h100-80gb"

POLICY: Final = HealthPolicy(mode=Mode.EVICT, evict_after_s=0.0)
TAINT: Final[Json] = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}


@cache
def table() -> Table:
    """Two rows with a device plugin's GPUs, one with those of a DRA driver."""
    return make_table(make_row(ROW), make_row(OTHER_ROW), claim_row(DRA_ROW))


def condition(type_: str, status: object = "True", reason: str = "", age: float = 3600.0) -> Json:
    """A node's condition; ``age`` is for how many seconds it has had this status."""
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "lastTransitionTime": written(NOW - age),
    }


def node(  # noqa: PLR0913 - one a field
    name: str = "n1",
    *conditions: Json,
    row: str = ROW,
    gpus: int | None = 8,
    allocatable: int | None = None,
    taints: Sequence[Json] = (),
    labels: Mapping[str, str] | None = None,
    ready: str = "True",
    boot: str = "boot-1",
    uid: str | None = None,
) -> Json:
    """A node; without ``allocatable`` all of its GPUs are."""
    left = gpus if allocatable is None else allocatable
    capacity, rest = ({} if count is None else {GPU: str(count)} for count in (gpus, left))
    return {
        "metadata": {
            "name": name,
            "uid": uid or f"uid-{name}",
            "labels": {"gpu-model": row, **(labels or {})},
        },
        "spec": {"taints": list(taints)},
        "status": {
            "capacity": {"cpu": "64", **capacity},
            "allocatable": {"cpu": "62", **rest},
            "conditions": [{"type": "Ready", "status": ready}, *conditions],
            "nodeInfo": {"bootID": boot},
        },
    }


def dra_node(name: str = "h1", *conditions: Json, **more: Sequence[Json]) -> Json:
    """A node whose GPUs a DRA driver hands out."""
    return node(name, *conditions, row=DRA_ROW, gpus=None, taints=more.get("taints", ()))


def pod(  # noqa: PLR0913 - one a field
    name: str = "train",
    on: str = "n1",
    *,
    gpus: int = 1,
    namespace: str = "team",
    owner: tuple[str, str] | None = ("ReplicaSet", "web-5d4"),
    group: str = "apps",
    image: str = "repo/train:1",
    created: float = 3600.0,
    tolerations: Sequence[Json] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    metadata: Json | None = None,
    **status: object,
) -> Json:
    """A Pod that holds GPUs; ``owner`` is its controller's kind and name, ``created`` how old."""
    references = (
        []
        if owner is None
        else [
            {
                "apiVersion": "batch/v1" if owner[0] == "Job" else f"{group}/v1",
                "kind": owner[0],
                "name": owner[1],
                "uid": f"uid-{owner[1]}",
                "controller": True,
            },
        ]
    )
    limits = {"limits": {GPU: str(gpus)}} if gpus else {}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
            "ownerReferences": references,
            "creationTimestamp": written(NOW - created),
            **(metadata or {}),
        },
        "spec": {
            "nodeName": on,
            "containers": [{"name": "main", "image": image, "resources": limits}],
            "tolerations": list(tolerations),
        },
        "status": {"phase": "Running", **status},
    }


def told(*devices: tuple[str, str], of: str = GPU) -> list[Json]:
    """``containerStatuses`` that name devices: each one's id and health."""
    resources = [{"resourceID": identity, "health": health} for identity, health in devices]
    return [{"allocatedResourcesStatus": [{"name": of, "resources": resources}]}]


def crashed(
    *ages: float, device: str = "GPU-1", code: int = 1, reason: str = "Error"
) -> list[Json]:
    """``containerStatuses`` of a Pod that ended so many seconds ago, on a device."""
    parts = dict(zip(("lastState", "state"), ages, strict=False))
    ended = {
        part: {"terminated": {"exitCode": code, "reason": reason, "finishedAt": written(NOW - age)}}
        for part, age in parts.items()
    }
    return [{**told((device, "Healthy"))[0], **ended}]


def rejected(name: str, on: str = "n1", age: float = 10.0, **more: object) -> Json:
    """A Pod that the kubelet could not give its devices, so many seconds ago."""
    return pod(
        name,
        on,
        phase="Failed",
        reason="UnexpectedAdmissionError",
        startTime=written(NOW - age),
        **more,  # type: ignore[arg-type]
    )


def device_taint(effect: str, key: str = "gpu.nvidia.com/xid", value: str = "79") -> Json:
    """What a DRA driver says of its device."""
    return {"key": key, "value": value, "effect": effect}


def device_slice(on: str = "h1", count: int = 4, **taints: Json) -> Json:
    """A pool of devices ``gpu-0`` and so on; ``gpu_1=taint`` is what is said of one of them."""
    devices = [
        {
            "name": f"gpu-{number}",
            "taints": [taints[key]] if (key := f"gpu_{number}") in taints else [],
        }
        for number in range(count)
    ]
    return {
        "metadata": {"name": f"slice-{on}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": on,
            "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def claim(
    device: str = "gpu-0",
    on: str = "h1",
    pods: Sequence[str] = ("train",),
    tolerations: Sequence[Json] = (),
) -> Json:
    """A claim that holds a device, reserved for Pods by their names; for one it was made."""
    result: Json = {"driver": DRIVER, "pool": on, "device": device, "request": "gpu"}
    if tolerations:
        result["tolerations"] = list(tolerations)
    reserved = [{"resource": "pods", "name": name, "uid": f"uid-{name}"} for name in pods]
    owner = {"kind": "Pod", "name": pods[0], "controller": True}
    owners = [owner] if len(pods) == 1 else []
    return {
        "metadata": {"name": "claim", "namespace": "team", "ownerReferences": owners},
        "status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved},
    }


def job(name: str = "fit", **spec: object) -> Json:
    """A Job; ``failed`` is how many of its Pods have."""
    failed = spec.pop("failed", 0)
    return {
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"failed": failed},
    }


def daemon(name: str, *tolerations: Json) -> Json:
    """A DaemonSet that runs on every node whose taints it tolerates."""
    return {
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"template": {"spec": {"tolerations": list(tolerations)}}},
    }


@dataclass(frozen=True)
class World:
    """Raw objects, the time, and what is remembered."""

    nodes: Sequence[Json] = ()
    pods: Sequence[Json] = ()
    slices: Sequence[Json] = ()
    claims: Sequence[Json] = ()
    rules: Sequence[Json] | None = None
    jobs: Sequence[Json] = ()
    daemons: Sequence[Json] = ()
    policy: HealthPolicy = POLICY
    now: float = NOW
    state: State = field(default_factory=State)
    paused: Collection[str] = ()

    def observed(self) -> Observed:
        """Read it."""
        held = (claim_facts(one) for one in self.claims)
        facts = Facts(
            nodes={one.name: one for one in map(node_facts, self.nodes)},
            pods=[pod_facts(one) for one in self.pods],
            devices=devices_of(map(slice_facts, self.slices)),
            holdings=Holdings(one for one in held if one is not None),
            rules=None if self.rules is None else [rule_facts(one) for one in self.rules],
            jobs={one["metadata"]["uid"]: job_facts(one) for one in self.jobs},
            daemons=[daemon_facts(one) for one in self.daemons],
        )
        return Homes(table(), Matcher(table())).observed(facts)

    def step(self) -> Step:
        """Judge it once."""
        return step(Moment(self.observed(), self.policy, self.now, self.paused), self.state)

    def after(self, seconds: float = 10.0, **changes: object) -> World:
        """Take one step and return the world so much later, with some of it changed."""
        return replace(
            self,
            state=self.step().state,
            now=self.now + seconds,
            **changes,  # type: ignore[arg-type]
        )

    def observing(self, times: int) -> World:
        """Return it after so many observations that count."""
        return self if times == 0 else self.after().observing(times - 1)


def verdicts(taken: Step) -> dict[str, str]:
    """Verdicts by subject, as sentences have it."""
    return {str(one.case.subject): one.case.verdict.value for one in taken.decisions}


def done(taken: Step) -> list[str]:
    """What is done, a line each: ``taint n1``, ``rule gpu-0 None``, ``evict train``."""
    return [_line(one) for one in taken.actions]


def about(taken: Step, subject: str) -> Decision:
    """The decision about a subject."""
    return next(one for one in taken.decisions if str(one.case.subject) == subject)


def _line(action: Action) -> str:
    match action.doing:
        case Doing.EVICT | Doing.REMOVE:
            assert action.pod is not None
            return f"{action.doing} {action.pod.name}"
        case Doing.TAINT | Doing.UNTAINT:
            return f"{action.doing} {action.subject.node}"
        case Doing.RULE | Doing.UNRULE:
            return f"{action.doing} {action.subject.device} {action.effect}".rstrip()
