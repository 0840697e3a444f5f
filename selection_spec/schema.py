"""The SelectionTable document as pydantic sees it (design §3): shapes, defaults and descriptions.

Only the border knows these classes; ``table`` turns them into values with plain Python types. Laws
that one field cannot break on its own live in ``laws`` and ``laws_health``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator

from selection_spec.schema_health import HealthPart
from selection_spec.schema_part import Part

DEFAULT_DOMAIN = "preferred.jp"

# Above any machine that is built, below any typing error that matters.
MAX_PER_NODE = 1024
_MAX_COST = 1_000_000

# Cards have a handful of spellings; with more, an expression could outgrow what Kubernetes allows.
_MAX_PRODUCTS = 64

# Kubernetes allows 32 in a request; one of them is ours.
MAX_SELECTORS = 31

PolicyName = Literal["EveryFit", "SmallestFit"]
OutputName = Literal["ExtendedResource", "ResourceClaim"]

# What Kubernetes is built for: the values that a kubelet may report.
Architecture = Literal["386", "amd64", "arm", "arm64", "loong64", "ppc64le", "riscv64", "s390x"]


class MatchExpression(Part):
    """One node affinity expression."""

    key: str = Field(description="Node label key; a row says everything about one key at once.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        description="How the label is compared with values, as in node affinity."
    )
    values: list[str] = Field(
        default=[],
        description="Label values: one or more for In and NotIn, one whole number in quotes for Gt "
        "and Lt, none for Exists and DoesNotExist.",
    )


class NodeMatch(Part):
    """The labels by which a row's nodes are known; all of them must hold."""

    match_labels: dict[str, str] = Field(
        default={}, description="Node label key to its exact value."
    )
    match_expressions: list[MatchExpression] = Field(
        default=[], description="Expressions, for labels that have several values."
    )


class TolerationPart(Part):
    """A toleration that Pods of a row receive."""

    key: str = Field(description="Taint key; tolerating every taint is not possible here.")
    operator: Literal["Equal", "Exists"] = Field(
        default="Equal", description="Whether the taint has this value (Equal) or any (Exists)."
    )
    value: str | None = Field(default=None, description="Taint value, with operator Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Taint effect; every effect when left out."
    )


class CelPart(Part):
    """A CEL expression about one device."""

    expression: str = Field(
        description="True for the row's devices, in the CEL of ResourceClaims; guard attributes "
        'that not every device of the driver has: device.attributes["gpu.nvidia.com"]'
        '.?productName.orValue("").'
    )


class SelectorPart(Part):
    """One selector of a claim, as in a ResourceClaim."""

    cel: CelPart = Field(description="The selector's expression.")


class ClaimPart(Part):
    """How a DRA driver's devices of a row are recognised (ResourceSlices)."""

    device_class_name: str = Field(description="The DeviceClass to ask, such as gpu.nvidia.com.")
    driver: str = Field(description="The driver that offers the devices, such as gpu.nvidia.com.")
    products: Annotated[list[str], Field(max_length=_MAX_PRODUCTS)] = Field(
        default=[],
        description="Their product names as the driver has them; without products and selectors, "
        "every whole GPU of the driver with at least the memory of vram.",
    )
    selectors: Annotated[list[SelectorPart], Field(max_length=MAX_SELECTORS)] = Field(
        default=[],
        description="Selectors of your own, beside or instead of products; all must hold, and "
        f"they are asked of devices of the driver only. At most {MAX_SELECTORS}.",
    )


