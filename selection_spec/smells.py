"""What is legal in a selection table but probably not meant, or cannot work: never refusals.

They are looked for in tables that break no law. Each yields the path of the field to look at and a
sentence that fits a warning of the API server (R8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from selection_spec.errors import Level, Problem
from selection_spec.grammar import ANY
from selection_spec.guards import claim_smells, several_pools
from selection_spec.laws import Found, Path, vram_gb
from selection_spec.parts import pool_of
from selection_spec.rows import CLAIMS
from selection_spec.schema import DeviceRow, TableSpec

_DIGIT = re.compile("[0-9]")

_Rows = Sequence[DeviceRow]


def smells(spec: TableSpec) -> Found:
    """Yield everything doubtful as the path below ``spec`` and a problem."""
    rows = spec.devices
    yield from _never_reached(spec)
    yield from _twins(rows)
    yield from _same_nodes(rows)
    if spec.mixed_nodes and not any(pool_of(row, spec.output) == CLAIMS for row in rows):
        text = "mixedNodes changes nothing where no row has output ResourceClaim"
        yield ("mixedNodes",), _warning(text, "remove it", "D1")
    yield from _foreign_aliases(rows)
    if spec.prefer_cheaper:
        yield from _dearer_though_smaller(spec)
    named = _named(rows)
    yield from several_pools(spec, named)
    yield from claim_smells(spec, named)


def _warning(message: str, hint: str, rule: str = "") -> Problem:
    return Problem(message, hint=hint, rule=rule, level=Level.WARNING)


def _id(row: DeviceRow) -> str:
    return f"{row.name}-{row.vram}"


def _never_reached(spec: TableSpec) -> Found:
    """D3: the first rule that matches decides, so a later one needs something left to match."""
    least: int | None = None
    classes: set[str] = set()
    for number, rule in enumerate(spec.priorities):
        if rule.min_value is not None:
            if least is not None and rule.min_value >= least:
                text = f"minValue {rule.min_value} is never reached, minValue {least} comes first"
                hint = "put the higher one first"
                yield ("priorities", number, "minValue"), _warning(text, hint, "D3")
            least = rule.min_value if least is None else min(least, rule.min_value)
        for place, name in enumerate(rule.class_names or ()):
            if name in classes:
                text = f"class name {name} is never reached here, it stands before"
                path = ("priorities", number, "classNames", place)
                yield path, _warning(text, "remove one of them", "D3")
            classes.add(name)


def _twins(rows: _Rows) -> Found:
    first: dict[str, DeviceRow] = {}
    for number, row in enumerate(rows):
        rest = row.model_dump_json(exclude={"name", "aliases"})
        twin = first.setdefault(rest, row)
        if twin is not row:
            text = f"{_id(twin)} and {_id(row)} differ in nothing but name"
            hint = f"make {row.name} an alias of {twin.name}"
            yield ("devices", number, "name"), _warning(text, hint)


def _same_nodes(rows: _Rows) -> Found:
    first: dict[object, DeviceRow] = {}
    for number, row in enumerate(rows):
        labels = [(key, "In", frozenset({value})) for key, value in row.nodes.match_labels.items()]
        labels += [
            (one.key, one.operator, frozenset(one.values)) for one in row.nodes.match_expressions
        ]
        other = first.setdefault((row.os, row.arch, frozenset(labels)), row)
        if other is not row and other.vram != row.vram:
            text = f"{_id(row)} and {_id(other)} know their nodes by the same labels"
            hint = "tell them apart"
            yield ("devices", number, "nodes"), _warning(text, hint, "D1")


def _foreign_aliases(rows: _Rows) -> Found:
    """G2: an alias that reads like another card's model number.

    Names of generations have no digits (ampere), or stand for several cards (cdna3).
    """
    called: dict[str, set[str]] = {}
    for row in rows:
        for alias in row.aliases:
            called.setdefault(alias, set()).add(row.name)
    for number, row in enumerate(rows):
        for place, alias in enumerate(row.aliases):
            is_model = _DIGIT.search(alias) and len(called[alias]) == 1
            if is_model and not _share_a_part(alias, row.name):
                text = f"alias {alias} has no part in common with {_id(row)}"
                hint = f"remove it if gpu-{alias} should not mean that card"
                yield ("devices", number, "aliases", place), _warning(text, hint, "G2")


def _share_a_part(one: str, other: str) -> bool:
    """Tell whether a part of either is in the other: rtx3070 and rtx-3070, but not a10 and a100."""
    return any(
        _whole_numbers(part).search(whole.replace("-", ""))
        for parts, whole in ((one, other), (other, one))
        for part in parts.split("-")
        if len(part) > 1
    )


def _whole_numbers(part: str) -> re.Pattern[str]:
    before = "(?<![0-9])" if part[0].isdigit() else ""
    after = "(?![0-9])" if part[-1].isdigit() else ""
    return re.compile(f"{before}{re.escape(part)}{after}")


def _dearer_though_smaller(spec: TableSpec) -> Found:
    """N6, D8: of the cards of one name the larger would be preferred to the smaller."""
    rows = spec.devices
    sizes: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for number, row in enumerate(rows):
        sized = (vram_gb(row.vram) or 0, number, row.cost)
        sizes.setdefault((row.name, pool_of(row, spec.output)), []).append(sized)
    for same in sizes.values():
        for gigabytes, number, cost in sorted(same):
            cheaper = [at for larger, at, other in same if larger > gigabytes and other < cost]
            if cheaper:
                text = f"{_id(rows[number])} costs more than {_id(rows[cheaper[0]])}"
                hint = "Pods that may use both will prefer the larger"
                yield ("devices", number, "cost"), _warning(text, hint, "N6")


def _named(rows: _Rows) -> dict[str, dict[int, Path]]:
    """Return for each name that users may write its rows, and where each is called so."""
    found: dict[str, dict[int, Path]] = {}
    for number, row in enumerate(rows):
        for name, path in _names(row):
            found.setdefault(name, {})[number] = ("devices", number, *path)
    return found


def _names(row: DeviceRow) -> Iterator[tuple[str, Path]]:
    if row.any and not row.reserved:
        yield ANY, ("any",)
    for place, alias in enumerate(row.aliases):
        yield alias, ("aliases", place)
    yield row.name, ("name",)
