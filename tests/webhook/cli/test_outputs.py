"""How the verbs write: YAML for any reader, JSON, colour for terminals."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from selection_spec.errors import Problem
from tests.webhook.cli.running import TABLE
from webhook.cli.outputs import json_text, report, yaml_text

_ROOT = Path(__file__).parents[3]


def test_yaml_is_written_as_kubernetes_documentation_writes_it() -> None:
    same = {"a": ["x"]}
    text = yaml_text(
        [{"b": [{"c": 1}, {"d": None}], "a": same, "e": same, "f": {}, "g": []}, {"h": 1}]
    )
    assert (
        text
        == """\
b:
  - c: 1
  - d: null
a:
  a:
    - x
e:
  a:
    - x
f: {}
g: []
---
h: 1
"""
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("ümläut", "ümläut"),
        ("nvidia.com/gpu", "nvidia.com/gpu"),
        # Numbers, booleans, null and dates to one reader or another.
        ("1", '"1"'),
        ("1e3", '"1e3"'),
        ("0x1F", '"0x1F"'),
        ("0o17", '"0o17"'),
        ("1_000", '"1_000"'),
        ("yes", '"yes"'),
        ("y", '"y"'),
        ("NO", '"NO"'),
        ("", '""'),
        ("null", '"null"'),
        ("2024-01-01", "'2024-01-01'"),
        ("12:30", "'12:30'"),
        ("=", "'='"),
        ("- a", "'- a'"),
        ("a: b", "'a: b'"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\x85b", '"a\\n\\Nb"'),
        ("\u2028", '"\\L"'),
        ("a\tb\n", '"a\\tb\\n"'),
        ("\x07", '"\\a"'),
    ],
)
def test_texts_that_readers_differ_about_are_quoted(text: str, written: str) -> None:
    assert yaml_text([{"v": text}]) == f"v: {written}\n"
    assert yaml.safe_load(yaml_text([{"v": text}])) == {"v": text}


def test_keys_are_quoted_like_values() -> None:
    assert yaml_text([{"on": 1, "1": 2, "a/b": 3}]) == '"on": 1\n"1": 2\na/b: 3\n'


def test_json() -> None:
    assert json_text({"a": ["ü", 1, None]}) == ('{\n  "a": [\n    "ü",\n    1,\n    null\n  ]\n}')


def test_reports_say_level_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem("is wrong", "spec.x", "mend it"), Problem("is odd")]
    report(problems, "error", "Pod/a")
    report(problems, "warning")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "error: Pod/a spec.x: is wrong; mend it",
        "error: Pod/a: is odd",
        "warning: spec.x: is wrong; mend it",
        "warning: is odd",
    ]


def _on_terminal(*arguments: str, **environment: str) -> str:
    """Run the command line with a terminal as its standard output and return what it shows."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, "rb", buffering=0) as screen:
        program = subprocess.Popen(
            [sys.executable, "-m", "webhook", *arguments],
            cwd=_ROOT,
            env=inherited | environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
        )
        os.close(theirs)
        shown = b""
        # The terminal is gone when the program is: Linux says so with an error.
        with suppress(OSError):
            while some := screen.read(4096):
                shown += some
        program.wait()
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(("spec", "colour"), [("a30", "\x1b[32m"), ("h100", "\x1b[31m")])
def test_colour_is_for_terminals_that_want_it(spec: str, colour: str) -> None:
    command = ("explain", spec, "--table", TABLE)
    coloured = _on_terminal(*command)
    plain = _on_terminal(*command, NO_COLOR="1")
    assert coloured.splitlines()[0].startswith(colour)
    assert "\x1b" not in plain
    piped = subprocess.run(
        [sys.executable, "-m", "webhook", *command],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert piped.stdout == plain
    assert _on_terminal(*command, NO_COLOR="") == coloured
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_other_outputs_have_no_colour_even_on_a_terminal() -> None:
    text = _on_terminal("explain", "a30", "--table", TABLE, "-o", "json")
    assert json.loads(text)["candidates"] == ["a30-24gb"]
