"""``gpuspec explain``: whole texts for 80 columns, the documented JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from selection_spec.table import builtin_table
from tests.builders import Json, asking, expression, make_pod, make_row, term
from tests.webhook.cli.running import TABLE, answer, on_table, run

_UNKNOWN = "its priority is not known; under SmallestFit it would be"


def _digest() -> str:
    return str(answer(on_table("explain", "any", "-o", "json"))["table"]["digest"])


def _text(*arguments: str, stdin: str | None = None, code: int = 0) -> str:
    """Return what is printed, with the table's digest left out."""
    result = on_table("explain", *arguments, stdin=stdin)
    assert result.exit_code == code, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout.replace(_digest(), "DIGEST")


def test_every_fit() -> None:
    assert (
        _text("any-24gb:6")
        == """\
allowed: v100-32gb, a30-24gb
policy: EveryFit (from default); table pfn DIGEST
note: its priority is not known; under SmallestFit it would be a30-24gb (say
  --priority-class or --priority)

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    16 GB, 24 asked for
v100-32gb  yes   D4    32 GB, 24 asked for; 6 of 8 on a node
a30-24gb   yes   D4    24 GB, 24 asked for; 6 of 6 on a node
a100-80gb  no    D2    4 on a node, the Pod needs 6

The Pod gets:
  limits of main: nvidia.com/gpu: 6
  requires a node with: gpu-model In v100-32gb, a30-24gb
  prefers (weight 100): gpu-model = v100-32gb
  tolerates: gpu-model=v100-32gb:NoSchedule, gpu-model=a30-24gb:NoSchedule
"""
    )


def test_smallest_fit_and_a_name() -> None:
    assert (
        _text("v100-24gb", "--priority-class", "high")
        == """\
allowed: v100-32gb
policy: SmallestFit (from classNames); table pfn DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    16 GB, 24 asked for
v100-32gb  yes   D5    32 GB is the least; 1 of 8 on a node
a30-24gb   no    G2    is not called v100
a100-80gb  no    G2    is not called v100

The Pod gets:
  limits of main: nvidia.com/gpu: 1
  requires a node with: gpu-model = v100-32gb
  tolerates: gpu-model=v100-32gb:NoSchedule,
    gpuspec.preferred.jp/reserved=v100-32gb:NoSchedule
"""
    )


def test_two_containers() -> None:
    assert (
        _text("a100:2", "any-40gb:2", "--priority", "0")
        == """\
allowed: a100-80gb
policy: EveryFit (from default); table pfn DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G2    container "container-1": is not called a100
v100-32gb  no    G2    container "container-1": is not called a100
a30-24gb   no    G2    container "container-1": is not called a100
a100-80gb  yes   D4    80 GB, any amount is fine; 80 GB, 40 asked for; 4 of 4 on
                       a node

The Pod gets:
  limits of container-1: nvidia.com/gpu: 2
  limits of container-2: nvidia.com/gpu: 2
  requires a node with: gpu-model = a100-80gb
  tolerates: gpu-model=a100-80gb:NoSchedule,
    gpuspec.preferred.jp/reserved=a100-80gb:NoSchedule
"""
    )


def test_a_denial() -> None:
    assert (
        _text("any-40gb:8", code=1)
        == """\
denied
  container "main": preferred.jp/gpu-any-40gb: 8: no node has 8 such GPUs, the
  most is 4 (a100-80gb); ask for 4 or less in one Pod
policy: EveryFit (from default); table pfn DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    16 GB, 40 asked for
v100-32gb  no    G3    32 GB, 40 asked for
a30-24gb   no    G3    24 GB, 40 asked for
a100-80gb  no    A2    4 on a node, the Pod needs 8
"""
    )


