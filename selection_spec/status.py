"""The status of a SelectionTable as its resource describes it; the controller writes it.

Nothing is read through these classes: a status that another version wrote must never be in the way.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


def _without_defaults(schema: dict[str, Any]) -> None:
    """A status is read, not written: what would be assumed of a missing field tells nobody."""
    for field in schema["properties"].values():
        del field["default"]


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, json_schema_extra=_without_defaults
    )


class Condition(_Part):
    """One thing that is so or not, as in every Kubernetes object."""

    type: str = Field(default="", description="What is so or not: Accepted, Ready and others.")
    status: Literal["True", "False", "Unknown"] = Field(
        default="Unknown", description="Whether it is so."
    )
    observed_generation: int = Field(
        default=0, description="The generation of the table that this was said of."
    )
    last_transition_time: str = Field(default="", description="When its status changed last.")
    reason: str = Field(default="", description="Why, in one word.")
    message: str = Field(default="", description="Why, in a sentence.")


class RowStatus(_Part):
    """What one row matches in the cluster."""

    id: str = Field(default="", description="The row: its name and vram, as in a100-80gb.")
    nodes: int = Field(default=0, description="Nodes that the row matches.")
    devices: int = Field(
        default=0,
        description="Devices that the kubelets of these nodes offer; those that the row's claim "
        "recognises where they come from a DRA driver. Left out, as all counts of devices, where "
        "that is not known.",
    )
    usable: int = Field(default=0, description="Those that are healthy, occupied or not.")
    most_usable_on_a_node: int = Field(
        default=0, description="The most usable devices that one node has."
    )
    free: int = Field(default=0, description="Usable devices that no Pod and no claim holds.")
    claim_devices: int = Field(
        default=0,
        description="Devices that the row's claim recognises in ResourceSlices; left out without "
        "a claim, and where that is not known.",
    )
    suspect: int = Field(default=0, description="Nodes that are better avoided.")
    reserved: bool = Field(default=False, description="Whether it is kept for Pods that name it.")
    problems: list[str] = Field(default=[], description="What is wrong with the row, in words.")


class NodesAlike(_Part):
    """Nodes with GPUs that no row matches, those that differ in nothing of interest in one."""

    nodes: int = Field(default=0, description="How many there are.")
    name: str = Field(default="", description="The name of one of them.")
    devices: dict[str, int] = Field(default={}, description="GPUs of each by resource.")
    labels: dict[str, str] = Field(default={}, description="The labels that tell most about them.")


class UnmatchedNodes(_Part):
    """Nodes with GPUs that no row matches."""

    count: int = Field(default=0, description="How many there are.")
    kinds: list[NodesAlike] = Field(default=[], description="The most frequent kinds of them.")


class RowMode(_Part):
    """How far the table goes with one row."""

    id: str = Field(default="", description="The row.")
    mode: Literal["Observe", "Quarantine", "Evict"] = Field(
        default="Observe", description="How far it goes with this row."
    )


class HealthStatus(_Part):
    """What is known of sick nodes and devices; ``gpuspec health`` has it in full."""

    mode: Literal["Observe", "Quarantine", "Evict"] = Field(
        default="Observe", description="How far the table goes, for rows without a mode."
    )
    row_modes: list[RowMode] = Field(default=[], description="Rows with a mode of their own.")
    failed: int = Field(default=0, description="Nodes and devices that have failed.")
    suspect: int = Field(default=0, description="Nodes and devices that are better avoided.")
    unknown: int = Field(default=0, description="Those of which data is missing or stale.")
    quarantined: int = Field(default=0, description="Nodes and devices with a mark of ours.")
    evictions_left: int = Field(
        default=0, description="How many Pods may still be evicted in this window."
    )
    stopped_rows: list[str] = Field(
        default=[], description="Rows in which too much failed at once, until a person resumes."
    )


class TableStatus(_Part):
    """What the table matches right now."""

    digest: str = Field(
        default="",
        description="Digest of the table as the controller read it; Pods carry the digest of the "
        "table that decided them.",
    )
    observed_generation: int = Field(
        default=0, description="The generation of the table that this status is of."
    )
    renew_time: str = Field(
        default="",
        description="When the controller last said that all this still holds, RFC 3339; after 180 "
        "seconds it is no longer relied upon.",
    )
    conditions: list[Condition] = Field(
        default=[], description="Whether the table is accepted, ready and so on."
    )
    row_count: int = Field(default=0, description="How many rows the table has.")
    rows: list[RowStatus] = Field(default=[], description="What each row matches.")
    unmatched_nodes: UnmatchedNodes = Field(
        default=UnmatchedNodes(), description="Nodes with GPUs that no row matches."
    )
    missing_device_classes: list[str] = Field(
        default=[],
        description="DeviceClasses that rows of output ResourceClaim ask for and that do not "
        "exist; such rows are left out while others remain.",
    )
    health: HealthStatus = Field(
        default=HealthStatus(), description="What is known of sick nodes and devices."
    )
