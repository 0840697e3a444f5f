"""The parts of a table that the laws judge, also of one whose shape is wrong somewhere (design §3).

All problems are told at once, so one part of wrong shape must not hide a broken law beside it. Such
parts are replaced by stand-ins that break no law; what is wrong with them is told elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from selection_spec.rows import CLAIMS
from selection_spec.schema import DEFAULT_DOMAIN, DeviceRow, OutputName, PriorityRule, TableSpec
from selection_spec.schema_health import (
    MAX_EVICTIONS,
    BudgetPart,
    ConditionPart,
    HealthPart,
    LabelPart,
    ObservationsPart,
    RecoveryPart,
    RowModePart,
    TaintPart,
)

_Model = TypeVar("_Model", bound=BaseModel)

# A row with more mistakes than this is told of these first.
_MOST_STAND_INS = 64

_FIELDS: dict[str, object] = {
    "vram": "1gb",
    "perNode": 1,
    "nodes": {"matchLabels": {"stand-in": "stand-in"}},
    "resource": "stand-in.example/device",
    "claim": {"deviceClassName": "stand-in.example", "driver": "stand-in.example"},
    "policy": "EveryFit",
    "classNames": ["stand-in"],
    "minValue": 0,
    "mode": "Observe",
    "key": "stand-in",
    "value": "stand-in",
    "after": "1s",
    "atMost": "365d",
    "evictions": MAX_EVICTIONS,
    "evictionsPerNamespace": 0,
}
_ABSENT = object()
_TOLERATION = {"key": "stand-in", "operator": "Exists"}


@dataclass(frozen=True, slots=True)
class HealthParts:
    """What can be judged of the ``health`` section; list items by their place in it."""

    rows: Mapping[int, RowModePart]
    conditions: Mapping[int, ConditionPart]
    taints: Mapping[int, TaintPart]
    labels: Mapping[int, LabelPart]
    ignore: Mapping[int, str]
    observations: ObservationsPart
    recovery: RecoveryPart
    budget: BudgetPart
    evict_after: str


@dataclass(frozen=True, slots=True)
class Parts:
    """What can be judged of a table's spec; list items by their place in the document.

    ``prefer_cheaper`` is False also where not all costs are known; ``output`` is None where it is
    no output, ``row_ids`` where not every row has an id.
    """

    domain: str
    output: OutputName | None
    prefer_cheaper: bool
    priorities: Mapping[int, PriorityRule]
    devices: Mapping[int, DeviceRow]
    row_ids: frozenset[str] | None
    health: HealthParts | None


def parts_of(spec: TableSpec) -> Parts:
    """Return the parts of a spec whose shape is right."""
    return Parts(
        spec.resource_domain,
        spec.output,
        spec.prefer_cheaper,
        dict(enumerate(spec.priorities)),
        dict(enumerate(spec.devices)),
        frozenset(f"{row.name}-{row.vram}" for row in spec.devices),
        None if spec.health is None else _health_parts(spec.health),
    )


def _health_parts(health: HealthPart) -> HealthParts:
    return HealthParts(
        dict(enumerate(health.rows)),
        dict(enumerate(health.conditions)),
        dict(enumerate(health.taints)),
        dict(enumerate(health.labels)),
        dict(enumerate(health.ignore)),
        health.observations,
        health.recovery,
        health.budget,
        health.evict_after,
    )


def pool_of(row: DeviceRow, output: OutputName) -> str:
    """Return what a Pod that takes a row holds, as ``rows.Row.pool`` does."""
    return CLAIMS if (row.output or output) == CLAIMS else row.resource or ""


def mended_parts(document: object) -> Parts:
    """Return the parts of any document at all, with stand-ins for what has a wrong shape."""
    spec = document.get("spec") if isinstance(document, dict) else None
    fields = spec if isinstance(spec, dict) else {}
    domain = fields.get("resourceDomain")
    devices = _items(DeviceRow, fields.get("devices"))
    all_costs = all(row.cost == fields["devices"][n].get("cost", 0) for n, row in devices.items())
    output: OutputName | None = None
    if (said := fields.get("output", "ExtendedResource")) in get_args(OutputName):
        output = said
    return Parts(
        domain=domain if isinstance(domain, str) else DEFAULT_DOMAIN,
        output=output,
        prefer_cheaper=all_costs and fields.get("preferCheaper", True) is True,
        priorities=_items(PriorityRule, fields.get("priorities")),
        devices=devices,
        row_ids=_row_ids(fields.get("devices")),
        health=_mended_health(fields.get("health")),
    )


def _row_ids(devices: object) -> frozenset[str] | None:
    found = set()
    for row in devices if isinstance(devices, list) else [None]:
        name, vram = (row.get("name"), row.get("vram")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(vram, str):
            return None
        found.add(f"{name}-{vram}")
    return frozenset(found)


def _mended_health(section: object) -> HealthParts | None:
    if not isinstance(section, dict):
        return None
    ignored, evict_after = section.get("ignore"), section.get("evictAfter")
    names = enumerate(ignored if isinstance(ignored, list) else ())
    return HealthParts(
        rows=_items(RowModePart, section.get("rows")),
        conditions=_items(ConditionPart, section.get("conditions")),
        taints=_items(TaintPart, section.get("taints")),
        labels=_items(LabelPart, section.get("labels")),
        ignore={number: name for number, name in names if isinstance(name, str)},
        observations=_settings(ObservationsPart, section.get("observations")),
        recovery=_settings(RecoveryPart, section.get("recovery")),
        budget=_settings(BudgetPart, section.get("budget")),
        evict_after=evict_after if isinstance(evict_after, str) else HealthPart().evict_after,
    )


def _settings(model: type[_Model], fields: object) -> _Model:
    """Return a part of a section, all of whose fields have defaults."""
    part = _mended(model, fields, 0) if isinstance(fields, dict) else None
    return model() if part is None else part


def _items(model: type[_Model], items: object) -> dict[int, _Model]:
    found = {}
    for number, item in enumerate(items if isinstance(items, list) else ()):
        part = _mended(model, item, number) if isinstance(item, dict) else None
        if part is not None:
            found[number] = part
    return found


def _mended(model: type[_Model], item: dict[str, Any], number: int) -> _Model | None:
    """Replace one misshapen part after the other until the item has the right shape.

    One at a time, because a stand-in may take the place of the next one's holder.
    """
    mended = deepcopy(item)
    for _ in range(_MOST_STAND_INS):
        try:
            return model.model_validate(mended)
        except ValidationError as error:
            if not _stand_in(mended, error.errors()[0]["loc"], f"row-{number}x"):
                return None
    return None


def _stand_in(item: dict[str, Any], place: tuple[str | int, ...], name: str) -> bool:
    """Put something harmless at the list item or field that a problem is about.

    Returns:
        Whether there was something to do: False where a field is missing that nothing stands for.
    """
    match place:
        case ("nodes", "matchExpressions", int(at), *_):
            expression = {"key": f"stand-in-{at}", "operator": "Exists"}
            item["nodes"]["matchExpressions"][at] = expression
        case ("nodes", "matchLabels", str(key), *_):
            item["nodes"]["matchLabels"][key] = "stand-in"
        case ("tolerations", int(at), *_):
            item["tolerations"][at] = _TOLERATION
        case ("aliases" | "classNames" as field, int(at), *_):
            item[field][at] = f"{name}-{at}-x"
        case ("name" | "type" as field, *_):
            item[field] = name
        case (str(field), *_) if field in _FIELDS:
            item[field] = deepcopy(_FIELDS[field])
        case (field, *_):
            return item.pop(str(field), _ABSENT) is not _ABSENT
    return True
