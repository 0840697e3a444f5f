"""``gpuspec table diff``: whole texts for 80 columns, the documented JSON, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from selection_spec.table import load_table
from tests.builders import GPU, PFN_TABLE, Json, asking, make_pod
from tests.webhook.advice.pods import make_node, stored
from tests.webhook.cli.clusters import use_cluster
from tests.webhook.cli.running import TABLE, answer, run
from tests.webhook.inventory.fleets import ready_fleet
from webhook.cli.cluster import ClusterTable
from webhook.cli.table import diff_live as verb
from webhook.kube.errors import ApiError

_PFN: Json = yaml.safe_load(PFN_TABLE.read_bytes())
_OLD = load_table(json.dumps(_PFN))
_MODELS = ("v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb")

Write = Callable[[str, object], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes JSON into a file, and returns its name."""

    def to_file(name: str, value: object) -> str:
        file = tmp_path / name
        file.write_text(json.dumps(value))
        return str(file)

    return to_file


def _table(*changes: tuple[int, str, object], **spec: object) -> Json:
    """The table of the worked candidates with fields of rows changed."""
    table = deepcopy(_PFN)
    for row, field, value in changes:
        table["spec"]["devices"][row][field] = value
    table["spec"].update(spec)
    return table


def _reserved() -> Json:
    return _table((3, "reserved", True))


def _relabelled() -> Json:
    return _table(*((n, "nodes", {"matchLabels": {"card": m}}) for n, m in enumerate(_MODELS)))


def _text(new: Json, *arguments: str, write: Write, code: int = 0) -> str:
    result = run("table", "diff", TABLE, write("new.json", new), *arguments)
    assert result.exit_code == code, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    digest = load_table(json.dumps(new)).digest
    return result.stdout.replace(_OLD.digest, "OLD").replace(digest, "NEW")


def test_no_difference(write: Write) -> None:
    shuffled = _table(devices=list(reversed(_PFN["spec"]["devices"])))
    assert _text(shuffled, write=write) == "pfn OLD → pfn OLD\n\nTable\n  no difference\n"


@pytest.mark.rule("D6")
def test_a_row_is_reserved(write: Write) -> None:
    assert (
        _text(_reserved(), write=write, code=1)
        == """\
pfn OLD → pfn NEW

Table
  a100-80gb: reserved: false → true

Specs
  error: gpu-any-80gb
    loses a100-80gb; nothing is left
  warning: gpu-any:1-4, gpu-any-24gb:1-4, gpu-any-32gb:1-4 under EveryFit
    loses a100-80gb
"""
    )


def test_a_label_is_renamed_in_every_row(write: Write) -> None:
    assert (
        _text(_relabelled(), write=write)
        == """\
pfn OLD → pfn NEW

Table
  v100-16gb, v100-32gb, a30-24gb, a100-80gb: nodes: key gpu-model → card, values
    as before
"""
    )


def test_rows_come_and_go_and_counts_change(write: Write) -> None:
    devices = deepcopy(_PFN["spec"]["devices"])
    devices[3]["perNode"] = 8
    devices[2] |= {"name": "h100", "vram": "80gb", "nodes": {"matchLabels": {"gpu-model": "h"}}}
    assert (
        _text(_table(devices=devices, defaultPolicy="SmallestFit"), write=write, code=1)
        == """\
pfn OLD → pfn NEW

Table
  defaultPolicy: EveryFit → SmallestFit
  added: h100-80gb
  removed: a30-24gb
  a100-80gb: perNode: 4 → 8

Specs
  error: gpu-a30
    loses a30-24gb; nothing is left
  warning: gpu-any:1-4, gpu-any-24gb:1-4 under EveryFit
    loses a30-24gb; gains h100-80gb
  warning: gpu-any:5-6, gpu-any-24gb:5-6 under EveryFit
    loses a30-24gb; gains h100-80gb, a100-80gb
  warning: gpu-any-24gb:1-6 under SmallestFit
    loses a30-24gb; gains v100-32gb
  gpu-any:7-8, gpu-any-24gb:7-8, gpu-any-32gb:7-8 under EveryFit
    gains a100-80gb
  gpu-any-32gb:1-4 under EveryFit
    gains h100-80gb
  gpu-any-32gb:5-6 under EveryFit
    gains h100-80gb, a100-80gb
  gpu-any-80gb:1-4, gpu-h100
    gains h100-80gb
  gpu-any-80gb:5-6
    gains h100-80gb, a100-80gb
  gpu-any-80gb:7-8, gpu-a100:5-8
    gains a100-80gb
"""
    )


