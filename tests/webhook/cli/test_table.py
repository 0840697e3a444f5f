"""The group ``gpuspec table``: help that fits, teaches by examples that parse, and agrees."""

from __future__ import annotations

import click
import pytest

from tests.webhook.cli.running import run
from webhook.cli.table import table

VERBS = table.list_commands(click.Context(table))


def command(verb: str) -> click.Command:
    found = table.get_command(click.Context(table), verb)
    assert isinstance(found, click.Command)
    return found


@pytest.mark.parametrize("arguments", [["-h"], *([verb, "--help"] for verb in VERBS)])
def test_help_fits_80_columns(arguments: list[str]) -> None:
    result = run("table", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    listed = " ".join(run("table", "--help").stdout.partition("Commands:\n")[2].split())
    for verb in VERBS:
        assert f"{verb} {command(verb).get_short_help_str(80)}" in listed


@pytest.mark.parametrize("verb", VERBS)
def test_examples_parse(verb: str) -> None:
    prefix = f"gpuspec table {verb} "
    epilog = command(verb).epilog or ""
    lines = [line for line in epilog.splitlines() if prefix in line]
    assert len(lines) >= 2
    for line in lines:
        arguments = line.partition(prefix)[2].partition("  ")[0].partition(" >")[0].split()
        command(verb).make_context(verb, arguments)