@pytest.mark.rule("G4", "A2", "A3")
@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        (
            "any-24gib",
            1,
            (
                'denied\n  container "main": preferred.jp/gpu-any-24gib ends in 24gib, which is '
                "neither a\n  name nor memory in whole gb; write preferred.jp/gpu-any-24gb\n"
            ),
        ),
        (
            "GPU-ANY",
            1,
            (
                'denied\n  container "main": preferred.jp/GPU-ANY has upper-case letters; write\n'
                "  preferred.jp/gpu-any\n"
            ),
        ),
        (
            "any:$N",
            1,
            (
                'denied\n  container "main": preferred.jp/gpu-any: "$N" looks like a variable '
                "that\n"
                "  nothing has filled in; render the template before it is applied\n"
            ),
        ),
        (
            "any:0.5",
            1,
            (
                'denied\n  container "main": preferred.jp/gpu-any: "0.5" is not a whole number; '
                "devices\n  come whole: 1 or more\n"
            ),
        ),
        (
            "any:true",
            1,
            (
                'denied\n  container "main": preferred.jp/gpu-any: "true" is not a Kubernetes '
                "quantity;"
                "\n  write a whole number such as 1\n"
            ),
        ),
        ("any:0", 0, "allowed, patched: A spec of zero devices was removed (A3).\n"),
    ],
)
def test_what_is_written_wrong(spec: str, code: int, said: str) -> None:
    text = _text(spec, code=code)
    assert text == f"{said}policy: EveryFit (from default); table pfn DIGEST\n"


@pytest.mark.parametrize(
    "spec",
    ["any-24gb", "gpu-any-24gb", "preferred.jp/gpu-any-24gb", "any-24gb:1", "gpu-any-24gb:1000m"],
)
def test_a_spec_in_every_spelling(spec: str) -> None:
    assert _text(spec) == _text("any-24gb")


@pytest.mark.parametrize("spec", ["gpu24", "gpus", "gpuany-24gb"])
def test_what_only_begins_like_a_spec_is_a_name(spec: str) -> None:
    text = _text(spec, code=1)
    assert f"no device is called {spec.removesuffix('-24gb')};" in " ".join(text.split())


def test_the_builtin_table_fits_80_columns() -> None:
    for spec in ("any", "any-24gb:16", "any-9999gb", "nothing"):
        result = run("explain", spec, "--all")
        assert result.exit_code in (0, 1)
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert all(row.id in result.stdout for row in builtin_table().rows)


def test_rows_of_a_long_table_that_share_a_reason_share_a_line() -> None:
    text = run("explain", "t4").stdout
    assert (
        text.partition("\n\n")[2]
        == """\
ROW                       KEPT  RULE  WHY
t4-16gb                   yes   D4    16 GB, any amount is fine; 1 of 16 on a
                                      node
gtx-1080-8gb and 63 more  no    G2    is not called t4
(a line for each row: --all)

The Pod gets:
  limits of main: nvidia.com/gpu: 1
  requires a node with: nvidia.com/gpu.product = Tesla-T4
  tolerates: nvidia.com/gpu:NoSchedule,
    gpuspec.preferred.jp/reserved=t4-16gb:NoSchedule

(judged by the built-in table; --cluster asks your cluster for its own)
"""
    )


def test_long_names_keep_to_80_columns(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    rows = [
        make_row(f"{'x' * 44}{number}-80gb", nodes={"matchLabels": {f"label-{number}": "y" * 60}})
        for number in range(3)
    ]
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "n" * 60},
        "spec": {"devices": [*rows, make_row("a-16gb", resource="amd.com/gpu", cost=9)]},
    }
    table.write_text(json.dumps(document))
    result = run("explain", "any", "--table", str(table))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"allowed: {'x' * 44}0-80gb,"
    # The reason stands below an id that is too long for its column.
    place = next(number for number, line in enumerate(lines) if line.startswith("ROW"))
    assert lines[place + 1] == f"{'x' * 44}0-80gb  yes   D4"
    assert lines[place + 2].strip() == "80 GB, any amount is fine;"
    # Alternatives are alternatives.
    assert "  requires a node with: label-0 =" in result.stdout
    assert "  or one with: label-1 =" in result.stdout


# JSON.

_KEYS = [
    "allowed",
    "message",
    "policy",
    "policyFrom",
    "output",
    "table",
    "candidates",
    "rows",
    "containers",
    "placement",
    "warnings",
]


