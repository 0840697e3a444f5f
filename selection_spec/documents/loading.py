"""Texts become documents: strictly for our own, as kubectl would for users' manifests."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Self

from selection_spec.documents.changes import Change, EditError
from selection_spec.documents.editing import changes_between
from selection_spec.documents.faults import Fault
from selection_spec.documents.nodes import Lines, Mapping, Node, Path, Sequence, field_path
from selection_spec.documents.reading import Located, read
from selection_spec.documents.streams import split_documents
from selection_spec.documents.text import (
    MAX_MANIFEST_BYTES,
    MAX_TABLE_BYTES,
    decode,
    oversize,
)
from selection_spec.documents.tree import Tree
from selection_spec.errors import DocumentError, Level, Problem


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text.

    Attributes:
        value: Plain dict, list, str, int, float, bool or None.
        line: 1-based line of the text where the document's content begins.
        findings: In users' manifests what a strict reader would refuse, as warnings; else ().

    A document that never was a text has line 0, and every place in it is (0, 0).
    """

    value: object
    line: int
    findings: tuple[Problem, ...]
    _tree: Tree | None = field(repr=False, compare=False)
    _lines: Lines = field(repr=False, compare=False)

    @classmethod
    def of_value(cls, value: object) -> Self:
        """Make a document of a value that was read elsewhere, such as an object of the API."""
        return cls(value, 0, (), None, Lines(""))

    def position(self, path: Path) -> tuple[int, int]:
        """Return line and column (1-based) of the value at ``path``.

        A list or mapping that begins on a later line than its key is found at the key. Where the
        path leaves the document, the nearest ancestor that exists stands in for it.
        """
        if self._tree is None:
            return 0, 0
        node, key = self._tree.find(path)
        place = self._lines.place(node.at)
        if key is not None and isinstance(node, Mapping | Sequence):
            key_place = self._lines.place(key.at)
            return key_place if key_place[0] < place[0] else place
        return place

    def key_position(self, path: Path) -> tuple[int, int]:
        """Return line and column of the key at ``path``; of the value where it has no key."""
        if self._tree is None:
            return 0, 0
        node, key = self._tree.find(path)
        return self._lines.place(node.at if key is None else key.at)

    def changes_to(self, value: object) -> list[Change]:
        """Return what has to change in the text so that the document has another value.

        All else stays as it is written, comments too; offsets are those of the whole text. Whoever
        applies changes reads the text again and looks whether it has come to that value.

        Raises:
            EditError: It cannot be changed where it stands.
        """
        if self._tree is None:
            raise EditError("it is no text")
        return changes_between(self._lines.text, self._tree.root, self.value, value)


def load_strict(text: str | bytes) -> Document:
    """Read our own kind of document: exactly one, which every YAML reader understands alike.

    Raises:
        DocumentError: With every problem of the text at once, each with line and column.
    """
    loaded = _load(text, MAX_TABLE_BYTES, Level.ERROR)
    problems = loaded.problems
    for document in loaded.documents[1:]:
        line, column = document.position(())
        message = "another document begins here, and only one is wanted"
        problems.append(Problem(message, hint="keep one", line=line, column=column))
    if not loaded.documents and not problems:
        problems.append(Problem("the text holds no document", line=1, column=1))
    _refuse(problems)
    return loaded.documents[0]


def load_manifests(text: str | bytes) -> tuple[Document, ...]:
    """Read users' manifests with the values that kubectl would send to the API server.

    Empty documents are left out, as kubectl leaves them out. Everything that kubectl reads and a
    strict reader would refuse is a finding of its document.

    Raises:
        DocumentError: With the problems of all documents that kubectl could not read.
    """
    loaded = _load(text, MAX_MANIFEST_BYTES, Level.WARNING)
    _refuse(loaded.problems)
    return tuple(loaded.documents)


def survey_manifests(text: str | bytes) -> Survey:
    """Read what can be read of users' manifests; what cannot is told beside it, never raised."""
    loaded = _load(text, MAX_MANIFEST_BYTES, Level.WARNING)
    problems = sorted(loaded.problems, key=lambda problem: (problem.line, problem.column))
    return Survey(tuple(loaded.documents), tuple(problems), loaded.text)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is in a text, as far as it can be read.

    Attributes:
        documents: Those that kubectl could read.
        problems: Why it could not read others, in the order of the text.
        text: The characters that all lines and columns count; "" of a text that is too large.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    text: str


@dataclass(slots=True)
class _Loaded:
    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    text: str = ""


def _load(raw: str | bytes, limit: int, level: Level) -> _Loaded:
    """Read all documents; what kubectl refuses is a problem, what it reads over a finding."""
    too_large = oversize(raw, limit)
    if too_large:
        return _Loaded(problems=[_problem(Located((), too_large), Lines(""), Level.ERROR)])
    text, odd_characters = decode(raw)
    lines = Lines(text)
    loaded = _Loaded(text=text)
    if level is Level.ERROR:
        loaded.problems = [_problem(Located((), odd), lines, level) for odd in odd_characters]
        odd_characters = []
    done = 0
    for parsed in split_documents(text):
        faults = (Located((), fault) for fault in parsed.faults)
        loaded.problems += [_problem(fault, lines, Level.ERROR) for fault in faults]
        behind = bisect_left(odd_characters, parsed.end, done, key=lambda odd: odd.at)
        if parsed.root is not None and not parsed.faults:
            _add(loaded, parsed.root, parsed.notes + odd_characters[done:behind], lines, level)
        done = behind
    return loaded


def _add(loaded: _Loaded, root: Node, notes: list[Fault], lines: Lines, level: Level) -> None:
    reading = read(root, lines)
    loaded.problems += [_problem(error, lines, Level.ERROR) for error in reading.errors]
    if reading.value is None:
        return
    findings = [_problem(finding, lines, level) for finding in reading.findings]
    findings += [_problem(Located((), note), lines, level) for note in notes]
    if level is Level.ERROR:
        loaded.problems += findings
        findings = []
    line = lines.place(root.at)[0]
    loaded.documents.append(Document(reading.value, line, tuple(findings), Tree(root), lines))


def _problem(located: Located, lines: Lines, level: Level) -> Problem:
    line, column = lines.place(located.fault.at)
    return Problem(
        located.fault.message,
        path=field_path(located.path),
        hint=located.fault.hint,
        line=line,
        column=column,
        level=level,
    )


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise DocumentError(sorted(problems, key=lambda problem: (problem.line, problem.column)))
