"""What a user reads when nothing is left, or when something is worth knowing.

Semantics G4, G5, D1, D2, D6, D7, D9, D10, A2, N4, C3, C5, C6.

The texts stand in a ReplicaSet's event, so every one names the container, the key, what is wrong
and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from selection_spec.demand import Need, at_peak
from selection_spec.errors import Level, Problem
from selection_spec.grammar import correct, looks_misspelt, misspelt
from selection_spec.labels import PLATFORM_LABELS, Requirement
from selection_spec.narrowing import MAX_DEVICES
from selection_spec.resolution import ContainerRows, Resolution
from selection_spec.resolve import cure
from selection_spec.rows import CLAIMS, Row
from selection_spec.suggestions import all_names, any_that_fits, fitting, nearest, with_memory
from selection_spec.table import Table

# A message has room for a dozen; a Pod of thousands of containers must not cost minutes.
MAX_SUGGESTIONS = 30

# Of a list of terms, rows or containers.
_SHOWN = 4


def problems(resolution: Resolution) -> tuple[Problem, ...]:
    """Return why a Pod is denied, all of it at once; empty where it is not."""
    if not resolution.failed:
        return ()
    if resolution.apart:
        return tuple(dict.fromkeys(one for part in resolution.apart for one in problems(part)))
    cured = cure(resolution)
    if resolution.failed == "G5":
        wrong = [one for one in resolution.containers if not one.matching]
        return tuple(
            _with_cure(
                _nothing_matches(resolution, one, suggest=place < MAX_SUGGESTIONS),
                resolution.table,
                cured if one.named else None,
            )
            for place, one in enumerate(wrong)
        )
    texts = {
        "D1": _no_common,
        "D9": _no_claim,
        "N4": _own_selectors,
        "D10": _platform,
        "C3": _no_class,
        "A2": _count,
        "C6": _too_many_for_a_claim,
        "D2": _sum,
    }
    return (_with_cure(texts[resolution.failed](resolution), resolution.table, cured),)


def warnings(resolution: Resolution) -> tuple[Problem, ...]:
    """Return what is worth knowing about a Pod that is admitted (D7, D9, C3, C5)."""
    if resolution.failed:
        return ()
    found = []
    if any(step.rule == "C5" for part in _parts(resolution) for step in part.steps):
        used = _ids(resolution.candidates)
        found.append(_warning(f"using {used} only: Kueue takes no claim with alternatives", "C5"))
    if resolution.skipped:
        skipped = _ids(resolution.table.select(resolution.skipped))
        used = _ids(resolution.candidates)
        # What comes about goes first: a warning is cut at its end (R8).
        found.append(_warning(f"using {used}: no node has enough usable {skipped}", "D7"))
    if resolution.left_out:
        left_out = _ids(resolution.table.select(resolution.left_out))
        found.append(
            _warning(f"left out, as they are not {taken_as(resolution)}: {left_out}", "D9")
        )
    if resolution.missing:
        missing = resolution.table.select(resolution.missing)
        text = f"left out, as DeviceClass {_classes(missing)} does not exist: {_ids(missing)}"
        found.append(_warning(text, "C3"))
    return tuple(found)


def _parts(resolution: Resolution) -> tuple[Resolution, ...]:
    return resolution.apart or (resolution,)


def taken_as(resolution: Resolution) -> str:
    """Return in words what the rows of a resolution become: nvidia.com/gpu, or claims."""
    return in_words(resolution.candidates[0])


def in_words(row: Row) -> str:
    """Return in words what a Pod that takes a row holds: nvidia.com/gpu, or claims."""
    return "claims" if row.pool == CLAIMS else row.pool


def _classes(rows: Iterable[Row]) -> str:
    """Return the DeviceClasses that rows ask."""
    return few(dict.fromkeys(row.claim.device_class for row in rows if row.claim is not None))


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


def unknown_name(table: Table, need: Need, *, suggest: bool) -> Problem:
    """Describe a spec whose name no row has (G4 where it is misspelt, else G5).

    Args:
        table: The table that does not know the name.
        need: The container that asks by it.
        suggest: Whether to look for similar names, which takes time with every one.
    """
    spec = need.spec
    if spec is None:
        raise AssertionError(need)  # only containers with a spec get here
    subject = f"{who(need)}: {key_of(table, need)}"
    # gpu-4090 leaves out what gpu-24 puts in the wrong place.
    is_part_of_a_name = spec.name.isdigit() and any(
        spec.name in name.split("-") for name in table.names
    )
    is_misspelt = looks_misspelt(spec) and not is_part_of_a_name
    if is_misspelt and correct(str(spec), table.names.__contains__):
        wrong = misspelt(str(spec), table.names.__contains__, table.domain)
        return Problem(f"{subject} {wrong.message}", path_of(table, need), wrong.hint, "G4")
    stem, least = with_memory(table, spec)
    hint = f"all: {fitting(all_names(table))}"
    if fit := any_that_fits(table, least, need.count):
        hint = f"{'or ' if suggest else ''}write {table.domain}/{fit}; {hint}"
    if suggest:
        hint = f"nearest: {', '.join(nearest(table, spec.name, stem))}; {hint}"
    return Problem(f"{subject}: no device is called {spec.name}", path_of(table, need), hint, "G5")


def _nothing_matches(resolution: Resolution, one: ContainerRows, *, suggest: bool) -> Problem:
    """G5 and D6: the name is unknown, not open, or has too little memory."""
    table, need = resolution.table, one.need
    if not one.named or need.spec is None:
        return unknown_name(table, need, suggest=suggest)
    subject, path = f"{who(need)}: {key_of(table, need)}", path_of(table, need)
    what = "device" if need.spec.is_any else need.spec.name
    if not one.open:
        hint = f"write {table.domain}/gpu-<name> with one of {fitting(sorted(table.names))}"
        return Problem(f"{subject}: no device is open to gpu-any", path, hint, "D6")
    largest = max(row.vram_gb for row in table.select(one.open))
    return Problem(
        f"{subject}: the largest {what} has {largest} GB",
        path,
        f"write {table.domain}/gpu-{need.spec.name}-{largest}gb or less",
        "G5",
    )


def _with_cure(problem: Problem, table: Table, row: Row | None) -> Problem:
    """Say so where a row that only its name opens would have cured the denial (D6)."""
    if row is None:
        return problem
    why = "is reserved" if row.reserved else "is not part of gpu-any"
    key = f"{table.domain}/gpu-{row.id}"
    cured = f"{row.id} fits but {why}: write {key}"
    hint = f"{problem.hint}; {cured}" if problem.hint and problem.rule != "D6" else cured
    return Problem(problem.message, problem.path, hint, problem.rule)


def _no_claim(resolution: Resolution) -> Problem:
    """D1: where containers keep their own candidates, these are claims, and one has none."""
    need = resolution.containers[0].need
    return Problem(
        f"{who(need)}: {key_of(resolution.table, need)}: no DRA driver offers such a device, so "
        "that it would have to share the node of the Pod's other devices",
        path=path_of(resolution.table, need),
        hint="ask for one kind of device, or use several Pods",
        rule="D1",
    )


def _no_class(resolution: Resolution) -> Problem:
    rows = resolution.table.select(resolution.steps[-1].before)
    need = resolution.containers[0].need
    return Problem(
        f"{who(need)}: {key_of(resolution.table, need)}: DeviceClass {_classes(rows)} does not "
        f"exist, which {_ids(rows)} need",
        path=path_of(resolution.table, need),
        hint="ask for another device, or tell your admin to install the driver of that class",
        rule="C3",
    )


def _too_many_for_a_claim(resolution: Resolution) -> Problem:
    need = max((one.need for one in resolution.containers), key=lambda need: need.count)
    return Problem(
        f"{who(need)}: {key_of(resolution.table, need)}: {need.count}: a claim holds at most "
        f"{MAX_DEVICES} devices",
        path=path_of(resolution.table, need),
        hint=f"ask for {MAX_DEVICES} or less in one container",
        rule="C6",
    )


def _no_common(resolution: Resolution) -> Problem:
    asked = {str(one.need.spec): one for one in resolution.containers}
    listed = [f"{who(one.need)} ({spec})" for spec, one in asked.items()]
    before = [_ids(resolution.table.select(one.rows)) for one in resolution.demand.held if one.rows]
    if before:
        listed.append(f"the Pod's claim from before ({few(before)})")
    return Problem(
        f"{few(listed, ' and ')}: no device meets them all, and a Pod runs on one node",
        path="spec",
        hint="ask for one kind of device, or use several Pods",
        rule="D1",
    )


def _own_selectors(resolution: Resolution) -> Problem:
    table = resolution.table
    specs = few(dict.fromkeys(str(one.need.spec) for one in resolution.containers))
    rows = table.select(resolution.steps[-1].before)
    theirs = dict.fromkeys(
        said
        for term in resolution.demand.terms
        if (said := _in_words(one for one in term if one.key in table.index.label_keys))
    )
    said = few(theirs, " or ") or "no term that can match"
    ours = few((f"{row.id}: {_in_words(row.nodes)}" for row in rows), "; ")
    return Problem(
        f"the Pod's nodeSelector or affinity ({said}) excludes every device for {specs} ({ours})",
        path="spec",
        hint="remove it or change the spec",
        rule="N4",
    )


def _in_words(requirements: Iterable[Requirement]) -> str:
    """Write requirements on labels as messages do: ``gpu-model=a30, zone In [a, b]``."""
    return ", ".join(
        f"{one.key}={one.values[0]}"
        if one.is_plain
        else " ".join((one.key, one.operator, f"[{few(one.values)}]" if one.values else ""))
        for one in requirements
    ).strip()


def _platform(resolution: Resolution) -> Problem:
    rows = resolution.table.select(resolution.steps[-1].before)
    has = ", ".join(sorted({f"{row.os}/{row.arch}" for row in rows}))
    if any(row.os == resolution.demand.os for row in rows):
        wants = few(
            dict.fromkeys(
                said
                for term in resolution.demand.terms
                if (said := _in_words(one for one in term if one.key in PLATFORM_LABELS))
            ),
            " or ",
        )
    else:
        wants = f"os {resolution.demand.os}"
    return Problem(
        f"the Pod wants {wants}, the devices that fit are on {has}",
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
    needed = resolution.peaks[largest.pool]
    holding = [
        f'{need.amount(largest.pool)} in "{need.name}"'
        for need in at_peak(resolution.demand.needs, largest.pool)
    ]
    if largest.pool == CLAIMS:
        holding += (f"{claim.count} translated before" for claim in resolution.demand.held)
    parts = few(holding)
    return Problem(
        f"{needed} GPUs in one Pod ({parts}), the largest {largest.name} node has "
        f"{largest.per_node}",
        path="spec",
        hint="ask for fewer, or use several Pods",
        rule="D2",
    )


def few(parts: Iterable[str], between: str = ", ") -> str:
    """Join the first four of many parts, and count the rest."""
    listed = list(parts)
    rest = len(listed) - _SHOWN
    return between.join(listed[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _ids(rows: Iterable[Row]) -> str:
    return few(row.id for row in rows)


def _warning(text: str, rule: str) -> Problem:
    return Problem(text, rule=rule, level=Level.WARNING)
