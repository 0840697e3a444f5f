"""``gpuspec mutate``: every template of every document as admission would store its Pods."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.documents import load_manifests
from tests.builders import Json, asking, expression, make_pod, pfn, term, tolerate
from tests.webhook.cli.running import TABLE, on_table, run
from webhook.admission.translate import Context, translate
from webhook.cli.outputs import yaml_text
from webhook.jsonpatch import write

_LOW = ("--priority", "0")


def _mutated(manifest: str, *arguments: str) -> list[Any]:
    """Return the documents that come out, as kubectl reads them."""
    result = on_table("mutate", "-f", "-", *_LOW, *arguments, stdin=manifest)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return [document.value for document in load_manifests(result.stdout)]


def _template(**spec: object) -> Json:
    """A Pod template that asks for one GPU of 24 GB."""
    return {"spec": {"containers": _containers(), **spec}}


def _containers(key: str = "preferred.jp/gpu-any-24gb") -> list[Json]:
    return [{"name": "main", "image": "app", "resources": {"limits": {key: 1}}}]


def _workload(kind: str, spec: Json, version: str = "apps/v1") -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "train"}, "spec": spec}


def _at(document: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    """Return what stands at a path such as ``spec.items.0``."""
    for step in path.split(".") if path else ():
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def test_a_pod() -> None:
    result = on_table("mutate", "-f", "-", *_LOW, stdin=yaml.safe_dump(asking(any_24gb=6).build()))
    assert result.exit_code == 0
    assert result.stderr == ""
    digest = pfn().digest
    assert (
        result.stdout
        == f"""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  labels:
    gpuspec.preferred.jp/spec: gpu-any-24gb
  annotations:
    gpuspec.preferred.jp/request: '{{"containers":[{{"name":"main","spec":"gpu-any-24gb",\
"count":6}}],"policy":"EveryFit","candidates":["v100-32gb","a30-24gb"],"table":"{digest}"}}'
spec:
  containers:
    - image: app
      name: main
      resources:
        limits:
          nvidia.com/gpu: "6"
        requests:
          nvidia.com/gpu: "6"
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - key: gpu-model
                operator: In
                values:
                  - v100-32gb
                  - a30-24gb
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          preference:
            matchExpressions:
              - key: gpu-model
                operator: In
                values:
                  - v100-32gb
  tolerations:
    - key: gpu-model
      operator: Equal
      value: v100-32gb
      effect: NoSchedule
    - key: gpu-model
      operator: Equal
      value: a30-24gb
      effect: NoSchedule
