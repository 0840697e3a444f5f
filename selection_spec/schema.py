"""The SelectionTable document as pydantic sees it (design §3): shapes, defaults and descriptions.

Only the border knows these classes; ``table`` turns them into values with plain Python types. Laws
that one field cannot break on its own live in ``table``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

API_VERSION = "gpuspec.preferred.jp/v1alpha1"
KIND = "SelectionTable"
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


_Model = TypeVar("_Model", bound=_Part)

_STAND_INS: dict[str, object] = {
    "vram": "1gb",
    "perNode": 1,
    "nodes": {"matchLabels": {"stand-in": "stand-in"}},
    "resource": "stand-in.example/device",
    "policy": "EveryFit",
    "classNames": ["stand-in"],
    "minValue": 0,
}
# None: a name that no other item has.
_STAND_IN_ITEMS: dict[str, object] = {
    "aliases": None,
    "classNames": None,
    "tolerations": {"key": "stand-in", "operator": "Exists"},
}


@dataclass(frozen=True, slots=True)
class Parts:
    """What has the right shape in a table's spec; list items by their place in the document."""

    domain: str
    priorities: Mapping[int, PriorityRule]
    devices: Mapping[int, DeviceRow]


def well_shaped(document: object) -> Parts:
    """Return the parts of a document that can be judged further, whatever the others look like."""
    spec = document.get("spec") if isinstance(document, dict) else None
    fields = spec if isinstance(spec, dict) else {}
    domain = fields.get("resourceDomain")
    return Parts(
        domain=domain if isinstance(domain, str) else DEFAULT_DOMAIN,
        priorities=_items(PriorityRule, fields.get("priorities")),
        devices=_items(DeviceRow, fields.get("devices")),
    )


def _items(model: type[_Model], items: object) -> dict[int, _Model]:
    found = {}
    for number, item in enumerate(items if isinstance(items, list) else ()):
        part = _mended(model, item, number)
        if part is not None:
            found[number] = part
    return found


def _mended(model: type[_Model], item: object, number: int) -> _Model | None:
    """Return an item whose misshapen parts are replaced by ones that break no law.

    What is wrong with their shape is told elsewhere; everything beside them can be judged all the
    same, at its own place.
    """
    try:
        return model.model_validate(item)
    except ValidationError as error:
        wrong = [detail["loc"] for detail in error.errors() if detail["loc"]]
    if not isinstance(item, dict):
        return None
    mended = deepcopy(item)
    for place in wrong:
        _stand_in(mended, place, f"row-{number}x")
    with suppress(ValidationError):
        return model.model_validate(mended)
    return None


def _stand_in(item: dict[str, Any], place: tuple[str | int, ...], name: str) -> None:
    """Put something harmless at the list item or field that a problem is about."""
    field = str(place[0])
    if place[:2] == ("nodes", "matchExpressions") and len(place) > 2:  # noqa: PLR2004 - it and more
        key = f"stand-in-{place[2]}"
        item["nodes"]["matchExpressions"][place[2]] = {"key": key, "operator": "Exists"}
    elif place[:2] == ("nodes", "matchLabels") and len(place) > 2:  # noqa: PLR2004 - the same
        item["nodes"]["matchLabels"][place[2]] = "stand-in"
    elif field in _STAND_IN_ITEMS and len(place) > 1:
        stand_in = _STAND_IN_ITEMS[field]
        item[field][place[1]] = f"{name}-{place[1]}-x" if stand_in is None else stand_in
    elif field in ("name", *_STAND_INS):
        item[field] = _STAND_INS.get(field, name)
    else:
        item.pop(field, None)
