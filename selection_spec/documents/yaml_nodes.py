"""One YAML document becomes nodes; what is no YAML becomes problems."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import yaml

from selection_spec.documents.faults import MAX_DEPTH, MAX_LISTED, Fault, too_deep
from selection_spec.documents.nodes import Alias, Literal, Mapping, Scalar, Sequence
from selection_spec.documents.scalars import shown

if TYPE_CHECKING:
    from selection_spec.documents.nodes import Node

# libyaml's parser where this build of PyYAML has it (about ten times as fast), Python's otherwise.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    # kubectl's reader and this one differ about a byte order mark that begins a later line, and
    # about a second one.
    "|(?:\\A|(?<=[\n\r\x85\u2028\u2029]))\ufeff"
)

# A text that other texts are put before may begin with one, and is read as if it had none.
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(slots=True)
class Parsed:
    """What became of one text.

    Attributes:
        root: The first document's tree, None for an empty one.
        faults: Why the text cannot be read; the tree is not whole then.
        notes: What kubectl reads over and a careful reader would not.
        end: Offset behind the text.
    """

    root: Node | None = None
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    end: int = 0


def parse_yaml(text: str, offset: int = 0) -> Parsed:
    """Return the nodes of the first document of ``text``.

    Args:
        text: YAML, which may begin with a byte order mark.
        offset: Where ``text`` begins in the whole text; added to every offset in the answer.
    """
    parsed = Parsed(end=offset + len(text))
    if text.startswith(_BYTE_ORDER_MARK):
        # Left to libyaml, it would not be counted in its offsets.
        text, offset = text.removeprefix(_BYTE_ORDER_MARK), offset + len(_BYTE_ORDER_MARK)
    places = islice(_FORBIDDEN.finditer(text), MAX_LISTED)
    parsed.faults = [_forbidden(match, offset) for match in places]
    if parsed.faults:
        return parsed
    builder = _Builder(_Loader(text), offset)
    try:
        parsed.root = builder.document()
    except yaml.MarkedYAMLError as error:
        parsed.faults = [*builder.faults, _syntax_fault(error, text, offset)]
        return parsed
    except yaml.YAMLError as error:
        parsed.faults = [*builder.faults, Fault(offset, shown(str(error)))]
        return parsed
    parsed.faults = builder.faults
    rest_at = builder.rest_at()
    if rest_at is not None:
        hint = "begin another document with ---"
        parsed.notes = [Fault(rest_at, "what follows the end of the document is not read", hint)]
    return parsed


def _forbidden(match: re.Match[str], offset: int) -> Fault:
    if match[0] == _BYTE_ORDER_MARK:
        message, hint = "a byte order mark (U+FEFF) begins this line", "remove it"
    else:
        message = f"the control character U+{ord(match[0]):04X} is not allowed"
        hint = "write it as an escape in double quotes, or leave it out"
    return Fault(offset + match.start(), message, hint)


class _Builder:
    """Puts the parser's events together; never recurses, so depth is a number, not a crash."""

    def __init__(self, loader: Any, offset: int) -> None:  # noqa: ANN401 - PyYAML has no types
        self._loader = loader
        self._offset = offset
        self._anchors: dict[str, Node] = {}
        self._ended = False
        self.faults: list[Fault] = []

    def document(self) -> Node | None:
        """Return the tree of the first document, None for none; faults are collected."""
        next_event = self._loader.get_event
        next_event()
        if isinstance(next_event(), yaml.StreamEndEvent):
            self._ended = True
            return None
        top: list[Node] = []
        children, in_flow = top, False
        open_containers: list[tuple[list[Node], bool, Mapping | Sequence]] = []
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                children.append(self._scalar(event, in_flow=in_flow))
            elif kind is yaml.AliasEvent:
                children.append(self._alias(event))
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                container = self._container(event)
                if len(open_containers) == MAX_DEPTH:
                    self.faults.append(too_deep(container.at))
                    return None
                children.append(container)
                open_containers.append((children, in_flow, container))
                children, in_flow = container.children, in_flow or event.flow_style
            elif kind is yaml.DocumentEndEvent:
                return top[0]
            else:
                children, in_flow, closed = open_containers.pop()
                closed.end = self._end(closed, event)

    def _end(self, closed: Mapping | Sequence, event: Any) -> int:  # noqa: ANN401 - no types there
        """Return where a container ends; one without brackets ends with the last thing in it."""
        if closed.is_flow or not closed.children:
            return self._offset + int(event.end_mark.index)
        return closed.children[-1].end

    def rest_at(self) -> int | None:
        """Return the offset of whatever follows the first document, None for nothing."""
        if self.faults or self._ended:
            return None
        try:
            event = self._loader.get_event()
        except yaml.MarkedYAMLError as error:
            return self._offset + _error_index(error)
        if isinstance(event, yaml.StreamEndEvent):
            return None
        return self._offset + int(event.start_mark.index)

    def _scalar(self, event: Any, *, in_flow: bool) -> Scalar:  # noqa: ANN401 - no types there
        text, plain = event.value, event.implicit[0]
        at, end = self._offset + event.start_mark.index, self._offset + event.end_mark.index
        node = Scalar(at, text, plain, event.tag or "", end)
        if in_flow and plain and "?" in text:
            # Newer readers take it for a part of the text; kubectl's is older.
            message = f"kubectl does not read {shown(text)}: a ? stands between brackets"
            self.faults.append(Fault(node.at, message, f'write "{shown(text)}" in quotes'))
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _container(self, event: Any) -> Mapping | Sequence:  # noqa: ANN401 - no types there
        at, tag = self._offset + event.start_mark.index, event.tag or ""
        mapping = isinstance(event, yaml.MappingStartEvent)
        kind = Mapping if mapping else Sequence
        node = kind(at, tag, is_flow=bool(event.flow_style))
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:  # noqa: ANN401 - no types there
        at = self._offset + event.start_mark.index
        target = self._anchors.get(event.anchor)
        if target is not None:
            return Alias(at, event.anchor, target, self._offset + event.end_mark.index)
        self.faults.append(
            Fault(at, f"*{shown(event.anchor)} has no anchor", f"define &{shown(event.anchor)}")
        )
        return Literal(at, None)


def _error_index(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return int(mark.index) if mark else 0


def _syntax_fault(error: yaml.MarkedYAMLError, text: str, offset: int) -> Fault:
    """Say in the user's words what libyaml says in its own."""
    at = min(_error_index(error), len(text))
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    char = text[at : at + 1]
    message, hint = str(error.problem), ""
    if message == "exceeded maximum nesting depth":
        return too_deep(offset + at)
    if message.endswith("that cannot start any token"):
        if char == "\t":
            message, hint = "a tab cannot indent YAML", "indent with spaces"
        else:
            message, hint = f"a value cannot begin with {char}", "write it in quotes"
    elif message == "mapping values are not allowed in this context":
        message = 'a ": " stands where no key can be'
        hint = "put the value in quotes, or mend the indentation"
    elif error.context:
        message = f"{message} {error.context}"
    if text.startswith("%"):
        hint = "leave the % line out: kubectl splits documents before it looks at it"
    if "{{" in line:
        hint = "this looks like a template: render it first"
    return Fault(offset + at, message, hint)
