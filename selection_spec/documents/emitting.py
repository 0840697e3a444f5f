"""Values as YAML that every reader takes for the same values, in the style of what is around them.

What is written here is put into texts of users, so that it never says more than it has to: no
anchors, no tags, quotes only where a text without them would be read as something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from selection_spec.documents.scalars import ScalarError, scalar_value, surprise

# What stands without quotes in any place of any style, as long as it is no number or word.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is written.

    Attributes:
        newline: What ends a line.
        list_indent: By how much the items of a list are indented below its key.
        is_json: Whether all texts are in double quotes, as in JSON.
    """

    newline: str = "\n"
    list_indent: int = 2
    is_json: bool = False


def style_of(text: str) -> Style:
    """Return the style of a text, as far as it shows one."""
    newline = "\r\n" if "\r\n" in text else "\n"
    is_indented = re.search(r"^( *)[^ #\r\n-][^#\r\n]*:[ \t]*\r?\n\1- ", text, re.MULTILINE) is None
    return Style(newline, 2 if is_indented else 0)


def scalar(value: object, style: Style) -> str:
    """Return what is no list and no mapping as a line."""
    if isinstance(value, str) and not style.is_json and _stays_text(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def flow(value: object, style: Style) -> str:
    """Return a value between brackets, on one line."""
    if isinstance(value, dict):
        entries = (f"{scalar(key, style)}: {flow(one, style)}" for key, one in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[{', '.join(flow(one, style) for one in value)}]"
    return scalar(value, style)


def entry(key: str, value: object, indent: int, style: Style) -> str:
    """Return an entry of a mapping in lines, each with its end.

    Args:
        key: The key.
        value: The value.
        indent: Before how many columns the key stands.
        style: How the text is written.
    """
    return "".join(f"{line}{style.newline}" for line in _entry(key, value, indent, style))


def item(value: object, indent: int, style: Style) -> str:
    """Return an item of a list in lines, each with its end."""
    return "".join(f"{line}{style.newline}" for line in _item(value, indent, style))


def _entry(key: str, value: object, indent: int, style: Style) -> Iterator[str]:
    head = f"{' ' * indent}{scalar(key, style)}:"
    if isinstance(value, dict) and value:
        yield head
        for name, one in value.items():
            yield from _entry(name, one, indent + 2, style)
    elif isinstance(value, list) and value:
        yield head
        for one in value:
            yield from _item(one, indent + style.list_indent, style)
    else:
        yield f"{head} {flow(value, style)}"


def _item(value: object, indent: int, style: Style) -> Iterator[str]:
    if not isinstance(value, dict) or not value:
        yield f"{' ' * indent}- {flow(value, style)}"
        return
    lines = (
        line for name, one in value.items() for line in _entry(name, one, indent + len("- "), style)
    )
    yield f"{' ' * indent}- {next(lines)[indent + len('- ') :]}"
    yield from lines


def _stays_text(text: str) -> bool:
    try:
        is_text = scalar_value(text, plain=True) == text
    except ScalarError:
        return False
    return is_text and surprise(text) is None and _PLAIN.fullmatch(text) is not None