"""
    )


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (_workload("Deployment", {"template": _template()}), ["spec.template"]),
        (_workload("Job", {"template": _template()}, "batch/v1"), ["spec.template"]),
        (
            _workload("CronJob", {"jobTemplate": {"spec": {"template": _template()}}}, "batch/v1"),
            ["spec.jobTemplate.spec.template"],
        ),
        (
            _workload(
                "PyTorchJob",
                {
                    "pytorchReplicaSpecs": {
                        "Master": {"replicas": 1, "template": _template()},
                        "Worker": {"replicas": 3, "template": _template()},
                    }
                },
                "kubeflow.org/v1",
            ),
            [
                "spec.pytorchReplicaSpecs.Master.template",
                "spec.pytorchReplicaSpecs.Worker.template",
            ],
        ),
        (
            _workload(
                "RayCluster",
                {
                    "headGroupSpec": {"template": _template()},
                    "workerGroupSpecs": [{"template": _template()}, {"template": _template()}],
                },
                "ray.io/v1",
            ),
            [
                "spec.headGroupSpec.template",
                "spec.workerGroupSpecs.0.template",
                "spec.workerGroupSpecs.1.template",
            ],
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [asking(any_24gb=1).build(), _workload("Job", {"template": _template()})],
            },
            ["items.0", "items.1.spec.template"],
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_every_template_is_translated_where_it_stands(document: Json, paths: list[str]) -> None:
    (mutated,) = _mutated(json.dumps(document))
    for path in paths:
        template = _at(mutated, path)
        (container,) = template["spec"]["containers"]
        assert container["resources"] == {
            "limits": {"nvidia.com/gpu": "1"},
            "requests": {"nvidia.com/gpu": "1"},
        }
        assert template["metadata"]["labels"]["gpuspec.preferred.jp/spec"] == "gpu-any-24gb"
        assert "nodeAffinity" in template["spec"]["affinity"]
        assert len(template["spec"]["tolerations"]) == 3
        # All else is as it was.
        _at(mutated, path).clear()
        _at(document, path).clear()
    assert mutated == document


@pytest.mark.rule("N8")
def test_daemon_sets_are_translated() -> None:
    (mutated,) = _mutated(json.dumps(_workload("DaemonSet", {"template": _template()})))
    spec = mutated["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "gpu-model" in json.dumps(spec["affinity"])


@pytest.mark.rule("N8")
def test_a_pod_of_a_daemon_set_is_denied_and_nothing_is_printed() -> None:
    pod = asking().owner("DaemonSet", "agent").build()
    result = on_table("mutate", "-f", "-", *_LOW, stdin=json.dumps(pod))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        'error: Pod/train metadata.ownerReferences: this Pod belongs to DaemonSet "agent", which '
        "picks its nodes before admission, so it would pend for ever; put selectors, tolerations "
        'and resource into its template: "gpuspec mutate --cluster -f FILE" writes them\n'
    )


def test_nothing_is_printed_when_anything_is_denied() -> None:
    bad = _workload(
        "Job", {"template": {"spec": {"containers": _containers("preferred.jp/gpu-x")}}}
    )
    worse = make_pod("p").container("a", any_24=1).container("b", any="$N").build()
    manifest = "\n---\n".join(json.dumps(one) for one in (asking().build(), bad, worse))
    for output in ("yaml", "json", "patch"):
        result = on_table("mutate", "-f", "-", "-o", output, *_LOW, stdin=manifest)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.splitlines() == [
            (
                'error: Job/train spec.containers[0].resources.limits["preferred.jp/gpu-x"]: '
                'container "main": preferred.jp/gpu-x: no device is called x; nearest: a100, a30, '
                "any; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
            ),
            (
                'error: Pod/p spec.containers[0].resources.limits["preferred.jp/gpu-any-24"]: '
                'container "a": preferred.jp/gpu-any-24 ends in 24, which is neither a name nor '
                "memory in whole gb; write preferred.jp/gpu-any-24gb"
            ),
            (
                'error: Pod/p spec.containers[1].resources.limits["preferred.jp/gpu-any"]: '
                'container "b": preferred.jp/gpu-any: "$N" looks like a variable that nothing has '
                "filled in; render the template before it is applied"
            ),
        ]


@pytest.mark.rule("D3")
def test_policy_and_what_is_not_known_of_it() -> None:
    pod = json.dumps(asking(any_24gb=1).build())
    open_ = on_table("mutate", "-f", "-", stdin=pod)
    assert open_.exit_code == 0
    assert open_.stderr == (
        "note: Pod/train: its priority is not known; under SmallestFit it would be a30-24gb "
        "(say --priority-class or --priority)\n"
    )
    high = on_table("mutate", "-f", "-", "--priority-class", "high", stdin=pod)
    assert high.stderr == ""
    (mutated,) = yaml.safe_load_all(high.stdout)
    assert mutated["spec"]["nodeSelector"] == {"gpu-model": "a30-24gb"}
    # Priority fields are never written.
    assert not {"priority", "priorityClassName"} & set(mutated["spec"])


@pytest.mark.rule("R8", "R6")
def test_warnings_go_to_standard_error() -> None:
    pods = [
        asking(any_24gb=1).container("raw", {"nvidia.com/gpu": 1}).build(),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "broken"}, "spec": None},
    ]
    result = on_table("mutate", "-f", "-", *_LOW, stdin="\n---\n".join(map(json.dumps, pods)))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        (
            'warning: Pod/train spec.containers[1].resources: container "raw" asks for '
            "nvidia.com/gpu by itself; it gets devices of the same node"
        ),
        "warning: Pod/broken: left as it is: invalid spec",
    ]
    assert list(yaml.safe_load_all(result.stdout))[1] == pods[1]


def test_patches() -> None:
    one = _workload("Job", {"template": _template()}, "batch/v1")
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    result = on_table("mutate", "-f", "-", "-o", "patch", *_LOW, stdin=json.dumps(one))
    patch = json.loads(result.stdout)
    assert patch[0] == {
        "op": "remove",
        "path": ("/spec/template/spec/containers/0/resources/limits/preferred.jp~1gpu-any-24gb"),
    }
    assert jsonpatch.apply_patch(one, patch) == _mutated(json.dumps(one))[0]
    both = on_table(
        "mutate", "-f", "-", "-o", "patch", *_LOW, stdin=json.dumps(plain) + json.dumps(one)
    )
    assert json.loads(both.stdout) == [[], patch]


def test_json() -> None:
    pod = json.dumps(asking(any_24gb=1).build())
    one = on_table("mutate", "-f", "-", "-o", "json", *_LOW, stdin=pod)
    assert json.loads(one.stdout) == _mutated(pod)[0]
    two = on_table("mutate", "-f", "-", "-o", "json", *_LOW, stdin=f"{pod}\n---\n{pod}")
    assert json.loads(two.stdout) == {
        "apiVersion": "v1",
        "kind": "List",
        "items": _mutated(pod) * 2,
    }


def test_a_manifest_without_pods_passes_through() -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: 'on', b: '1e3'}\n"
    (document,) = _mutated(manifest)
    assert document["data"] == {"a": "on", "b": "1e3"}
    empty = on_table("mutate", "-f", "-", stdin="---\n# nothing\n")
    assert (empty.exit_code, empty.stdout, empty.stderr) == (0, "", "")


def test_files_and_standard_input(tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(asking(any_24gb=1).build()))
    from_file = on_table("mutate", "-f", str(manifest), *_LOW)
    from_stdin = on_table("mutate", "-f", "-", *_LOW, stdin=manifest.read_text())
    assert from_file.stdout == from_stdin.stdout
    table = Path(TABLE).read_text(encoding="utf-8")
    table_from_stdin = run("mutate", "-f", str(manifest), "--table", "-", *_LOW, stdin=table)
    assert table_from_stdin.stdout == from_file.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        ([], "", "Missing option '-f' / '--filename'"),
        (
            ["-f", "-", "--table", "-"],
            "",
            "standard input can be read only once",
        ),
        (["-f", "-", "-o", "text"], "", "'text' is not one of 'yaml', 'json', 'patch'"),
        (["-f", "/none/x.yaml"], "", "/none/x.yaml: No such file or directory"),
        (
            ["-f", "-"],
            "kind: Pod\n---\n- a\n",
            (
                "<stdin>:3:1: this document is no Kubernetes object; write a mapping with "
                "apiVersion and kind"
            ),
        ),
        (
            ["-f", "-"],
            "a: {{ .Values.x }}\n",
            "<stdin>:1:5: a: a key is a list or a mapping; make it a text",
        ),
    ],
)
def test_wrong_usage_and_unreadable_input(arguments: list[str], stdin: str, said: str) -> None:
    result = run("mutate", *arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


# Properties.

# Texts that some YAML reader takes for something else, and texts that YAML cannot show as they are.
_WORDS = [
    "yes", "on", "y", "1e3", "0x10", "010", "1_000", "12:30", "2024-01-01", "null", "~", "=", "<<",
    "{", "[", "*a", "&a", "!a", "%a", "@a", "---", "...", "true", "0.1", ".5", "+1", "0o7", "0b1",
    "1.", "-", "?", ":", ",", "|", ">", "\\", "'", '"', "ｆ", "😀",
]  # fmt: skip
_LINES = ["", "- a", "a: b", "a #b", "--- a", " a", "a ", "x" * 200, "word " * 40, "\t", "\x07"]
_LINES += ["a\nb", "a\nb\n", "\na", "  a\n b", "a\n---\nb", "a\n\n", "a\tb\n", "a\r\nb"]
_LINES += ["\x85", "a\n\x85b", "\u2028\n", "\u2029", "\ufeff"]
_texts = st.text() | st.sampled_from(_WORDS) | st.sampled_from(_LINES)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    # Beyond this, kubectl writes whole floats with other digits.
    | st.floats(-1e15, 1e15)
    | _texts
)
_json_values = st.recursive(
    _scalars,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(_texts, children, max_size=3),
    max_leaves=12,
)


def _as_read(value: object) -> object:
    """Return a value as the documents' reader gives it."""
    (document,) = load_manifests(json.dumps({"v": value}))
    assert isinstance(document.value, dict)
    return document.value["v"]


