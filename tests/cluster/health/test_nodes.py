"""A node is at fault, as monitors tell (semantics H2 a, H3, H7)."""

from __future__ import annotations

import pytest

from tests.cluster.health.ward import Ward
from tests.cluster.pods import node_of

_NODE = "mn2b-a100-000"


@pytest.mark.rule("H2", "H3", "H6", "H7")
@pytest.mark.parametrize(
    ("kind", "bad", "good"),
    [("GPUIsLost", "True", "False"), ("AcceleratedHardwareReady", "False", "True")],
)
def test_pods_leave_a_node_at_fault_which_is_free_again_later(
    ward: Ward, kind: str, bad: str, good: str
) -> None:
    ward.condition(_NODE, kind, good)
    ward.begin("Evict")
    with ward.only(_NODE):
        pods = ward.deployment("web", "gpu-a100", 4)
    assert {node_of(one) for one in pods} == {_NODE}
    ward.condition(_NODE, kind, bad)
    tainted = ward.wait(lambda: ward.taints(_NODE), "the taint")
    moved = ward.wait(lambda: ward.replaced("web", pods, 4), "the Pods to run elsewhere")
    print(f"\n{ward.plane.version}: {kind}: taint {tainted:.1f} s, elsewhere {moved:.1f} s later")
    assert tainted + moved < 10
    assert _NODE not in {node_of(one) for one in ward.pods("web")}
    ward.condition(_NODE, kind, good)
    took = ward.wait(lambda: not ward.taints(_NODE), "the taint to be gone")
    assert took >= 4  # the time to recover
    ward.wait(lambda: not ward.is_suspect(_NODE), "the label to be gone")
