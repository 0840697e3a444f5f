"""The benches run and say what they should, at sizes at which their figures mean nothing."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.bench.machine import python
from tests.builders import PFN_TABLE
from tests.cluster.binaries import find_binaries
from tests.cluster.versions import wanted_minors

_TINY = ("--seconds", "0.05")
_TIME = r"(\s+[\d,.]+)"


def _said(*arguments: str) -> str:
    """Run benches as people do and return what they printed, which fits a terminal."""
    done = subprocess.run(
        python("-m", "tests.bench", *arguments), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0].startswith(f"python -m tests.bench {arguments[0]}")
    return done.stdout


def _has_lines(said: str, *patterns: str) -> None:
    """Every pattern must match a line of its own, in this order."""
    lines = iter(said.splitlines())
    for pattern in patterns:
        assert any(re.fullmatch(pattern, line) for line in lines), f"no {pattern!r} in:\n{said}"


def test_figures_come_with_what_they_were_measured_on() -> None:
    _has_lines(
        _said("resolve", *_TINY),
        "python -m tests.bench resolve --seconds 0.05",
        r"commit \S.*",
        r"\d+ cores? of .+",
        r"Python 3\.\d+\.\d+, fastapi .+",
        "",
        "== resolve ==",
    )


def test_mutate_compares_every_workload() -> None:
    row = rf"{_TIME}{{5}}(\s+\d+ µs\s+\d+%|\s+\?\s+\?)\s+\d+%"
    comparison = (
        rf"  fixed answer{row}",
        rf"  gpuspec serve{row}",
        r"  ratio [\d.]+ \(rounds: [\d.]+ to [\d.]+\), target at least 0\.8",
    )
    _has_lines(
        _said("mutate", *_TINY, "--table", str(PFN_TABLE)),
        r"replicas: .* [45]\.\d KB a review, 1\.\d KB a patch",
        *comparison,
        r"different: .* [45]\.\d KB a review, 1\.\d KB a patch",
        *comparison,
        r"no-spec: .* [45]\.\d KB a review, no patch",
        *comparison,
    )


@pytest.mark.cluster
def test_create_compares_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    version = wanted_minors()[-1]
    with capsys.disabled():
        find_binaries(version)
    few = ("--creates", "20", "--in-flight", "5", "--kubernetes", version)
    none_failed = r"\s+0\s+0"
    _has_lines(
        _said("create", *_TINY, *few),
        rf"Kubernetes {version}, .*",
        rf"  no webhook{_TIME}{{5}}{none_failed}",
        rf"  ours, Pod without our key{_TIME}{{5}}{none_failed}",
        rf"  fixed answer{_TIME}{{5}}{none_failed}",
        rf"  ours{_TIME}{{5}}{none_failed}",
        r"  p50 of ours to fixed answer: [\d.]+, target at most 1\.15",
        r"  p50 without our key to no webhook: [\d.]+, target at most 1\.05",
        r"  burst, 5 in flight\s.*",
        rf"  fixed answer\s+20{_TIME}{{4}}{none_failed}",
        rf"  ours\s+20{_TIME}{{4}}{none_failed}",
        r"  fixed answer: \d+ Pods a second",
        r"  ours: \d+ Pods a second",
    )


@pytest.mark.cluster
def test_controller_tells_costs_and_latencies(capsys: pytest.CaptureFixture[str]) -> None:
    version = wanted_minors()[-1]
    with capsys.disabled():
        find_binaries(version)
    few = ("--nodes", "30", "--pods", "40", "--kubernetes", version)
    took = r"\s+\d+\.\d\s+(\d+%|\?)(\s+(\d+|\?)){2}"
    runs = r"(\s+\d+\s+([\d.]+|-)){2}"
    _has_lines(
        _said("controller", *_TINY, *few),
        rf"Kubernetes {version}, .*",
        rf"  30 nodes join{took}\s+\d+\s+\d+",
        rf"  40 Pods start{took}\s+\d+\s+\d+",
        rf"  30 nodes join{runs}",
        r"30 nodes of 1\d\.\d KB with 10\d labels, 240 GPUs; 40 Pods",
        r"  first sync: [\d.]+ s from leading to a status, target at most 20",
        rf"  at rest, heartbeats{took}\s+\d+\s+\d+",
        rf"  10 Pods/s replaced{took}\s+\d+\s+\d+",
        # Each is read and written once, and the status tells of it once.
        rf"  6 nodes reserved{took}\s+[6-9]\s+[67]",
        rf"  a node relabelled 6x{took}\s+\d+\s+\d+",
        rf"  6 nodes released{took}\s+[6-9]\s+[67]",
        rf"  5 nodes fail in turn{took}\s+\d+\s+\d+",
        rf"  API server restarted{took}\s+\d+\s+\d+",
        rf"  API server restarted{runs}",
        r"  target: at most 400 MiB",
        r"  taint(\s+\d+\.\d\d){2}\s+1",
        r"  status(\s+\d+\.\d\d){2}\s+a few",
        r"  unhealthy taint, of its condition(\s+\d+\.\d\d){2}\s+1",
        r"  status, API server just back(\s+\d+\.\d\d){2}\s+a few",
    )


def test_resolve_compares_tables() -> None:
    _has_lines(
        _said("resolve", *_TINY),
        r"  +10 rows  1,000 rows  ratio  candidates",
        rf"  any{_TIME}{{3}}\s+1,000",
        rf"  any, SmallestFit{_TIME}{{3}}\s+100",
        rf"  a name and a size{_TIME}{{3}}\s+7",
        rf"  any, and own selectors{_TIME}{{3}}\s+3",
        rf"  two containers{_TIME}{{3}}\s+100",
        rf"  nothing fits{_TIME}{{3}}\s+0",
    )


def test_validate_compares_trees() -> None:
    figures = rf"{_TIME}{{4}}"
    _has_lines(
        _said("validate", *_TINY),
        r"  +KB each  only read  judged  times",
        rf"  mixed{figures}",
        rf"  all ask for devices{figures}",
        r"  target of the mixed tree: at least 500 judged",
    )


def test_cold_start_compares_processes_and_shows_imports() -> None:
    _has_lines(
        _said("cold-start", *_TINY, "--profile"),
        rf"  python -c pass\s+\d+{_TIME}{{3}}",
        rf'  python -c "import pydantic"\s+\d+{_TIME}{{3}}',
        rf"  gpuspec explain any-24gb\s+\d+{_TIME}{{3}}",
        r"  module\s+itself\s+with what it imports",
        r"  all\s+\d+",
    )
