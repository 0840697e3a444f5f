"""``gpuspec offers`` of devices that are claimed: whole texts, JSON, and what is read for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from selection_spec.table import Table, load_table
from tests.builders import GPU, Json
from tests.webhook.advice.pods import make_node
from tests.webhook.cli.claim_tables import NVIDIA, PRODUCTS, claim_document, claim_table
from tests.webhook.cli.running import TABLE, answer, run
from tests.webhook.inventory.drivers import claim, device, pool, tainted
from webhook.cli import offers as verb
from webhook.cli.cluster import ClusterTable
from webhook.kube.errors import ApiError
from webhook.terms import CLAIMS_PATH, CLASSES_PATH, SLICES_PATH

_MODELS = {"v100-32gb": 8, "a30-24gb": 6, "a100-80gb": 4}


def _nodes() -> list[Json]:
    """Two nodes a model; those of the A100 have a device plugin, too."""
    return [
        make_node(
            f"{model}-{number}",
            {"gpu-model": model},
            taints=[{"key": "gpu-model", "value": model, "effect": "NoSchedule"}],
            devices={GPU: count} if model == "a100-80gb" else {},
        )
        for model, count in _MODELS.items()
        for number in (1, 2)
    ]


def _slices() -> list[Json]:
    slices = []
    for model, count in _MODELS.items():
        card = device(PRODUCTS[model], "16Gi")
        slices += [
            pool(card, tainted(card), *[card] * (count - 2), name=f"{model}-{number}")
            for number in (1, 2)
        ]
    return slices


_HELD = [
    claim(*(f"gpu-0-{number}" for number in range(6)), at="v100-32gb-1"),
    claim("gpu-0-0", at="a30-24gb-1"),
    {"metadata": {"name": "waiting", "namespace": "team"}},
]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Everything that kubectl saved, as options."""
    lists = {"nodes": _nodes(), "pods": [], "slices": _slices(), "claims": _HELD}
    options = []
    for name, items in lists.items():
        (tmp_path / name).write_text(json.dumps({"kind": "List", "items": items}))
        options += [f"--{name}", str(tmp_path / name)]
    return options


def _text(table: str, *arguments: str, code: int = 0) -> str:
    result = run("offers", *arguments, "--table", table)
    assert result.exit_code == code, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout.replace(load_table(Path(table).read_bytes()).digest, "DIGEST")


@pytest.mark.rule("C2", "C6")
def test_would_it_start(files: list[str], tmp_path: Path) -> None:
    table = claim_table(tmp_path)
    assert (
        _text(table, "any-24gb:5", "v100-32gb:8", "v100:33", *files, code=1)
        == """\
table claims DIGEST; EveryFit (from default)

gpu-any-24gb:5: yes, it would start now
  v100-32gb, a30-24gb: 18 of 28 free, at most 7 on one node (v100-32gb-2), 4
  that are tainted by their driver
  a quota counts gpu.nvidia.com.deviceclass.resource.k8s.io/devices: 5,
    count/resourceclaims.resource.k8s.io: 1; from Kubernetes 1.36 on also
    requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com: 5

gpu-v100-32gb:8: no: no node has 8 free
  v100-32gb: 9 of 16 free, at most 7 on one node (v100-32gb-2), 2 that are
  tainted by their driver
  a quota counts gpu.nvidia.com.deviceclass.resource.k8s.io/devices: 8,
    count/resourceclaims.resource.k8s.io: 1; from Kubernetes 1.36 on also
    requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com: 8
  would start now:
    gpu-v100-32gb:7 (fewer): 9 of 16 free, at most 7 on one node (v100-32gb-2),
      2 that are tainted by their driver

gpu-v100:33: no, it would be denied
  preferred.jp/gpu-v100: 33: no node has 33 such GPUs, the most is 8
  (v100-16gb); ask for 8 or less in one Pod
  would start now:
    gpu-v100:7 (fewer): 9 of 16 free, at most 7 on one node (v100-32gb-2), 2
      that are tainted by their driver
"""
    )


def test_what_there_is_in_a_table_of_both_outputs(files: list[str], tmp_path: Path) -> None:
    """The A100's plugin counts where its row is not claimed."""
    table = claim_table(tmp_path, "v100-32gb", "a30-24gb")
    assert (
        _text(table, *files).partition("\n\n")[2].partition("\n\nNo devices")[0]
        == """\
SPEC             TOTAL     FREE  LARGEST  ROWS
gpu-any              8        8        4  v100-16gb, a100-80gb
gpu-any-24gb        28       18        7  v100-32gb, a30-24gb
gpu-any-32gb        16        9        7  v100-32gb
gpu-any-80gb         8        8        4  a100-80gb
gpu-a100             8        8        4  a100-80gb
gpu-a30             12        9        5  a30-24gb
gpu-v100-32gb       16        9        7  v100-32gb"""
    )


