"""``gpuspec convert``: what is printed, written and told, and that all else stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from selection_spec.documents import load_manifests
from tests.builders import Json
from tests.webhook.cli.claim_tables import claim_table
from tests.webhook.cli.running import on_table, run
from webhook.placement.templates import template_name

JOB = """\
# The nightly run
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector:
        gpu-model: a100-80gb  # the big ones
        zone: east
      tolerations:
        - {key: gpu-model, operator: Equal, value: a100-80gb, effect: NoSchedule}
      containers:
        - name: main
          image: app
          resources:
            limits:
              cpu: "8"
              nvidia.com/gpu: 2  # both
            requests: {nvidia.com/gpu: 2}
"""

CONVERTED = """\
# The nightly run
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector:
        zone: east
      containers:
        - name: main
          image: app
          resources:
            limits:
              cpu: "8"
              preferred.jp/gpu-a100-80gb: 2  # both
"""

TOLD = """\
job.yaml:2: Job/train: preferred.jp/gpu-a100-80gb for nvidia.com/gpu in "main"
  rows   a100-80gb
  goes   spec.template.spec.nodeSelector.gpu-model
  goes   spec.template.spec.tolerations[0]
  stays  spec.template.spec.nodeSelector.zone: no row of table pfn knows its
         nodes by zone
