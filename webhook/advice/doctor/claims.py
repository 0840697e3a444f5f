"""Rows that are taken by claims: what drivers, classes and the controller have to do for them.

And who holds devices of rows that went from one output to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from selection_spec.denial import few
from selection_spec.rows import CLAIMS, Claim, Row
from selection_spec.table import Table
from webhook.advice.doctor.findings import CannotLookError, Finding, Level, error, fine, unknown
from webhook.advice.doctor.permissions import CONTROLLER, Need, is_granted
from webhook.advice.doctor.seen import Question, Refused, Seen, Topic
from webhook.advice.doctor.tables import controller
from webhook.advice.words import counted
from webhook.inventory.claim_facts import claim_facts, served_resource
from webhook.inventory.claims import Offered, offered
from webhook.inventory.facts import Json, mapping, mappings, node_facts
from webhook.inventory.holders import BOUND
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.status import table_status
from webhook.terms import CLAIMS_PATH, CLASSES_PATH, SLICES_PATH

SLICES = "claims/slices"
CLASSES = "claims/classes"
CLAIMS_HELD = "claims/claims"
PODS = "claims/pods"
"""The answers' keys: all ResourceSlices, DeviceClasses and ResourceClaims, and Pods on nodes."""

_SHOWN = 3

_CREATE = Need(CONTROLLER, "create", "resourceclaimtemplates", "resource.k8s.io")


def claim_questions(seen: Seen) -> dict[str, Question]:
    """Return what is asked of DRA, and of Pods where a row has a claim."""
    table = seen.served.table
    if table is None:
        return {}
    asked = {
        SLICES: Question(SLICES_PATH, "list resourceslices"),
        CLASSES: Question(CLASSES_PATH, "list deviceclasses"),
        CLAIMS_HELD: Question(CLAIMS_PATH, "list resourceclaims", keep=_allocation),
    }
    if any(row.claim is not None for row in table.rows):
        asked[PODS] = Question("/api/v1/pods", "list pods", {"fieldSelector": BOUND}, keep=_holding)
    return asked


def claimed(table: Table) -> tuple[Row, ...]:
    """Return the rows that are taken by claims."""
    return tuple(row for row in table.rows if row.pool == CLAIMS)


def offers(seen: Seen) -> Offered | None:
    """Return what DRA drivers offer and claims hold; None where no row needs it and none is seen.

    Raises:
        CannotLookError: ResourceSlices could not be read, and a row is taken by claims.
    """
    answer = seen.answers.get(SLICES)
    if answer is None or (isinstance(answer, Refused) and not claimed(seen.table)):
        return None
    classes = seen.answers[CLASSES]
    served = None
    if not isinstance(classes, Refused):
        served = {str(one["metadata"]["name"]): served_resource(one) for one in classes}
    held = seen.answers[CLAIMS_HELD]
    claims = () if isinstance(held, Refused) else filter(None, map(claim_facts, held))
    return offered(map(slice_facts, seen.items(SLICES)), served, claims)


def claims(seen: Seen) -> Iterator[Finding]:
    """Check what claims need beside the table: drivers, DeviceClasses, and their templates."""
    rows = claimed(seen.table)
    wrong = [*_templates(seen), *_classes(seen, rows), *_drivers(seen, rows)] if rows else []
    wrong += _devices(seen)
    yield from wrong
    if not wrong and not rows:
        yield fine("no row is taken by claims")
    elif not wrong:
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


def _devices(seen: Seen) -> Iterator[Finding]:
    """Check what claims recognise, and that no device is given out by two who do not know it."""
    answer = seen.answers.get(PODS, [])
    if isinstance(answer, Refused):
        yield unknown(f"could not look who holds devices: {answer.why}")
        answer = []
    try:
        found = offers(seen)
    except CannotLookError:  # which is said of drivers
        return
    if found is None:
        return
    nodes = map(node_facts, seen.items(Topic.NODES))
    status = table_status(seen.table, nodes, map(pod_facts, answer), found)
    # Whatever else is wrong with rows is in the table's status.
    wrong = [(counts.row.id, one) for counts in status.rows for one in counts.grave]
    for row, one in wrong[:_SHOWN]:
        yield error(f"{row}: {one.message}", one.hint)
    if len(wrong) > _SHOWN:
        more = counted(len(wrong) - _SHOWN, "more problem")
        yield error(f"and {more}", "see each row: gpuspec table lint --cluster")


def _allocation(claim: Json) -> Json:
    """Keep of a claim what it holds."""
    return {"status": {"allocation": mapping(claim.get("status")).get("allocation")}}


def _holding(pod: Json) -> Json:
    """Keep of a Pod what tells which devices it holds."""
    spec, status = mapping(pod.get("spec")), mapping(pod.get("status"))
    return {
        "spec": {
            "nodeName": spec.get("nodeName"),
            **{
                of: [
                    {part: one.get(part) for part in ("name", "restartPolicy", "resources")}
                    for one in mappings(spec.get(of))
                ]
                for of in ("initContainers", "containers")
            },
        },
        "status": {"extendedResourceClaimStatus": status.get("extendedResourceClaimStatus")},
    }


def _by(rows: tuple[Row, ...], part: Callable[[Claim], str]) -> dict[str, list[str]]:
    """Return the ids of rows by a part of their claims."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.claim is not None:
            found.setdefault(part(row.claim), []).append(row.id)
    return found