def test_another_domain_is_an_error_though_no_spec_changes(write: Write) -> None:
    assert (
        _text(_table(resourceDomain="other.example"), write=write, code=1)
        == """\
pfn OLD → pfn NEW

Table
  resourceDomain: preferred.jp → other.example (error: every key that is written
    today would stop being a spec)
"""
    )


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            {},
            {"mode": "Evict"},
            (
                "mode Evict acts at once on what has failed already of every row: new Pods are "
                "kept away and those that are there evicted"
            ),
        ),
        (
            {"mode": "Quarantine"},
            {"mode": "Quarantine", "rows": [{"id": "a30-24gb", "mode": "Evict"}]},
            (
                "mode Evict acts at once on what has failed already of a30-24gb: new Pods are kept "
                "away and those that are there evicted"
            ),
        ),
        (
            {},
            {"rows": [{"id": one, "mode": "Quarantine"} for one in ("a30-24gb", "a100-80gb")]},
            (
                "mode Quarantine acts at once on what has failed already of a30-24gb, a100-80gb: "
                "new Pods are kept away"
            ),
        ),
        ({"mode": "Evict"}, {"mode": "Quarantine"}, ""),
        ({}, {"budget": {"percent": 10}}, ""),
    ],
)
def test_a_mode_that_goes_further_acts_at_once(
    before: Json, after: Json, said: str, write: Write
) -> None:
    files = [write(f"{n}.json", _table(health=health)) for n, health in enumerate((before, after))]
    text = run("table", "diff", *files).stdout
    note = (
        f"note: {said}, but not where a person has removed our mark and nothing new was heard; see "
        "what that is before: gpuspec health"
    )
    assert (note in " ".join(text.split())) is bool(said)
    assert ("note: mode" in text) is bool(said)
    assert bool(answer(run("table", "diff", *files, "-o", "json"))["actsAtOnce"]) is bool(said)


@pytest.mark.rule("H6")
def test_the_json_of_a_mode_that_goes_further(write: Write) -> None:
    rows = [{"id": "a30-24gb", "mode": "Evict"}, {"id": "v100-16gb", "mode": "Quarantine"}]
    new = write("new.json", _table(health={"rows": rows}))
    assert answer(run("table", "diff", TABLE, new, "-o", "json"))["actsAtOnce"] == [
        {"mode": "Quarantine", "rows": ["v100-16gb"]},
        {"mode": "Evict", "rows": ["a30-24gb"]},
    ]


def test_many_rows_that_change_each_in_its_own_way_are_a_few_lines(write: Write) -> None:
    def table(label: str) -> Json:
        rows = [
            {
                "name": f"card-x{number}",
                "vram": "16gb",
                "perNode": 8,
                "nodes": {"matchLabels": {"gpu-model": f"{label}-{number}"}},
                "resource": GPU,
            }
            for number in range(1, 66)
        ]
        return _table(devices=rows)

    old, new = write("old.json", table("a")), write("new.json", table("b"))
    result = run("table", "diff", old, new)
    assert result.stdout.partition("\n\n")[2] == (
        "Table\n"
        "  card-x1-16gb: nodes: gpu-model=a-1 → gpu-model=b-1\n"
        "  card-x10-16gb: nodes: gpu-model=a-10 → gpu-model=b-10\n"
        "  card-x11-16gb: nodes: gpu-model=a-11 → gpu-model=b-11\n"
        "  card-x12-16gb: nodes: gpu-model=a-12 → gpu-model=b-12\n"
        "  and 61 more rows: nodes\n"
        "\n"
        "(--all leaves nothing out)\n"
    )
    assert run("table", "diff", old, new, "--all").stdout.count("\n  card-x") == 65


def _nodes() -> Json:
    return {
        "kind": "List",
        "items": [
            make_node(
                f"on-{model}",
                {"gpu-model": model},
                taints=[{"key": "gpu-model", "value": model, "effect": "NoSchedule"}],
                devices={GPU: 8},
            )
            for model in _MODELS
        ],
    }