def test_json_and_every_alternatives_class(files: list[str], tmp_path: Path) -> None:
    document = claim_document()
    document["spec"]["devices"][2]["claim"]["deviceClassName"] = "small"
    file = tmp_path / "t.yaml"
    file.write_text(json.dumps(document))
    found = answer(run("offers", "any-24gb:3", *files, "--table", str(file), "-o", "json"))
    assert found["offers"] == [
        {
            "spec": "gpu-any-24gb",
            "count": 3,
            "policy": "EveryFit",
            "start": "yes",
            "message": "",
            "candidates": ["v100-32gb", "a30-24gb", "a100-80gb"],
            "total": 36,
            "free": 24,
            "failedFree": 0,
            "largestFree": 7,
            "node": "v100-32gb-2",
            "quota": {
                f"{NVIDIA}.deviceclass.resource.k8s.io/devices": 3,
                "count/resourceclaims.resource.k8s.io": 1,
                "small.deviceclass.resource.k8s.io/devices": 3,
                f"requests.deviceclass.resource.kubernetes.io/{NVIDIA}": 3,
                "requests.deviceclass.resource.kubernetes.io/small": 3,
            },
            "away": [{"reason": "tainted by their driver", "devices": 6}],
            "instead": [],
        }
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("nodes", "pods", "slices"),
            "give --slices and --claims together, beside --nodes and --pods",
        ),
        (("slices", "claims"), "give --slices and --claims together, beside --nodes and --pods"),
        (
            ("nodes", "pods"),
            "table claims has rows that are claimed: give --slices and --claims, too",
        ),
    ],
)
def test_wrong_usage(files: list[str], given: tuple[str, ...], said: str, tmp_path: Path) -> None:
    options = dict(zip(files[::2], files[1::2], strict=True))
    named = [part for name in given for part in (f"--{name}", options[f"--{name}"])]
    result = run("offers", *named, "--table", claim_table(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.endswith(f"\nError: {said}\n")
    # A table that claims nothing needs no more than before.
    if "pods" in given and "slices" not in given:
        assert run("offers", *named, "--table", TABLE).exit_code == 0


def test_how_claims_are_saved(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "claims").write_text("{")
    result = run("offers", *files, "--table", claim_table(tmp_path))
    assert result.stderr == (
        f"{tmp_path}/claims: is no JSON (unexpected end of data: line 1 column 2 (char 1)); "
        "save them with: kubectl get resourceclaims -A -o json\n"
    )


class _Cluster:
    """A cluster that has lists, refuses some, and does not know others."""

    def __init__(self, lists: Mapping[str, list[Json] | int]) -> None:
        self._lists = lists
        self.asked: list[str] = []

    def items(self, path: str, **_: str) -> Iterator[Json]:
        self.asked.append(path.rpartition("/")[2])
        found = self._lists.get(path, 404)
        if isinstance(found, int):
            reason = {403: "Forbidden", 404: "NotFound"}[found]
            raise ApiError(f"GET {path}", found, reason, f"{path.rpartition('/')[2]}: {found}")
        yield from found


def _use(
    monkeypatch: pytest.MonkeyPatch, table: Table, status: Json, **lists: list[Json] | int
) -> _Cluster:
    paths = {"slices": SLICES_PATH, "claims": CLAIMS_PATH, "classes": CLASSES_PATH}
    there: dict[str, list[Json] | int] = {"/api/v1/nodes": _nodes(), "/api/v1/pods": []}
    cluster = _Cluster(there | {paths[name]: items for name, items in lists.items()})

    @contextmanager
    def asked(_: object) -> Iterator[_Cluster]:
        yield cluster

    monkeypatch.setattr(verb, "asked", asked)
    monkeypatch.setattr(verb, "served_table", lambda _: ClusterTable(table, status))
    return cluster


def _table(*claimed: str) -> Table:
    return load_table(json.dumps(claim_document(*claimed, priorities=[])))


@pytest.mark.rule("C3")
def test_a_cluster_is_asked_for_what_claims_need(monkeypatch: pytest.MonkeyPatch) -> None:
    classes: list[Json] = [{"metadata": {"name": NVIDIA}}]
    cluster = _use(monkeypatch, _table(), {}, slices=_slices(), claims=_HELD, classes=classes)
    assert run("offers", "any-24gb:5").exit_code == 0
    assert cluster.asked == ["nodes", "deviceclasses", "resourceslices", "resourceclaims", "pods"]
    _use(monkeypatch, _table(), {}, slices=_slices(), claims=_HELD, classes=[])
    result = run("offers", "a30")
    assert result.exit_code == 1
    assert (
        result.stdout.partition("\n\n")[2]
        == """\
gpu-a30:1: no, it would be denied
  preferred.jp/gpu-a30: DeviceClass gpu.nvidia.com does not exist, which
  a30-24gb need; ask for another device, or tell your admin to install the
  driver of that class
  and nothing near it would start now
"""
    )


def test_a_cluster_without_dra(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, _table("a30-24gb"), {})
    result = run("offers", "a100:4")
    assert (result.exit_code, result.stderr) == (0, "")
    document = claim_document("a30-24gb", priorities=[])
    for row in document["spec"]["devices"]:
        del row["claim"]
        row.pop("output", None)
    cluster = _use(monkeypatch, load_table(json.dumps(document)), {})
    assert run("offers", "a100:4").exit_code == 0
    of_dra = ["deviceclasses", "resourceslices", "resourceclaims"]
    assert cluster.asked == ["nodes", *of_dra, "pods"]


def test_a_table_without_claims_takes_no_permission_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = claim_document(priorities=[])
    for row in document["spec"]["devices"]:
        del row["claim"], row["output"]
    _use(monkeypatch, load_table(json.dumps(document)), {}, classes=403)
    result = run("offers", "a100:4")
    assert (result.exit_code, result.stderr) == (
        0,
        "note: what claims hold is not known: deviceclasses: 403\n",
    )


def test_who_may_not_see_claims_gets_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"id": "a30-24gb", "devices": 12, "usable": 12, "mostUsableOnANode": 6, "free": 8},
        {"id": "a100-80gb"},
    ]
    status = {"rows": rows, "renewTime": "2026-01-02T03:04:05Z"}
    _use(monkeypatch, _table(), status, slices=[], classes=[], claims=403)
    result = run("offers", "a30:4")
    assert result.exit_code == 0
    assert result.stderr == (
        "note: resourceclaims: 403; using the table's status\n"
        "note: devices of a100-80gb are not counted: the table's status does not tell them\n"
    )
    assert "\n  a30-24gb: 8 of 12 free, at most 6 on one node\n" in result.stdout