def test_json() -> None:
    found = answer(on_table("explain", "any-24gb:6", "-o", "json"))
    digest = found["table"]["digest"]
    assert list(found) == [*_KEYS, "otherPolicy"]
    assert found == {
        "allowed": True,
        "message": "",
        "policy": "EveryFit",
        "policyFrom": "default",
        "output": "ExtendedResource",
        "table": {"name": "pfn", "digest": digest},
        "candidates": ["v100-32gb", "a30-24gb"],
        "rows": [
            {"id": "v100-16gb", "kept": False, "rule": "G3", "why": "16 GB, 24 asked for"},
            {
                "id": "v100-32gb",
                "kept": True,
                "rule": "D4",
                "why": "32 GB, 24 asked for; 6 of 8 on a node",
            },
            {
                "id": "a30-24gb",
                "kept": True,
                "rule": "D4",
                "why": "24 GB, 24 asked for; 6 of 6 on a node",
            },
            {
                "id": "a100-80gb",
                "kept": False,
                "rule": "D2",
                "why": "4 on a node, the Pod needs 6",
            },
        ],
        "containers": [
            {
                "name": "main",
                "key": "preferred.jp/gpu-any-24gb",
                "count": 6,
                "candidates": ["v100-32gb", "a30-24gb", "a100-80gb"],
                "rows": [
                    {
                        "id": "v100-16gb",
                        "kept": False,
                        "rule": "G3",
                        "why": "16 GB, 24 asked for",
                    },
                    {"id": "v100-32gb", "kept": True, "rule": "G3", "why": "32 GB, 24 asked for"},
                    {"id": "a30-24gb", "kept": True, "rule": "G3", "why": "24 GB, 24 asked for"},
                    {"id": "a100-80gb", "kept": True, "rule": "G3", "why": "80 GB, 24 asked for"},
                ],
            }
        ],
        "placement": {
            "nodeSelector": {},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            term(expression("gpu-model", "In", "v100-32gb", "a30-24gb"))
                        ]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 100,
                            "preference": term(expression("gpu-model", "In", "v100-32gb")),
                        }
                    ],
                }
            },
            "tolerations": [
                {
                    "key": "gpu-model",
                    "operator": "Equal",
                    "value": value,
                    "effect": "NoSchedule",
                }
                for value in ("v100-32gb", "a30-24gb")
            ],
            "resources": {
                "main": {"limits": {"nvidia.com/gpu": "6"}, "requests": {"nvidia.com/gpu": "6"}}
            },
            "resourceClaims": [],
            "templates": [],
        },
        "warnings": [],
        "otherPolicy": {"policy": "SmallestFit", "allowed": True, "candidates": ["a30-24gb"]},
    }


def test_json_of_a_denial() -> None:
    found = answer(on_table("explain", "h100", "--priority", "0", "-o", "json"), code=1)
    assert list(found) == _KEYS
    assert found["allowed"] is False
    assert found["message"] == (
        'container "main": preferred.jp/gpu-h100: no device is called h100; '
        "nearest: a100, v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
    )
    assert found["candidates"] == []
    assert [row["rule"] for row in found["rows"]] == ["G2"] * 4
    assert found["placement"] is None


def test_yaml_says_the_same() -> None:
    as_json = answer(on_table("explain", "any-24gb", "-o", "json"))
    as_yaml = on_table("explain", "any-24gb", "-o", "yaml")
    assert as_yaml.exit_code == 0
    assert yaml.safe_load(as_yaml.stdout) == as_json


# Priority: D3.


def _judged(*arguments: str, pod: Json | None = None) -> dict[str, Any]:
    if pod is None:
        found = answer(on_table("explain", "any-24gb", "-o", "json", *arguments))
    else:
        text = json.dumps(pod)
        (found,) = answer(on_table("explain", "-f", "-", "-o", "json", *arguments, stdin=text))
    judged: dict[str, Any] = found
    return judged


