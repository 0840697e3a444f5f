"""Texts are judged as the command line judges them, by the table of the worked candidates."""

from __future__ import annotations

import textwrap

from selection_spec.table import Table, builtin_table
from tests.builders import pfn_table
from webhook.admission.translate import Context
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.validation import Source, Validated, validate
from webhook.cli.basis import Basis
from webhook.cli.priorities import Priorities
from webhook.cli.validate.judges import PodJudge
from webhook.inventory.priority_classes import PriorityClasses
from webhook.snapshot import Snapshot

# Said of every Pod, so that nothing is told of priorities.
LOW = Context(priority=0)


def judge(
    table: Table | None = None,
    known: Context = LOW,
    classes: PriorityClasses | None = None,
) -> PodJudge:
    """A judge of Pods."""
    table = table or pfn_table()
    basis = Basis(Snapshot(table), Priorities(table))
    return PodJudge(basis, known, classes or PriorityClasses())


def judged(text: str | bytes, *, table: Table | None = None, **given: object) -> Validated:
    """All that a text comes to; a str is dedented."""
    table = table or pfn_table()
    raw = textwrap.dedent(text).encode() if isinstance(text, str) else text
    return validate(Source("f.yaml", raw, **given), judge(table), table)  # type: ignore[arg-type]


def found(text: str | bytes, **given: object) -> tuple[Finding, ...]:
    """The findings of a text, suppressed ones among them."""
    return judged(text, **given).findings  # type: ignore[arg-type]


def told(text: str | bytes, **given: object) -> list[tuple[str, int, int]]:
    """Rule, line and column of each finding that nobody has suppressed."""
    return [
        (one.rule.id, one.place.line, one.place.column)
        for one in found(text, **given)
        if not one.suppressed
    ]


def ids(text: str | bytes, **given: object) -> list[str]:
    """The rules of the findings that are told."""
    return [rule for rule, _, _ in told(text, **given)]


def pod(resources: str, *, name: str = "p", above: str = "") -> str:
    """A Pod of one container whose resources are these lines."""
    lines = textwrap.indent(textwrap.dedent(resources).strip("\n"), " " * 8)
    return (
        f"{above}apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n"
        f"    - name: main\n      resources:\n{lines}\n"
    )


def manifest_of(example: str) -> str:
    """Return the manifest that an example of a rule's page is a part of."""
    if example.startswith(("limits:", "requests:")):
        return pod(example)
    if example.startswith("spec:"):
        return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n{example}\n"
    return example + "\n"


BUILTIN = builtin_table()
