"""Builds facts of nodes and Pods, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.builders import GPU
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.pod_facts import Owner, PodFacts


def node(  # noqa: PLR0913 - one a field
    name: str = "n1",
    model: str | None = None,
    devices: int | Mapping[str, int] = 8,
    *,
    taints: tuple[Taint, ...] = (),
    sick: int = 0,
    ready: bool = True,
    cordoned: bool = False,
    **labels: str,
) -> NodeFacts:
    """Facts of a node; ``pool_name`` is the label ``pool-name``; ``sick`` GPUs are withheld."""
    capacity = {GPU: devices} if isinstance(devices, int) else devices
    own = {} if model is None else {"gpu-model": model}
    return NodeFacts(
        name=name,
        labels=own | {key.replace("_", "-"): value for key, value in labels.items()},
        taints=taints,
        capacity=capacity,
        allocatable={key: amount - sick for key, amount in capacity.items()},
        ready=ready,
        cordoned=cordoned,
    )


def nodes(
    count: int,
    model: str | None,
    devices: int | Mapping[str, int] = 8,
    **more: Any,  # noqa: ANN401
) -> list[NodeFacts]:
    """Facts of so many nodes that are alike."""
    return [node(f"{model}-{number}", model, devices, **more) for number in range(count)]


def pod(on: str, count: int, *, finished: bool = False) -> PodFacts:
    """Facts of a Pod that holds GPUs."""
    owner = Owner("Pod", "p")
    return PodFacts("team", "p", "uid", owner, node=on, devices={GPU: count}, finished=finished)