@pytest.mark.rule("D3")
@pytest.mark.parametrize(
    ("arguments", "fields", "policy", "source", "is_open"),
    [
        ([], {}, "EveryFit", "default", True),
        (["--priority-class", "high"], {}, "SmallestFit", "classNames", False),
        (["--priority", "1000000"], {}, "SmallestFit", "minValue", False),
        (["--priority", "-5"], {}, "EveryFit", "default", False),
        (["--priority-class", "low", "--priority", "5"], {}, "EveryFit", "default", False),
        # The table asks for the number too, and a class alone does not say it.
        (["--priority-class", "low"], {}, "EveryFit", "default", True),
        # What the Pod says itself.
        ([], {"priorityClassName": "high"}, "SmallestFit", "classNames", False),
        ([], {"priority": 1000000}, "SmallestFit", "minValue", False),
        ([], {"priority": 7}, "EveryFit", "default", False),
        ([], {"priorityClassName": "low"}, "EveryFit", "default", True),
        # The command line stands in for it.
        (["--priority-class", "high"], {"priority": 7}, "SmallestFit", "classNames", False),
        (["--priority", "7"], {"priorityClassName": "high"}, "EveryFit", "default", False),
    ],
)
def test_policy(
    arguments: list[str], fields: Json, policy: str, source: str, *, is_open: bool
) -> None:
    """The other policy is judged too where the priority is not known, and only there."""
    found = _judged(*arguments, pod=asking(any_24gb=1).spec(**fields).build())
    assert (found["policy"], found["policyFrom"]) == (policy, source)
    assert ("otherPolicy" in found) == is_open
    if not fields:
        assert _judged(*arguments)["policyFrom"] == source


@pytest.mark.rule("D3")
def test_a_difference_is_named_on_standard_error() -> None:
    result = on_table("explain", "any-24gb", "-o", "json")
    assert result.stderr == f"note: {_UNKNOWN} a30-24gb (say --priority-class or --priority)\n"
    by_class = on_table("explain", "any-24gb", "-o", "json", "--priority-class", "low")
    assert by_class.stderr == (
        "note: the number of priority class low is not known; under SmallestFit it would be "
        "a30-24gb (say --priority)\n"
    )
    # Where it makes none, there is nothing to name.
    same = on_table("explain", "a100", "-o", "json")
    assert "otherPolicy" in answer(same)
    assert same.stderr == ""
    assert "note:" not in _text("a100")


# Manifests.

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: train}
spec:
  template:
    spec:
      priorityClassName: high
      containers:
        - name: main
          resources: {limits: {preferred.jp/gpu-any-24gb: 1}}
        - {name: side, resources: {requests: {cpu: 1}}}
        - {name: bare, resources: {limits: null}}
---
# Nothing.
---
apiVersion: v1
kind: Pod
metadata: {generateName: job-}
spec:
  containers: [{name: main, resources: {limits: {preferred.jp/gpu-h100: 1}}}]
"""


def test_every_template_of_a_manifest(tmp_path: Path) -> None:
    manifest = tmp_path / "all.yaml"
    manifest.write_text(_DEPLOYMENT)
    assert (
        _text("-f", str(manifest), code=1)
        == """\
Deployment/train
allowed: a30-24gb
policy: SmallestFit (from classNames); table pfn DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    16 GB, 24 asked for
v100-32gb  no    D5    32 GB, a smaller one fits (24 GB)
a30-24gb   yes   D5    24 GB is the least; 1 of 6 on a node
a100-80gb  no    D5    80 GB, a smaller one fits (24 GB)

The Pod gets:
  limits of main: nvidia.com/gpu: 1
  requires a node with: gpu-model = a30-24gb
  tolerates: gpu-model=a30-24gb:NoSchedule

Pod/job-
denied
  container "main": preferred.jp/gpu-h100: no device is called h100; nearest:
  a100, v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100
