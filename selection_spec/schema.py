"""The SelectionTable document as pydantic sees it (design §3): shapes, defaults and descriptions.

Only the border knows these classes; ``table`` turns them into values with plain Python types. Laws
that one field cannot break on its own live in ``table``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

DEFAULT_DOMAIN = "preferred.jp"

# Above any machine that is built, below any typing error that matters.
_MAX_PER_NODE = 1024
_MAX_COST = 1_000_000

PolicyName = Literal["EveryFit", "SmallestFit"]

# What Kubernetes is built for: the values that a kubelet may report.
Architecture = Literal["386", "amd64", "arm", "arm64", "loong64", "ppc64le", "riscv64", "s390x"]


class _Part(BaseModel):
    """Strict, closed and frozen; keys in camelCase as everywhere in Kubernetes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=to_camel, validate_by_name=False
    )


class MatchExpression(_Part):
    """One node affinity expression."""

    key: str = Field(description="Node label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        description="As in node affinity."
    )
    values: list[str] = Field(default=[], description="None for Exists and DoesNotExist.")


class NodeMatch(_Part):
    """The labels by which a row's nodes are known; all of them must hold."""

    match_labels: dict[str, str] = Field(default={}, description="Label key to exact value.")
    match_expressions: list[MatchExpression] = Field(
        default=[], description="Expressions for labels that have several values."
    )


class TolerationPart(_Part):
    """A toleration that Pods of a row receive."""

    key: str = Field(description="Taint key; tolerating every taint is not possible here.")
    operator: Literal["Equal", "Exists"] = Field(default="Equal", description="As in a Pod.")
    value: str | None = Field(default=None, description="Taint value, with operator Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Taint effect; every effect when left out."
    )


class DeviceRow(_Part):
    """One kind of device: a card with its memory, on nodes of one kind."""

    name: str = Field(description="What users write after gpu-.")
    aliases: list[str] = Field(
        default=[], description="Other names for it; one alias may stand for several rows."
    )
    vram: str = Field(description="Nominal memory as on the box, such as 24gb.")
    per_node: Annotated[int, Field(ge=1, le=_MAX_PER_NODE)] = Field(
        description="The most devices that one node of this row has."
    )
    cost: Annotated[int, Field(ge=0, le=_MAX_COST)] = Field(
        default=0, description="Order of preference: cheaper rows are preferred."
    )
    any: bool = Field(default=True, description="Whether gpu-any includes it.")
    reserved: bool = Field(default=False, description="Whether only Pods that name it get it.")
    os: Literal["linux", "windows"] = Field(
        default="linux", description="Operating system of its nodes."
    )
    arch: Architecture = Field(
        default="amd64", description="Value of kubernetes.io/arch on its nodes."
    )
    nodes: NodeMatch = Field(description="How its nodes are recognised.")
    tolerations: list[TolerationPart] = Field(
        default=[], description="What Pods need to tolerate to run on its nodes."
    )
    resource: str = Field(description="The extended resource its device plugin offers.")

    @field_validator("vram", mode="before")
    @classmethod
    def _has_unit(cls, vram: object) -> object:
        """Say what a bare number lacks; in quotes it would be no better."""
        if type(vram) is int:
            raise ValueError(f"vram {vram} is no nominal memory; write {vram}gb")
        return vram


class PriorityRule(_Part):
    """One rule from a Pod's priority to a policy; exactly one of classNames and minValue."""

    class_names: list[str] | None = Field(
        default=None, description="Matches spec.priorityClassName."
    )
    min_value: int | None = Field(default=None, description="Matches spec.priority from here up.")
    policy: PolicyName = Field(description="Which devices such Pods may take.")


class HealthPart(_Part):
    """Health settings; that the section is there makes Pods prefer nodes that are not suspect."""


class TableSpec(_Part):
    """What the cluster has and how Pods get at it."""

    resource_domain: str = Field(
        default=DEFAULT_DOMAIN, description="Domain of the keys users write."
    )
    output: Literal["ExtendedResource"] = Field(
        default="ExtendedResource", description="What a spec is translated into."
    )
    priorities: list[PriorityRule] = Field(default=[], description="First match decides.")
    default_policy: PolicyName = Field(
        default="EveryFit", description="Policy of Pods that no priority rule matches."
    )
    prefer_cheaper: bool = Field(
        default=True, description="Whether Pods prefer the cheaper of the rows they may use."
    )
    mixed_nodes: bool = Field(
        default=False, description="Whether one node may carry devices of several rows."
    )
    devices: Annotated[list[DeviceRow], Field(min_length=1)] = Field(
        description="The rows, in any order."
    )
    health: HealthPart | None = Field(default=None, description="Health of devices and nodes.")


class Metadata(_Part):
    """The part of an object's metadata that a file has."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(default="default", description="Name of the table.")


class TableDocument(_Part):
    """A SelectionTable: the same as a file and as a custom resource."""

    api_version: Literal["gpuspec.preferred.jp/v1alpha1"] = Field(description="API version.")
    kind: Literal["SelectionTable"] = Field(description="Kind.")
    metadata: Metadata = Field(default=Metadata(), description="Object metadata.")
    spec: TableSpec = Field(description="What the cluster has and how Pods get at it.")
    status: dict[str, object] | None = Field(
        default=None, description="Written by the controller; ignored when read from a file."
    )
