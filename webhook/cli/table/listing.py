"""A selection table as text for 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from selection_spec.nominal import least_mib
from selection_spec.rows import CLAIMS, Claim, Policy, PriorityRule, Row
from selection_spec.table import Table
from webhook.advice.health_changes import row_modes
from webhook.advice.reach import Span, reach
from webhook.cli.outputs import cel_lines, styled

_WIDTH = 80
_GAP = "  "

_LEGEND = (
    "EVERYFIT, SMALLESTFIT: the N for which gpu-any-<N>gb may get the row under that policy, for "
    "one device; where it begins with to, gpu-any as well. gpu-<ROW> gets it under either."
)
_BY_NAME = "by name"
_RESERVED = "reserved"
_KINDS = {
    _BY_NAME: f"{_BY_NAME}: only Pods that write its name or an alias get it.",
    _RESERVED: f"{_RESERVED}: the same, and its nodes are kept free of all other GPU Pods.",
}
_LIVE = "FREE/USABLE: devices that no Pod holds, of those on nodes where a Pod could start."

Json = Mapping[str, Any]


def as_text(table: Table, status: Json) -> str:
    """Return what is worth knowing of a table.

    Args:
        table: The table.
        status: Its status in a cluster (design §3), {} where there is none.
    """
    live = {row["id"]: row for row in status.get("rows") or () if "id" in row}
    bounds = _all_bounds(table)
    return "\n".join(
        (
            *_head(table, status),
            *_policies(table),
            *_sections(table, bounds, live),
            *_claims(table),
            *_aliases(table),
            *_problems(table, status, live),
            "",
            *_legend(bounds, live),
        )
    )


def _head(table: Table, status: Json) -> Iterator[str]:
    rows = "1 row" if len(table.rows) == 1 else f"{len(table.rows)} rows"
    yield f"{styled(f'table {table.name}', bold=True)} {table.digest}: {rows}"
    yield f"keys: {table.domain}/gpu-any, gpu-any-<N>gb, gpu-<name>, gpu-<name>-<N>gb"
    if table.mixed_nodes:
        yield "mixed nodes: the claims of one Pod may be on several rows"
    if table.has_health:
        own = f"; {row_modes(table.health.row_modes)}" if table.health.row_modes else ""
        yield from _wrapped(f"health: mode {table.health.mode}{own}", "", "  ")
    if status.get("renewTime"):
        yield f"live: as of {status['renewTime']}"


def _policies(table: Table) -> Iterator[str]:
    yield ""
    yield "Who gets what (the first line that matches decides):"
    lines = [(_who(rule), rule.policy) for rule in table.priorities]
    lines.append(("everybody else" if lines else "everybody", table.default_policy))
    for who, policy in lines:
        what = {
            Policy.EVERY_FIT: "EveryFit: every row that is big enough",
            Policy.SMALLEST_FIT: "SmallestFit: the smallest of those",
        }[policy]
        yield from _wrapped(f"{who}: {what}", "  ", "    ")


def _who(rule: PriorityRule) -> str:
    if rule.class_names is None:
        return f"priority {rule.min_value} and above"
    names = sorted(rule.class_names)
    return f"priority class {names[0]}" if len(names) == 1 else f"classes {', '.join(names)}"


def _all_bounds(table: Table) -> Mapping[str, tuple[str, str]]:
    """Return by row what gpu-any gives of it under either policy."""
    every, smallest = (reach(table, policy) for policy in (Policy.EVERY_FIT, Policy.SMALLEST_FIT))
    return {row.id: (_bounds(row, every), _bounds(row, smallest)) for row in table.rows}


def _sections(
    table: Table, bounds: Mapping[str, tuple[str, str]], live: Mapping[str, Json]
) -> Iterator[str]:
    """Yield a list of rows for each resource, and for claims: a Pod gets devices of one (D9)."""
    heads = ["ROW", "COST", "MAX/NODE", "EVERYFIT", "SMALLESTFIT"]
    heads += ["NODES", "FREE/USABLE"] if live else []
    cells = {
        row.id: [
            row.id,
            str(row.cost),
            str(row.per_node),
            *bounds[row.id],
            *(_counts(live.get(row.id)) if live else ()),
        ]
        for row in table.rows
    }
    wide = [max(map(len, column)) for column in zip(heads, *cells.values(), strict=True)]
    for pool in dict.fromkeys(row.pool for row in table.rows):
        yield ""
        yield styled("claims (DRA)" if pool == CLAIMS else pool, bold=True)
        yield _line(heads, wide)
        yield from (_line(cells[row.id], wide) for row in table.rows if row.pool == pool)


def _claims(table: Table) -> Iterator[str]:
    """Yield how the devices of rows are claimed, or would be once output says so."""
    for heading, rows in (
        ("What claims ask for:", [row for row in table.rows if row.pool == CLAIMS]),
        (
            "What claims would ask for with output ResourceClaim:",
            [row for row in table.rows if row.pool != CLAIMS],
        ),
    ):
        known = [(row, row.claim) for row in rows if row.claim is not None]
        if known:
            yield ""
            yield heading
        for row, claim in known:
            yield from _wrapped(f"{row.id}: {_devices(row, claim)}", "  ", "    ")
            for expression in claim.selectors:
                yield from cel_lines(expression, "    ")


def _devices(row: Row, claim: Claim) -> str:
    parts = [f"DeviceClass {claim.device_class}"]
    if claim.driver != claim.device_class:
        parts.append(f"driver {claim.driver}")
    if claim.products:
        parts.append(" or ".join(claim.products))
    elif not claim.selectors:
        parts.append(f"{least_mib(row.vram_gb):,} MiB or more")
    return ", ".join(parts) + (", and" if claim.selectors else "")


def _bounds(row: Row, reached: Mapping[str, Sequence[Span]]) -> str:
    spans = reached.get(row.id)
    if not spans:
        return _RESERVED if row.reserved else _BY_NAME
    return ", ".join(
        f"to {span.most}gb"
        if span.least == 1
        else f"{span.least}-{span.most}gb"
        if span.least < span.most
        else f"{span.most}gb"
        for span in spans
    )


def _counts(row: Json | None) -> tuple[str, str]:
    if row is None:
        return "-", "-"
    return str(row.get("nodes", "-")), f"{row.get('free', '-')}/{row.get('usable', '-')}"


def _line(cells: Sequence[str], wide: Sequence[int]) -> str:
    """Numbers stand at the right of their column, texts at the left."""
    aligned = [
        cell.rjust(width) if number in (1, 2, 5, 6) else cell.ljust(width)
        for number, (cell, width) in enumerate(zip(cells, wide, strict=True))
    ]
    return _GAP.join(aligned).rstrip()


def _aliases(table: Table) -> Iterator[str]:
    rows: dict[str, list[str]] = {}
    for row in table.rows:
        for alias in row.aliases:
            rows.setdefault(alias, []).append(row.id)
    if rows:
        yield ""
        yield "Aliases:"
    for alias in sorted(rows):
        yield from _wrapped(f"gpu-{alias}: {', '.join(rows[alias])}", "  ", "    ")


def _problems(table: Table, status: Json, live: Mapping[str, Json]) -> Iterator[str]:
    found = [
        f"{row.id}: {problem}"
        for row in table.rows
        for problem in live.get(row.id, {}).get("problems") or ()
    ]
    unmatched = (status.get("unmatchedNodes") or {}).get("count")
    if unmatched:
        found.append(f"{unmatched} nodes with GPUs match no row")
    if found:
        yield ""
        yield "Problems:"
    for text in found:
        yield from _wrapped(text, "  ", "    ")


def _legend(bounds: Mapping[str, tuple[str, str]], live: Mapping[str, Json]) -> Iterator[str]:
    yield from _wrapped(_LEGEND, "", "  ")
    yield from (
        text for kind, text in _KINDS.items() if any(kind in one for one in bounds.values())
    )
    if live:
        yield from _wrapped(_LIVE, "", "  ")


def _wrapped(text: str, indent: str, further: str) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
