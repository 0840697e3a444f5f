"""The ``health`` section of a SelectionTable document as pydantic sees it (H2, H3, H4, H6).

Durations are texts here, and so are regular expressions; ``laws_health`` judges them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from selection_spec.schema_part import Part

ModeName = Literal["Observe", "Quarantine", "Evict"]
SeverityName = Literal["Fatal", "Error", "Warning"]
EffectName = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]

# Every node is held against every rule at every observation.
_MAX_ENTRIES = 200
_AtMost = Field(max_length=_MAX_ENTRIES)

# It is searched in every such condition of every node.
MAX_REGEX = 256

# Observations before a verdict, and evictions in a window, beyond which nothing would happen or
# nothing be left: above what is meant, below a typing error.
_MAX_OBSERVATIONS = 100
MAX_EVICTIONS = 10_000


def _has_unit(value: object, info: ValidationInfo) -> object:
    """Say what a bare number lacks; in quotes it would be no better."""
    if type(value) in (int, float):
        write = f"{value}s" if type(value) is int and value >= 0 else "a duration such as 30s"
        raise ValueError(f"{to_camel(str(info.field_name))} {value} has no unit; write {write}")
    return value


Duration = Annotated[str, BeforeValidator(_has_unit)]


class RowModePart(Part):
    """The mode of one row."""

    id: str = Field(description="The row: its name and vram, as in a100-80gb.")
    mode: ModeName = Field(description="How far we go with its nodes and devices.")


class ConditionPart(Part):
    """A node condition that tells of broken hardware."""

    type: str = Field(description="Type of the condition; the node's own Ready is not taken.")
    bad_status: Literal["True", "False"] = Field(
        default="True", description="The status that is bad, in quotes."
    )
    reason_regex: str = Field(
        default="",
        description="A regular expression that has to be found in the condition's reason; any "
        f"reason when left out. At most {MAX_REGEX} characters.",
    )
    min_duration: Duration = Field(
        default="0s", description="How long it has to be bad before it counts, such as 30s."
    )
    severity: SeverityName = Field(
        default="Error",
        description="Whether it fails the node at once (Fatal), after observations.bad "
        "observations (Error), or only makes it suspect (Warning).",
    )

    @field_validator("bad_status", mode="before")
    @classmethod
    def _is_quoted(cls, value: object) -> object:
        """Say that it is text: without quotes YAML reads True as true."""
        if value is True or value is False:
            raise ValueError(f'badStatus is no text without quotes; write "{value}" in quotes')
        return value


class TaintPart(Part):
    """A node taint of somebody else's that tells of broken hardware."""

    key: str = Field(description="Taint key.")
    value: str | None = Field(default=None, description="Taint value; any when left out.")
    effect: EffectName | None = Field(default=None, description="Taint effect; any when left out.")
    severity: SeverityName = Field(
        default="Error",
        description="Whether it fails the node at once, after observations.bad observations, or "
        "only makes it suspect.",
    )


class LabelPart(Part):
    """A node label of somebody else's that tells of broken hardware."""

    key: str = Field(description="Label key.")
    value: str = Field(description="The label value that is bad.")
    severity: SeverityName = Field(
        default="Warning",
        description="Whether it fails the node at once, after observations.bad observations, or "
        "only makes it suspect.",
    )


class ObservationsPart(Part):
    """How often is looked, and how often the same has to be seen."""

    every: Duration = Field(default="10s", description="Time between two observations. 1s to 10m.")
    bad: Annotated[int, Field(ge=1, le=_MAX_OBSERVATIONS)] = Field(
        default=3,
        description="Bad observations that fail a node or device; a Fatal signal needs "
        f"one. 1 to {_MAX_OBSERVATIONS}.",
    )
    good: Annotated[int, Field(ge=1, le=_MAX_OBSERVATIONS)] = Field(
        default=3,
        description=f"Good observations in a row that a recovery needs. 1 to {_MAX_OBSERVATIONS}.",
    )
    crash_window: Duration = Field(
        default="10m",
        description="Time within which Pods of different owners have to crash on one node or "
        "device to tell against it. 1m to 24h.",
    )


class RecoveryPart(Part):
    """How long something has to be good again before it is trusted."""

    after: Duration = Field(
        default="5m",
        description="How long it has to be good the first time; every relapse doubles it. "
        "1s to 7d.",
    )
    at_most: Duration = Field(
        default="24h", description="The longest that it has to be good; never less than after."
    )


class BudgetPart(Part):
    """How much is done at most; what is spent stops what it covers, and an Event says so."""

    percent: Annotated[int, Field(ge=1, le=100)] = Field(
        default=20,
        description="The share of a row's nodes or devices that is in quarantine at most, but "
        "always one. 1 to 100.",
    )
    evictions: Annotated[int, Field(ge=0, le=MAX_EVICTIONS)] = Field(
        default=10, description=f"The most evictions within window. 0 to {MAX_EVICTIONS}."
    )
    evictions_per_namespace: Annotated[int, Field(ge=0, le=MAX_EVICTIONS)] = Field(
        default=8,
        description="The most of them in one namespace; never more than evictions. "
        f"0 to {MAX_EVICTIONS}.",
    )
    window: Duration = Field(
        default="10m", description="The time in which evictions are counted. 1m to 24h."
    )


class HealthPart(Part):
    """Health settings; that the section is there makes Pods prefer nodes that are not suspect."""

    mode: ModeName = Field(
        default="Observe",
        description="How far we go with what has failed: only say what would be done, also keep "
        "new Pods away (Quarantine), or also move the Pods that are there (Evict).",
    )
    rows: Annotated[list[RowModePart], _AtMost] = Field(
        default=[], description="Rows with a mode of their own."
    )
    conditions: Annotated[list[ConditionPart], _AtMost] = Field(
        default=[],
        description="Node conditions to listen to, beside or instead of those that are built in.",
    )
    taints: Annotated[list[TaintPart], _AtMost] = Field(
        default=[], description="Node taints to listen to, beside those that are built in."
    )
    labels: Annotated[list[LabelPart], _AtMost] = Field(
        default=[], description="Node labels to listen to, beside those that are built in."
    )
    ignore: Annotated[list[str], _AtMost] = Field(
        default=[],
        description="Types of built-in conditions, and keys of built-in taints and labels, that "
        "are not listened to.",
    )
    observations: ObservationsPart = Field(
        default=ObservationsPart(),
        description="How often is looked, and how often the same has to be seen.",
    )
    recovery: RecoveryPart = Field(
        default=RecoveryPart(),
        description="How long something has to be good again before it is trusted.",
    )
    budget: BudgetPart = Field(
        default=BudgetPart(), description="How much is done at most, whatever has failed."
    )
    evict_after: Duration = Field(
        default="3s",
        description="Time from a failure to the first eviction, in mode Evict. 0s to 1h.",
    )
