"""``table diff`` of rows that go from one output to the other: whole texts, and the JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from selection_spec.table import load_table
from tests.builders import GPU, Json, asking, make_pod
from tests.webhook.advice.pods import (
    PRODUCTS,
    make_slice,
    moved_document,
    moved_table,
    stored,
)
from tests.webhook.cli.running import answer, run
from tests.webhook.inventory.drivers import claim
from tests.webhook.inventory.fleets import ready_fleet
from webhook.cli.table import diff_live as verb
from webhook.terms import CLAIMS_PATH, CLASSES_PATH, SLICES_PATH

Write = Callable[[str, object], str]

A100 = ("a100-80gb",)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes JSON into a file, and returns its name."""

    def to_file(name: str, value: object) -> str:
        file = tmp_path / name
        file.write_text(json.dumps(value))
        return str(file)

    return to_file


def _slices(nodes: Collection[Json]) -> list[Json]:
    """What a driver offers on every GPU node of the fleet."""
    return [
        make_slice(node["metadata"]["name"], PRODUCTS[model], int(node["status"]["capacity"][GPU]))
        for node in nodes
        if (model := node["metadata"]["labels"].get("gpu-model"))
    ]


def _without_plugin(nodes: Collection[Json], model: str) -> list[Json]:
    """The fleet after the device plugin left the nodes of a model."""
    for node in nodes:
        if node["metadata"]["labels"].get("gpu-model") == model:
            for side in ("capacity", "allocatable"):
                del node["status"][side][GPU]
    return list(nodes)


def _text(old: Json, new: Json, *arguments: str, write: Write, code: int = 0) -> str:
    files = write("old.json", old), write("new.json", new)
    result = run("table", "diff", *files, *arguments)
    assert result.exit_code == code, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    digests = [load_table(json.dumps(one)).digest for one in (old, new)]
    return result.stdout.replace(digests[0], "OLD").replace(digests[1], "NEW")


MOVED = """\
pfn OLD → pfn NEW

Table
  a100-80gb: output: ExtendedResource → ResourceClaim

Outputs
  a100-80gb: nvidia.com/gpu → claims (DeviceClass gpu.nvidia.com)
    Pods created from now on hold claims instead of nvidia.com/gpu; those that
      are there keep what they have
    Kubernetes does not preempt for DRA devices: priority only steers there (C7)
    a ResourceQuota counts them by
      gpu.nvidia.com.deviceclass.resource.k8s.io/devices, every class of a
      claim's alternatives charged, and by count/resourceclaims.resource.k8s.io,
      no longer by requests.nvidia.com/gpu, unless the DeviceClass has
      nvidia.com/gpu as extendedResourceName
"""

SPECS = """
Specs
  warning: gpu-any:1-4 under EveryFit
    loses a100-80gb; D9: a100-80gb has another output than v100-16gb
  warning: gpu-any-24gb:1-4, gpu-any-32gb:1-4 under EveryFit
    loses a100-80gb; D9: a100-80gb has another output than v100-32gb
"""


@pytest.mark.rule("C7", "D9")
def test_one_row_is_moved_to_claims(write: Write) -> None:
    assert _text(moved_document(()), moved_document(A100), write=write) == MOVED + SPECS


@pytest.mark.rule("C7")
def test_all_rows_are_moved_back(write: Write) -> None:
    assert (
        _text(moved_document(), moved_document(()), write=write)
        == """\
pfn OLD → pfn NEW

Table
  v100-16gb, v100-32gb, a30-24gb, a100-80gb: output: ResourceClaim →
    ExtendedResource

Outputs
  v100-16gb, v100-32gb, a30-24gb, a100-80gb: claims (DeviceClass gpu.nvidia.com)
    → nvidia.com/gpu
    Pods created from now on hold nvidia.com/gpu instead of claims; those that
      are there keep what they have
    Kubernetes preempts Pods of lower priority for them again, unless a DRA
      driver serves nvidia.com/gpu (C7)
    a ResourceQuota counts them by requests.nvidia.com/gpu, no longer by
      gpu.nvidia.com.deviceclass.resource.k8s.io/devices and
      count/resourceclaims.resource.k8s.io, unless a DRA driver serves
      nvidia.com/gpu: then by these, too
"""
    )


def _pods(then: Collection[str]) -> Json:
    """Pods that were admitted while some rows were taken by claims; one is named after each."""
    table = moved_table(then)
    specs = {"any": 1, "any_80gb": 1, "v100": 2}
    return {
        "items": [
            stored(asking(**{spec: count}).owner("Job", spec.replace("_", "-")), table)
            for spec, count in specs.items()
        ]
    }


