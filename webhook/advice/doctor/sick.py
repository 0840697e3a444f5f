"""What health has found, and what holds it up: a pointer to ``gpuspec health`` (H11)."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.doctor.findings import CannotLookError, Finding, fine, warning
from webhook.advice.doctor.seen import Seen
from webhook.advice.words import counted
from webhook.health.words import EVICTIONS_REFUSED, NODES_REFUSE
from webhook.inventory.facts import Json, mapping, mappings
from webhook.terms import HEALTH, HEALTH_BREAKER, HEALTH_BUDGET

_SEE = "see: gpuspec health"


def sick(seen: Seen) -> Iterator[Finding]:
    """Check what the controller says of health in the table's status."""
    if seen.served.why_not:
        raise CannotLookError(seen.served.why_not)
    status = mapping(seen.served.raw.get("status"))
    numbers = mapping(status.get("health"))
    if not numbers:
        yield fine("the table's status tells nothing of it; see: gpuspec health")
        return
    yield from _conditions(status)
    failed = numbers.get("failed")
    mode = f"mode {numbers.get('mode')}"
    if type(failed) is int and failed > 0:
        what = counted(failed, "node or device has failed", "nodes or devices have failed")
        yield warning(f"{what}, {mode}", _SEE)
    else:
        yield fine(f"{mode}, nothing has failed")


def _conditions(status: Json) -> Iterator[Finding]:
    by_type = {one.get("type"): one for one in mappings(status.get("conditions"))}
    health, budget, breaker = (
        mapping(by_type.get(one)) for one in (HEALTH, HEALTH_BUDGET, HEALTH_BREAKER)
    )
    if breaker.get("status") == "True":
        yield warning(f"{HEALTH_BREAKER}: {breaker.get('message')}")
    if health.get("status") == "False" or health.get("reason") in (EVICTIONS_REFUSED, NODES_REFUSE):
        yield warning(f"{HEALTH}: {health.get('message')}", _SEE)
    if budget.get("status") == "False":
        yield warning(f"{HEALTH_BUDGET}: {budget.get('message')}", _SEE)
