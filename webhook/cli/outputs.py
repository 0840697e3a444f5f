"""How the verbs write: YAML that kubectl reads back as the same values, JSON, colour."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click
import yaml

from selection_spec.documents.scalars import ScalarError, scalar_value
from selection_spec.errors import Problem
from webhook.admission.messages import one_line
from webhook.advice.formats.escapes import visible

_Function = TypeVar("_Function", bound=Callable[..., Any])

_WIDTH = 80

# What CEL may be broken between: never within a text.
_CEL_WORD = re.compile(
    r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s"'])+|["']""",
)

# Line breaks to YAML 1.1 that turn into plain ones, or into a space, unless they are escaped.
_OTHER_BREAKS = re.compile("[\x85\u2028\u2029]")


class _Dumper(yaml.SafeDumper):
    """Writes no anchors, and quotes every text that any YAML reader could take for something else.

    PyYAML quotes what it would misread itself; kubectl misreads more (``1e3`` is a number to it).
    """

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Indent list items below their key, as Kubernetes' own documentation does."""
        super().increase_indent(flow, indentless=False)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    if _OTHER_BREAKS.search(text):
        style: str | None = '"'
    elif "\n" in text:
        style = "|"
    else:
        style = None if _stays_text(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _stays_text(text: str) -> bool:
    try:
        return scalar_value(text, plain=True) == text
    except ScalarError:
        return False


_Dumper.add_representer(str, _text)


def output_option(*kinds: str) -> Callable[[_Function], _Function]:
    """Return what adds ``--output`` with these kinds, the first of them being the default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(kinds),
        default=kinds[0],
        show_default=True,
        help="How to show it.",
    )


def yaml_text(documents: Iterable[object]) -> str:
    """Return documents as one YAML stream."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def json_text(value: object) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def cel_lines(expression: str, indent: str) -> Iterator[str]:
    """Yield a CEL expression in lines of 80 columns; it says the same with the breaks in it."""
    for written in expression.splitlines():
        line = indent
        for word in _CEL_WORD.findall(written):
            if line != indent and len(line) + 1 + len(word) > _WIDTH:
                yield line
                line = indent
            line += visible(word) if line == indent else f" {visible(word)}"
        yield line


def styled(text: str, **style: Any) -> str:  # noqa: ANN401 - click's own arguments
    """Return a text in colour where standard output is a terminal that wants it."""
    wants = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return click.style(text, **style) if wants else text


def report(problems: Iterable[Problem], level: str, where: str = "") -> None:
    """Print problems to standard error, a line each, with what they are about."""
    for problem in problems:
        place = " ".join(part for part in (where, problem.path) if part)
        text = ": ".join(part for part in (level, place, problem.text()) if part)
        click.echo(one_line(text), err=True)