policy: EveryFit (from default); table pfn DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G2    is not called h100
v100-32gb  no    G2    is not called h100
a30-24gb   no    G2    is not called h100
a100-80gb  no    G2    is not called h100
"""
    )
    assert _text("-f", "-", stdin=_DEPLOYMENT, code=1) == _text("-f", str(manifest), code=1)


def test_json_of_a_manifest_is_a_list() -> None:
    found = answer(on_table("explain", "-f", "-", "-o", "json", stdin=_DEPLOYMENT), code=1)
    assert [(one["object"], one["path"]) for one in found] == [
        ("Deployment/train", "/spec/template"),
        ("Pod/job-", ""),
    ]
    assert [list(one)[:2] for one in found] == [["object", "path"]] * 2
    assert found[0]["placement"]["resources"] == {
        "main": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
        "side": {"requests": {"cpu": 1}},
        "bare": {"limits": None},
    }
    one = answer(on_table("explain", "-f", "-", "-o", "json", stdin=json.dumps(asking().build())))
    assert [(each["object"], each["path"]) for each in one] == [("Pod/train", "")]


@pytest.mark.rule("N8")
def test_a_daemon_set_is_judged_as_its_pods_will_be() -> None:
    manifest = _DEPLOYMENT.partition("---")[0].replace("Deployment", "DaemonSet")
    result = on_table("explain", "-f", "-", stdin=manifest)
    assert result.exit_code == 1
    assert result.stdout.startswith(
        'DaemonSet/train\ndenied\n  this Pod belongs to DaemonSet "train", which picks its nodes'
    )
    assert "a30-24gb   yes" in result.stdout


def test_several_manifests_are_all_explained(tmp_path: Path) -> None:
    for name in ("one", "two"):
        pod = make_pod(name).container("main", any_24gb=1).build()
        (tmp_path / name).write_text(json.dumps(pod))
    result = on_table("explain", *(f"-f{tmp_path / name}" for name in ("one", "two")), "-o", "json")
    assert [one["object"] for one in answer(result)] == ["Pod/one", "Pod/two"]


def test_a_file_that_is_taken_for_a_spec(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("{}")
    result = run("explain", str(file))
    assert result.exit_code == 2
    assert f"write -f {file} to explain what it holds" in " ".join(result.stderr.split())


def test_a_class_that_no_rule_names_is_pointed_out() -> None:
    text = run("explain", "t4", "--priority-class", "gpuspec-hihg").stdout
    assert "\nnote: table default has no rule for priority class gpuspec-hihg\n" in text
    assert "note:" not in run("explain", "t4", "--priority-class", "gpuspec-high").stdout


_ONLY_CLASSES = (
    "\nnote: table default has no rule for priority 2000000, only for priority class\n"
    "  gpuspec-high\n"
)


def test_a_number_that_no_rule_reads_is_pointed_out() -> None:
    assert _ONLY_CLASSES in run("explain", "t4", "--priority", "2000000").stdout
    pod = json.dumps(asking(t4=1).spec(priority=2000000).build())
    assert _ONLY_CLASSES in run("explain", "-f", "-", stdin=pod).stdout
    assert "note:" not in run("explain", "-f", "-", "--priority", "0", stdin=pod).stdout
    # The class decides, whatever its number; what asks for no device has no policy.
    with_class = json.dumps(asking(t4=1).spec(priority=5, priorityClassName="gpuspec-high").build())
    assert "note:" not in run("explain", "-f", "-", stdin=with_class).stdout
    plain = json.dumps(make_pod().container("main").spec(priority=2000000).build())
    assert "note:" not in run("explain", "-f", "-", stdin=plain).stdout
    # This table reads numbers.
    assert "note:" not in on_table("explain", "a30", "--priority", "7").stdout


@pytest.mark.parametrize("wrong", [["x"], {}, 5, True])
def test_a_priority_of_a_wrong_shape_is_no_obstacle(wrong: object) -> None:
    pod = json.dumps(asking(t4=1).spec(priority="high", priorityClassName=wrong).build())
    result = run("explain", "-f", "-", stdin=pod)
    assert result.exit_code == 0
    assert "note: its priority is not known" not in result.stdout


def test_a_terminal_obeys_nothing_that_a_manifest_says() -> None:
    pod = make_pod("a\x1b[31m").container("b\x1b[31m\n", {"preferred.jp/gpu-a30\x07": 1}).build()
    for verb in ("explain", "mutate"):
        result = on_table(verb, "-f", "-", stdin=json.dumps(pod))
        assert result.exit_code == 1
        assert "Pod/a?[31m" in result.output
        assert 'container "b?[31m ": preferred.jp/gpu-a30? ' in " ".join(result.output.split())


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("a30", "gpu-a30"),
        ("a100-80gb", "gpu-a100-80gb"),
        ("gpus-a30", "gpu-a30"),
        ("gpu_a30", "gpu-a30"),
        ("any-24gb", "gpu-any-24gb"),
        ("GPUS-A30-24", "gpu-a30-24gb"),
    ],
)
def test_a_key_that_only_looks_like_a_spec_passes_with_a_warning(key: str, meant: str) -> None:
    pod = make_pod().container("main", {f"preferred.jp/{key}": 1}).build()
    text = _text("-f", "-", stdin=json.dumps(pod))
    warning = (
        f"warning: did you mean preferred.jp/{meant}? preferred.jp/{key} is no spec: "
        'container "main"'
    )
    assert warning in " ".join(text.split())


@pytest.mark.rule("G4")
@pytest.mark.parametrize("key", ["network", "gpudirect-nic", "mncore", "b200"])
def test_other_keys_of_the_domain_pass_in_silence(key: str) -> None:
    pod = make_pod().container("main", {f"preferred.jp/{key}": 1}).build()
    assert "warning" not in _text("-f", "-", stdin=json.dumps(pod))


@pytest.mark.rule("A3")
def test_a_forgotten_amount_is_pointed_out() -> None:
    pod = make_pod().container("main", {"preferred.jp/gpu-a30": None}).build()
    text = " ".join(_text("-f", "-", stdin=json.dumps(pod)).split())
    assert 'container "main": preferred.jp/gpu-a30 has no amount, which asks for no device' in text


@pytest.mark.rule("N8")
def test_a_pod_of_a_daemon_set_is_denied() -> None:
    pod = asking().owner("DaemonSet", "agent").build()
    (found,) = answer(on_table("explain", "-f", "-", "-o", "json", stdin=json.dumps(pod)), code=1)
    assert found["message"] == (
        'this Pod belongs to DaemonSet "agent", which picks its nodes before admission, so it '
        "would pend for ever; put selectors, tolerations and resource into its template: "
        '"gpuspec mutate --cluster -f FILE" writes them'
    )


def test_a_pod_without_a_spec() -> None:
    pod = json.dumps(make_pod().container("main").build())
    result = on_table("explain", "-f", "-", stdin=pod)
    assert result.exit_code == 0
    assert result.stdout == (
        "Pod/train\nallowed, unchanged: No container has a key <domain>/gpu-... of this table.\n"
    )
    (found,) = answer(on_table("explain", "-f", "-", "-o", "json", stdin=pod))
    assert found["allowed"] is True
    assert (found["policy"], found["policyFrom"], found["placement"]) == (None, None, None)
    assert found["rows"] == found["candidates"] == found["containers"] == []


@pytest.mark.rule("N7")
def test_a_pod_that_has_its_node() -> None:
    pod = json.dumps(asking(any_24gb=1).spec(nodeName="n1", priority=0).build())
    text = _text("-f", "-", stdin=pod)
    assert text.endswith(
        """
