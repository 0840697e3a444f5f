"""The program as it is started: entry points, help, exit codes, what it imports."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.webhook.cli.running import TABLE, run
from webhook import __main__, __version__
from webhook.cli import main

_ROOT = Path(__file__).parents[3]
_VERBS = ("explain", "mutate", "serve")


def _python(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=_ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def _command(verb: str) -> click.Command | None:
    assert isinstance(main, click.Group)
    return main.get_command(click.Context(main), verb)


def test_entry_points() -> None:
    scripts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert {"gpuspec", "kubectl-gpuspec"} <= set(scripts)
    for target in (scripts["gpuspec"], scripts["kubectl-gpuspec"]):
        module, _, name = target.partition(":")
        assert getattr(import_module(module), name) is __main__.main


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("gpuspec", "gpuspec"),
        ("/usr/bin/gpuspec", "gpuspec"),
        ("/x/kubectl-gpuspec", "kubectl gpuspec"),
        ("kubectl-gpuspec.exe", "kubectl gpuspec"),
    ],
)
def test_help_calls_the_program_as_it_was_called(
    program: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "explain", "--help"])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"Usage: {name} explain [OPTIONS]")


def test_as_a_module() -> None:
    version = _python("-m", "webhook", "--version")
    assert (version.returncode, version.stdout) == (0, f"gpuspec {__version__}\n")
    allowed = _python("-m", "webhook", "explain", "a30", "--table", TABLE)
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert allowed.stdout.startswith("allowed: a30-24gb\n")
    denied = _python("-m", "webhook", "explain", "h100", "--table", TABLE)
    assert denied.returncode == 1
    manifest = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{name: b}]}\n"
    mutated = _python("-m", "webhook", "mutate", "-f", "-", stdin=manifest)
    assert (mutated.returncode, mutated.stderr) == (0, "")
    assert mutated.stdout.startswith("kind: Pod\n")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], *([verb, "-h"] for verb in _VERBS)])
def test_help_fits_80_columns(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("verb", ["explain", "mutate"])
def test_help_teaches_by_examples_that_parse(verb: str) -> None:
    text = run(verb, "--help").stdout
    assert "Exit status:" in text
    lines = [line.partition("gpuspec ")[2] for line in text.splitlines() if "  gpuspec" in line]
    lines += [line.partition("| gpuspec ")[2] for line in text.splitlines() if "| gpuspec" in line]
    assert len(lines) >= 3
    command = _command(verb)
    assert command is not None
    for line in lines:
        arguments = line.partition("  ")[0].partition(" |")[0].split()
        assert arguments.pop(0) == verb
        command.make_context(verb, arguments)


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    listed = run("--help").stdout.partition("Commands:\n")[2]
    listed = " ".join(listed.split())
    for verb in _VERBS:
        command = _command(verb)
        assert command is not None
        assert f"{verb} {command.get_short_help_str(80)}" in listed
    assert _command("none") is None


@pytest.mark.parametrize("arguments", [[], ["none"], ["--none"], ["explain", "--none"]])
def test_wrong_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: gpuspec" in result.stderr
    assert result.stdout == ""


_HEAVY = {"asyncio", "cryptography", "fastapi", "httpx", "prometheus_client", "ssl", "uvicorn"}


def _imported(*arguments: str) -> set[str]:
    """Return the modules that a command imports."""
    program = (
        "import sys; from webhook.cli import main\n"
        f"main({list(arguments)!r}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = _python("-c", program)
    assert result.returncode == 0, result.stderr
    return set(result.stderr.split())


def test_nothing_is_imported_that_is_not_needed() -> None:
    """A person waits for these commands; the service's libraries take longer than they do."""
    help_needs = _imported("--help")
    assert not help_needs & (_HEAVY | {"pydantic", "yaml", "orjson"})
    explain_needs = _imported("explain", "a30", "--table", TABLE)
    assert not explain_needs & _HEAVY
