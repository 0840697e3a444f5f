"""One run of ``validate``: all files are read, each in parts, and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from webhook.admission.translate import Context
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.fleet import Sizes
from webhook.advice.findings.report import Report
from webhook.advice.findings.validation import Source, validate
from webhook.cli.basis import Basis
from webhook.cli.inputs import STDIN, UnreadableError, shown
from webhook.cli.saved import progress
from webhook.cli.validate.files import Input
from webhook.cli.validate.judges import PodJudge, classes_in
from webhook.cli.validate.parts import Part, parts
from webhook.inventory.facts import Json
from webhook.inventory.priority_classes import PriorityClasses, priority_classes


class Run:
    """Reads and judges files, as often as it is asked to.

    Args:
        basis: What Pods are judged by.
        known: What was said of all of them.
        files: What to read.
        class_files: Files with PriorityClasses.
        sizes: How large the table's rows are, as far as that is known.
        called: What people call the table.
    """

    def __init__(
        self,
        basis: Basis,
        known: Context,
        files: Sequence[Input],
        class_files: Sequence[str],
        sizes: Sizes,
        called: str,
    ) -> None:
        self._sizes = sizes
        self._called = called
        self._basis = basis
        self._known = known
        self._files = files
        self._class_files = class_files
        # Standard input and pipes can be read only once.
        self._held: dict[str, list[Part]] = {}

    def report(self) -> Report:
        """Judge everything that is in the files now.

        Raises:
            UnreadableError: Files cannot be opened or read; all of them are named.
        """
        judge = PodJudge(self._basis, self._known, self._classes())
        table = self._basis.snapshot.table
        findings: list[Finding] = []
        files = documents = pods = 0
        with progress(self._files, "Judging files", len(self._files)) as bar:
            for one in bar:
                files += 1
                for source in self._sources(one):
                    found = validate(source, judge, table, self._sizes)
                    findings += found.findings
                    documents += found.documents
                    pods += found.pods
        return Report(findings, files, documents, pods, self._called)

    def _classes(self) -> PriorityClasses:
        """Return the PriorityClasses of all files: any of them may be named in any other."""
        found: list[Json] = []
        wrong: list[str] = []
        for file in (*(one.file for one in self._files), *self._class_files):
            try:
                found += classes_in(self._parts(file))
            except UnreadableError as error:
                wrong.append(error.message)
        if wrong:
            raise UnreadableError("\n".join(wrong))
        return priority_classes(found)

    def _sources(self, one: Input) -> Iterator[Source]:
        for part in self._parts(one.file):
            yield Source(shown(one.file), part.raw, part.lines, part.characters, one.is_named)

    def _parts(self, file: str) -> Iterator[Part]:
        if file != STDIN and Path(file).is_file():
            yield from parts(file)
            return
        if file not in self._held:
            self._held[file] = list(parts(file))
        yield from self._held[file]
