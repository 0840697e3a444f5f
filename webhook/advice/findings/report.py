"""All that one run has found, and how much it has read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from selection_spec.errors import Level
from webhook.advice.findings.finding import Finding


@dataclass(frozen=True, slots=True)
class Report:
    """What one run has found.

    Attributes:
        findings: In the order of files and lines, suppressed ones among them.
        files: How many files were read.
        documents: How many documents were in them.
        pods: How many Pods and Pod templates were judged.
        table: What they were judged by, as people call it.
    """

    findings: Sequence[Finding]
    files: int
    documents: int
    pods: int
    table: str

    @property
    def told(self) -> tuple[Finding, ...]:
        """The findings that nobody has suppressed."""
        return tuple(one for one in self.findings if not one.suppressed)

    def counts(self) -> Counter[Level]:
        """Return how many findings there are of each level, without suppressed ones."""
        return Counter(one.level for one in self.told)
