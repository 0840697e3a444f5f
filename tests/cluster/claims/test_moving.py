"""An admin moves a row from one output to the other: what is told beforehand is what comes.

The fleet's devices are offered by a device plugin and by a driver, so that both ways work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from selection_spec.rows import Output
from selection_spec.table import load_table
from tests.builders import Json, asking
from tests.cluster.api import path, wait_until
from tests.cluster.claims.devices import NVIDIA
from tests.cluster.claims.fleet import CLASSES, device_class, fleets_table
from tests.cluster.claims.running import Gpuspec
from tests.cluster.fleet import GPU
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.product.places import fresh_namespace, model_of
from tests.cluster.versions import ON_NEWEST
from tests.webhook.cli.running import answer, run

pytestmark = ON_NEWEST

A100 = "a100-80gb"


def asked_of(gpuspec: Gpuspec, *arguments: str) -> tuple[str, ...]:
    return (*arguments, "--cluster", "--kubeconfig", str(gpuspec.plane.kubeconfig))


def with_a100_by(output: Output) -> Json:
    """The fleet's table, every row taken by its resource but the A100's."""
    table = fleets_table(output=Output.EXTENDED_RESOURCE)
    for row in table["spec"]["devices"]:
        if row["name"] == "a100":
            row["output"] = output
    return table


def test_a_generated_table_recognises_every_device(gpuspec: Gpuspec, tmp_path: Path) -> None:
    made = run(*asked_of(gpuspec, "table", "generate"))
    assert made.exit_code == 0, made.stderr
    assert made.stderr == "4 rows for 212 GPU nodes, 1 to finish\n"  # which class is high
    table = load_table(made.stdout)
    assert {(row.output, row.resource) for row in table.rows} == {(Output.EXTENDED_RESOURCE, GPU)}
    assert {row.claim.device_class for row in table.rows if row.claim} == {NVIDIA}

    file = tmp_path / "table.yaml"
    file.write_text(made.stdout)
    linted = run(*asked_of(gpuspec, "table", "lint", str(file)))
    assert linted.exit_code == 0, linted.output
    assert "error" not in linted.stdout

    claimed = fleets_table()
    claimed["spec"]["devices"] = [
        {**row, "output": "ResourceClaim"} for row in _spec_of(made.stdout)["devices"]
    ]
    with gpuspec.serving(claimed):
        at = path("gpuspec.preferred.jp/v1alpha1", "selectiontables", "default")
        status = wait_until(
            lambda: _rows_with_devices(gpuspec.api.get(at)), timeout=60.0, what="devices counted"
        )
    assert status == {"v100-16gb": 768, "v100-32gb": 256, "a30-24gb": 252, A100: 168}


def _spec_of(text: str) -> Json:
    spec: Json = yaml.safe_load(text)["spec"]
    return spec


def _rows_with_devices(table: Json) -> dict[str, int] | None:
    rows = {one["id"]: one["devices"] for one in table["status"].get("rows", ())}
    return rows if all(rows.values()) else None


@pytest.mark.rule("C7", "D9", "N1", "C1")
def test_the_a100_row_moves_to_claims_and_back(gpuspec: Gpuspec, tmp_path: Path) -> None:
    by_resource, by_claims = (with_a100_by(one) for one in Output)
    files = {}
    for name, table in (("resource", by_resource), ("claims", by_claims)):
        files[name] = tmp_path / f"{name}.json"
        files[name].write_text(json.dumps(table))

    def diff(new: str, code: int = 0) -> Json:
        arguments = ("table", "diff", "cluster:default", str(files[new]), "-o", "json")
        found: Json = answer(run(*asked_of(gpuspec, *arguments)), code)
        return found

    with fresh_namespace(gpuspec.api) as namespace:

        def create(name: str) -> Json:
            create_pod(gpuspec.api, namespace, asking(a100=1).metadata(name=name).build())
            node = wait_decided(gpuspec.api, namespace, [name])[name]
            assert node is not None
            assert model_of(node) == A100
            return gpuspec.api.get(path("v1", "pods", name, namespace=namespace))

        def reasons(found: Json) -> dict[str, str]:
            owners = found["pods"]["owners"]
            return {one["owner"]: one["reason"] for one in owners if one["namespace"] == namespace}

        with gpuspec.serving(by_resource):
            first = create("first")
            there = diff("claims")
            (move,) = there["moves"]
            assert (move["rows"], move["devices"], move["nodes"]) == ([A100], 168, 42)
            twice, held = (one["text"] for one in move["problems"])
            assert twice.startswith(f"42 nodes offer their devices as {GPU} too")
            assert held.startswith(f"1 Pod still holds {GPU} on 1 node of these rows: ")
            assert reasons(there) == {"Pod/first": f"{GPU} becomes claims"}
        with gpuspec.serving(by_claims):
            second = create("second")
            back = diff("resource")
            (move,) = back["moves"]
            (held,) = (one["text"] for one in move["problems"])
            assert move["new"] == GPU
            assert held.startswith("1 claim still holds devices on 1 node of these rows: ")
            assert reasons(back) == {
                "Pod/first": f"claims become {GPU}",
                "Pod/second": f"claims become {GPU}",
            }
            assert _held(gpuspec.api.get(path("v1", "pods", "first", namespace=namespace))) == (
                _held(first)
            )
        with gpuspec.serving(by_resource):
            third = create("third")
    assert [_held(one) for one in (first, second, third)] == [(GPU,), ("claim",), (GPU,)]


def _held(pod: Json) -> tuple[str, ...]:
    """What a Pod holds its device by."""
    (container,) = pod["spec"]["containers"]
    resources = container["resources"]
    return (*resources.get("limits", {}), *("claim" for _ in resources.get("claims", ())))


@pytest.mark.rule("C3")
def test_a_device_class_that_is_missing_is_told_beforehand(
    gpuspec: Gpuspec, tmp_path: Path
) -> None:
    file = tmp_path / "new.json"
    file.write_text(json.dumps(with_a100_by(Output.RESOURCE_CLAIM)))
    with gpuspec.serving(with_a100_by(Output.EXTENDED_RESOURCE)), without_class(gpuspec):
        arguments = ("table", "diff", "cluster:default", str(file), "-o", "json")
        found = answer(run(*asked_of(gpuspec, *arguments)), code=1)
        (move,) = found["moves"]
        assert move["problems"] == [
            {
                "level": "error",
                "text": f"DeviceClass {NVIDIA} does not exist, so nobody gets these rows; install "
                "the driver, or mend claim.deviceClassName",
            }
        ]


@contextmanager
def without_class(gpuspec: Gpuspec) -> Iterator[None]:
    made = device_class()
    gpuspec.api.delete(f"{CLASSES}/{made['metadata']['name']}")
    try:
        yield
    finally:
        gpuspec.api.create(CLASSES, made)
