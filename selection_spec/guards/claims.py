"""What is doubtful in the claims of a table's rows (semantics C2, C3, C7).

All of it is legal: what is an error fails ``table lint``, and the API server only warns of it, so
that a mistake of ours holds nobody up.
"""

from __future__ import annotations

from collections.abc import Mapping

from selection_spec.errors import Level, Problem
from selection_spec.grammar import ANY
from selection_spec.guards.expression import doubts
from selection_spec.laws import Found, Path, vram_gb
from selection_spec.parts import pool_of
from selection_spec.rows import CLAIMS, Policy
from selection_spec.schema import DeviceRow, TableSpec
from selection_spec.sub_requests import MAX_ALTERNATIVES


def claim_smells(spec: TableSpec, named: Mapping[str, Mapping[int, Path]]) -> Found:
    """Yield everything doubtful about claims as the path below ``spec`` and a problem.

    Args:
        spec: A spec that breaks no law.
        named: For each name that users may write its rows, and where each is called so.
    """
    yield from _selectors(spec)
    yield from _too_wide(spec)
    yield from _too_many_kinds(spec, named)
    yield from _not_preempted(spec)


def _warning(message: str, hint: str, rule: str) -> Problem:
    return Problem(message, hint=hint, rule=rule, level=Level.WARNING)


def _id(row: DeviceRow) -> str:
    return f"{row.name}-{row.vram}"


def _selectors(spec: TableSpec) -> Found:
    for number, row in enumerate(spec.devices):
        if row.claim is not None:
            for place, selector in enumerate(row.claim.selectors):
                path: Path = ("devices", number, "claim", "selectors", place, "cel", "expression")
                for one in doubts(selector.cel.expression, row.claim.driver):
                    message = f"{_id(row)}: {one.message}"
                    yield path, Problem(message, hint=one.hint, rule="C3", level=one.level)


def _too_wide(spec: TableSpec) -> Found:
    """C2: a row that is known by its memory alone is known by that of every larger card, too."""
    sizes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for number, row in enumerate(spec.devices):
        if row.claim is not None:
            asked = (row.claim.device_class_name, row.claim.driver)
            sizes.setdefault(asked, []).append((vram_gb(row.vram) or 0, number))
    for same in sizes.values():
        for gigabytes, number in same:
            row = spec.devices[number]
            is_wide = row.claim is not None and not row.claim.products and not row.claim.selectors
            others = [at for size, at in sorted(same) if size >= gigabytes and at != number]
            if is_wide and others and pool_of(row, spec.output) == CLAIMS:
                more = f" and {len(others) - 1} more" if len(others) > 1 else ""
                text = f"{_id(row)} also takes every device of {_id(spec.devices[others[0]])}{more}"
                yield ("devices", number, "claim"), _warning(text, "give products", "C2")


def _too_many_kinds(spec: TableSpec, named: Mapping[str, Mapping[int, Path]]) -> Found:
    """C2: specs whose rows are too many for one claim, those of one class and cost taken as one.

    Those that D9 would leave out do not count.
    """
    rows = spec.devices
    if Policy.EVERY_FIT not in {spec.default_policy, *(rule.policy for rule in spec.priorities)}:
        return
    for name, places in named.items():
        first = min(places, key=lambda number: (rows[number].cost, vram_gb(rows[number].vram) or 0))
        if pool_of(rows[first], spec.output) != CLAIMS:
            continue
        kinds = [
            (claim.device_class_name, claim.driver, rows[number].cost)
            for number in places
            if (claim := rows[number].claim) and pool_of(rows[number], spec.output) == CLAIMS
        ]
        if len(set(kinds)) > MAX_ALTERNATIVES:
            text = (
                f"gpu-{name} means {len(set(kinds))} kinds of devices, a claim names at most "
                f"{MAX_ALTERNATIVES}, and more are denied"
            )
            hint = "give rows of one DeviceClass the same cost"
            if len({kind[:2] for kind in kinds}) > MAX_ALTERNATIVES:
                hint = "set any: false in some" if name == ANY else "use another name for some"
            yield places[first], _warning(text, hint, "C2")


def _not_preempted(spec: TableSpec) -> Found:
    """C7, once a table: what priority is worth less for than its rules look like."""
    if any(pool_of(row, spec.output) == CLAIMS for row in spec.devices):
        for number, rule in enumerate(spec.priorities):
            if Policy(rule.policy) is Policy.SMALLEST_FIT:
                text = "Kubernetes does not preempt Pods for devices of claims"
                hint = "count on priority to steer there, not to make room"
                note = Problem(text, hint=hint, rule="C7", level=Level.NOTE)
                yield ("priorities", number, "policy"), note
                return
