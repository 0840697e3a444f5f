"""The examples of the help texts of ``gpuspec health`` hold: every one is run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.builders import PFN_TABLE
from tests.webhook.advice.health.ward import NOW, Ward, use_ward
from tests.webhook.cli.running import run
from tests.webhook.cli.test_health import LOST, TAINT, record
from tests.webhook.cli.test_health_simulate import HISTORY
from webhook.cli.health import health
from webhook.health.ledger import Ledger


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            below = command.get_command(context, verb)
            assert below is not None
            yield from _commands(below)


def _examples() -> list[str]:
    lines = [line.strip() for one in _commands(health) for line in (one.epilog or "").splitlines()]
    return [line for line in lines if line.startswith(("gpuspec ", "cat "))]


def test_every_verb_has_examples() -> None:
    assert len(_examples()) >= 12
    for verb in ("", "explain", "resume", "clear", "simulate"):
        assert any(f"gpuspec health {verb}".strip() in one for one in _examples())


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ward:
    """A cluster with a stopped row and a marked node, and the files that examples name."""
    (tmp_path / "nodes.events").write_text(HISTORY.read_text())
    (tmp_path / "pods.events").write_text(HISTORY.read_text())
    (tmp_path / "table.yaml").write_bytes(PFN_TABLE.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webhook.cli.health.agreement.is_terminal", lambda: True)
    found = Ward({"mode": "Evict"}).ledger(Ledger(breakers={"a100-80gb": NOW - 60}))
    found.node("gpu-node-7", bad=LOST, taints=[TAINT], record=record("gpu-node-7"))
    found.pod("train-0", "gpu-node-7", namespace="team-a")
    use_ward(monkeypatch, found)
    return found


@pytest.mark.parametrize("example", _examples())
@pytest.mark.usefixtures("ward")
def test_an_example_holds(example: str) -> None:
    before, _, ours = example.rpartition(" | ")
    arguments = shlex.split(ours)[1:]
    stdin = Path("nodes.events").read_text() if before else "y\n"
    result = run(*arguments, stdin=stdin)
    has_failed = arguments[1:2] in (
        [],
        ["-o"],
        ["--all"],
    )  # the overview of a cluster that is not well
    assert result.exit_code == int(has_failed), result.output
    assert result.stdout
