"""What is done to devices: rules of ours, and nobody else's (H7, H10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from selection_spec.health import Mode
from tests.webhook.controllers.health_stage import NODES, RULES, Json, Server, node, pod
from webhook.controllers.health_acts import Applier, Result
from webhook.health.actions import Action, Doing
from webhook.health.cases import Mark
from webhook.health.fences import rule_name
from webhook.health.subjects import Subject, dra_subject, node_subject, plugin_subject
from webhook.inventory.pod_facts import pod_facts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError

DEVICE = dra_subject("n0", "gpu.nvidia.com", "n0", "gpu-3")
AT = f"{RULES}/{rule_name(DEVICE)}"


def act(server: Server, doing: Doing, effect: str = "", served: str | None = RULES) -> Result:
    action = Action(doing, DEVICE, Mode.EVICT, effect=effect)
    return Applier(cast("Cluster", server)).apply(action, served).result


@pytest.mark.rule("H7")
def test_a_rule_has_no_effect_at_first_and_then_keeps_pods_away() -> None:
    server = Server()
    assert act(server, Doing.RULE, "None") is Result.DONE
    rule = server.get(AT)
    assert rule["apiVersion"] == "resource.k8s.io/v1"
    assert rule["spec"]["deviceSelector"] == {
        "driver": "gpu.nvidia.com",
        "pool": "n0",
        "device": "gpu-3",
    }
    assert rule["spec"]["taint"]["effect"] == "None"
    assert act(server, Doing.RULE, "None") is Result.NEEDLESS
    assert act(server, Doing.RULE, "NoSchedule") is Result.DONE
    assert server.get(AT)["spec"]["taint"]["effect"] == "NoSchedule"
    assert act(server, Doing.UNRULE) is Result.DONE
    assert act(server, Doing.UNRULE) is Result.NEEDLESS
    assert AT not in server.objects


@pytest.mark.rule("H10")
@pytest.mark.parametrize(
    ("doing", "result"), [(Doing.RULE, Result.FAILED), (Doing.UNRULE, Result.NEEDLESS)]
)
def test_a_rule_of_somebody_else_with_our_name_stays(doing: Doing, result: Result) -> None:
    server = Server()
    theirs = {"metadata": {"name": rule_name(DEVICE)}, "spec": {"taint": {"key": "x"}}}
    server.put(AT, theirs)
    assert act(server, doing, "NoSchedule") is result
    assert server.get(AT)["spec"] == theirs["spec"]


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    ("doing", "result"), [(Doing.RULE, Result.FAILED), (Doing.UNRULE, Result.NEEDLESS)]
)
def test_without_rules_nothing_is_asked(doing: Doing, result: Result) -> None:
    server = Server()
    assert act(server, doing, "None", served=None) is result
    assert server.writes == []


@pytest.mark.parametrize("code", [403, 500])
def test_what_is_refused_is_told(code: int) -> None:
    server = Server()

    def refuse(verb: str, path: str) -> None:
        raise ApiError(f"{verb} {path}", code, "No", "not you")

    server.before_write = refuse
    assert act(server, Doing.RULE, "None") is Result.FAILED


def put_rule(server: Server, **taint: str) -> Json:
    """Put our rule, as somebody has bent it."""
    act(server, Doing.RULE, "None")
    rule = server.get(AT)
    rule["spec"]["taint"] |= taint
    server.put(AT, rule)
    return rule


@pytest.mark.rule("H7")
@pytest.mark.parametrize("effect", ["None", "NoSchedule"])
def test_a_rule_of_ours_that_has_another_key_is_set_right(effect: str) -> None:
    server = Server()
    put_rule(server, key="other", effect=effect)
    assert act(server, Doing.RULE, effect) is Result.DONE
    assert server.get(AT)["spec"]["taint"]["key"] == "gpuspec.preferred.jp/unhealthy"
    assert act(server, Doing.RULE, effect) is Result.NEEDLESS


POD = "/api/v1/namespaces/team/pods/web"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
WHERE = "spec.nodeName=n0,spec.driver=gpu.nvidia.com"


class Sliced(Server):
    """A server with ResourceSlices, of which only those of a node and a driver are asked for."""

    def items(self, path: str, **query: str) -> Iterator[Json]:
        assert query == {"fieldSelector": WHERE}
        return super().items(path)


def evict(server: Server, subject: Subject, fence: Mark = Mark.NONE) -> tuple[Result, str]:
    """Ask for the eviction of a Pod on a node; return what became of it, and why."""
    server.put(f"{NODES}/n0", server.objects.get(f"{NODES}/n0", node("n0")))
    server.put(POD, pod("web", "n0"))
    action = Action(Doing.EVICT, subject, Mode.EVICT, pod_facts(server.get(POD)), fence=fence)
    outcome = Applier(cast("Cluster", server)).apply(action, RULES)
    assert (server.evicted == ["web"]) is (outcome.result is Result.DONE)
    return outcome.result, outcome.why


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("left", "result"),
    [("3", Result.DONE), ("4", Result.NEEDLESS), ("0", Result.NEEDLESS)],
)
def test_a_kubelet_that_withholds_a_device_is_read_back(left: str, result: Result) -> None:
    server = Server()
    withholding = node("n0")
    withholding["status"]["allocatable"] = {"nvidia.com/gpu": left}
    server.put(f"{NODES}/n0", withholding)
    found, why = evict(server, plugin_subject("n0", "nvidia.com/gpu", "GPU-1"))
    assert found is result
    assert why in ("", "node n0 no longer withholds nvidia.com/gpu")


def published(effect: str, generation: int, device: str = "gpu-3", pool: str = "n0") -> Json:
    """A slice in which a driver taints a device."""
    taints = [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": effect}]
    return {
        "metadata": {"name": f"{pool}-{generation}"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n0",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": 2},
            "devices": [{"name": device, "taints": taints}],
        },
    }


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("slices", "result"),
    [
        ([published("NoSchedule", 1)], Result.DONE),
        ([published("NoExecute", 1)], Result.DONE),
        ([published("None", 1)], Result.NEEDLESS),
        ([published("NoSchedule", 1, "gpu-4")], Result.NEEDLESS),
        ([published("NoSchedule", 1, pool="other")], Result.NEEDLESS),
        ([published("NoSchedule", 1), published("None", 2)], Result.NEEDLESS),
        ([published("None", 1), published("NoSchedule", 2)], Result.DONE),
        ([], Result.NEEDLESS),
    ],
)
def test_a_driver_that_taints_its_device_is_read_back(slices: list[Json], result: Result) -> None:
    server = Sliced()
    for one in slices:
        server.put(f"{SLICES}/{one['metadata']['name']}", one)
    found, why = evict(server, DEVICE)
    assert found is result
    assert why in ("", "its driver no longer taints gpu.nvidia.com/n0/gpu-3")


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("taint", "result"),
    [
        ({"effect": "NoSchedule"}, Result.DONE),
        ({"effect": "None"}, Result.NEEDLESS),
        ({"effect": "NoSchedule", "key": "other"}, Result.NEEDLESS),
    ],
)
def test_a_rule_is_read_back_and_has_to_say_what_we_said(
    taint: dict[str, str], result: Result
) -> None:
    server = Server()
    put_rule(server, **taint)
    assert evict(server, DEVICE, Mark.RULE)[0] is result


@pytest.mark.rule("H8")
def test_a_rule_for_another_device_keeps_nobody_from_this_one() -> None:
    server = Server()
    rule = put_rule(server, effect="NoSchedule")
    rule["spec"]["deviceSelector"]["device"] = "gpu-4"
    server.put(AT, rule)
    assert evict(server, DEVICE, Mark.RULE)[0] is Result.NEEDLESS


@pytest.mark.rule("H8")
def test_nobody_is_evicted_from_a_node_that_nothing_fences() -> None:
    assert evict(Server(), node_subject("n0"))[0] is Result.NEEDLESS
    assert evict(Server(), node_subject("n0"), Mark.TAINT)[0] is Result.NEEDLESS
