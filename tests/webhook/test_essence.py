"""The part of a Pod that admission reads: all of it, and nothing that tells replicas apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import (
    Json,
    PodBuilder,
    asking,
    claim_row,
    expression,
    make_pod,
    make_table,
    pfn,
    term,
)
from webhook.admission.essence import essence_of
from webhook.admission.translate import ADMISSION, translate
from webhook.snapshot import Snapshot

MIRROR = {"kubernetes.io/config.mirror": "x"}


class Watched(dict[str, Any]):
    """A dictionary that notes which of its keys somebody asked for."""

    def __init__(self, content: Json) -> None:
        super().__init__(content)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all keys are read: no part can be enough")

    keys = values = items = __iter__  # type: ignore[assignment]


def watched(pod: Json) -> dict[str, Watched]:
    """The Pod with every object watched of which the essence keeps a part, by its path."""
    spec, metadata = Watched(pod["spec"]), Watched(pod["metadata"])
    parts = {"": Watched(pod), "spec": spec, "metadata": metadata}
    for name in ("containers", "initContainers"):
        containers = [Watched(one) for one in pod["spec"].get(name, ())]
        if containers:
            dict.__setitem__(spec, name, containers)
            parts |= {f"spec.{name}[{place}]": one for place, one in enumerate(containers)}
    for name in ("labels", "annotations"):
        part = Watched(pod["metadata"].get(name, {}))
        dict.__setitem__(metadata, name, part)
        parts[f"metadata.{name}"] = part
    dict.__setitem__(parts[""], "spec", spec)
    dict.__setitem__(parts[""], "metadata", metadata)
    return parts


def everything(pod: Json) -> dict[str, set[str]]:
    """What the essence keeps of a Pod that has every field that is ever read."""
    kept = watched(essence_of(pod))
    return {path: set(dict.keys(part)) for path, part in kept.items()}


FULL = (
    make_pod()
    .container("a", any=1)
    .init("i", any=1)
    .selector(gpu_model="a30-24gb")
    .terms(term(expression("zone", "Exists")))
    .tolerates({"operator": "Exists"})
    .spec(
        nodeName="",
        os={"name": "linux"},
        priority=1,
        priorityClassName="high",
        resources={"limits": {"cpu": "1"}},
        resourceClaims=[],
        schedulerName="other",
    )
    .owner("DaemonSet", "d", controller=False)
    .metadata(
        labels={"gpuspec.preferred.jp/spec": "x", "kueue.x-k8s.io/queue-name": "x"},
        annotations={
            **MIRROR,
            "gpuspec.preferred.jp/request": "x",
            "gpuspec.preferred.jp/claims": "x",
        },
    )
)
for _container in FULL._pod["spec"]["containers"] + FULL._pod["spec"]["initContainers"]:
    _container["restartPolicy"] = "Always"

PODS = [
    pytest.param(asking(), id="plain"),
    pytest.param(asking().high(), id="high"),
    pytest.param(FULL, id="mirror"),
    pytest.param(asking().owner("DaemonSet", "d"), id="DaemonSet"),
    pytest.param(asking().owner("ReplicaSet", "d"), id="ReplicaSet"),
    pytest.param(make_pod().init("i", any=1).sidecar("s", any=2).container("a"), id="init"),
    pytest.param(asking().spec(nodeName="n"), id="placed"),
    pytest.param(asking().selector(gpu_model="x"), id="denied by selectors"),
    pytest.param(asking().spec(os={"name": "windows"}), id="denied by os"),
    pytest.param(asking(h100=1), id="denied by name"),
    pytest.param(asking(any_24g=1), id="denied by spelling"),
    pytest.param(asking(0), id="zero"),
    pytest.param(make_pod().container("a"), id="no spec"),
    pytest.param(
        asking().spec(resources={"limits": {"preferred.jp/gpu-any": "1"}}), id="pod level"
    ),
    pytest.param(asking().terms(term(expression("zone", "Exists"))), id="own affinity"),
]


TABLES = [
    pytest.param(pfn(), id="resources"),
    pytest.param(Snapshot(make_table(claim_row("a30-24gb"), claim_row("b-8gb"))), id="claims"),
]


@pytest.mark.rule("D8")
@pytest.mark.parametrize("snapshot", TABLES)
@pytest.mark.parametrize("pod", PODS)
def test_nothing_is_read_that_the_essence_leaves_out(pod: PodBuilder, snapshot: Snapshot) -> None:
    """Not by trying Pods out, but by watching what is asked for on the way."""
    kept = everything(FULL.build())
    parts = watched(pod.build())

    translate(parts[""], ADMISSION, snapshot)

    for path, part in parts.items():
        like = path.replace("[1]", "[0]")
        assert part.asked <= kept[like] | {"metadata", "spec"}, path


@pytest.mark.rule("D8")
@pytest.mark.parametrize("pod", PODS)
def test_the_essence_is_its_own_essence(pod: PodBuilder) -> None:
    essence = essence_of(pod.build())

    assert essence_of(essence) == essence


def test_what_tells_replicas_apart_is_left_out() -> None:
    pod = (
        asking()
        .metadata(
            name="train-7d9-x2k4p",
            generateName="train-7d9-",
            uid="u",
            labels={"pod-template-hash": "7d9", "gpuspec.preferred.jp/spec": "gpu-any"},
            annotations={"checksum": "1"},
        )
        .owner("ReplicaSet", "train-7d9")
        .spec(volumes=[{"name": "kube-api-access-x2k4p"}], hostname="h", restartPolicy="Always")
        .build()
    )
    pod["spec"]["containers"][0] |= {"env": [{"name": "A"}], "image": "app@sha256:0"}

    assert essence_of(pod) == {
        "metadata": {
            "labels": {"gpuspec.preferred.jp/spec": "gpu-any"},
            "annotations": {},
            "ownerReferences": [],
        },
        "spec": {
            "containers": [{"name": "main", "resources": {"limits": {"preferred.jp/gpu-any": 1}}}]
        },
    }


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    "metadata", [None, {}, {"labels": None}, {"labels": {}, "annotations": {}}]
)
def test_what_is_absent_or_null_stays_so(metadata: Json | None) -> None:
    """A patch says whether it adds a parent or a key."""
    pod = {**asking().build(), "metadata": metadata}

    essence = essence_of(pod)

    assert essence.get("metadata") == metadata
    assert ("metadata" in essence) is (metadata is not None)