class DeviceRow(Part):
    """One kind of device: a card with its memory, on nodes of one kind."""

    name: str = Field(
        description="What users write after gpu-, without the memory: a100 for gpu-a100-80gb."
    )
    aliases: list[str] = Field(
        default=[],
        description="Other names for it, such as its generation; one alias may stand for several "
        "rows, but never for another row's name.",
    )
    vram: str = Field(
        description="Nominal memory of one device as on the box, such as 24gb; a lower bound in "
        "what users write is compared with it, and name and vram together are unique."
    )
    per_node: Annotated[int, Field(ge=1, le=MAX_PER_NODE)] = Field(
        description="The most devices that one node of this row has; a Pod that needs more gets "
        f"none of it. 1 to {MAX_PER_NODE}."
    )
    cost: Annotated[int, Field(ge=0, le=_MAX_COST)] = Field(
        default=0,
        description="A rank, not a price: Pods prefer the cheaper of the rows they may use. "
        f"0 to {_MAX_COST}.",
    )
    any: bool = Field(default=True, description="Whether gpu-any includes it.")
    reserved: bool = Field(
        default=False,
        description="Whether it is kept for Pods that name it; the controller then also taints "
        "its nodes.",
    )
    os: Literal["linux", "windows"] = Field(
        default="linux", description="Operating system of its nodes."
    )
    arch: Architecture = Field(
        default="amd64", description="Value of the label kubernetes.io/arch on its nodes."
    )
    nodes: NodeMatch = Field(
        description="How its nodes are recognised: every label and expression must hold, and at "
        "least one is needed."
    )
    tolerations: list[TolerationPart] = Field(
        default=[],
        description="Tolerations of the taints that its nodes carry; Pods get those of the rows "
        "they may use.",
    )
    output: OutputName | None = Field(
        default=None,
        description="What a spec becomes where this row is taken: its resource, or a claim on a "
        "device of a DRA driver. The table's output when left out.",
    )
    resource: str | None = Field(
        default=None,
        description="The extended resource that its device plugin offers, such as nvidia.com/gpu; "
        "needed with output ExtendedResource.",
    )
    claim: ClaimPart | None = Field(
        default=None,
        description="How its devices are recognised where a DRA driver offers them; needed with "
        "output ResourceClaim. They are counted in the table's status in any case.",
    )

    @field_validator("vram", mode="before")
    @classmethod
    def _has_unit(cls, vram: object) -> object:
        """Say what a bare number lacks; in quotes it would be no better."""
        if type(vram) is int:
            raise ValueError(f"vram {vram} is no nominal memory; write {vram}gb")
        return vram


class PriorityRule(Part):
    """One rule from a Pod's priority to a policy; exactly one of classNames and minValue."""

    class_names: list[str] | None = Field(
        default=None,
        description="PriorityClasses; matches spec.priorityClassName. Either this or minValue.",
    )
    min_value: int | None = Field(
        default=None, description="Matches spec.priority from here up. Either this or classNames."
    )
    policy: PolicyName = Field(
        description="Which devices such Pods may take: every one that is big enough, or only the "
        "smallest of those."
    )


class TableSpec(Part):
    """What the cluster has and how Pods get at it."""

    resource_domain: str = Field(
        default=DEFAULT_DOMAIN,
        description="Domain of the keys that users write, as in preferred.jp/gpu-any: 1. It cannot "
        "be changed later: that would silently switch admission off.",
    )
    output: OutputName = Field(
        default="ExtendedResource",
        description="What a spec becomes: an extended resource of a device plugin, or a claim on a "
        "device of a DRA driver. A row may say otherwise.",
    )
    priorities: list[PriorityRule] = Field(
        default=[], description="From a Pod's priority to its policy; the first match decides."
    )
    default_policy: PolicyName = Field(
        default="EveryFit", description="Policy of Pods that no priority rule matches."
    )
    prefer_cheaper: bool = Field(
        default=True, description="Whether Pods prefer the cheaper of the rows they may use."
    )
    mixed_nodes: bool = Field(
        default=False,
        description="Whether one node may carry devices of several rows: each container of a Pod "
        "then keeps the rows of its own spec, with output ResourceClaim.",
    )
    devices: Annotated[list[DeviceRow], Field(min_length=1)] = Field(
        description="The rows, in any order: one for each kind of device on each kind of node."
    )
    health: HealthPart | None = Field(
        default=None,
        description="What is listened to, what is done about broken nodes and devices, and how "
        "much at most; that it is there, even empty, makes Pods prefer nodes that are not suspect.",
    )


class Metadata(Part):
    """The part of an object's metadata that a file has."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(default="default", description="Name of the table.")


class TableDocument(Part):
    """A SelectionTable: the same as a file and as a custom resource."""

    api_version: Literal["gpuspec.preferred.jp/v1alpha1"] = Field(description="API version.")
    kind: Literal["SelectionTable"] = Field(description="Kind.")
    metadata: Metadata = Field(default=Metadata(), description="Object metadata.")
    spec: TableSpec = Field(description="What the cluster has and how Pods get at it.")
    status: dict[str, object] | None = Field(
        default=None, description="Written by the controller; ignored when read from a file."
    )