def test_what_the_nodes_and_pods_say(write: Write) -> None:
    nodes = _without_plugin(ready_fleet(), "a100-80gb")
    slices = [one for one in _slices(ready_fleet()) if "a100" in one["spec"]["nodeName"]]
    text = _text(
        moved_document(()),
        moved_document(A100),
        *("--nodes", write("nodes.json", {"items": nodes})),
        *("--slices", write("slices.json", {"items": slices})),
        *("--pods", write("pods.json", _pods(()))),
        write=write,
    )
    assert (
        text
        == MOVED
        + """\
    168 devices on 42 nodes are recognised

Nodes (212 with GPUs)
  4 rows match 212, as before

Specs
  gpu-any:1-4 under EveryFit
    loses a100-80gb; D9: a100-80gb has another output than v100-16gb
  gpu-any-24gb:1-4, gpu-any-32gb:1-4 under EveryFit
    loses a100-80gb; D9: a100-80gb has another output than v100-32gb
  gpu-any-80gb, gpu-a100
    no node could serve it, now 42 can

Pods (3 judged, 1 as before)
  warning: otherwise, 1 Pod
    loses a100-80gb
      team-a/Job/any: 1 pending
  otherwise, 1 Pod
    nvidia.com/gpu becomes claims
      team-a/Job/any-80gb: 1 pending
"""
    )


def test_devices_that_are_given_out_twice_are_a_warning(write: Write) -> None:
    text = _text(
        moved_document(()),
        moved_document(A100),
        *("--nodes", write("nodes.json", {"items": ready_fleet()})),
        *("--slices", write("slices.json", {"items": _slices(ready_fleet())})),
        write=write,
    )
    assert text.startswith(
        MOVED
        + """\
    168 devices on 42 nodes are recognised
    warning: 42 nodes offer their devices as nvidia.com/gpu too, so that each
      would be given out twice: mn2b-a100-000, mn2b-a100-001, mn2b-a100-002,
      mn2b-a100-003 and 38 more; take the device plugin off these nodes first,
      and let the Pods there end
"""
    )


@pytest.mark.rule("D7")
def test_who_still_holds_devices_is_told_before_both_moves(write: Write) -> None:
    nodes = _without_plugin(ready_fleet(), "a100-80gb")
    slices = [one for one in _slices(ready_fleet()) if "a100" in one["spec"]["nodeName"]]
    name = slices[0]["spec"]["nodeName"]
    plain = make_pod().container("main", {GPU: 3}).spec(nodeName=name).build()
    live = (
        *("--nodes", write("nodes.json", {"items": nodes})),
        *("--slices", write("slices.json", {"items": slices})),
        *("--claims", write("claims.json", {"items": [claim("gpu-0", "gpu-1", at=name)]})),
        *("--pods", write("pods.json", {"items": [plain, *_pods(())["items"]]})),
    )
    way_in = _text(moved_document(()), moved_document(A100), *live, write=write)
    assert (
        """\
    168 devices on 42 nodes are recognised
    warning: 1 Pod still holds nvidia.com/gpu on 1 node of these rows: a DRA
      driver does not know that, and gives the same cards out again; let them
      end first
"""
        in way_in
    )
    way_back = _text(moved_document(A100), moved_document(()), *live, write=write, code=1)
    assert (
        """\
    warning: 1 claim still holds devices on 1 node of these rows: a device
      plugin does not know that, and gives the same cards out again; let their
      Pods end first
"""
        in way_back
    )


@pytest.mark.rule("C3")
def test_a_selector_that_is_refused_is_an_error_for_whoever_would_name_it(write: Write) -> None:
    new = moved_document()
    new["spec"]["devices"][3]["claim"]["selectors"] = [{"cel": {"expression": "device.x == 1"}}]
    pods = {"items": [stored(asking(a100=1).owner("Job", "j"), moved_table(()))]}
    text = _text(moved_document(()), new, "--pods", write("pods.json", pods), write=write, code=1)
    assert (
        """\
    error: a100-80gb: a selector of its claim is refused by the API server:
      device has no x
"""
        in text
    )
    assert (
        """\
Specs
  error: gpu-any:1-4, gpu-any-24gb:1-4, gpu-any-32gb:1-4 under EveryFit
    its Pods would never start: a100-80gb: a selector of its claim is refused by
      the API server: device has no x
  error: gpu-any-80gb, gpu-a100
    its Pods would never start: a100-80gb: a selector of its claim is refused by
      the API server: device has no x

Pods (1 judged, 0 as before; without nodes nobody is seen to move)
  error: stranded, 1 Pod
    it would never start: a100-80gb: a selector of its claim is refused by the
    API server: device has no x
      team-a/Job/j: 1 pending
"""
        in text
    )
    again = _text(new, new | {"metadata": {"name": "pfn"}}, write=write)
    assert "never start" not in again


def test_a_claim_that_recognises_nothing_takes_all_nodes(write: Write) -> None:
    new = moved_document(A100)
    new["spec"]["devices"][3]["claim"]["products"] = ["NVIDIA A100-PCIE-80GB"]
    text = _text(
        moved_document(()),
        new,
        *("--nodes", write("nodes.json", {"items": ready_fleet()})),
        *("--slices", write("slices.json", {"items": _slices(ready_fleet())})),
        write=write,
        code=1,
    )
    assert (
        "    error: the claim of a100-80gb recognises no device of any ResourceSlice; see\n"
        "      claim.driver and claim.products, and that the driver runs on the nodes\n"
    ) in text
    assert (
        "  error: gpu-any-80gb, gpu-a100\n"
        "    loses its 42 nodes: claims for a100-80gb recognise no device there\n"
    ) in text


