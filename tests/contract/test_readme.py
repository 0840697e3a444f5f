"""Every command of the README is run, as it stands there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.contract.kustomize import REPOSITORY, build
from tests.contract.readme import IN_A_CLUSTER, TEXT, commands, run

_ASKING = re.compile(
    r"gpuspec (explain|mutate|validate|convert|table lint|table show|health simulate) "
)
# They tell on standard error what they looked at, or changed.
_SILENT = re.compile(r"table lint|--write")

# Shown elsewhere: `make test` is what runs this test, `make play` has a test in tests/cluster.
_ELSEWHERE = {"make test", "make play"}

_QUESTIONS = [c for c in commands() if _ASKING.match(c) and not IN_A_CLUSTER.match(c)]


def test_every_command_is_run_by_one_of_these_tests() -> None:
    known = {"make demo", "make help", "gpuspec serve --tls-self-signed /tmp/gpuspec"} | _ELSEWHERE
    rest = [c for c in commands() if not (c in _QUESTIONS or IN_A_CLUSTER.match(c))]
    assert set(rest) == known


@pytest.mark.parametrize("command", _QUESTIONS)
def test_questions_are_answered(command: str, folder: Path) -> None:
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout or _SILENT.search(command)
    if "-o json" in command or "-o patch" in command:
        json.loads(done.stdout)
    elif command.startswith("gpuspec mutate"):
        assert "preferred.jp/gpu-" not in json.dumps(list(yaml.safe_load_all(done.stdout)))


def test_answers_fit_eighty_columns(folder: Path) -> None:
    for command in _QUESTIONS:
        if "-o" not in command and "mutate" not in command:
            assert max(map(len, run(command, folder).stdout.splitlines()), default=0) <= 80


@pytest.mark.parametrize("command", ["make demo", "make help"])
def test_make_targets_that_only_show(command: str) -> None:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    done = subprocess.run(
        command.split(),
        cwd=REPOSITORY,
        env=inherited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if command == "make demo":
        for told in ("nvidia.com/gpu: 1", "denied: ", "write preferred.jp/gpu-any-24gb"):
            assert told in done.stdout


def test_serve_runs_on_any_machine(folder: Path) -> None:
    """Only the port and the folder differ from the README's: they may be taken."""
    (command,) = (c for c in commands() if c.startswith("gpuspec serve"))
    own = [*command.rpartition(" ")[0].split(), str(folder / "tls"), "--listen=127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-m", "webhook", *own[1:], "--drain-seconds=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("https://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert (folder / "tls/ca.crt").exists()


def test_the_overlay_builds_with_the_readers_image(folder: Path) -> None:
    (apply,) = (c for c in commands() if c.startswith("kubectl apply") and " -k " in c)
    built = build(folder / apply.split()[-1])
    images = {
        container["image"]
        for one in built
        if one["kind"] == "Deployment"
        for container in one["spec"]["template"]["spec"]["containers"]
    }
    assert images == {"registry.example/gpuspec:0.1.0"}


_SAYING = ("loop_metrics", "certificates", "claim_metrics", "health_metrics")


def test_the_readme_names_no_fields_that_metrics_lack() -> None:
    """The names of metrics in the README are those of the code."""
    files = ("metrics", *(f"controllers/{one}" for one in _SAYING))
    code = "".join((REPOSITORY / "webhook" / f"{file}.py").read_text() for file in files)
    for name in re.findall(r"`(gpuspec_\w+)", TEXT):
        assert name.removesuffix("_total") in code
