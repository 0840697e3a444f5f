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
}
_TOLERATION = {"key": "stand-in", "operator": "Exists"}


@dataclass(frozen=True, slots=True)
class Parts:
    """What can be judged of a table's spec; list items by their place in the document.

    ``prefer_cheaper`` is False also where not all costs are known; ``output`` is None where it is
    no output.
    """

    domain: str
    output: OutputName | None
    prefer_cheaper: bool
    priorities: Mapping[int, PriorityRule]
    devices: Mapping[int, DeviceRow]


def parts_of(spec: TableSpec) -> Parts:
    """Return the parts of a spec whose shape is right."""
    return Parts(
        spec.resource_domain,
        spec.output,
        spec.prefer_cheaper,
        dict(enumerate(spec.priorities)),
        dict(enumerate(spec.devices)),
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
    )


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
            _stand_in(mended, error.errors()[0]["loc"], f"row-{number}x")
    return None


def _stand_in(item: dict[str, Any], place: tuple[str | int, ...], name: str) -> None:
    """Put something harmless at the list item or field that a problem is about."""
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
        case ("name", *_):
            item["name"] = name
        case (str(field), *_) if field in _FIELDS:
            item[field] = deepcopy(_FIELDS[field])
        case (field, *_):
            item.pop(str(field), None)