The Pod gets:
  limits of main: nvidia.com/gpu: 1
  no node affinity and no tolerations: its spec.nodeName already names a node
"""
    )


def test_whatever_else_a_pod_says_is_no_obstacle() -> None:
    """What says nothing is shown in JSON as it is, and not in text."""
    pod = asking(any_24gb=1).spec(priority=0).tolerates({"operator": "Exists"}).build()
    pod["spec"]["tolerations"] += [None, {"key": None}]
    pod["spec"]["affinity"] = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                None,
                {"weight": 5},
                {"preference": {"matchExpressions": None}},
            ]
        }
    }
    text = _text("-f", "-", stdin=json.dumps(pod))
    assert "prefers (weight 100): gpu-model = v100-32gb" in text
    (found,) = answer(on_table("explain", "-f", "-", "-o", "json", stdin=json.dumps(pod)))
    assert found["placement"]["tolerations"][:3] == [{"operator": "Exists"}, None, {"key": None}]


@pytest.mark.rule("R8")
def test_warnings_are_part_of_the_answer() -> None:
    pod = asking(any_24gb=1).container("raw", {"nvidia.com/gpu": 1}).spec(priority=0).build()
    warning = 'container "raw" asks for nvidia.com/gpu by itself; it gets devices of the same node'
    (found,) = answer(on_table("explain", "-f", "-", "-o", "json", stdin=json.dumps(pod)))
    assert found["warnings"] == [warning]
    text = _text("-f", "-", stdin=json.dumps(pod))
    assert f"warning: {warning}" in text.replace("\n  ", " ")


# Wrong usage, unreadable input.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give either specs, such as any-24gb, or -f MANIFEST"),
        (["any", "-f", "x.yaml"], "give either specs, such as any-24gb, or -f MANIFEST"),
        (
            ["other.org/gpu-any"],
            "other.org/gpu-any: the table's domain is preferred.jp, not other.org",
        ),
        (
            ["-f", "-", "--table", "-"],
            "standard input can be read only once",
        ),
        (["any", "--priority", "high"], "'high' is not a valid integer"),
        (["any", "-o", "xml"], "'xml' is not one of 'text', 'json', 'yaml'"),
        (["any", "--policy", "x"], "No such option '--policy'"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    result = run("explain", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr


def test_the_table_may_come_from_standard_input() -> None:
    text = Path(TABLE).read_text(encoding="utf-8")
    found = answer(run("explain", "any-24gb", "--table", "-", "-o", "json", stdin=text))
    assert found["table"] == answer(on_table("explain", "any", "-o", "json"))["table"]


def test_a_bad_table_is_refused_with_all_its_problems(tmp_path: Path) -> None:
    table = tmp_path / "table.yaml"
    text = Path(TABLE).read_text(encoding="utf-8")
    table.write_text(text.replace("perNode: 6", "pernode: 6").replace("vram: 80gb", "vram: 80"))
    result = run("explain", "any", "--table", str(table))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        f"{table}:35:7: spec.devices[2].perNode: perNode is missing",
        f"{table}:37:7: spec.devices[2].pernode: unknown key pernode; did you mean perNode?",
        f"{table}:44:13: spec.devices[3].vram: vram 80 is no nominal memory; write 80gb",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a: [\n---\nb: c: d\n",
            [
                "<stdin>:2:1: did not find expected node content while parsing a flow node",
                (
                    '<stdin>:3:5: a ": " stands where no key can be; put the value in quotes, or '
                    "mend "
                    "the indentation"
                ),
            ],
        ),
        (
            "- a\n---\ntext\n---\nkind: Pod\n",
            [
                (
                    "<stdin>:1:1: this document is no Kubernetes object; write a mapping with "
                    "apiVersion and kind"
                ),
                (
                    "<stdin>:3:1: this document is no Kubernetes object; write a mapping with "
                    "apiVersion and kind"
                ),
            ],
        ),
    ],
)
def test_manifests_that_cannot_be_explained(text: str, said: list[str]) -> None:
    result = on_table("explain", "-f", "-", stdin=text)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == said


@pytest.mark.parametrize("text", ["", "kind: ConfigMap\n"])
def test_a_manifest_without_pods_is_fine(text: str) -> None:
    result = on_table("explain", "-f", "-", stdin=text)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "note: <stdin> holds no Pod and no Pod template\n"


def test_a_file_of_anything_else_is_refused_in_a_screenful(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_bytes(bytes(range(128)) * 40)
    result = run("explain", "any", "--table", str(table))
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) <= 51


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for arguments in (["-f", str(tmp_path)], ["any", "--table", str(tmp_path)]):
        result = run("explain", *arguments)
        assert (result.exit_code, result.stderr) == (2, f"{tmp_path}: Is a directory\n")
    missing = tmp_path / "none.yaml"
    result = run("explain", "-f", str(missing))
    assert (result.exit_code, result.stderr) == (2, f"{missing}: No such file or directory\n")


def test_what_kubectl_reads_oddly_is_a_warning() -> None:
    manifest = _DEPLOYMENT.partition("---")[0] + "stray: yes\n"
    result = on_table("explain", "-f", "-", stdin=manifest)
    assert result.exit_code == 0
    assert result.stderr == (
        'warning: <stdin>:13:8: stray: yes is read as true; write "yes" in quotes, or true\n'
    )