"""

SMALL = """\
apiVersion: v1
kind: Pod
metadata: {name: small}
spec:
  nodeSelector: {gpu-model: v100-16gb}
  tolerations: [{key: gpu-model, value: v100-16gb, effect: NoSchedule}]
  containers: [{name: m, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


def _ok(result: Result, code: int = 0) -> Result:
    assert result.exit_code == code, result.output
    return result


@pytest.mark.usefixtures("folder")
def test_a_diff_and_what_was_done() -> None:
    result = _ok(on_table("convert", "-f", "job.yaml"))

    assert result.stderr == TOLD
    assert result.stdout == (
        "--- job.yaml\n"
        "+++ job.yaml\n"
        "@@ -7,15 +7,11 @@\n"
        "     spec:\n"
        "       restartPolicy: Never\n"
        "       nodeSelector:\n"
        "-        gpu-model: a100-80gb  # the big ones\n"
        "         zone: east\n"
        "-      tolerations:\n"
        "-        - {key: gpu-model, operator: Equal, value: a100-80gb, effect: NoSchedule}\n"
        "       containers:\n"
        "         - name: main\n"
        "           image: app\n"
        "           resources:\n"
        "             limits:\n"
        '               cpu: "8"\n'
        "-              nvidia.com/gpu: 2  # both\n"
        "-            requests: {nvidia.com/gpu: 2}\n"
        "+              preferred.jp/gpu-a100-80gb: 2  # both\n"
    )


@pytest.mark.usefixtures("folder")
def test_the_whole_result() -> None:
    assert _ok(on_table("convert", "-f", "job.yaml", "-o", "yaml")).stdout == CONVERTED
    assert _ok(on_table("convert", "-", "-o", "yaml", stdin=JOB)).stdout == CONVERTED


def test_files_are_replaced_with_their_mode(folder: Path) -> None:
    file = folder / "job.yaml"
    file.chmod(0o640)
    (folder / "link.yaml").symlink_to(file)
    result = _ok(on_table("convert", "link.yaml", "--write"))

    assert result.stdout == ""
    assert result.stderr.endswith("changed: link.yaml\n")
    assert file.read_text() == CONVERTED
    assert file.stat().st_mode & 0o777 == 0o640
    assert (folder / "link.yaml").is_symlink()
    assert sorted(one.name for one in folder.iterdir()) == ["job.yaml", "link.yaml", "small.yaml"]
    again = _ok(on_table("convert", "link.yaml", "--write"))
    assert (again.stdout, again.stderr) == ("", "")


def test_nothing_is_written_where_a_file_cannot_be_read(folder: Path) -> None:
    (folder / "bad.yaml").write_text("a: [\n")
    result = _ok(on_table("convert", "job.yaml", "bad.yaml", "none.yaml", "--write"), 2)

    assert "bad.yaml:2:1:" in result.stderr
    assert (folder / "job.yaml").read_text() == JOB


def test_a_file_that_cannot_be_written_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    result = _ok(on_table("convert", "job.yaml", "--write"), 2)

    assert "job.yaml: No space left on device" in result.stderr
    assert (folder / "job.yaml").read_text() == JOB
    assert sorted(one.name for one in folder.iterdir()) == ["job.yaml", "small.yaml"]


def test_what_cannot_be_read_is_told_of_all_files(folder: Path) -> None:
    (folder / "bad.yaml").write_text("a: [\n")
    (folder / "bytes.yaml").write_bytes(b"# \xff\n")
    result = _ok(on_table("convert", "none.yaml", "bad.yaml", "job.yaml", "bytes.yaml"), 2)

    none, bad, no_text = result.stderr.splitlines()
    assert none == "none.yaml: No such file or directory"
    assert bad.startswith("bad.yaml:2:1: ")
    assert no_text == "bytes.yaml: holds bytes that are no characters"
    assert result.stdout == ""


def test_what_cannot_be_written_is_told_of_all_files_and_the_others_are_written(
    folder: Path,
) -> None:
    for name in ("linked.yaml", "locked.yaml"):
        (folder / name).write_text(JOB)
    (folder / "other.yaml").hardlink_to(folder / "linked.yaml")
    (folder / "locked.yaml").chmod(0o444)
    files = ("linked.yaml", "locked.yaml", "job.yaml", "small.yaml")
    result = _ok(on_table("convert", *files, "--write"), 2)

    assert result.stderr.endswith(
        "changed: job.yaml\n"
        "linked.yaml: has 2 hard links, which rewriting would break: edit it by hand or copy it "
        "first\n"
        "locked.yaml: is read-only: allow writing (chmod u+w) or change a copy of it\n"
    )
    assert (folder / "job.yaml").read_text() == CONVERTED
    assert (folder / "linked.yaml").read_text() == (folder / "locked.yaml").read_text() == JOB
    assert _ok(on_table("convert", "linked.yaml")).stdout


FORGED = "a.yaml\nchanged: b\x1b[31m.yaml"
SEEN = r"a.yaml\nchanged: b\x1b[31m.yaml"


def test_a_name_forges_no_lines(folder: Path) -> None:
    file = folder / FORGED
    file.write_text(JOB)
    shown = _ok(on_table("convert", FORGED))
    native = _ok(on_table("convert", "--to-native", FORGED))
    written = _ok(on_table("convert", FORGED, "--write"))
    file.write_text(CONVERTED.replace("a100", "h100"))
    refused = _ok(on_table("convert", "--to-native", FORGED), 1)

    assert shown.stdout.startswith(f"--- {SEEN}\n+++ {SEEN}\n@@")
    assert shown.stderr.startswith(f"{SEEN}:2: Job/train: preferred.jp/gpu-a100-80gb")
    assert (native.stdout, native.stderr) == ("", "")
    assert written.stderr.splitlines()[-1] == f"changed: {SEEN}"
    assert refused.stderr.startswith(f"error: {SEEN}:2: Job/train")
    for one in (shown, written, refused):
        assert "\x1b" not in one.output


UNREADABLE = {
    "not there": None,
    "no YAML": b"a: [\n",
    "no text": b"# \xff\n",
    "a key that is no better": b'"a\\e[31m\\nchanged: b": {c: !!int "x"}\n',
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE)
def test_a_name_forges_no_errors(raw: bytes | None, folder: Path) -> None:
    if raw is not None:
        (folder / FORGED).write_bytes(raw)
    result = _ok(on_table("convert", FORGED), 2)

    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{SEEN}:")
    assert line.isprintable()


@pytest.mark.usefixtures("folder")
def test_what_stays_by_hand_makes_the_status() -> None:
    result = _ok(on_table("convert", "job.yaml", "small.yaml", "--priority", "0"), 1)

    assert result.stderr == TOLD + (
        "small.yaml:1: Pod/small: stays by hand\n"
        "  stays  spec.containers[0].resources: it means v100-16gb alone;\n"
        "         preferred.jp/gpu-v100-16gb means v100-32gb, too (--widen)\n"
    )
    assert "small.yaml" not in result.stdout


@pytest.mark.usefixtures("folder")
def test_with_leave_what_comes_in_addition_is_told() -> None:
    result = _ok(on_table("convert", "small.yaml", "--widen", "-o", "yaml"))

    assert result.stdout.endswith(
        "spec:\n  containers: [{name: m, resources: {limits: {preferred.jp/gpu-v100-16gb: 1}}}]\n"
    )
    assert "\n  also   v100-32gb, in addition\n" in result.stderr


@pytest.mark.usefixtures("folder")
def test_the_priority_decides() -> None:
    result = _ok(on_table("convert", "small.yaml", "--priority-class", "high", "-o", "yaml"))

    assert "preferred.jp/gpu-v100-16gb: 1" in result.stdout


@pytest.mark.usefixtures("folder")
def test_several_files_are_one_stream() -> None:
    result = _ok(on_table("convert", "-f", "small.yaml", "job.yaml", "-o", "yaml"), 1)

    assert result.stdout == f"{SMALL}---\n{CONVERTED}"


def test_a_daemon_set_is_right_as_it_is() -> None:
    text = JOB.replace("batch/v1", "apps/v1").replace("Job", "DaemonSet")
    result = _ok(on_table("convert", "-", stdin=text))

    assert result.stdout == ""
    assert "DaemonSet/train: stays by hand" in result.stderr


def test_nothing_to_convert() -> None:
    result = _ok(on_table("convert", "-", stdin="kind: ConfigMap\napiVersion: v1\n"))

    assert (result.stdout, result.stderr) == ("", "")


FORMS = {
    "Windows lines": lambda text: text.replace("\n", "\r\n").encode(),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "no end of line": lambda text: text.rstrip("\n").encode(),
    "other letters": lambda text: text.replace("nightly", "nächtliche").encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_bytes_stay_what_they_are(form: str, folder: Path) -> None:
    file = folder / "job.yaml"
    file.write_bytes(FORMS[form](JOB))
    _ok(on_table("convert", "job.yaml", "--write"))
    wanted = FORMS[form](CONVERTED)
    # The last line went, and the one before it had its end.
    assert file.read_bytes() == (wanted + b"\n" if form == "no end of line" else wanted)


def test_a_diff_tells_of_a_missing_line_end() -> None:
    result = _ok(on_table("convert", "-", stdin=JOB.rstrip("\n")))

    assert "-            requests: {nvidia.com/gpu: 2}\n\\ No newline at end of file\n" in (
        result.stdout
    )


def test_bytes_that_are_no_text_are_refused() -> None:
    result = _ok(on_table("convert", "-", stdin=JOB.encode() + b"# \xff\n"), 2)

    assert result.stderr == "<stdin>: holds bytes that are no characters\n"


ANCHOR = """\
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Pod
    metadata: {name: one}
    spec: &spec
      nodeSelector: {gpu-model: a100-80gb}
      tolerations: [{key: gpu-model, value: a100-80gb, effect: NoSchedule}]
      containers: [{name: m, resources: {limits: {nvidia.com/gpu: 1}}}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: two}
    spec: *spec
"""


def test_what_an_anchor_shares_stays_and_is_explained() -> None:
    result = _ok(on_table("convert", "-", stdin=ANCHOR), 1)

    assert result.stdout == ""
    assert result.stderr == (
        "<stdin>:4: Pod/one: stays as it is\n"
        "  stays  items[0].spec: an anchor (&) or an alias (*) shares it with another\n"
        "         place\n"
        "<stdin>:11: Pod/two: stays as it is\n"
        "  stays  items[1].spec: an anchor (&) or an alias (*) shares it with another\n"
        "         place\n"
    )


# --- To native

RESERVED = """\
  also   a toleration of gpuspec.preferred.jp/reserved (a100-80gb), the taint of
         nodes that gpuspec keeps for Pods that name their row; it does nothing
         where no node has it
"""


def test_to_native_and_back() -> None:
    native = _ok(on_table("convert", "--to-native", "-", "-o", "yaml", stdin=CONVERTED))
    back = _ok(on_table("convert", "-", "-o", "yaml", stdin=native.stdout))

    assert native.stdout.startswith(CONVERTED.partition("      nodeSelector")[0])
    assert "nvidia.com/gpu: 2  # both\n" in native.stdout
    assert "gpuspec.preferred.jp/spec" not in native.stdout
    assert native.stderr == (
        "<stdin>:2: Job/train: without preferred.jp/gpu-a100-80gb\n  rows   a100-80gb\n" + RESERVED
    )
    assert back.stdout == CONVERTED


def test_native_is_what_mutate_prints_less_our_marks() -> None:
    text = CONVERTED.replace("gpu-a100-80gb: 2", 'gpu-any-24gb: "2"')
    native, mutated = (
        yaml.safe_load(
            _ok(on_table(*verb, "-f", "-", "-o", "yaml", "--priority", "0", stdin=text)).stdout
        )
        for verb in (("convert", "--to-native"), ("mutate",))
    )
    del mutated["spec"]["template"]["metadata"]

    assert native == mutated


def test_a_daemon_set_becomes_native() -> None:
    text = CONVERTED.replace("batch/v1", "apps/v1").replace("Job", "DaemonSet")
    result = _ok(on_table("convert", "--to-native", "-", "-o", "yaml", stdin=text))

    assert "gpu-model: a100-80gb" in result.stdout


def test_zero_devices_become_nothing() -> None:
    text = CONVERTED.replace("gpu-a100-80gb: 2", "gpu-a100-80gb: 0")
    result = _ok(on_table("convert", "--to-native", "-", "-o", "yaml", stdin=text))

    assert result.stdout == text.replace(
        "              preferred.jp/gpu-a100-80gb: 0  # both\n", ""
    )


def test_an_unknown_priority_is_told() -> None:
    text = CONVERTED.replace("gpu-a100-80gb", "gpu-any")
    result = _ok(on_table("convert", "--to-native", "-", stdin=text))

    assert "note: <stdin>:2: Job/train: its priority is not known" in result.stderr


@pytest.mark.rule("N9")
def test_a_toleration_of_the_reserve_taint_is_told_where_one_is_added() -> None:
    named = _ok(on_table("convert", "--to-native", "-", stdin=CONVERTED))
    unnamed = CONVERTED.replace("gpu-a100-80gb", "gpu-any")
    there = CONVERTED.replace(
        "      containers:\n",
        "      tolerations: [{key: gpuspec.preferred.jp/reserved, operator: Exists}]\n"
        "      containers:\n",
    )

    assert named.stderr.endswith(RESERVED)
    for text in (unnamed, there):
        assert "reserved" not in _ok(on_table("convert", "--to-native", "-", stdin=text)).stderr


def test_a_denial_is_told_in_admissions_words() -> None:
    text = CONVERTED.replace("gpu-a100-80gb", "gpu-h100")
    result = _ok(on_table("convert", "--to-native", "-", stdin=text), 1)

    assert result.stdout == ""
    assert "error: <stdin>:2: Job/train" in result.stderr
    assert "h100" in result.stderr


def test_steps_of_a_task_have_no_place_for_selectors() -> None:
    task = {
        "apiVersion": "tekton.dev/v1",
        "kind": "Task",
        "metadata": {"name": "t"},
        "spec": {
            "steps": [{"computeResources": {"limits": {"preferred.jp/gpu-a30": 1}}, "image": "i"}]
        },
    }
    result = _ok(on_table("convert", "--to-native", "-", stdin=json.dumps(task)), 1)

    told = " ".join(result.stderr.split())
    assert "a Task has no field that chooses nodes: write what gpuspec explain shows" in told
    assert "in the podTemplate of each TaskRun" in told


def test_a_run_of_a_task_has_a_place_for_selectors_that_is_named() -> None:
    run = {
        "apiVersion": "tekton.dev/v1",
        "kind": "TaskRun",
        "metadata": {"name": "r"},
        "spec": {
            "podTemplate": {"tolerations": [{"operator": "Exists"}]},
            "taskSpec": {
                "steps": [
                    {"computeResources": {"limits": {"preferred.jp/gpu-a30": 1}}, "image": "i"}
                ]
            },
        },
    }
    result = _ok(on_table("convert", "--to-native", "-", stdin=json.dumps(run)), 1)

    told = " ".join(result.stderr.split())
    assert "a TaskRun chooses nodes in spec.podTemplate, which is not edited" in told


def test_what_several_steps_share_stays_and_is_told() -> None:
    task = """\
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: t}
spec:
  stepTemplate:
    computeResources: {limits: {nvidia.com/gpu: 1}}
  steps:
    - {name: a, image: x}
    - {name: b, image: x}
"""
    result = _ok(on_table("convert", "-", "-o", "yaml", stdin=task), 1)

    assert result.stdout == task
    assert "Task/t: stays by hand" in result.stderr


def test_a_file_with_two_names_is_converted_once(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("job.yaml")
    once = _ok(on_table("convert", "-f", "job.yaml")).output

    assert _ok(on_table("convert", "-f", "job.yaml", "./job.yaml", "link.yaml")).output == once


@pytest.mark.rule("C2")
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_templates_of_claims_come_first(form: str, folder: Path) -> None:
    pod: Json = yaml.safe_load(SMALL)
    pod["metadata"]["namespace"] = "a"
    pod["spec"] = {
        "containers": [{"name": "m", "resources": {"limits": {"preferred.jp/gpu-a30": 1}}}]
    }
    text = yaml.safe_dump(pod) if form == "yaml" else json.dumps(pod)
    arguments = ("convert", "--to-native", "-", "-o", "yaml", "--table", claim_table(folder))
    result = _ok(run(*arguments, stdin=text))
    template, after = (document.value for document in load_manifests(result.stdout))

    assert isinstance(template, dict)
    assert isinstance(after, dict)
    name = template["metadata"]["name"]
    assert name == template_name(template["spec"]["spec"])
    assert template["metadata"]["namespace"] == "a"
    assert after["metadata"] == pod["metadata"]
    (claim,) = after["spec"]["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == name
    mutated = run("mutate", "-f", *arguments[2:], stdin=text)
    assert next(iter(yaml.safe_load_all(mutated.stdout))) == template
    # What is there already does not come again.
    second = f"{yaml.safe_dump(template)}---\n{text}"
    assert len(load_manifests(_ok(run(*arguments, stdin=second)).stdout)) == 2


WRONG = {
    "no file": ((), "give a MANIFEST"),
    "both ways": (("job.yaml", "--widen", "--to-native"), "--to-native is the other one"),
    "standard input in place": (("-", "--write"), "--write changes files"),
    "two ways to answer": (("job.yaml", "--write", "-o", "yaml"), "--write changes files"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    result = _ok(run("convert", *arguments), 2)

    assert said in " ".join(result.stderr.split())


def test_the_help_reads_well() -> None:
    text = _ok(run("convert", "--help")).stdout

    assert max(map(len, text.splitlines())) <= 80
    assert text.count("  gpuspec convert ") >= 3
