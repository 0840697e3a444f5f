"""Pods that say by hand what a spec says (GS206)."""

from __future__ import annotations

import pytest

from selection_spec.errors import Level
from tests.webhook.advice.findings.judged import found, ids, pod

BY_HAND = pod("limits: {nvidia.com/gpu: 1}").replace(
    "spec:\n",
    "spec:\n  nodeSelector: {gpu-model: a30-24gb}\n"
    "  tolerations: [{key: gpu-model, value: a30-24gb, effect: NoSchedule}]\n",
)


def test_what_a_spec_says_better_is_noted() -> None:
    (one,) = found(BY_HAND)
    assert (one.rule.id, one.level) == ("GS206", Level.NOTE)
    assert one.message == (
        "nvidia.com/gpu and what leads to its nodes by hand (spec.nodeSelector.gpu-model, "
        "spec.tolerations[0]) say what preferred.jp/gpu-a30-24gb says"
    )
    assert one.hint == "gpuspec convert shows how, and --write does it"
    assert one.source[one.place.column - 1 : one.place.end_column - 1] == "nvidia.com/gpu"


def test_paths_are_those_of_the_document() -> None:
    inner = "".join(f"    {line}\n" for line in BY_HAND.split("spec:\n", 1)[1].splitlines())
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
        f"spec:\n  template:\n    spec:\n{inner}"
    )
    (one,) = found(text)
    assert "spec.template.spec.nodeSelector.gpu-model" in one.message
    assert one.place.path.startswith("spec.template.spec.containers[0].resources.limits")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  tolerations: [{key: gpu-model, value: a30-24gb, effect: NoSchedule}]\n", ""),
        ("nvidia.com/gpu: 1", "cpu: 1"),
        ("kind: Pod", "kind: DaemonSet"),
    ],
    ids=["no toleration", "no device", "a DaemonSet"],
)
def test_where_no_spec_says_the_same_nothing_is_said(before: str, after: str) -> None:
    assert before in BY_HAND
    assert ids(BY_HAND.replace(before, after)) == []


def test_what_stays_by_hand_is_no_hindrance() -> None:
    (one,) = found(BY_HAND.replace("a30-24gb}\n", "a30-24gb, zone: a}\n"))
    assert one.rule.id == "GS206"
    assert "zone" not in one.message
