"""``gpuspec validate``: what it says, when it fails, and what it writes where."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from socket import AF_UNIX, socket
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.webhook.advice.findings.judged import pod
from tests.webhook.advice.formats.test_sarif import schema
from tests.webhook.cli.running import TABLE, answer, on_table, run

_ROOT = Path(__file__).parents[3]

GOOD = pod("limits: {preferred.jp/gpu-a100: 1}")
BAD = pod("limits: {preferred.jp/gpu-A100: 1}")
WARNED = pod("limits: {preferred.jp/a100: 1}")
NOTED = pod("limits: {preferred.jp/gpu-any-24gb: 1}")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_paths_may_be_said_as_to_kubectl() -> None:
    Path("a.yaml").write_text(BAD)
    Path("b.yaml").write_text(BAD)
    said = on_table("validate", "-f", "a.yaml", "--filename", "b.yaml")
    assert said.stdout == on_table("validate", "a.yaml", "b.yaml").stdout
    assert said.exit_code == 1


def test_a_report_for_people() -> None:
    Path("p.yaml").write_text(BAD)
    result = on_table("validate", "p.yaml")
    assert (result.exit_code, result.stderr) == (1, "")
    assert (
        result.stdout
        == """\
p.yaml:8:18: error GS101 container "main": preferred.jp/gpu-A100 has upper-case
    letters
  |         limits: {preferred.jp/gpu-A100: 1}
  |                  ^~~~~~~~~~~~~~~~~~~~~
  = help: write preferred.jp/gpu-a100
  = in Pod/p, by admission's rule G4
  = fix: write preferred.jp/gpu-a100; --fix applies it