def _with_selector(folder: Path, expression: str) -> str:
    document = claim_document()
    claim_of = document["spec"]["devices"][2]["claim"]
    claim_of["selectors"] = [{"cel": {"expression": expression}}]
    file = folder / "t.yaml"
    file.write_text(json.dumps(document))
    return str(file)


def test_selectors_that_cannot_be_read_here(files: list[str], tmp_path: Path) -> None:
    table = _with_selector(tmp_path, 'device.attributes["x"].y.findAll("a") == []')
    result = run("offers", "a30", *files, "--table", table)
    assert result.exit_code == 1
    assert result.stderr.startswith("note: devices of a30-24gb are not counted: ")


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (
            "device.made_up()",
            "a selector of its claim is refused by the API server: there is no function made_up()",
        ),
        (
            f'device.attributes["{NVIDIA}"].cores > 1',
            'a selector of its claim fails on 12 devices: Key not found in map : "cores"',
        ),
    ],
    ids=["refused", "fails on devices"],
)
def test_one_selector_that_errs_keeps_every_pod_from_starting_that_names_it(
    expression: str, why: str, files: list[str], tmp_path: Path
) -> None:
    """However many devices of the other alternatives are free."""
    result = run(
        *("offers", "any-24gb", "any-32gb", *files),
        *("--table", _with_selector(tmp_path, expression), "-o", "json"),
    )
    assert result.stderr.endswith(f"\nnote: no Pod starts whose claim names a30-24gb: {why}\n")
    found = answer(result, code=1)["offers"]
    told = [(one["spec"], one["start"], one["message"]) for one in found]
    assert told == [("gpu-any-24gb", "no", f"a30-24gb: {why}"), ("gpu-any-32gb", "yes", "")]
    assert "gpu-any-32gb" in [one["spec"] for one in found[0]["instead"]]
    text = _text(_with_selector(tmp_path, expression), "a30", *files, code=1)
    assert "\ngpu-a30:1: no, its Pod would never start\n  a30-24gb: a selector of" in text
