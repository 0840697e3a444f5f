"""Findings to render: some that are as in life, and any that could be."""

from __future__ import annotations

from hypothesis import strategies as st

from selection_spec.errors import Level
from webhook.advice.findings.finding import Finding, Fix, Place
from webhook.advice.findings.report import Report
from webhook.advice.findings.rule import Rule

MISSPELT = Rule(
    "GS101",
    "misspelt-spec",
    Level.ERROR,
    "A key looks like a GPU Selection Spec and is none.",
    "Admission refuses the Pod.",
    wrong="limits: {preferred.jp/gpu-24gib: 1}",
    right="limits: {preferred.jp/gpu-any-24gb: 1}",
    semantics=("G4",),
)
DROPPED = Rule("GS201", "rows-dropped", Level.WARNING, "Rows are left out.", "They cannot serve.")
PLAIN = Rule("GS301", "raw-selector", Level.NOTE, "A raw selector.", "A spec says the same.")

PATH = "spec.template.spec.containers[0].resources.limits"

ERROR = Finding(
    MISSPELT,
    Place("jobs/train.yaml", 12, 15, 37, PATH, "Deployment/train"),
    'container "main": "preferred.jp/gpu-24gib" is no GPU Selection Spec: memory is written in '
    "whole gigabytes",
    'write "preferred.jp/gpu-any-24gb"',
    Level.ERROR,
    "G4",
    "              preferred.jp/gpu-24gib: 1",
    Fix(
        310,
        332,
        "preferred.jp/gpu-ANY-24gb",
        "preferred.jp/gpu-any-24gb",
        'Write "preferred.jp/gpu-any-24gb".',
    ),
)
WARNING = Finding(
    DROPPED,
    Place("jobs/train.yaml", 20, object="Job/b"),
    "rows a30-24gb and a100-80gb differ in output",
    "",
    Level.WARNING,
)
NOTE = Finding(PLAIN, Place("<stdin>"), "a selector says what a spec says", "", Level.NOTE)
SUPPRESSED = Finding(
    DROPPED,
    Place("/srv/b c.yaml", 3, 5),
    "rows differ",
    "name one",
    Level.WARNING,
    suppressed="both are wanted",
)
REPORT = Report((ERROR, WARNING, NOTE, SUPPRESSED), 12, 30, 40, "the built-in table")
CLEAN = Report((), 1, 1, 1, "the built-in table")


def report(*findings: Finding) -> Report:
    return Report(findings, 1, 1, 1, "t")


_HOSTILE = (
    *("\n", "\r", "\t", "\x00", "\x1b", "\x7f", "\x85", "\u2028", "\u200f", "\u202e", "\ud800"),
    *(
        "\udce9",
        "\udfff",
        "\ufffe",
        "\U000e0001",
        "\N{NO-BREAK SPACE}",
        "あ",
        "e\u0301",
        "a long name",
    ),
    *("%", ":", ",", "::", " ::", "]]>", "<", "&", '"', "\\", "/"),
)
TEXTS = st.lists(st.sampled_from(_HOSTILE) | st.characters(), max_size=6).map("".join)

RULES = st.sampled_from([MISSPELT, DROPPED, PLAIN])
PLACES = st.builds(
    Place,
    file=TEXTS.filter(bool),
    line=st.integers(0, 40),
    column=st.integers(0, 200),
    end_column=st.integers(0, 200),
    path=TEXTS,
    object=TEXTS,
)
FIXES = st.builds(
    lambda start, length, text, said: Fix(start, start + length, "", text, said),
    st.integers(0, 10**6),
    st.integers(0, 100),
    TEXTS,
    TEXTS,
)
FINDINGS = st.builds(
    Finding,
    rule=RULES,
    place=PLACES,
    message=TEXTS,
    hint=TEXTS,
    level=st.sampled_from(Level),
    semantics=st.sampled_from(["", "G4"]),
    source=TEXTS | TEXTS.map(lambda text: text * 9),
    fix=st.none() | FIXES,
    suppressed=st.just("") | TEXTS,
)
REPORTS = st.builds(
    Report,
    findings=st.lists(FINDINGS, max_size=2),
    files=st.integers(0, 2000),
    documents=st.integers(0, 2000),
    pods=st.integers(0, 2000),
    table=TEXTS,
)
