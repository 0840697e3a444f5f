"""What is wrong with a row's claim in a live cluster, in words with numbers (design §3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.rows import CLAIMS, Claim, Row
from webhook.inventory.broken import refusal
from webhook.inventory.claims import Offered, Recognised
from webhook.inventory.given import Given
from webhook.inventory.holders import Hold, plugin_resources
from webhook.inventory.kinds import Tally
from webhook.inventory.problems import counted, in_nodes, severity, share

_SHOWN = 3


def class_problems(row: Row, offers: Offered) -> Iterator[Problem]:
    """Yield that the DeviceClass of a claim does not exist."""
    claim = row.claim
    if claim is None or offers.classes is None or claim.device_class in offers.classes:
        return
    hint = f"there is {few(sorted(offers.classes))}" if offers.classes else "there is none"
    yield Problem(f"DeviceClass {claim.device_class} does not exist", hint=hint, rule="C3")


def claim_problems(row: Row, found: Recognised) -> Iterator[Problem]:
    """Yield what is wrong with what a claim recognises."""
    claim = row.claim
    if claim is None or refusal(claim.selectors):
        return
    if found.unread:
        text = f"a selector of the claim cannot be read here: {found.unread}"
        hint = "the devices that it recognises are not counted"
        yield Problem(text, hint=hint, level=Level.WARNING)
    elif not found.devices and not found.failing:
        yield _nothing(claim, found)
    for other, count in found.beside.most_common(_SHOWN):
        are = "is" if count == 1 else "are"
        yield Problem(
            f"{_of(count, found.devices)} that the claim recognises {are} row {other}'s too",
            hint="give products, or selectors that tell them apart",
            level=Level.WARNING,
        )


def selector_problems(row: Row, found: Recognised) -> Iterator[Problem]:
    """Yield the selectors for which no Pod starts whose claim names a row (C3)."""
    if refused := refusal(row.claim.selectors if row.claim is not None else ()):
        text = f"the API server does not take a selector of the claim: {refused}"
        yield Problem(text, hint="no Pod starts whose claim names this row: mend it", rule="C3")
        return
    for reason, count in found.failing.most_common(_SHOWN):
        text = f"a selector of the claim fails on {_devices(count)}: {reason}"
        hint = "Kubernetes schedules no Pod that meets one; guard it: .?name.orValue(...)"
        yield Problem(text, hint=hint, rule="C3")


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


def twice_problems(row: Row, gets: Given) -> Iterator[Problem]:
    """Yield where a device plugin gives out what the row gets from drivers, or did so before."""
    resource = few(plugin_resources(row))
    if gets.twice:
        have = "has" if gets.twice == 1 else "have"
        yield Problem(
            f"{share(gets.twice, gets.nodes + len(gets.astray))} {have} {resource} of a device "
            "plugin too",
            hint="stop it there: both hand out the same cards",
        )
    if gets.held:
        by = "claims" if row.pool == CLAIMS else "a DRA driver"
        whose = "whose devices are given out by"
        yield Problem(
            f"{pods_hold(gets.held, resource)} on {in_nodes(gets.held_on)} {whose} {by}",
            hint="let them end first, for the same cards are given out again",
        )


def claims_stay(row: Row, hold: Hold, nodes: int) -> Problem:
    """Say that claims still hold devices which a device plugin gives out.

    Args:
        row: A row that gets devices from a device plugin.
        hold: What claims hold on its nodes.
        nodes: On how many of these.
    """
    return Problem(
        f"{claims_hold(hold.holders)} on {in_nodes(nodes)} whose devices a device plugin gives "
        f"out as {row.resource}",
        hint="let their Pods end first, for the same cards are given out again",
    )


def pods_hold(count: int, resource: str) -> str:
    """Say that so many Pods are still there that hold an extended resource of a device plugin."""
    hold = "1 Pod still holds" if count == 1 else f"{count} Pods still hold"
    return f"{hold} {resource}"


def claims_hold(count: int) -> str:
    """Say that so many claims are still there."""
    return "1 claim still holds devices" if count == 1 else f"{count} claims still hold devices"


def _nothing(claim: Claim, found: Recognised) -> Problem:
    near = few(f"{name or 'without a name'} ({count})" for name, count in found.whole.most_common())
    return Problem(
        f"the claim recognises no device of driver {claim.driver}",
        hint=f"it offers {near}" if near else "it offers no GPU in any ResourceSlice",
        level=Level.ERROR if near else Level.WARNING,
    )


def _devices(count: int) -> str:
    return counted(count, "device")


def _of(count: int, devices: int) -> str:
    return _devices(count) if count == devices else f"{count} of {_devices(devices)}"
