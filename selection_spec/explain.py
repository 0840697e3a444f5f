"""Why each row was kept or not, in a sentence with the numbers in it."""

from __future__ import annotations

from dataclasses import dataclass

from selection_spec.denial import in_words, taken_as, who
from selection_spec.narrowing import MAX_DEVICES
from selection_spec.resolution import ContainerRows, Resolution
from selection_spec.rows import Policy, Row


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one row: the rule that decided it, and why."""

    row: Row
    kept: bool
    rule: str
    why: str


def explain(resolution: Resolution) -> tuple[Fate, ...]:
    """Return the fate of every row of the table, in D8 order."""
    if resolution.apart:
        return tuple(map(_of_parts, zip(*map(explain, resolution.apart), strict=True)))
    kept = {row.id for row in resolution.candidates}
    return tuple(
        _kept(resolution, row) if row.id in kept else _dropped(resolution, number, row)
        for number, row in enumerate(resolution.table.rows)
    )


def _of_parts(fates: tuple[Fate, ...]) -> Fate:
    """Return the fate of a row that each claim of a Pod decided for itself (D1)."""
    return next((fate for fate in fates if fate.kept), fates[0])


def explain_container(resolution: Resolution, container: ContainerRows) -> tuple[Fate, ...]:
    """Return what one container's spec alone says of every row (G2, D6, G3)."""
    return tuple(
        _by_spec(container, number, row)
        or Fate(row, kept=True, rule="G3", why=_enough(container, row))
        for number, row in enumerate(resolution.table.rows)
    )


def _kept(resolution: Resolution, row: Row) -> Fate:
    need = resolution.peaks[row.pool]
    room = f"{need} of {row.per_node} on a node"
    if resolution.policy is Policy.SMALLEST_FIT:
        least = "is the least with usable devices" if resolution.skipped else "is the least"
        return Fate(row, kept=True, rule="D5", why=f"{row.vram_gb} GB {least}; {room}")
    memory = "; ".join(dict.fromkeys(_enough(one, row) for one in resolution.containers))
    return Fate(row, kept=True, rule="D4", why=f"{memory}; {room}")


def _enough(container: ContainerRows, row: Row) -> str:
    spec = container.need.spec
    if spec is None or spec.min_gb is None:
        return f"{row.vram_gb} GB, any amount is fine"
    return f"{row.vram_gb} GB, {spec.min_gb} asked for"


def _dropped(resolution: Resolution, number: int, row: Row) -> Fate:
    bit = 1 << number
    excluding = [
        (container, fate)
        for container in resolution.containers
        if (fate := _by_spec(container, number, row)) is not None
    ]
    if excluding:
        container, fate = excluding[0]
        if len(resolution.containers) == 1:
            return fate
        rule = fate.rule if len(excluding) == len(resolution.containers) else "D1"
        return Fate(row, kept=False, rule=rule, why=f"{who(container.need)}: {fate.why}")
    rule = next(step.rule for step in resolution.steps if step.dropped & bit)
    return Fate(row, kept=False, rule=rule, why=_why(resolution, rule, row))


def _by_spec(container: ContainerRows, number: int, row: Row) -> Fate | None:
    """Say why a container's own spec excludes a row; None where it does not."""
    bit, spec = 1 << number, container.need.spec
    if spec is None or container.matching & bit:
        return None
    if not container.named & bit:
        return Fate(row, kept=False, rule="G2", why=f"is not called {spec.name}")
    if not container.open & bit:
        why = "is reserved for Pods that name it" if row.reserved else "is not part of gpu-any"
        return Fate(row, kept=False, rule="D6", why=why)
    return Fate(row, kept=False, rule="G3", why=f"{row.vram_gb} GB, {spec.min_gb} asked for")


_WHY = {
    "D1": "the Pod has a claim on other devices",
    "D9": "is no claim, and containers that keep rows of their own get claims",
    "N4": "the Pod's nodeSelector or affinity excludes its nodes",
    "C5": "dearer, and Kueue takes no claim with alternatives",
    "C6": f"a claim holds at most {MAX_DEVICES} devices",
}


def _why(resolution: Resolution, rule: str, row: Row) -> str:
    need = resolution.peaks[row.pool]
    match rule:
        case "D10":
            return f"its nodes are {row.os}/{row.arch}, which the Pod excludes"
        case "A2" | "D2":
            return f"{row.per_node} on a node, the Pod needs {need}"
        case "D5":
            least = min(one.vram_gb for one in resolution.candidates)
            return f"{row.vram_gb} GB, a smaller one fits ({least} GB)"
        case "D7":
            return f"no node has {need} usable right now"
        case "C3" if row.claim is not None:
            return f"DeviceClass {row.claim.device_class} does not exist"
        case "D9" if resolution.candidates:
            return f"is {in_words(row)}, the first row kept is {taken_as(resolution)}"
        case _:
            return _WHY[rule]
