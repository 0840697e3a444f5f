"""What the certificate loop has to say of what it may not write, and of how things stand."""

from __future__ import annotations

from collections.abc import Sequence

from selection_spec.denial import few
from webhook.inventory.conditions import Condition
from webhook.inventory.facts import Json
from webhook.kube.errors import ApiError
from webhook.terms import CERTIFICATES_READY


def called(found: Json) -> str:
    """Return what messages call an object."""
    return f"{found.get('kind', 'Secret')} {found['metadata']['name']}"


def secret_refused(name: str, former: Json | None, error: ApiError) -> str:
    """Say that a Secret cannot be written, and what to do."""
    if former is not None and former.get("immutable"):
        return f"Secret {name} is immutable and has to change; delete it, and it is made anew"
    return f"Secret {name} cannot be written: {error}"


def configuration_refused(configuration: Json, authority: str, error: ApiError) -> str:
    """Say that a webhook configuration cannot be written, and what to do.

    Args:
        configuration: It calls our Service, and may be somebody else's.
        authority: The Secret whose ``ca.crt`` it should trust.
        error: The API server's answer.
    """
    by_hand = f"give it the caBundle of Secret {authority} (ca.crt) yourself"
    if error.is_forbidden:
        why = f"may not be updated; grant update on it or {by_hand}"
    else:
        why = f"cannot be updated: {error}; mend it or {by_hand}"
    return f"{called(configuration)} calls our Service and {why}"


def cert_manager_keeps(found: Json, annotation: str) -> str:
    """Say that cert-manager keeps all of our certificates."""
    return (
        f"{called(found)} has the annotation {annotation}: cert-manager keeps the certificates and "
        "nothing is written here; run the controller with --no-certificates, or remove the "
        "annotation"
    )


def cert_manager_injects(configuration: Json, annotation: str) -> str:
    """Say that cert-manager has a configuration trust an authority that is not ours."""
    return (
        f"{called(configuration)} calls our Service and has the annotation {annotation}: "
        "cert-manager has it trust another authority; remove the annotation"
    )


def kept_by_cert_manager(why: str) -> Condition:
    """Return the condition where cert-manager is in charge, and nobody here knows more."""
    return Condition(CERTIFICATES_READY, "Unknown", "CertManager", why)


def kept_elsewhere() -> Condition:
    """Return the condition where the controller was told to leave certificates alone."""
    why = "the controller runs with --no-certificates and does not look at any"
    return Condition(CERTIFICATES_READY, "Unknown", "KeptElsewhere", why)


def ready(problems: Sequence[str]) -> Condition:
    """Return whether the controller's certificates are as they should be."""
    if problems:
        return Condition(CERTIFICATES_READY, "False", "ProblemsFound", few(problems, "; "))
    said = "the certificates are valid, and whoever calls our Service trusts them"
    return Condition(CERTIFICATES_READY, "True", "AllFine", said)
