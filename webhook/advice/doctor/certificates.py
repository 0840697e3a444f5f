"""The serving certificate, and whether the API server will believe it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from certs.policy import certificates_in, is_signed
from webhook.advice.doctor.entries import Entry, our_entries
from webhook.advice.doctor.findings import Finding, error, fine, warning
from webhook.advice.doctor.permissions import CONTROLLER, issues_certificates
from webhook.advice.doctor.replicas import serials
from webhook.advice.doctor.seen import Ago, Seen, Topic
from webhook.inventory.facts import mapping
from webhook.terms import SERVER_SECRET

# It is replaced when a third of its life is left; this much later somebody should know.
_OVERDUE_SHARE = 0.25
_DAY_S = 86_400.0

_HEAL = (
    "delete the Secret and the controller makes a new one; with cert-manager, see its Certificate"
)


def certificate(seen: Seen) -> Iterator[Finding]:
    """Check dates, names and trust of the serving certificate."""
    configured = our_entries(seen, Topic.MUTATING) + our_entries(seen, Topic.VALIDATING)
    yield from _bundles(configured)
    if not seen.items(Topic.SECRET):
        yield _no_secret(seen)
        return
    chain = _serving_chain(seen)
    if not chain:
        yield error(
            f"Secret {seen.place.namespace}/{SERVER_SECRET} has no certificate in tls.crt", _HEAL
        )
        return
    yield from _dates(chain[0], seen.ago)
    yield from _names(chain[0], configured)
    for entry in configured:
        if entry.bundle and not _is_trusted(chain, _authorities(entry), seen.ago):
            yield error(
                f"caBundle of {_called(entry)} has no authority that signed the serving "
                "certificate: the API server refuses to talk to the webhook",
                "see that the controller runs (it keeps caBundle right) and may patch the "
                "configuration; with cert-manager, that its CA injector runs",
            )
    yield from _pending_pick_up(seen, chain[0])


def _no_secret(seen: Seen) -> Finding:
    namespace = seen.place.namespace
    match issues_certificates(seen):
        case True:
            todo = (
                "the controller makes it within about a minute; if it does not, look at its log: "
                f"kubectl -n {namespace} logs -l app.kubernetes.io/component={CONTROLLER}"
            )
        case False:
            todo = (
                "cert-manager makes it; if it does not, see why: kubectl -n "
                f"{namespace} describe certificates"
            )
        case None:
            todo = "the controller makes it, or cert-manager where that is used; see their logs"
    return error(
        f"there is no Secret {namespace}/{SERVER_SECRET}: no replica of the webhook can start "
        "without it",
        todo,
    )


def _bundles(configured: Sequence[Entry]) -> Iterator[Finding]:
    trusted = {}
    for entry in configured:
        authorities = _authorities(entry)
        if not entry.bundle:
            yield error(
                f"{_called(entry)} has no caBundle: the API server trusts nobody there",
                "see that the controller runs and may patch the configuration",
            )
        elif not authorities:
            yield error(f"caBundle of {_called(entry)} holds no certificate", "remove the field")
        else:
            trusted[entry.name] = {one.fingerprint(hashes.SHA256()) for one in authorities}
    sets = list(trusted.values())
    if any(one != sets[0] for one in sets):
        yield warning(
            f"webhooks {', '.join(trusted)} do not trust the same authorities",
            "a rotation passes through this for some seconds; ask again",
        )


def _dates(leaf: x509.Certificate, ago: Ago) -> Iterator[Finding]:
    start = ago(leaf.not_valid_before_utc.isoformat()) or 0.0
    left = -(ago(leaf.not_valid_after_utc.isoformat()) or 0.0)
    days = f"{left / _DAY_S:.0f} days" if left >= _DAY_S else f"{left / 3600:.1f} hours"
    end = f"{leaf.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    if left <= 0:
        yield error(f"the serving certificate ended at {end}", _HEAL)
    elif start < 0:
        begin = f"{leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        yield error(f"the serving certificate is valid only from {begin} on", "compare the clocks")
    elif left < _OVERDUE_SHARE * (left + start):
        yield warning(
            f"the serving certificate ends in {days}, at {end}, and was not replaced in time",
            "see that the controller leads and may write the Secret; with cert-manager, see its "
            "Certificate",
        )
    else:
        yield fine(f"the serving certificate ends in {days}")


def _names(leaf: x509.Certificate, configured: Sequence[Entry]) -> Iterator[Finding]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = {str(name.value) for name in found.value}
    except x509.ExtensionNotFound:
        names = set()
    for host in sorted({entry.host for entry in configured} - names):
        listed = ", ".join(sorted(names)) or "none"
        yield error(
            f"the serving certificate is not for {host}, which the API server asks for, but for: "
            f"{listed}",
            _HEAL,
        )


def _pending_pick_up(seen: Seen, leaf: x509.Certificate) -> Iterator[Finding]:
    serial = f"{leaf.serial_number:x}"
    late = sorted(name for name, one in serials(seen).items() if one != serial)
    if late:
        yield warning(
            f"not the Secret's certificate is served by {', '.join(late)}",
            "a kubelet brings a changed Secret within two minutes; ask again",
        )


def _serving_chain(seen: Seen) -> list[x509.Certificate]:
    (secret,) = seen.items(Topic.SECRET)
    return certificates_in(_decoded(str(mapping(secret.get("data")).get("tls.crt") or "")))


def _is_trusted(
    chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], ago: Ago
) -> bool:
    """Tell whether a chain ends at one of the authorities that are still valid."""
    valid = [one for one in authorities if (ago(one.not_valid_after_utc.isoformat()) or 0.0) < 0]
    at, rest = chain[0], list(chain[1:])
    while True:
        if at in valid or any(is_signed(at, by=one) for one in valid):
            return True
        issuer = next((one for one in rest if is_signed(at, by=one)), None)
        if issuer is None:
            return False
        rest.remove(issuer)
        at = issuer


def _authorities(entry: Entry) -> list[x509.Certificate]:
    return certificates_in(_decoded(entry.bundle))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _called(entry: Entry) -> str:
    return f"webhook {entry.name}"
