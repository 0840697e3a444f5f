"""A text is split into documents where kubectl splits it.

kubectl looks for lines that begin with ``---`` before any YAML reader sees the text, and reads a
text that begins with ``{`` as a row of JSON objects for as long as that works.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selection_spec.documents.faults import Fault
from selection_spec.documents.json_nodes import JSONFaultError, parse_json
from selection_spec.documents.scalars import shown
from selection_spec.documents.yaml_nodes import Parsed, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEPARATOR = re.compile(r"^---(.*)\n?", re.MULTILINE)
_SPACE = re.compile(r"\s*")
_SPACE_OF_ONE_LINE = re.compile(r"[^\S\n]*\n?")
# kubectl looks this far for the "{" that makes a text JSON.
_GUESS_LENGTH = 4096
# Having read more JSON objects than this, kubectl no longer tries YAML.
_MAYBE_YAML = 1


def split_documents(text: str) -> Iterator[Parsed]:
    """Yield every document of a text, empty ones included (their ``root`` is None)."""
    start = 0
    fault: Fault | None = None
    if text[:_GUESS_LENGTH].lstrip().startswith("{"):
        objects, start, fault = _json_objects(text)
        yield from objects
        if fault is None:
            return
        if len(objects) > _MAYBE_YAML:
            yield Parsed(faults=[fault], end=len(text))
            return
        start = _end(_SPACE_OF_ONE_LINE, text, start)
    for parsed in _yaml_documents(text, start):
        if fault and parsed.faults and fault.at >= min(parsed.faults[0].at, len(text)):
            # Neither JSON nor YAML: the reader that came further understood more.
            parsed.faults[0] = fault
        fault = None
        yield parsed


def _json_objects(text: str) -> tuple[list[Parsed], int, Fault | None]:
    """Return the JSON objects in a row, where they end, and why they do before the text ends."""
    objects: list[Parsed] = []
    end = 0
    while True:
        start = _end(_SPACE, text, end)
        if start == len(text):
            return objects, end, None
        try:
            root, end = parse_json(text, start)
        except JSONFaultError as stop:
            return objects, end, stop.fault
        objects.append(Parsed(root, end=end))


def _yaml_documents(text: str, start: int) -> Iterator[Parsed]:
    # "^" means the beginning of a line of this part, and the part may begin within a line.
    part = text[start:]
    begin = 0
    for separator in _SEPARATOR.finditer(part):
        behind = separator[1].strip()
        if behind and not behind.startswith("#"):
            hint = "begin the document on the next line"
            fault = Fault(
                start + separator.start() + len("---"),
                f"{shown(behind)} stands behind the separator ---",
                hint,
            )
            yield Parsed(faults=[fault], end=start + separator.end())
        if begin < separator.start():
            yield parse_yaml(part[begin : separator.start()], start + begin)
            begin = separator.end()
        # A separator without a document before it stays a part of the next one.
    if begin < len(part):
        rest = part[begin:]
        yield parse_yaml(rest if rest.endswith("\n") else rest + "\n", start + begin)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