1 error in 1 file (1 Pod judged by table pfn in pfn-table.yaml)
"""
    )


def test_nothing_found() -> None:
    Path("p.yaml").write_text(GOOD)
    result = on_table("validate", "p.yaml")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "nothing found in 1 file (1 Pod judged by table pfn in pfn-table.yaml)\n",
        "",
    )


def test_standard_input() -> None:
    result = on_table("validate", "-", stdin=BAD)
    assert result.exit_code == 1
    assert result.stdout.startswith("<stdin>:8:18: error GS101 ")


def test_standard_input_is_read_once_however_often_it_is_named() -> None:
    result = on_table("validate", "-", "-", stdin=BAD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "standard input can be read only once" in result.stderr
    both = run("validate", "-", "--table", "-", stdin=BAD)
    assert (both.exit_code, both.stdout) == (2, "")


def test_a_pipe_is_read_once_and_judged() -> None:
    """As in ``gpuspec validate <(helm template chart)``."""
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_text, args=(BAD,))
    writer.start()
    result = on_table("validate", "pipe", "--fix")
    writer.join()
    assert result.exit_code == 1
    assert result.stdout.startswith("pipe:8:18: error GS101 ")
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("manifest", "fail_on", "code"),
    [
        (GOOD, "note", 0),
        (NOTED, "note", 1),
        (NOTED, "warning", 0),
        (NOTED, "error", 0),
        (WARNED, "note", 1),
        (WARNED, "warning", 1),
        (WARNED, "error", 0),
        (BAD, "note", 1),
        (BAD, "warning", 1),
        (BAD, "error", 1),
    ],
)
def test_what_fails(manifest: str, fail_on: str, code: int) -> None:
    assert on_table("validate", "-", "--fail-on", fail_on, stdin=manifest).exit_code == code


def test_by_default_errors_fail_and_warnings_do_not() -> None:
    assert on_table("validate", "-", stdin=BAD).exit_code == 1
    assert on_table("validate", "-", stdin=WARNED).exit_code == 0


def test_what_is_suppressed_fails_nothing() -> None:
    said = "# gpuspec: ignore GS101 -- shows a mistake"
    result = on_table("validate", "-", "--fail-on", "note", stdin=BAD.replace("1}", f"1}} {said}"))
    assert (result.exit_code, result.stdout) == (
        0,
        "nothing found in 1 file, 1 suppressed (1 Pod judged by table pfn in pfn-table.yaml)\n",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a PATH: a file, a folder, or - for standard input"),
        (("-", "--format", "xml"), "there is no xml; there are text, json, sarif, junit, github"),
        (("-", "--format", "json", "--format", "text"), "--format: several for standard output"),
        (("-", "--format", "json=a", "--format", "sarif=./a"), "--format: several for "),
        (("-", "--fail-on", "never"), "'never' is not one of 'error', 'warning', 'note'"),
        (("-", "--kubeconfig", "x"), "--kubeconfig and --context are for --cluster"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    result = run("validate", *arguments, stdin=GOOD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())


def test_missing_files_are_all_named() -> None:
    Path("p.yaml").write_text(BAD)
    result = on_table("validate", "p.yaml", "a.yaml", "b*.yaml", "c/")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "a.yaml: there is no such file or folder",
        "b*.yaml: matches no file",
        "c/: there is no such file or folder",
    ]


def test_files_that_cannot_be_read_are_all_named() -> None:
    Path("p.yaml").write_text(BAD)
    # Neither a process's memory nor a socket can be read, not even by root.
    Path("one.yaml").symlink_to("/proc/self/mem")
    with socket(AF_UNIX) as listening:
        listening.bind("two.yaml")
    result = on_table("validate", "one.yaml", "p.yaml", "two.yaml", "--priority-class-file", "none")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "one.yaml: Input/output error",
        "two.yaml: No such device or address",
        "none: No such file or directory",
    ]


def test_a_table_that_cannot_be_read_ends_it() -> None:
    Path("p.yaml").write_text(BAD)
    result = run("validate", "p.yaml", "--table", "p.yaml")
    assert (result.exit_code, result.stdout) == (2, "")


def test_several_formats_at_once() -> None:
    Path("p.yaml").write_text(BAD)
    result = on_table(
        "validate",
        "p.yaml",
        *("--format", "github"),
        *("--format", "sarif=out.sarif"),
        *("--format", "junit=out.xml"),
        *("--format", "json=out.json"),
        *("--format", "text=out.txt"),
    )
    assert result.exit_code == 1
    assert result.stdout == (
        "::error file=p.yaml,line=8,col=18,endColumn=39,title=GS101 misspelt-spec::"
        'container "main": preferred.jp/gpu-A100 has upper-case letters%0A'
        "write preferred.jp/gpu-a100%0Ain Pod/p\n"
    )
    sarif = json.loads(Path("out.sarif").read_text())
    jsonschema.Draft7Validator(schema()).validate(sarif)
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["GS101"]
    assert len(ET.parse("out.xml").findall(".//failure")) == 1  # noqa: S314 -- our own
    assert json.loads(Path("out.json").read_text())["summary"]["errors"] == 1
    text = Path("out.txt").read_text()
    assert text.startswith("p.yaml:8:18: error GS101")
    assert text.endswith("(1 Pod judged by table pfn in pfn-table.yaml)\n")


def test_a_format_that_has_nothing_to_say_says_nothing() -> None:
    result = on_table("validate", "-", "--format", "github", stdin=GOOD)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    on_table("validate", "-", "--format", "github=out", stdin=GOOD)
    assert Path("out").read_bytes() == b""


def test_a_file_that_cannot_be_written_is_told() -> None:
    result = on_table("validate", "-", "--format", "json=no/such/folder", stdin=GOOD)
    assert result.exit_code == 2
    assert result.stderr == "no/such/folder: No such file or directory\n"


def test_json_is_documented() -> None:
    found = answer(on_table("validate", "-", "--format", "json", stdin=BAD), 1)
    assert found["table"] == "table pfn in pfn-table.yaml"
    assert found["summary"] == {
        "files": 1,
        "documents": 1,
        "pods": 1,
        "errors": 1,
        "warnings": 0,
        "notes": 0,
        "suppressed": 0,
    }
    (one,) = found["findings"]
    start = BAD.index("preferred.jp")
    assert one["fix"] == {
        "replace": {"start": start, "end": start + len("preferred.jp/gpu-A100")},
        "with": "preferred.jp/gpu-a100",
        "says": "write preferred.jp/gpu-a100",
    }


@pytest.mark.rule("D3")
def test_priorities_come_from_wherever_they_are_said() -> None:
    Path("p.yaml").write_text(NOTED.replace("spec:\n", "spec:\n  priorityClassName: nightly\n"))
    classes = (
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
        "metadata: {name: nightly}\nvalue: -10\n"
    )
    strict = ("--fail-on", "note")
    unknown = on_table("validate", "p.yaml", *strict)
    assert unknown.exit_code == 1
    assert "the number of priority class nightly is not known" in unknown.stdout
    Path("classes.yaml").write_text(classes)
    assert on_table("validate", "p.yaml", "classes.yaml", *strict).exit_code == 0
    assert on_table("validate", "classes.yaml", "p.yaml", *strict).exit_code == 0
    by_file = ("--priority-class-file", "classes.yaml")
    result = on_table("validate", "p.yaml", *by_file, *strict)
    assert (result.exit_code, result.stdout) == (
        0,
        "nothing found in 1 file (1 Pod judged by table pfn in pfn-table.yaml)\n",
    )
    Path("classes.yaml").write_text(classes, encoding="utf-16")
    assert on_table("validate", "p.yaml", *by_file, *strict).exit_code == 0
    assert on_table("validate", "p.yaml", "--priority", "5", *strict).exit_code == 0
    assert on_table("validate", "p.yaml", "--priority-class", "high", *strict).exit_code == 0


@pytest.mark.rule("C5")
def test_a_namespace_of_kueues_can_be_said(tmp_path: Path) -> None:
    table = tmp_path / "claims.yaml"
    table.write_text(
        Path(TABLE)
        .read_text()
        .replace("ExtendedResource", "ResourceClaim", 1)
        .replace(
            "      resource: nvidia.com/gpu",
            "      claim: {deviceClassName: gpu.nvidia.com, driver: gpu.nvidia.com}",
        )
    )
    plain = run("validate", "-", "--table", str(table), stdin=NOTED)
    assert "GS120" not in plain.stdout
    queued = run("validate", "-", "--kueue", "--table", str(table), stdin=NOTED)
    assert "Kueue takes no claim with alternatives" in " ".join(queued.stdout.split())


def test_help_fits_a_terminal() -> None:
    result = run("validate", "--help")
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []
    for line in (
        "  gpuspec validate --explain GS104",
        "    # gpuspec: ignore GS104 -- it comes in March",
        '    gpuspec.preferred.jp/ignore: "GS104: it comes in March"',
    ):
        assert line in result.stdout


def _on_terminal(*arguments: str, **environment: str) -> str:
    """Run it with a terminal for all that it writes, and return what that shows."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, "rb", buffering=0) as screen:
        program = subprocess.Popen(
            [sys.executable, "-m", "webhook", "validate", *arguments],
            env={**inherited, "PYTHONPATH": str(_ROOT), "TERM": "xterm", **environment},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        # The terminal is gone when the program is: Linux says so with an error.
        with suppress(OSError):
            while some := screen.read(4096):
                shown += some
        program.wait()
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_shows_progress_and_colours() -> None:
    for number in range(3):
        Path(f"{number}.yaml").write_text(BAD)
    shown = _on_terminal(".", "--table", TABLE)
    assert "Judging files" in shown
    assert "3/3" in shown
    assert "\x1b[31m\x1b[1merror GS101\x1b[0m" in shown


def test_no_color_is_honoured() -> None:
    Path("p.yaml").write_text(BAD)
    shown = _on_terminal(".", "--table", TABLE, NO_COLOR="1")
    assert "error GS101" in shown
    assert "\x1b[31m" not in shown


def test_elsewhere_there_is_neither_progress_nor_colour() -> None:
    Path("p.yaml").write_text(BAD)
    result = on_table("validate", "p.yaml")
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_whoever_chose_no_table_is_told_which_one_it_was() -> None:
    Path("p.yaml").write_text(GOOD)
    note = "note: judged by the built-in table; --cluster asks your cluster for its own\n"
    assert note in _on_terminal("p.yaml")
    assert note not in _on_terminal("p.yaml", "--table", TABLE)
    assert note not in _on_terminal("p.yaml", "--format", "json")
    assert run("validate", "p.yaml").stderr == ""


def test_more_than_the_fleet_has_is_told() -> None:
    nodes = [
        {
            "kind": "Node",
            "metadata": {"name": "a", "labels": {"gpu-model": "a30-24gb"}},
            "status": {
                "capacity": {"nvidia.com/gpu": "6"},
                "allocatable": {"nvidia.com/gpu": "6"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    ]
    Path("nodes.json").write_text(json.dumps({"items": nodes}))
    container = {"name": "main", "resources": {"limits": {"preferred.jp/gpu-a30": 4}}}
    for replicas in (1, 2):
        spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
        Path("d.json").write_text(json.dumps({**body, "spec": spec}))
        result = on_table("validate", "d.json", "--fleet", "nodes.json", "--format", "github")
        assert result.exit_code == 0
        assert ("2 Pods with 4 each ask for 8 devices at once" in result.stdout) is (replicas == 2)
    assert on_table("validate", "d.json", "--format", "github").stdout == ""


def test_a_fleet_and_a_cluster_contradict_each_other() -> None:
    Path("p.yaml").write_text(GOOD)
    result = run("validate", "p.yaml", "--cluster", "--fleet", "nodes.json")
    assert result.exit_code == 2


@pytest.mark.parametrize("named", ["a.yaml", "."])
def test_no_report_is_written_over_a_manifest(named: str) -> None:
    Path("a.yaml").write_text(BAD)
    result = on_table("validate", named, "--format", "json=./a.yaml")
    assert result.exit_code == 2
    assert "--format json=./a.yaml: the file is one of those to be judged" in result.stderr
    assert Path("a.yaml").read_text() == BAD


def test_the_last_report_of_a_folder_is_written_again() -> None:
    Path("a.yaml").write_text(BAD)
    wanted = ("validate", ".", "--format", "json=report.json", "--format", "text")
    first = on_table(*wanted)
    again = on_table(*wanted)
    assert (again.exit_code, again.stderr) == (first.exit_code, "") == (1, "")
