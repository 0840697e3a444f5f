"""What is done to devices: rules of ours, and nobody else's (H7, H10)."""

from __future__ import annotations

from typing import cast

import pytest

from selection_spec.health import Mode
from tests.webhook.controllers.health_stage import RULES, Server
from webhook.controllers.health_acts import Applier, Result
from webhook.health.actions import Action, Doing
from webhook.health.fences import rule_name
from webhook.health.subjects import dra_subject
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