@given(st.lists(_json_values, min_size=1, max_size=3))
def test_yaml_is_read_back_as_the_same_values(values: list[object]) -> None:
    wanted = [{"v": _as_read(value)} for value in values]
    documents = load_manifests(yaml_text(wanted))
    assert [document.value for document in documents] == wanted
    assert all(not document.findings for document in documents)


_pods = st.builds(
    lambda extra, labels, spec: (
        asking(any_24gb=1)
        .spec(priority=0, extra=extra, **spec)
        .metadata(labels=labels, annotations={"note": "yes"})
        .build()
    ),
    _json_values,
    st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), _texts, max_size=2),
    st.fixed_dictionaries(
        {},
        optional={
            "nodeSelector": st.just({"zone": "a"}),
            "tolerations": st.just([tolerate("other")]),
            "affinity": st.sampled_from(
                [
                    {"podAffinity": {}},
                    {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [term(expression("disk", "In", "ssd"))]
                            }
                        }
                    },
                ]
            ),
        },
    ),
)


@pytest.mark.rule("R3")
@given(_pods, st.sampled_from(["Pod", "Deployment"]))
def test_values_in_are_values_out_but_for_our_edits(pod: Json, kind: str) -> None:
    """What comes out is what admission would make of what kubectl reads, and nothing else."""
    document = pod if kind == "Pod" else _workload(kind, {"template": pod, "replicas": 3})
    text = yaml_text([document])
    (read,) = (copy.deepcopy(one.value) for one in load_manifests(text))
    assert isinstance(read, dict)
    inner = read if kind == "Pod" else read["spec"]["template"]
    outcome = translate(inner, Context(is_template=kind != "Pod", priority=0), pfn())
    wanted = write(inner, outcome.edits).after
    if kind != "Pod":
        wanted = {**read, "spec": {**read["spec"], "template": wanted}}
    assert _mutated(text) == [wanted]
    # Again: nothing is left to do.
    assert _mutated(yaml_text([wanted])) == [wanted]


@pytest.mark.rule("A8")
@pytest.mark.parametrize("verb", ["mutate", "explain"])
def test_keys_where_they_do_nothing_are_pointed_out(verb: str) -> None:
    pod = make_pod().container("main", any_24gb=1).spec(overhead={"preferred.jp/gpu-a30": "1"})
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"resources": {"requests": {"preferred.jp/gpu-any": "1"}}},
    }
    text = "\n---\n".join(json.dumps(one) for one in (pod.spec(priority=0).build(), claim))
    result = on_table(verb, "-f", "-", stdin=text)
    assert result.exit_code == 0
    mended = "put it under a container's resources.limits"
    overhead, request = "preferred.jp/gpu-a30", "preferred.jp/gpu-any"
    assert result.stderr.splitlines() == [
        (
            f'warning: spec.overhead["{overhead}"]: {overhead} does nothing here: an overhead is '
            f"what a runtime takes beside the containers; {mended}"
        ),
        (
            f'warning: spec.resources.requests["{request}"]: {request} does nothing here: only the '
            f"resources of a Pod's containers ask for devices; {mended}"
        ),
    ]
