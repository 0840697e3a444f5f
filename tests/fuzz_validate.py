"""``python -m tests.fuzz_validate``: documents of the corpus, mutated, through ``validate``.

Whatever comes out of them, nothing is raised, nothing takes long, and every finding's place is in
the text: its column within its line, its fix over what it says it changes. The suite runs some.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from selection_spec.documents import survey_manifests
from selection_spec.errors import Level
from tests.builders import pfn_table
from tests.corpus_texts import corpus_texts
from tests.mutations import mutated
from webhook.admission.translate import Context
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.report import Report
from webhook.advice.findings.validation import Source, validate
from webhook.advice.formats import Format, render
from webhook.advice.formats.sarif import Tool
from webhook.cli.basis import Basis
from webhook.cli.priorities import Priorities
from webhook.cli.validate.judges import PodJudge
from webhook.inventory.priority_classes import PriorityClasses
from webhook.snapshot import Snapshot

LIMIT_S: Final = 5.0
"""How long one document may take; most take a thousandth of it."""

_REPORT_EVERY_S = 10


def main() -> int:
    """Mutate as many documents as asked for; the exit code tells whether every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_validate", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many documents")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    arguments = parser.parse_args()
    started = time.monotonic()
    fuzz = Fuzz()
    told = started
    for seed in range(arguments.first, arguments.first + arguments.count):
        fuzz.try_one(seed)
        if time.monotonic() - told > _REPORT_EVERY_S:
            told = time.monotonic()
            done = seed + 1 - arguments.first
            print(f"... {done} documents, {len(fuzz.broken)} broken", file=sys.stderr)
    for rule, number in sorted(fuzz.seen.items()):
        print(f"{number:8}  {rule}")
    for text in fuzz.broken:
        print(f"BROKEN {text}")
    slowest, seed = fuzz.slowest
    print(f"slowest: seed {seed} took {slowest:.2f} s")
    seconds = time.monotonic() - started
    print(f"{arguments.count} documents in {seconds:.0f} s, {len(fuzz.broken)} broken")
    return 1 if fuzz.broken else 0


class Fuzz:
    """Tries mutated documents.

    Attributes:
        seen: How often each rule was found, and how many texts had none.
        broken: What broke a law, by seed.
        slowest: The seconds of CPU that the slowest took, and its seed.
    """

    def __init__(self) -> None:
        table = pfn_table()
        self._table = table
        basis = Basis(Snapshot(table), Priorities(table))
        self._judge = PodJudge(basis, Context(), PriorityClasses())
        self._texts = corpus_texts()
        self.seen: Counter[str] = Counter()
        self.broken: list[str] = []
        self.slowest = (0.0, 0)

    def try_one(self, seed: int) -> None:
        """Mutate a document, judge it, and look at what was found."""
        raw = mutated(seed, self._texts)
        started = time.process_time()
        try:
            with _limit(LIMIT_S):
                findings = self.judged(raw)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is what is looked for
            self.broken.append(f"seed {seed}: {type(error).__name__}: {error}")
            return
        self.slowest = max(self.slowest, (time.process_time() - started, seed))
        self.seen.update({one.rule.id for one in findings} or {"nothing"})

    def judged(self, raw: bytes) -> tuple[Finding, ...]:
        """Judge a text and hold what is found against the laws."""
        found = validate(Source("f.yaml", raw), self._judge, self._table)
        text = survey_manifests(raw).text
        for one in found.findings:
            check(one, text)
        report = Report(found.findings, 1, found.documents, found.pods, "t")
        for form in Format:
            render(report, form=form, tool=Tool("0"), fail_on=Level.ERROR).encode()
        return found.findings


def check(one: Finding, text: str) -> None:
    """Hold a finding's place and fix against the text."""
    place = one.place
    lines = text.split("\n")
    assert 1 <= place.line <= len(lines), one
    line = lines[place.line - 1].removesuffix("\r")
    assert 1 <= place.column <= len(lines[place.line - 1]) + 1, one
    assert not place.end_column or place.column < place.end_column <= len(line) + 1, one
    assert one.source == line, one
    if one.fix is not None:
        written = text[one.fix.start : one.fix.end]
        assert written, one
        assert "\n" not in written, one
        assert one.fix.text.strip("'\"") != written.strip("'\""), one


class _TooSlowError(Exception):
    """A document took longer than it may."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Stop what takes more than so many seconds of CPU, which others on the machine do not take."""

    def stop(_: int, frame: FrameType | None) -> None:
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"
        raise _TooSlowError(f"more than {seconds:.0f} s, in {where}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


if __name__ == "__main__":
    sys.exit(main())
