"""What the controller makes of what Pods bring along, and what it never makes (C2, C3)."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from tests.answers import admitted
from tests.builders import Json, asking, claim_row, make_table
from webhook.placement.templates import (
    canonical,
    malformed,
    refusal,
    template,
    template_name,
    wanted,
)
from webhook.snapshot import Snapshot

CLASSES = {"gpu.nvidia.com"}
CLAIMS = "gpuspec.preferred.jp/claims"

_POD = admitted(asking(any=1), Snapshot(make_table(claim_row("a30-24gb"), claim_row("a100-40gb"))))
((_NAME, _SPEC),) = json.loads(_POD["metadata"]["annotations"][CLAIMS]).items()


@pytest.mark.rule("C2", "C3")
def test_what_admission_writes_is_made_as_it_is() -> None:
    assert wanted(_POD) == {_NAME: _SPEC}
    assert refusal(_SPEC, CLASSES) == ""
    assert template(_NAME, _SPEC, "team") == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": _NAME,
            "namespace": "team",
            "labels": {"gpuspec.preferred.jp/template": "gpu"},
        },
        "spec": {"spec": _SPEC},
    }


@pytest.mark.rule("C2")
def test_a_name_is_a_hash_of_the_content_in_any_order() -> None:
    turned = json.loads(json.dumps(_SPEC), object_pairs_hook=lambda pairs: dict(reversed(pairs)))

    assert template_name(turned) == _NAME
    assert canonical(turned) == canonical(_SPEC)
    assert len(_NAME) == len("gpuspec-") + 32


def _changed(**fields: object) -> Json:
    """The content with a field in its first alternative."""
    spec: Json = deepcopy(_SPEC)
    spec["devices"]["requests"][0]["firstAvailable"][0] |= fields
    return spec


def _request(**fields: object) -> Json:
    spec: Json = deepcopy(_SPEC)
    spec["devices"]["requests"][0] |= fields
    return spec


_NO_OBJECT = "an object with deviceClassName, selectors, allocationMode, count is missing"
_NO_ALTERNATIVE = _NO_OBJECT.replace("with ", "with name, ")
_AS_WE_WRITE = "its names, selectors, allocationMode or count are not as we write them"


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, "it lacks devices"),
        ({"devices": {}}, "it lacks requests"),
        ({"devices": []}, "an object with requests is missing"),
        ({"devices": {"requests": []}}, "it does not have exactly one request"),
        ({"devices": {"requests": ["x"]}}, "an object with name, exactly is missing"),
        ({"devices": {"requests": [5]}}, "an object with name, exactly is missing"),
        ({"devices": {"requests": [{"name": "gpu", "exactly": 5}]}}, _NO_OBJECT),
        (_request(firstAvailable=[5]), _NO_ALTERNATIVE),
        (_changed(selectors=[{"cel": {"expression": "\ud800"}}]), _AS_WE_WRITE),
        ({"devices": {**_SPEC["devices"], "config": []}}, "it holds config"),
        ({"devices": {**_SPEC["devices"], "constraints": []}}, "it holds constraints"),
        (_request(exactly={}), "it holds exactly"),
        (_request(firstAvailable=[]), "firstAvailable does not have 1 to 8 alternatives"),
        (_changed(adminAccess=True), "it holds adminAccess"),
        (_changed(**{"\ud800\n" + "x" * 90: 1}), "it holds \\ud800\\n" + "x" * 38),
        (_changed(**dict.fromkeys("qrstuv")), "it holds q, r, s, t and 2 more"),
        (_changed(name="A b"), _AS_WE_WRITE),
        (_changed(name=5), _AS_WE_WRITE),
        (_request(name=""), _AS_WE_WRITE),
        (_changed(tolerations=[]), "it holds tolerations"),
        (_changed(capacity={}), "it holds capacity"),
        (_changed(allocationMode="All"), _AS_WE_WRITE),
        (_changed(count="1"), _AS_WE_WRITE),
        (_changed(count=True), _AS_WE_WRITE),
        (_changed(selectors={}), _AS_WE_WRITE),
        (_changed(selectors=[{"cel": "x"}]), _AS_WE_WRITE),
        (_changed(selectors=[{"cel": {"expression": 1}}]), _AS_WE_WRITE),
        (_changed(deviceClassName=["x"]), _AS_WE_WRITE),
        (_changed(deviceClassName="é" * 99), "no SelectionTable asks DeviceClass " + "\\xe9" * 40),
        (_changed(deviceClassName="root"), "no SelectionTable asks DeviceClass root"),
    ],
)
def test_what_is_never_made(spec: Json, why: str) -> None:
    assert refusal(spec, CLASSES) == why
    assert bool(malformed(spec)) is not why.startswith("no SelectionTable")


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    "annotation",
    [
        None,
        5,
        "",
        "[",
        "[]",
        "{}",
        json.dumps({_NAME: {}}),
        json.dumps({"x": _SPEC}),
        "[" * 100_000,
    ],
    ids=["none", "number", "empty", "broken", "list", "nothing", "spoilt", "other name", "deep"],
)
def test_what_does_not_hash_to_its_name_is_not_there(annotation: object) -> None:
    pod = deepcopy(_POD)
    pod["metadata"]["annotations"][CLAIMS] = annotation

    assert wanted(pod) == {}


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    "claims",
    [None, {}, [None], [{}], [{"name": "x", "resourceClaimName": _NAME}]],
)
def test_what_the_pod_does_not_name_is_not_wanted(claims: object) -> None:
    pod = deepcopy(_POD)
    pod["spec"]["resourceClaims"] = claims

    assert wanted(pod) == {}
    assert wanted({}) == {}
    odds: tuple[object, ...] = (None, 5, [], {"annotations": 5, "resourceClaims": {"x": 5}})
    for odd in odds:
        assert wanted({"metadata": odd, "spec": odd}) == {}
