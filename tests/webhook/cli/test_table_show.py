"""``gpuspec table show``: whole texts for 80 columns, the documented JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from selection_spec.table import builtin_table, load_table
from tests.builders import PFN_TABLE, Json, make_row, pfn_table
from tests.webhook.cli.claim_tables import NVIDIA, claim_document, whole
from tests.webhook.cli.clusters import use_cluster
from tests.webhook.cli.running import TABLE, answer, run

LEGEND = """\
EVERYFIT, SMALLESTFIT: the N for which gpu-any-<N>gb may get the row under that
  policy, for one device; where it begins with to, gpu-any as well. gpu-<ROW>
  gets it under either.
"""
STATUS = {
    "renewTime": "2027-01-01T00:00:00Z",
    "rows": [
        {"id": "v100-16gb", "nodes": 40, "devices": 320, "usable": 312, "free": 17, "problems": []},
        {"id": "a30-24gb", "nodes": 0, "usable": 0, "free": 0, "problems": ["label x is amiss"]},
        {"id": "gone-8gb", "nodes": 1},
    ],
    "unmatchedNodes": {"count": 3, "kinds": []},
}


def stored(**status: object) -> Json:
    """The example table as a cluster has it."""
    document: Json = yaml.safe_load(PFN_TABLE.read_text())
    return {**document, "metadata": {"name": "default", "uid": "1"}, "status": status}


@pytest.mark.rule("D3", "D4", "D5")
def test_the_example() -> None:
    result = run("table", "show", "--table", TABLE)
    assert result.exit_code == 0
    assert (
        result.stdout
        == f"""\
table pfn {pfn_table().digest}: 4 rows
keys: preferred.jp/gpu-any, gpu-any-<N>gb, gpu-<name>, gpu-<name>-<N>gb

Who gets what (the first line that matches decides):
  priority class high: SmallestFit: the smallest of those
  priority 1000000 and above: SmallestFit: the smallest of those
  everybody else: EveryFit: every row that is big enough

nvidia.com/gpu
ROW        COST  MAX/NODE  EVERYFIT  SMALLESTFIT
v100-16gb     1         8  to 16gb   to 16gb
v100-32gb     2         8  to 32gb   25-32gb
a30-24gb      3         6  to 24gb   17-24gb
a100-80gb     4         4  to 80gb   33-80gb

{LEGEND}"""
    )


@pytest.mark.rule("D6", "D9")
def test_what_gpu_any_does_not_give(tmp_path: Path) -> None:
    """Reserved rows, rows by name, and another resource, of which a Pod gets one."""
    document = stored()
    document["spec"]["priorities"] = []
    document["spec"]["devices"] = [
        make_row("a30-24gb", cost=1, aliases=["ampere"]),
        make_row("a100-80gb", cost=2, reserved=True, aliases=["ampere"]),
        make_row("t4g-16gb", cost=2, any=False),
        make_row("mi300x-192gb", cost=3, resource="amd.com/gpu"),
    ]
    file = tmp_path / "t.yaml"
    file.write_text(json.dumps(document))
    text = run("table", "show", "--table", str(file)).stdout
    assert (
        text.partition("\n\n")[2]
        == f"""\
Who gets what (the first line that matches decides):
  everybody: EveryFit: every row that is big enough

nvidia.com/gpu
ROW           COST  MAX/NODE  EVERYFIT  SMALLESTFIT
a30-24gb         1         8  to 24gb   to 24gb
t4g-16gb         2         8  by name   by name
a100-80gb        2         8  reserved  reserved

amd.com/gpu
ROW           COST  MAX/NODE  EVERYFIT  SMALLESTFIT
mi300x-192gb     3         8  25-192gb  25-192gb

Aliases:
  gpu-ampere: a30-24gb, a100-80gb

{LEGEND}\
by name: only Pods that write its name or an alias get it.
reserved: the same, and its nodes are kept free of all other GPU Pods.
"""
    )


def test_the_built_in_table_fits_80_columns() -> None:
    lines = run("table", "show").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = {line.split()[0] for line in lines if line and not line.startswith(" ")}
    assert {row.id for row in builtin_table().rows} <= rows


def test_a_cluster_adds_what_is_there_now(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = use_cluster(monkeypatch, default=stored(**STATUS))
    result = run("table", "show", "--cluster", "--context", "prod")
    assert (result.exit_code, result.stderr) == (0, "")
    assert asked == [(None, "prod")]
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "live: as of 2027-01-01T00:00:00Z\n" in result.stdout
    assert (
        """\
ROW        COST  MAX/NODE  EVERYFIT  SMALLESTFIT  NODES  FREE/USABLE
v100-16gb     1         8  to 16gb   to 16gb         40       17/312
v100-32gb     2         8  to 32gb   25-32gb          -            -
a30-24gb      3         6  to 24gb   17-24gb          0          0/0
a100-80gb     4         4  to 80gb   33-80gb          -            -

Problems:
  a30-24gb: label x is amiss
  3 nodes with GPUs match no row