@pytest.mark.parametrize(
    ("then", "old", "new", "said"),
    [
        ((), A100, A100, "same"),
        (A100, (), A100, "nvidia.com/gpu becomes claims"),
        (A100, A100, (), "claims become nvidia.com/gpu"),
    ],
    ids=["from before the last move", "from before a move back", "that hold claims"],
)
def test_pods_are_judged_by_what_they_asked(
    then: Collection[str], old: Collection[str], new: Collection[str], said: str, write: Write
) -> None:
    """However they hold their devices today, nobody is a Pod of which nothing can be told."""
    pods = {"items": [stored(asking(a100=1).owner("Job", "j"), moved_table(then))]}
    found = answer(
        run(
            *("table", "diff", write("o.json", moved_document(old))),
            *(write("n.json", moved_document(new)), "-o", "json"),
            *("--pods", write("pods.json", pods)),
        )
    )
    judged = {owner["reason"] for owner in found["pods"]["owners"]} or {"same"}
    assert judged == {said}


def test_other_products_are_other_devices(write: Write) -> None:
    new = moved_document()
    new["spec"]["devices"][3]["claim"] |= {
        "products": ["NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-80GB"],
        "selectors": [{"cel": {"expression": "true"}}],
    }
    pods = {"items": [stored(asking(a100=1).owner("Job", "j"), moved_table())]}
    text = _text(moved_document(), new, "--pods", write("pods.json", pods), write=write)
    assert (
        text
        == """\
pfn OLD → pfn NEW

Table
  a100-80gb: claim.products: NVIDIA A100-SXM4-80GB → NVIDIA A100-PCIE-80GB,
    NVIDIA A100-SXM4-80GB
  a100-80gb: claim.selectors: none → true

Pods (1 judged, 0 as before; without nodes nobody is seen to move)
  otherwise, 1 Pod
    the same rows, and claims that mean other devices of them
      team-a/Job/j: 1 pending
"""
    )


@pytest.mark.rule("D8")
def test_other_costs_are_another_order_of_alternatives(write: Write) -> None:
    """Without preferences for nodes the order stands in the claim alone."""
    old, new = (moved_document(preferCheaper=False) for _ in "on")
    new["spec"]["devices"][3]["cost"] = 0
    pods = {"items": [stored(asking(any=1).owner("Job", "j"), load_table(json.dumps(old)))]}
    text = _text(old, new, "--pods", write("pods.json", pods), write=write)
    assert text.endswith(
        """\
  otherwise, 1 Pod
    the same devices preferred in another order
      team-a/Job/j: 1 pending
"""
    )


class _Cluster:
    """Has the nodes of the fleet with its slices, and the DeviceClasses that are given."""

    def __init__(self, *classes: str) -> None:
        self._lists: dict[str, list[Json]] = {
            "/api/v1/nodes": _without_plugin(ready_fleet(), "a100-80gb"),
            "/api/v1/pods": _pods(())["items"],
            SLICES_PATH: _slices(ready_fleet()),
            CLAIMS_PATH: [],
            CLASSES_PATH: [{"metadata": {"name": name}, "spec": {}} for name in classes],
        }

    def items(self, path: str, **_: str) -> Iterator[Json]:
        return iter(self._lists[path])


@pytest.mark.rule("C3")
@pytest.mark.parametrize("name", ["gpu.nvidia.com", "mig.nvidia.com"])
def test_a_cluster_without_the_device_class(
    name: str, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    @contextmanager
    def asked(_: object) -> Iterator[_Cluster]:
        yield _Cluster(name)

    monkeypatch.setattr(verb, "asked", asked)
    is_there = name == "gpu.nvidia.com"
    old, new = write("o.json", moved_document(())), write("n.json", moved_document(A100))
    found = answer(
        run("table", "diff", old, new, "--cluster", "-o", "json"), code=0 if is_there else 1
    )
    missing = (
        "DeviceClass gpu.nvidia.com does not exist, so nobody gets these rows; install the "
        "driver, or mend claim.deviceClassName"
    )
    assert found["moves"] == [
        {
            "rows": ["a100-80gb"],
            "old": "nvidia.com/gpu",
            "new": "ResourceClaim",
            "deviceClass": "gpu.nvidia.com",
            "quota": {
                "old": "requests.nvidia.com/gpu",
                "new": "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
            },
            "problems": [] if is_there else [{"level": "error", "text": missing}],
            **({"devices": 168, "nodes": 42} if is_there else {}),
        }
    ]
    assert found["pods"]["fates"]["denied"] == (0 if is_there else 1)
