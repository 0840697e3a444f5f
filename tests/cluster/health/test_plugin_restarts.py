"""A device plugin that restarts looks as if all of its devices had died (semantics H2 c, e)."""

from __future__ import annotations

import pytest

from tests.cluster.health.ward import Ward, uids
from tests.cluster.pods import node_of
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

_NODE = "mn2a-v100-32-000"
_ROW = [f"mn2a-v100-32-{number:03d}" for number in range(10)]


@pytest.mark.rule("H2")
def test_a_node_without_any_device_is_quarantined_only_with_a_second_signal(ward: Ward) -> None:
    ward.begin("Evict")
    pods = ward.eight_on(_NODE)
    ward.allocatable(_NODE, 0)
    ward.tell(pods, *range(8))
    ward.stays(lambda: not ward.taints(_NODE) and len(ward.pods("web")) == 8, seconds=8)
    assert uids(ward.pods("web")) == uids(pods)
    ward.condition(_NODE, "GPUMissing", "True")
    ward.wait(lambda: ward.taints(_NODE), "the taint")
    ward.wait(lambda: ward.replaced("web", pods, 8), "the Pods to run elsewhere")


@pytest.mark.rule("H2", "H3")
def test_a_device_plugin_that_restarts_all_over_a_row_does_nothing(ward: Ward) -> None:
    ward.begin("Evict")
    pods = ward.deployment("web", "gpu-v100-32gb", 20)
    for node in _ROW:
        ward.allocatable(node, 0)
        for number, one in enumerate(pods):
            if node_of(one) == node:
                ward.resource_health(one, {f"GPU-{number}": "Unhealthy"})
    ward.looked()
    ward.stays(lambda: not any(map(ward.taints, _ROW)), seconds=4)
    for node in _ROW:
        ward.allocatable(node, 8)
    ward.tell(pods)
    ward.stays(lambda: not any(map(ward.taints, _ROW)), seconds=6)
    assert uids(ward.pods("web")) == uids(pods)
    assert ward.actions() == 0
    assert not any(map(ward.is_suspect, _ROW))
