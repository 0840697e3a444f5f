"""The rules about texts: what cannot be read, what is no manifest, what is to be let be."""

from __future__ import annotations

from typing import Final

from selection_spec.errors import Level
from webhook.advice.findings.rule import Rule

UNREADABLE: Final = Rule(
    "GS001",
    "unreadable",
    Level.ERROR,
    "A document cannot be read.",
    "kubectl could not read it either, so nothing in it would be applied. What else is in the "
    "file is judged all the same.",
    wrong="spec: {containers: [",
    right="spec: {containers: [{name: train}]}",
)

UNRENDERED: Final = Rule(
    "GS002",
    "unrendered-template",
    Level.WARNING,
    "A template of Helm that was not rendered.",
    "What Kubernetes will get is not known before `helm template` has filled it in, so what "
    "depends on that is not judged. Judge its output: `helm template CHART | gpuspec validate -`; "
    "or leave the folder out by a line in `.gpuspecignore`.",
    wrong='limits: {preferred.jp/gpu-a100: "{{ .Values.gpus }}"}',
    right="limits: {preferred.jp/gpu-a100: 1}",
)

SURPRISE: Final = Rule(
    "GS003",
    "yaml-surprise",
    Level.WARNING,
    "YAML that kubectl reads otherwise than it looks, or than other readers do.",
    "A key that stands twice, `no` for a name, `0x10` for a number: kubectl reads them, and "
    "mostly not as they were meant.",
    wrong="""\
limits:
  preferred.jp/gpu-a100: 1
  preferred.jp/gpu-a100: 8""",
    right="""\
limits:
  preferred.jp/gpu-a100: 8""",
)

UNUSED: Final = Rule(
    "GS004",
    "unused-suppression",
    Level.WARNING,
    "A suppression that suppresses nothing.",
    "What it was for is gone, or it stands in the wrong place. A comment is for its own line, or "
    "where it stands alone for the line below; an annotation is for its whole object.",
    wrong="""\
limits:
  # gpuspec: ignore GS104 -- it comes in March
  preferred.jp/gpu-a100: 1""",
    right="""\
limits:
  preferred.jp/gpu-a100: 1""",
)

UNREASONED: Final = Rule(
    "GS005",
    "suppression-without-reason",
    Level.WARNING,
    "A suppression that names no rule, or gives no reason, and so suppresses nothing.",
    "Whoever finds it in a year has to know whether it may go.",
    wrong="""\
limits:
  # gpuspec: ignore GS104
  preferred.jp/gpu-new: 1""",
    right="""\
limits:
  # gpuspec: ignore GS104 -- it comes in March
  preferred.jp/gpu-new: 1""",
)

RULES: Final = (
    UNREADABLE,
    UNRENDERED,
    SURPRISE,
    UNUSED,
    UNREASONED,
)