def _pods() -> Json:
    hashed = {"pod-template-hash": "5d4f"}

    def pod(spec: str, kind: str, owner: str, number: int, node: str) -> Json:
        asked = asking(**{spec: 1}).owner(kind, owner)
        name = f"{owner}-{number}"
        return stored(asked.metadata(name=name, labels=dict(hashed)), _OLD, node and f"on-{node}")

    pods = [
        *(pod("any", "ReplicaSet", "web-5d4f", n, "a100-80gb") for n in range(3)),
        *(pod("any", "ReplicaSet", "web-5d4f", n, "a30-24gb") for n in range(3, 5)),
        *(pod("any_80gb", "Job", "big", n, "a100-80gb" if n else "") for n in range(3)),
        pod("a100", "StatefulSet", "named", 0, "a100-80gb"),
        pod("v100", "Job", "old", 0, "v100-16gb"),
        make_pod("other").container("main").build(),
    ]
    odd = pod("any", "Job", "odd", 0, "a30-24gb")
    odd["spec"]["tolerations"] = []
    return {"kind": "List", "items": [*pods, odd]}


@pytest.mark.rule("D6", "R5")
def test_whose_pods_a_reserve_concerns(write: Write) -> None:
    files = ["--pods", write("pods.json", _pods()), "--nodes", write("nodes.json", _nodes())]
    text = _text(_reserved(), *files, write=write, code=1)
    assert (
        text[text.index("Pods") :]
        == """\
Pods (11 judged, 2 as before)
  error: denied, 3 Pods
    container "main": preferred.jp/gpu-any-80gb: the largest device has 32 GB;
    write preferred.jp/gpu-any-32gb or less; a100-80gb fits but is reserved:
    write preferred.jp/gpu-a100-80gb
      team-a/Job/big: 2 running, 1 pending
  warning: moved, 3 Pods
    runs on a100-80gb; would start on v100-16gb, v100-32gb, a30-24gb
      team-a/Deployment/web: 3 running
  otherwise, 2 Pods
    loses a100-80gb
      team-a/Deployment/web: 2 running
  cannot tell, 1 Pod
    admitted by this table, which is not what the old table makes of it now
      team-a/Job/odd: 1 running
"""
    )


def test_without_nodes_it_is_said_that_nobody_is_seen_to_move(write: Write) -> None:
    pods = {"items": [one for one in _pods()["items"] if "web" in one["metadata"]["name"]]}
    text = _text(_reserved(), "--pods", write("pods.json", pods), write=write, code=1)
    assert (
        text[text.index("Pods") :]
        == """\
Pods (5 judged, 0 as before; without nodes nobody is seen to move)
  warning: otherwise, 5 Pods
    loses a100-80gb
      team-a/Deployment/web: 5 running
"""
    )


def test_nodes_that_are_not_relabelled_yet_strand_everybody(write: Write) -> None:
    files = ["--pods", write("pods.json", _pods()), "--nodes", write("nodes.json", _nodes())]
    text = _text(_relabelled(), *files, write=write, code=1)
    assert "error: stranded, 4 Pods\n    it would get a100-80gb, and no node has" in text
    nodes = _nodes()
    for node in nodes["items"]:
        node["metadata"]["labels"]["card"] = node["metadata"]["labels"]["gpu-model"]
    files[3] = write("nodes.json", nodes)
    text = _text(_relabelled(), *files, write=write)
    assert "  otherwise, 10 Pods\n    the same devices by other node labels\n" in text


@pytest.mark.parametrize(
    ("new", "fail_on", "code"),
    [
        (_table(), "warning", 0),
        (_reserved(), "never", 0),
        (_reserved(), "error", 1),
        (_table((3, "any", False), (3, "perNode", 4), (3, "aliases", ["big"])), "error", 1),
        (_table((1, "perNode", 4)), "error", 1),
        (_table((0, "vram", "12gb")), "error", 0),
        (_table((0, "cost", 9)), "warning", 0),
        (_table((0, "name", "p100")), "warning", 1),
    ],
)
def test_what_fails(new: Json, fail_on: str, code: int, write: Write) -> None:
    _text(new, "--fail-on", fail_on, write=write, code=code)