"""
        in result.stdout
    )
    assert result.stdout.endswith(
        "FREE/USABLE: devices that no Pod holds, of those on nodes where a Pod could\n  start.\n"
    )


def test_a_cluster_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch)
    result = run("table", "show", "--cluster")
    assert result.stderr == "note: the cluster has no table, so the built-in one serves\n"
    assert result.stdout.startswith("table default ")


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch, default=stored(**STATUS))
    shown = answer(run("table", "show", "--cluster", "-o", "json"))
    first, *_, last = shown.pop("rows")
    table = load_table(json.dumps(stored()))
    assert shown == {
        "name": "default",
        "digest": table.digest,
        "resourceDomain": "preferred.jp",
        "priorities": [
            {"classNames": ["high"], "minValue": None, "policy": "SmallestFit"},
            {"classNames": None, "minValue": 1000000, "policy": "SmallestFit"},
        ],
        "defaultPolicy": "EveryFit",
        "preferCheaper": True,
        "mixedNodes": False,
        "health": None,
    }
    assert first == {
        "id": "v100-16gb",
        "name": "v100",
        "aliases": [],
        "vramGb": 16,
        "perNode": 8,
        "cost": 1,
        "any": True,
        "reserved": False,
        "os": "linux",
        "arch": "amd64",
        "nodes": [{"key": "gpu-model", "operator": "In", "values": ["v100-16gb"]}],
        "tolerations": [
            {
                "key": "gpu-model",
                "operator": "Equal",
                "value": "v100-16gb",
                "effect": "NoSchedule",
            }
        ],
        "output": "ExtendedResource",
        "resource": "nvidia.com/gpu",
        "claim": None,
        "everyFit": [{"leastGb": 1, "mostGb": 16}],
        "smallestFit": [{"leastGb": 1, "mostGb": 16}],
        "live": STATUS["rows"][0],  # type: ignore[index]
    }
    assert last["smallestFit"] == [{"leastGb": 33, "mostGb": 80}]
    assert last["live"] is None


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("health", "line", "modes"),
    [
        ({}, "health: mode Observe", {"mode": "Observe", "rows": []}),
        (
            {
                "mode": "Quarantine",
                "rows": [
                    {"id": "v100-16gb", "mode": "Observe"},
                    {"id": "a100-80gb", "mode": "Evict"},
                ],
            },
            "health: mode Quarantine; a100-80gb Evict, v100-16gb Observe",
            {
                "mode": "Quarantine",
                "rows": [
                    {"id": "a100-80gb", "mode": "Evict"},
                    {"id": "v100-16gb", "mode": "Observe"},
                ],
            },
        ),
    ],
)
def test_how_far_health_goes(tmp_path: Path, health: Json, line: str, modes: Json) -> None:
    document = stored()
    document["spec"]["health"] = health
    table = tmp_path / "table.yaml"
    table.write_text(yaml.safe_dump(document))
    assert run("table", "show", "--table", str(table)).stdout.splitlines()[2] == line
    assert answer(run("table", "show", "--table", str(table), "-o", "json"))["health"] == modes


@pytest.mark.rule("D1", "D9", "C2")
def test_rows_of_both_outputs(tmp_path: Path) -> None:
    """Rows that a Pod gets as claims stand together, and how each is recognised."""
    document = claim_document("a30-24gb", "a100-80gb", mixedNodes=True)
    v100, _, a30, a100 = document["spec"]["devices"]
    del v100["claim"]["products"]
    a30["claim"]["products"] += ["NVIDIA A30X"]
    del a100["resource"]
    a100["claim"] = {
        "deviceClassName": "mig",
        "driver": NVIDIA,
        "selectors": [{"cel": {"expression": f'"type" in device.attributes["{NVIDIA}"]'}}],
    }
    file = tmp_path / "t.yaml"
    file.write_text(json.dumps(document))
    text = run("table", "show", "--table", str(file)).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert (
        text.partition("gpu-<name>-<N>gb\n")[2].partition("EVERYFIT, S")[0]
        == """\
mixed nodes: the claims of one Pod may be on several rows

Who gets what (the first line that matches decides):
  priority class high: SmallestFit: the smallest of those
  priority 1000000 and above: SmallestFit: the smallest of those
  everybody else: EveryFit: every row that is big enough

nvidia.com/gpu
ROW        COST  MAX/NODE  EVERYFIT  SMALLESTFIT
v100-16gb     1         8  to 16gb   to 16gb
v100-32gb     2         8  to 32gb   25-32gb

claims (DRA)
ROW        COST  MAX/NODE  EVERYFIT  SMALLESTFIT
a30-24gb      3         6  by name   17-24gb
a100-80gb     4         4  33-80gb   33-80gb

What claims ask for:
  a30-24gb: DeviceClass gpu.nvidia.com, NVIDIA A30 or NVIDIA A30X
  a100-80gb: DeviceClass mig, driver gpu.nvidia.com, and
    "type" in device.attributes["gpu.nvidia.com"]

What claims would ask for with output ResourceClaim:
  v100-16gb: DeviceClass gpu.nvidia.com, 15,029 MiB or more
  v100-32gb: DeviceClass gpu.nvidia.com, Tesla V100-SXM2-32GB

"""
    )
    # gpu-any-24gb takes v100-32gb first, and then no claims (D9).
    assert text.endswith("by name: only Pods that write its name or an alias get it.\n")
    rows = answer(run("table", "show", "--table", str(file), "-o", "json"))["rows"]
    assert [(row["output"], row["resource"]) for row in rows] == [
        ("ExtendedResource", "nvidia.com/gpu"),
        ("ExtendedResource", "nvidia.com/gpu"),
        ("ResourceClaim", "nvidia.com/gpu"),
        ("ResourceClaim", None),
    ]
    assert rows[2]["claim"] == {
        "deviceClassName": NVIDIA,
        "driver": NVIDIA,
        "products": ["NVIDIA A30", "NVIDIA A30X"],
        "selectors": [],
        "cel": [whole('NVIDIA A30", "NVIDIA A30X')],
    }
    assert rows[3]["claim"]["cel"] == [
        f'device.driver == "{NVIDIA}"',
        *rows[3]["claim"]["selectors"],
    ]


def test_one_source() -> None:
    result = run("table", "show", "--table", TABLE, "--cluster")
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: give either --table or --cluster\n")
