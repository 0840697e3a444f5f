"""What is wrong with a row's claim in a live cluster, in words with numbers (design §3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.rows import CLAIMS, Claim, Row
from webhook.inventory.claims import Given, Offered, Recognised
from webhook.inventory.kinds import Tally
from webhook.inventory.problems import severity, share

_SHOWN = 3


def claim_problems(row: Row, offers: Offered, found: Recognised) -> Iterator[Problem]:
    """Yield what is wrong with a claim by itself: its class, its selectors, what it recognises."""
    claim = row.claim
    if claim is None:
        return
    if offers.classes is not None and claim.device_class not in offers.classes:
        hint = f"there is {few(sorted(offers.classes))}" if offers.classes else "there is none"
        yield Problem(f"DeviceClass {claim.device_class} does not exist", hint=hint, rule="C3")
    if found.unread:
        text = f"a selector of the claim cannot be read here: {found.unread}"
        hint = "the devices that it recognises are not counted"
        yield Problem(text, hint=hint, level=Level.WARNING)
    elif not found.devices and not found.failing:
        yield _nothing(claim, found)
    for reason, count in found.failing.most_common(_SHOWN):
        text = f"a selector of the claim fails on {_devices(count)}: {reason}"
        hint = "Kubernetes schedules no Pod that meets one; guard it: .?name.orValue(...)"
        yield Problem(text, hint=hint, rule="C3")
    for other, count in found.beside.most_common(_SHOWN):
        are = "is" if count == 1 else "are"
        yield Problem(
            f"{_of(count, found.devices)} that the claim recognises {are} row {other}'s too",
            hint="give products, or selectors that tell them apart",
            level=Level.WARNING,
        )


def place_problems(row: Row, tallies: Sequence[Tally], gets: Given) -> Iterator[Problem]:
    """Yield where a row's labels and the devices of its drivers do not meet.

    Args:
        row: A row that gets devices from DRA drivers.
        tallies: The nodes with its labels.
        gets: What it gets, at least one device.
    """
    nodes = sum(tally.nodes for tally in tallies)
    by_plugin = sum(tally.nodes for tally in tallies if row.resource in dict(tally.kind.built))
    if gets.astray:
        count = sum(gets.astray.values())
        are = "is" if count == 1 else "are"
        yield Problem(
            f"{_of(count, gets.devices)} that the claim recognises {are} on nodes without the "
            f"row's labels: {few(sorted(gets.astray))}",
            hint="correct nodes, or the claim: Pods may get these devices too",
            level=severity(count, gets.devices),
        )
    # A device plugin may serve other nodes of an extended resource, never those of claims.
    bare = nodes - gets.nodes - (0 if row.pool == CLAIMS else by_plugin)
    if bare > 0:
        have = "has" if bare == 1 else "have"
        yield Problem(
            f"{share(bare, nodes)} {have} no device that the claim recognises",
            hint="does the DRA driver run there?",
            level=severity(bare, nodes),
        )
    if by_plugin and row.pool == CLAIMS:
        have = "has" if by_plugin == 1 else "have"
        yield Problem(
            f"{share(by_plugin, nodes)} {have} {row.resource} of a device plugin too",
            hint="stop it there: both would hand out the same cards",
            level=Level.WARNING,
        )


def _nothing(claim: Claim, found: Recognised) -> Problem:
    near = few(f"{name or 'without a name'} ({count})" for name, count in found.whole.most_common())
    return Problem(
        f"the claim recognises no device of driver {claim.driver}",
        hint=f"it offers {near}" if near else "it offers no GPU in any ResourceSlice",
        level=Level.ERROR if near else Level.WARNING,
    )


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _of(count: int, devices: int) -> str:
    return _devices(count) if count == devices else f"{count} of {_devices(devices)}"