def test_manifests(write: Write) -> None:
    job = asking(any_80gb=1).build()
    manifest = write(
        "job.json",
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train"},
            "spec": {"template": {"metadata": {}, "spec": job["spec"]}},
        },
    )
    same = write("pod.json", asking(v100=1).build())
    new = _table((3, "reserved", True), (0, "perNode", 8))
    text = _text(new, "-f", manifest, "-f", same, write=write, code=1)
    manifests = text[text.index("Manifests") :].replace(str(Path(manifest).parent), "DIR")
    assert " ".join(manifests.split()) == (
        "Manifests DIR/job.json: Job/train: error: denied "
        'container "main": preferred.jp/gpu-any-80gb: the largest device has 32 GB; write '
        "preferred.jp/gpu-any-32gb or less; a100-80gb fits but is reserved: write "
        "preferred.jp/gpu-a100-80gb 1 Pod template as before"
    )


def test_json(write: Write) -> None:
    pods = {"items": [one for one in _pods()["items"] if "big" in one["metadata"]["name"]]}
    manifest = write("pod.json", asking(v100=1).build())
    new = _table((3, "reserved", True), (0, "name", "p100"), preferCheaper=False)
    found = answer(
        run(
            *("table", "diff", TABLE, write("new.json", new), "-o", "json"),
            *("--pods", write("pods.json", pods), "-f", manifest),
        ),
        code=1,
    )
    specs = found.pop("specs")
    assert specs[-1] == {
        "spec": "gpu-v100",
        "counts": [1, 8],
        "policy": "SmallestFit",
        "level": "warning",
        "old": ["v100-16gb"],
        "new": ["v100-32gb"],
        "lost": ["v100-16gb"],
        "gained": ["v100-32gb"],
    }
    assert found == {
        "old": {"name": "pfn", "digest": _OLD.digest},
        "new": {"name": "pfn", "digest": load_table(json.dumps(new)).digest},
        "worst": "error",
        "settings": [{"field": "preferCheaper", "old": "true", "new": "false"}],
        "actsAtOnce": [],
        "rows": {
            "added": [],
            "removed": [],
            "renamed": [{"old": "v100-16gb", "new": "p100-16gb"}],
            "changed": [{"id": "a100-80gb", "field": "reserved", "old": "false", "new": "true"}],
        },
        "moves": [],
        "pods": {
            "judged": 3,
            "nodesKnown": False,
            "fates": {
                "denied": 3,
                "stranded": 0,
                "moved": 0,
                "otherwise": 0,
                "allowed": 0,
                "cannot tell": 0,
                "same": 0,
            },
            "owners": [
                {
                    "fate": "denied",
                    "level": "error",
                    "reason": (
                        'container "main": preferred.jp/gpu-any-80gb: the largest device has '
                        "32 GB; write preferred.jp/gpu-any-32gb or less; a100-80gb fits but is "
                        "reserved: write preferred.jp/gpu-a100-80gb"
                    ),
                    "namespace": "team-a",
                    "owner": "Job/big",
                    "running": 2,
                    "pending": 1,
                    "pods": ["big-0", "big-1", "big-2"],
                }
            ],
        },
        "manifests": [
            {
                "file": manifest,
                "object": "Pod/train",
                "path": "",
                "fate": "otherwise",
                "level": "warning",
                "reason": "loses v100-16gb",
            },
            {
                "file": manifest,
                "object": "Pod/train",
                "path": "",
                "fate": "otherwise",
                "level": "warning",
                "reason": "under SmallestFit: loses v100-16gb; gains v100-32gb",
            },
        ],
    }


def _daemon_set(name: str, *tolerations: Json) -> Json:
    """A DaemonSet that runs on every GPU node."""
    own: list[Json] = [{"key": "gpu-model", "operator": "Exists"}, *tolerations]
    return {
        "metadata": {"namespace": "monitoring", "name": name},
        "spec": {"template": {"spec": {"tolerations": own}}},
    }


class _Cluster:
    """A cluster that lists its nodes, its DaemonSets and the Pods with our label."""

    def items(self, path: str, **query: str) -> Iterator[Json]:
        if path == "/api/v1/nodes":
            return iter(_nodes()["items"])
        if path == "/apis/apps/v1/daemonsets":
            toleration = {"key": "gpuspec.preferred.jp/reserved", "operator": "Exists"}
            return iter([_daemon_set("smi-exporter"), _daemon_set("plugin", toleration)])
        assert (path, query) == (
            "/api/v1/pods",
            {"labelSelector": "gpuspec.preferred.jp/spec"},
        )
        return iter(_pods()["items"][:-2])


