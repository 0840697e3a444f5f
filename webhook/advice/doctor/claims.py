"""Rows that are taken by claims: what drivers, classes and the controller have to do for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from selection_spec.denial import few
from selection_spec.rows import CLAIMS, Claim, Row
from selection_spec.table import Table
from webhook.advice.doctor.findings import CannotLookError, Finding, Level, error, fine, unknown
from webhook.advice.doctor.permissions import CONTROLLER, Need, is_granted
from webhook.advice.doctor.seen import Question, Refused, Seen
from webhook.advice.doctor.tables import controller
from webhook.advice.words import counted
from webhook.inventory.claim_facts import served_resource
from webhook.inventory.claims import Offered, offered
from webhook.inventory.slice_facts import slice_facts
from webhook.terms import CLASSES_PATH, SLICES_PATH

SLICES = "claims/slices"
CLASSES = "claims/classes"
"""The answers' keys: all ResourceSlices, and all DeviceClasses."""

_CREATE = Need(CONTROLLER, "create", "resourceclaimtemplates", "resource.k8s.io")


def claim_questions(seen: Seen) -> dict[str, Question]:
    """Return what is asked where the table has rows that are taken by claims."""
    table = seen.served.table
    if table is None or not claimed(table):
        return {}
    return {
        SLICES: Question(SLICES_PATH, "list resourceslices"),
        CLASSES: Question(CLASSES_PATH, "list deviceclasses"),
    }


def claimed(table: Table) -> tuple[Row, ...]:
    """Return the rows that are taken by claims."""
    return tuple(row for row in table.rows if row.pool == CLAIMS)


def offers(seen: Seen) -> Offered | None:
    """Return what DRA drivers offer; None where no row is taken by claims.

    Raises:
        CannotLookError: ResourceSlices could not be read.
    """
    if SLICES not in seen.answers:
        return None
    classes = seen.answers[CLASSES]
    served = None
    if not isinstance(classes, Refused):
        served = {str(one["metadata"]["name"]): served_resource(one) for one in classes}
    return offered(map(slice_facts, seen.items(SLICES)), served)


def claims(seen: Seen) -> Iterator[Finding]:
    """Check what claims need beside the table: drivers, DeviceClasses, and their templates."""
    rows = claimed(seen.table)
    if not rows:
        yield fine("no row is taken by claims")
        return
    wrong = [*_templates(seen), *_classes(seen, rows), *_drivers(seen, rows)]
    yield from wrong
    if not wrong:
        one = counted(len(rows), "row is", "rows are")
        yield fine(f"{one} taken by claims; classes, drivers and the controller are there")


def _templates(seen: Seen) -> Iterator[Finding]:
    """Check that somebody makes ResourceClaimTemplates (C3)."""
    waits = "so the templates of new claims are not made: Pods with claims wait"
    try:
        if any(one.level is Level.ERROR for one in controller(seen)):
            yield error(f"no controller leads, {waits}", "see that one runs; more is said there")
        if not is_granted(seen, _CREATE):
            yield error(
                f"the controller may not create resourceclaimtemplates, {waits}",
                "apply the roles and bindings of gpuspec's manifests",
            )
    except CannotLookError as missing:
        yield unknown(f"could not look who makes templates: {missing}")


def _classes(seen: Seen, rows: tuple[Row, ...]) -> Iterator[Finding]:
    """Check that the DeviceClasses are there: Kubernetes schedules no Pod that names another."""
    try:
        known = {str(one["metadata"]["name"]) for one in seen.items(CLASSES)}
    except CannotLookError as missing:
        yield unknown(f"could not look at DeviceClasses: {missing}")
        return
    for name, those in _by(rows, lambda claim: claim.device_class).items():
        if name not in known:
            there = f"there is {few(sorted(known))}" if known else "there is none"
            yield error(
                f"DeviceClass {name} does not exist, so nobody gets {few(those)} (C3); {there}",
                "install the driver, or mend claim.deviceClassName in the table",
            )


def _drivers(seen: Seen, rows: tuple[Row, ...]) -> Iterator[Finding]:
    """Check that the drivers offer anything."""
    try:
        found = offers(seen)
    except CannotLookError as missing:
        yield unknown(f"could not look at ResourceSlices: {missing}")
        return
    drivers = {one.driver for one in found.slices if one.devices} if found else set()
    for name, those in _by(rows, lambda claim: claim.driver).items():
        if name not in drivers:
            there = f"there are of {few(sorted(drivers))}" if drivers else "there are none at all"
            yield error(
                f"no ResourceSlice is of driver {name}, so claims for {few(those)} wait; {there}",
                "see that the driver's DaemonSet runs on the nodes, or mend claim.driver",
            )


def _by(rows: tuple[Row, ...], part: Callable[[Claim], str]) -> dict[str, list[str]]:
    """Return the ids of rows by a part of their claims."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.claim is not None:
            found.setdefault(part(row.claim), []).append(row.id)
    return found
