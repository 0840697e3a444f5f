"""Runs the command line in this process, on the table of the worked candidates."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from tests.builders import PFN_TABLE
from webhook.cli import main

TABLE = str(PFN_TABLE)


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run a command; an exception that is no exit is raised here."""
    return CliRunner().invoke(
        main, list(arguments), input=stdin, prog_name="gpuspec", catch_exceptions=False
    )


def on_table(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run a command on the table of the worked candidates."""
    return run(*arguments, "--table", TABLE, stdin=stdin)


def answer(result: Result, code: int = 0) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON that a command printed."""
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)
