"""What a user reads when nothing is left, or when something is worth knowing.

Semantics G4, G5, D1, D2, D6, D7, D9, D10, A2, N4.

The texts stand in a ReplicaSet's event, so every one names the container, the key, what is wrong
and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from selection_spec.demand import Need
from selection_spec.errors import Level, Problem
from selection_spec.grammar import correct, looks_misspelt, misspelt
from selection_spec.labels import ARCH_LABEL, OS_LABEL, Requirement
from selection_spec.resolve import ContainerRows, Resolution, cure
from selection_spec.rows import Row
from selection_spec.table import Table

_NEAREST = 3

# Leaves room in the 1,000 bytes of a message (R4) for the other problems of the Pod.
_NAMES_BYTES = 240
_SHOWN_ROWS = 3


def problems(resolution: Resolution) -> tuple[Problem, ...]:
    """Return why a Pod is denied, all of it at once; empty where it is not."""
    if not resolution.failed:
        return ()
    if resolution.failed == "G5":
        return tuple(
            _with_cure(_nothing_matches(resolution, one), resolution, one)
            for one in resolution.containers
            if not one.matching
        )
    texts = {"D1": _no_common, "N4": _own_selectors, "D10": _platform, "A2": _count, "D2": _sum}
    return (_with_cure(texts[resolution.failed](resolution), resolution, None),)


def warnings(resolution: Resolution) -> tuple[Problem, ...]:
    """Return what is worth knowing about a Pod that is admitted (D7, D9)."""
    found = []
    if resolution.skipped:
        skipped = _ids(resolution.table.select(resolution.skipped))
        used = _ids(resolution.candidates)
        found.append(_warning(f"no node has enough usable {skipped}; using {used}", "D7"))
    if resolution.left_out:
        left_out = _ids(resolution.table.select(resolution.left_out))
        resource = resolution.candidates[0].resource
        found.append(_warning(f"left out, as they are not {resource}: {left_out}", "D9"))
    return tuple(found)


def who(need: Need) -> str:
    """Name a container as messages do: ``init container "fetch"``."""
    kind = "init container" if need.path.startswith("spec.initContainers") else "container"
    return f'{kind} "{need.name}"'


def key_of(table: Table, need: Need) -> str:
    """Return the key that a container wrote."""
    return f"{table.domain}/{need.spec}"


def path_of(table: Table, need: Need) -> str:
    """Return the field path of the key that a container wrote."""
    return f'{need.path}.resources.limits["{key_of(table, need)}"]'


def unknown_name(table: Table, need: Need) -> Problem:
    """Describe a spec whose name no row has (G4 where it is misspelt, else G5)."""
    spec = need.spec
    if spec is None:
        raise AssertionError(need)  # only containers with a spec get here
    subject = f"{who(need)}: {key_of(table, need)}"
    if looks_misspelt(spec) and correct(str(spec), table.names.__contains__):
        wrong = misspelt(str(spec), table.names.__contains__, table.domain)
        return Problem(f"{subject} {wrong.message}", path_of(table, need), wrong.hint, "G4")
    nearest = sorted(table.names, key=lambda name: (-_likeness(name, spec.name), name))[:_NEAREST]
    hint = f"nearest: {', '.join(nearest)}; all: {_fitting(sorted(table.names))}"
    return Problem(f"{subject}: no device is called {spec.name}", path_of(table, need), hint, "G5")


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


def _fitting(names: list[str]) -> str:
    """Join names while they fit; say where the rest can be seen."""
    shown: list[str] = []
    size = 0
    for name in names:
        size += len(name) + 2
        if size > _NAMES_BYTES:
            return f'{", ".join(shown)} and {len(names) - len(shown)} more ("gpuspec explain any")'
        shown.append(name)
    return ", ".join(shown)


def _nothing_matches(resolution: Resolution, one: ContainerRows) -> Problem:
    """G5 and D6: the name is unknown, not open, or has too little memory."""
    table, need = resolution.table, one.need
    if not one.named or need.spec is None:
        return unknown_name(table, need)
    subject, path = f"{who(need)}: {key_of(table, need)}", path_of(table, need)
    what = "device" if need.spec.is_any else need.spec.name
    if not one.open:
        return Problem(f"{subject}: no device is open to {need.spec}", path, rule="D6")
    largest = max(row.vram_gb for row in table.select(one.open))
    return Problem(
        f"{subject}: the largest {what} has {largest} GB",
        path,
        f"write {table.domain}/gpu-{need.spec.name}-{largest}gb or less",
        "G5",
    )


def _with_cure(problem: Problem, resolution: Resolution, one: ContainerRows | None) -> Problem:
    """Say so where a row that only its name opens would have cured the denial (D6)."""
    if one is not None and not one.named:
        return problem
    row = cure(resolution)
    if row is None:
        return problem
    why = "is reserved" if row.reserved else "is not part of gpu-any"
    key = f"{resolution.table.domain}/gpu-{row.id}"
    cured = f"{row.id} fits but {why}: write {key}"
    hint = f"{problem.hint}; {cured}" if problem.hint and problem.rule != "D6" else cured
    return Problem(problem.message, problem.path, hint, problem.rule)


def _no_common(resolution: Resolution) -> Problem:
    asked = {str(one.need.spec): one for one in resolution.containers}
    listed = " and ".join(f"{who(one.need)} ({spec})" for spec, one in asked.items())
    return Problem(
        f"{listed}: no device meets them all, and a Pod runs on one node",
        rule="D1",
        hint="ask for one kind of device, or use several Pods",
    )


def _own_selectors(resolution: Resolution) -> Problem:
    table = resolution.table
    specs = ", ".join(dict.fromkeys(str(one.need.spec) for one in resolution.containers))
    rows = table.select(resolution.steps[-1].before)
    theirs = " or ".join(
        dict.fromkeys(
            said
            for term in resolution.demand.terms
            if (said := _said(one for one in term if one.key in table.index.label_keys))
        )
    )
    ours = "; ".join(f"{row.id}: {_said(row.nodes)}" for row in rows[:_SHOWN_ROWS])
    more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
    return Problem(
        f"the Pod's own nodeSelector or affinity ({theirs or 'no term that can match'}) excludes "
        f"every device for {specs} ({ours}{more})",
        path="spec",
        hint="remove it or change the spec",
        rule="N4",
    )


def _said(requirements: Iterable[Requirement]) -> str:
    return ", ".join(
        f"{one.key}={one.values[0]}"
        if one.is_plain
        else " ".join((one.key, one.operator, f"[{', '.join(one.values)}]" if one.values else ""))
        for one in requirements
    ).strip()


def _platform(resolution: Resolution) -> Problem:
    rows = resolution.table.select(resolution.steps[-1].before)
    has = ", ".join(sorted({f"{row.os}/{row.arch}" for row in rows}))
    wants = dict.fromkeys(
        f"{one.key} {one.operator} {', '.join(one.values)}"
        for term in resolution.demand.terms
        for one in term
        if one.key in (ARCH_LABEL, OS_LABEL)
    )
    return Problem(
        f"the Pod wants {' or '.join((f'os {resolution.demand.os}', *wants))}, "
        f"the devices that fit are on {has}",
        path="spec",
        hint="change spec.os or the architecture selector, or ask for another device",
        rule="D10",
    )


def _count(resolution: Resolution) -> Problem:
    table = resolution.table
    rows = table.select(resolution.steps[-1].before)
    most = max(row.per_node for row in rows)
    need = max((one.need for one in resolution.containers), key=lambda need: need.count)
    largest = next(row for row in rows if row.per_node == most)
    return Problem(
        f"{who(need)}: {key_of(table, need)}: {need.count}: no node has {need.count} such GPUs, "
        f"the most is {most} ({largest.id})",
        path=path_of(table, need),
        hint=f"ask for {most} or less in one Pod",
        rule="A2",
    )


def _sum(resolution: Resolution) -> Problem:
    rows = resolution.table.select(resolution.steps[-1].before)
    largest = max(rows, key=lambda row: row.per_node)
    needed = resolution.peaks[largest.resource]
    parts = ", ".join(
        f'{need.amount(largest.resource)} in "{need.name}"'
        for need in resolution.demand.needs
        if need.amount(largest.resource)
    )
    return Problem(
        f"{needed} GPUs in one Pod ({parts}), the largest {largest.name} node has "
        f"{largest.per_node}",
        path="spec",
        hint="ask for fewer, or use several Pods",
        rule="D2",
    )


def _ids(rows: Iterable[Row]) -> str:
    return ", ".join(row.id for row in rows)


def _warning(text: str, rule: str) -> Problem:
    return Problem(text, rule=rule, level=Level.WARNING)
