"""The selection table: accepted, and its status fresh."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.doctor.findings import CannotLookError, Finding, error, fine, warning
from webhook.advice.doctor.seen import Refused, Seen, Topic
from webhook.advice.words import counted
from webhook.inventory.conditions import FOLLOWING, READY
from webhook.inventory.facts import Json, mapping, mappings
from webhook.terms import CERTIFICATES_READY, CLAIM_TEMPLATES, RESERVE_BLOCKED, TABLE_KIND

# The controller renews a status every 60 s, and admission goes by one for 180 s (D7).
_FRESH_S = 180.0

_SHOWN = 5


def table(seen: Seen) -> Iterator[Finding]:
    """Check that there is a table and that it breaks no law."""
    answer = seen.answers[Topic.TABLES]
    if isinstance(answer, Refused) and answer.is_absent:
        yield error(
            f"the cluster knows no {TABLE_KIND}s: the CRD is missing, and the built-in table "
            "serves",
            "apply gpuspec's manifests",
        )
        return
    seen.items(Topic.TABLES)
    name, served = seen.place.table_name, seen.served
    if served.problems:
        yield error(
            f"{TABLE_KIND} {name} is not accepted, the last good one goes on serving",
            f"kubectl get selectiontable {name} -o yaml | gpuspec table lint -; where no replica "
            "is ready, nothing can judge a mended one: delete validatingwebhookconfiguration "
            "zz-gpuspec, apply the table, and then the manifests again",
        )
        for one in served.problems[:_SHOWN]:
            yield error(f"{one.path}: {one.text()}" if one.path else one.text())
        if len(served.problems) > _SHOWN:
            yield error(f"and {counted(len(served.problems) - _SHOWN, 'more problem')}")
    elif not served.raw:
        yield fine(f"there is no {TABLE_KIND} {name}: the built-in table serves")
    else:
        found = seen.table
        yield fine(f"{found.name} {found.digest}, {counted(len(found.rows), 'row')}")


def status(seen: Seen) -> Iterator[Finding]:
    """Check that the controller keeps the table's status, and what it says."""
    if seen.served.why_not:
        raise CannotLookError(seen.served.why_not)
    raw = seen.served.raw
    if not raw:
        yield fine("the built-in table has none")
        return
    found = mapping(raw.get("status"))
    age = seen.ago(str(found.get("renewTime") or ""))
    if age is None:
        yield error(
            "the table has no status: no controller has ever written one, so admission does not "
            "know which devices are usable (D7)",
            "see that a controller runs and leads",
        )
        return
    if age > _FRESH_S:
        yield error(
            f"the table's status was renewed {_long(age)} ago; every 60 s is right, and admission "
            "goes by it for 180 s (D7)",
            "see that a controller leads",
        )
    if age < -_FRESH_S:
        yield error(
            f"the table's status was renewed {_long(-age)} in the future: the controller's clock "
            "or this machine's is wrong, and admission does not go by such a status (D7)",
            "set the clocks right",
        )
    generation = raw["metadata"].get("generation")
    if age <= _FRESH_S and found.get("observedGeneration") != generation:
        yield warning(
            f"the status is of generation {found.get('observedGeneration')}, the table of "
            f"{generation}",
            "ask again in some seconds",
        )
    said = list(_conditions(found))
    yield from said
    if not said and abs(age) <= _FRESH_S:
        yield fine(f"renewed {_long(age)} ago")


def _conditions(found: Json) -> Iterator[Finding]:
    by_type = {one.get("type"): one for one in mappings(found.get("conditions"))}
    ready, blocked, following, certificates, templates = (
        mapping(by_type.get(one))
        for one in (READY, RESERVE_BLOCKED, FOLLOWING, CERTIFICATES_READY, CLAIM_TEMPLATES)
    )
    if following.get("status") == "False":
        yield error(f"{FOLLOWING}: {following.get('message')}", "give the controller what it lacks")
    if ready.get("status") == "False" or ready.get("reason") == "ProblemsFound":
        yield warning(str(ready.get("message")), "see each row: gpuspec table show --cluster")
    if blocked.get("status") == "True":
        yield warning(f"{RESERVE_BLOCKED}: {blocked.get('message')}")
    if certificates.get("status") == "False":
        yield warning(f"{CERTIFICATES_READY}: {certificates.get('message')}")
    if templates.get("status") == "False":
        yield warning(f"{CLAIM_TEMPLATES}: {templates.get('message')}")


def controller(seen: Seen) -> Iterator[Finding]:
    """Check that a controller leads, by its lease."""
    leases = seen.items(Topic.LEASE)
    hint = f"see: kubectl -n {seen.place.namespace} get deployments,pods"
    if not leases:
        yield error(
            f"no controller has ever led in namespace {seen.place.namespace}: nobody keeps status, "
            "reserve taints and certificates",
            hint,
        )
        return
    spec = mapping(leases[0].get("spec"))
    holder = spec.get("holderIdentity")
    age = seen.ago(str(spec.get("renewTime") or ""))
    lasts = spec.get("leaseDurationSeconds")
    if age is None or type(lasts) is not int:
        raise CannotLookError("the lease has no times")
    if not holder:
        yield error(f"nobody leads: the lease was handed over {_long(age)} ago", hint)
    elif age > lasts:
        yield error(f"nobody leads: {holder} renewed the lease last {_long(age)} ago", hint)
    else:
        yield fine(f"{holder} leads")


def _long(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 -- up to two minutes seconds say more
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"  # noqa: PLR2004
