"""``gpuspec table lint --cluster``: selectors of the admin's against the devices there are (C3)."""

from __future__ import annotations

import json

import pytest

from selection_spec.errors import Level
from tests.builders import Json, make_row, make_table
from tests.cluster.claims.devices import AMD, MI300X, NVIDIA, V100, slices
from tests.cluster.claims.expressions import OF
from tests.webhook.cli.clusters import CLASSES, SmallCluster
from tests.webhook.cli.running import run
from webhook.cli.table.selectors import of_devices
from webhook.inventory.slice_facts import slice_facts
from webhook.terms import CLASSES_PATH, SLICES_PATH

pytestmark = pytest.mark.rule("C3")

PUBLISHED = list(slices("node-1", (V100, MI300X)))
EXPRESSION = "cel.expression"


def row(*expressions: str, row_id: str = "v100-16gb", driver: str = NVIDIA) -> Json:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    claim = {"deviceClassName": driver, "driver": driver, "selectors": selectors}
    return make_row(row_id, output="ResourceClaim", claim=claim)


def found(*rows: Json, published: list[Json] = PUBLISHED) -> list[tuple[object, str, Level]]:
    problems = of_devices(make_table(*rows), map(slice_facts, published))
    return [((path[1], path[4]), problem.text(), problem.level) for path, problem in problems]


def test_what_no_device_has_is_told_by_row_and_place() -> None:
    amd = f'device.attributes["{AMD}"].?cardIndx.orValue(0) == 1'
    numa = 'device.attributes["resource.kubernetes.io"].?numaNodes.orValue(0) == 1'
    assert found(
        row("true", f"{OF}.?gpuModulID.orValue(0) == 1", numa),
        row(amd, row_id="mi300x-192gb", driver=AMD),
    ) == [
        (
            ("v100-16gb", 1),
            f"v100-16gb: no device of {NVIDIA} has gpuModulID; write gpuModuleID, an int",
            Level.ERROR,
        ),
        (
            ("v100-16gb", 2),
            f"v100-16gb: no device of {NVIDIA} has numaNodes; write numaNode, an int",
            Level.ERROR,
        ),
        (
            ("mi300x-192gb", 0),
            f"mi300x-192gb: no device of {AMD} has cardIndx; write cardIndex, an int",
            Level.ERROR,
        ),
    ]


def test_what_is_wrong_anywhere_is_told_elsewhere() -> None:
    """And what devices have is fine, as is what a driver that offers nothing might have."""
    known = f'device.capacity["{NVIDIA}"].?memory.orValue(quantity("0")).isInteger()'
    assert found(row("devce", f"{OF}.productName == 'x'", known)) == []
    assert found(row(f"has({OF}.odd)"), published=PUBLISHED[1:]) == []
    assert found(make_row("v100-16gb")) == []


def test_a_suspicion_that_devices_confirm_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    expression = f"{OF}.cudaComputeCapability >= 8.0"
    cluster = SmallCluster({}, (), CLASSES)
    cluster._lists |= {
        SLICES_PATH: PUBLISHED,
        CLASSES_PATH: [{"metadata": {"name": NVIDIA}, "spec": {}}],
    }
    monkeypatch.setattr("webhook.kube.cluster.connect", lambda _kubeconfig, _context: cluster)
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "test"},
        "spec": {"devices": [row(expression)]},
    }
    text = json.dumps(document)
    for arguments, level, code in (((), "warning", 0), (("--cluster",), "error", 1)):
        done = run("table", "lint", "-", *arguments, stdin=text)
        (line,) = (one for one in done.stdout.splitlines() if EXPRESSION in one)
        assert line.endswith(
            f": {level}: spec.devices[0].claim.selectors[0].cel.expression: v100-16gb: "
            "cudaComputeCapability is a version, compared by compareTo(); write "
            f'{OF}.?cudaComputeCapability.orValue(semver("0.0.0")).compareTo(semver("8.0.0")) >= 0'
        )
        assert done.exit_code == code