class _Refusing(_Cluster):
    """The same for somebody who may not see DaemonSets."""

    def items(self, path: str, **query: str) -> Iterator[Json]:
        if path == "/apis/apps/v1/daemonsets":
            raise ApiError(f"GET {path}", 403, "Forbidden", "daemonsets is forbidden")
        return super().items(path, **query)


@contextmanager
def _asked(_: object) -> Iterator[_Cluster]:
    yield _Cluster()


def test_a_cluster_and_its_own_table(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    names: list[str] = []

    def served(_: object, name: str) -> ClusterTable:
        names.append(name)
        return ClusterTable(_OLD, {})

    monkeypatch.setattr(verb, "asked", _asked)
    monkeypatch.setattr("webhook.cli.cluster.cluster_table", served)
    new = write("new.json", _reserved())
    result = run("table", "diff", "cluster:mine", new, "--cluster", "-o", "json")
    assert names == ["mine"]
    found = answer(result, code=1)
    assert found["nodes"] == {
        "withGpus": 4,
        "old": {"rows": 4, "rowsWithNodes": 4, "gpuNodes": 4},
        "new": {"rows": 4, "rowsWithNodes": 4, "gpuNodes": 4},
        "problems": [{"level": "warning", "text": " ".join(_WAITS.split())}],
    }
    fates = found["pods"]["fates"]
    assert {fate: count for fate, count in fates.items() if count} == {
        "denied": 3,
        "moved": 3,
        "otherwise": 2,
        "same": 2,
    }


_WAITS = """\
a100-80gb: reserved waits for DaemonSet monitoring/smi-exporter,
    whose Pods would not come back to its nodes; give it the toleration key
    gpuspec.preferred.jp/reserved, operator Exists, effect NoSchedule"""


@pytest.mark.rule("H7")
def test_what_a_reserve_waits_for_is_foretold(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    monkeypatch.setattr(verb, "asked", _asked)
    text = _text(_reserved(), "--cluster", write=write, code=1)
    assert _section(text, "Nodes") == f"  4 rows match 4, as before\n  warning: {_WAITS}\n"
    named = _table((3, "reserved", True), (3, "any", False))
    old, new = write("old.json", _table((3, "any", False))), write("named.json", named)
    for fail_on, code in (("error", 0), ("warning", 1)):
        result = run("table", "diff", old, new, "--cluster", "--fail-on", fail_on)
        assert (result.exit_code, _WAITS in result.stdout) == (code, True)


def test_who_may_not_see_daemon_sets_is_told(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    @contextmanager
    def refusing(_: object) -> Iterator[_Cluster]:
        yield _Refusing()

    monkeypatch.setattr(verb, "asked", refusing)
    result = run("table", "diff", TABLE, write("new.json", _reserved()), "--cluster")
    assert result.exit_code == 1
    assert result.stderr == (
        "note: what a reserve waits for cannot be told: daemonsets is forbidden\n"
    )


def _section(text: str, name: str) -> str:
    """Return the lines below a heading."""
    return text.partition(f"\n\n{name}")[2].partition("\n")[2].partition("\n\n")[0].rstrip() + "\n"


def _on_nodes(new: Json, nodes: object, *arguments: str, write: Write, code: int = 0) -> str:
    return _text(new, "--nodes", write("nodes.json", nodes), *arguments, write=write, code=code)


@pytest.mark.rule("N2")
def test_a_label_that_no_node_has_takes_the_nodes_of_specs(write: Write) -> None:
    mistyped = _table((2, "nodes", {"matchLabels": {"gpu-model": "a30"}}))
    assert (
        _on_nodes(mistyped, {"items": ready_fleet()}, write=write, code=1)
        == """\
pfn OLD → pfn NEW

Table
  a30-24gb: nodes: gpu-model=a30-24gb → gpu-model=a30

Nodes (212 with GPUs)
  4 rows match 212 → 3 of 4 rows match 170

Specs
  error: gpu-any-24gb:1-6 under SmallestFit
    loses its 42 nodes: their labels are not those of a30-24gb
  error: gpu-a30
    loses its 42 nodes: their labels are not those of a30-24gb
  warning: gpu-any:1-4 under EveryFit
    loses 42 of its 212 nodes: their labels are not those of a30-24gb
  warning: gpu-any:5-6 under EveryFit
    loses 42 of its 170 nodes: their labels are not those of a30-24gb
  warning: gpu-any-24gb:1-4 under EveryFit
    loses 42 of its 116 nodes: their labels are not those of a30-24gb
  warning: gpu-any-24gb:5-6 under EveryFit
    loses 42 of its 74 nodes: their labels are not those of a30-24gb
"""
    )


@pytest.mark.rule("N5")
def test_a_taint_that_is_not_tolerated_any_more_takes_them_too(write: Write) -> None:
    text = _on_nodes(_table((2, "tolerations", [])), _nodes(), write=write, code=1)
    assert (
        _section(text, "Specs")
        == """\
  error: gpu-any-24gb:1-6 under SmallestFit
    loses its 1 node: taint gpu-model=a30-24gb:NoSchedule is not tolerated
  error: gpu-a30
    loses its 1 node: taint gpu-model=a30-24gb:NoSchedule is not tolerated
  warning: gpu-any:1-4 under EveryFit
    loses 1 of its 4 nodes: taint gpu-model=a30-24gb:NoSchedule is not tolerated
  warning: gpu-any:5-6, gpu-any-24gb:1-4 under EveryFit
    loses 1 of its 3 nodes: taint gpu-model=a30-24gb:NoSchedule is not tolerated
  warning: gpu-any-24gb:5-6 under EveryFit
    loses 1 of its 2 nodes: taint gpu-model=a30-24gb:NoSchedule is not tolerated
"""
    )


def test_rows_that_gave_nothing_are_no_loss(write: Write) -> None:
    """A card that no node has goes; perNode comes down to what the nodes have."""
    spare = {
        "name": "h100",
        "vram": "80gb",
        "perNode": 8,
        "nodes": {"matchLabels": {"gpu-model": "h100"}},
        "resource": GPU,
    }
    old = _table((0, "perNode", 16))
    old["spec"]["devices"].append(spare)
    nodes = write("nodes.json", {"items": ready_fleet()})
    files = [write("old.json", old), write("new.json", _PFN), "--nodes", nodes]
    result = run("table", "diff", *files)
    assert result.exit_code == 0
    assert (
        result.stdout.partition("\n\nNodes")[2]
        == """\
 (212 with GPUs)
  4 of 5 rows match 212 → 4 rows match 212

Specs
  gpu-any:1-8, gpu-any-24gb, gpu-any-32gb under EveryFit
    loses h100-80gb
  gpu-any-80gb:1-4
    loses h100-80gb
  4 requests that no node here can serve lose rows

(--all leaves nothing out)
"""
    )
    shown = run("table", "diff", *files, "--all").stdout
    assert "gpu-h100\n    loses h100-80gb; nothing is left\n" in shown
    assert "no node here" not in shown
    assert run("table", "diff", *files[:2]).exit_code == 1


def test_the_first_table_of_a_cluster_costs_nobody_anything(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    use_cluster(monkeypatch, ready_fleet())
    new = write("new.json", _PFN)
    result = run("table", "diff", "cluster:default", new, "--cluster", "--fail-on", "warning")
    assert result.exit_code == 0
    assert result.stderr == (
        "note: cluster:default: the cluster has no SelectionTable default, so this is the "
        "built-in one\n"
    )
    assert "Nodes (212 with GPUs)\n  65 rows match none → 4 rows match 212\n" in result.stdout
    assert (
        "\n  gpu-any-20gb:1-6 under SmallestFit\n"
        "    gains a30-24gb; no node could serve it, now 42 can\n"
    ) in result.stdout
    assert "requests that no node here can serve lose rows\n" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "-"], "standard input can be read only once"),
        (
            [TABLE, TABLE, "--pods", "p.json", "--cluster"],
            "give either --cluster or saved files, not both",
        ),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    result = run("table", "diff", *arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"\nError: {said}\n")


def test_a_table_that_is_none(write: Write) -> None:
    broken = write("new.json", _table((0, "perNode", 0)))
    result = run("table", "diff", TABLE, broken)
    assert result.exit_code == 2
    assert f"{broken}:1:" in result.stderr
    assert not result.stdout


def test_a_table_from_standard_input() -> None:
    result = run("table", "diff", "-", TABLE, stdin=PFN_TABLE.read_bytes())
    assert result.exit_code == 0
    assert "no difference" in result.stdout
