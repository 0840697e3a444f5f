"""ResourceClaimTemplates: named by their content, made by the controller (semantics C2, C3).

Admission writes down in the Pod what a template holds; the controller makes it from that, whatever
the table says by then, and trusts nothing of it that ``refusal`` has not looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from selection_spec.denial import few
from selection_spec.names import is_dns_label
from selection_spec.narrowing import MAX_DEVICES
from selection_spec.sub_requests import MAX_ALTERNATIVES, SubRequest
from webhook.inventory.facts import mapping
from webhook.terms import CLAIMS_ANNOTATION, TEMPLATE_LABEL

REQUEST: Final = "gpu"
"""The one request of our claims; an allocation says ``gpu/<row id>`` where it had alternatives."""

_API_VERSION: Final = "resource.k8s.io/v1"
_KIND: Final = "ResourceClaimTemplate"
_NAME_CHARACTERS: Final = 32

# Of a user's text, in a message about it.
_SHOWN_CHARACTERS: Final = 40

Json = dict[str, Any]


def claim_spec(alternatives: Iterable[SubRequest], count: int) -> Json:
    """Return the ResourceClaimSpec for some alternatives, of which one gives all the devices."""
    requests = [
        {
            "name": one.name,
            "deviceClassName": one.device_class,
            "selectors": [{"cel": {"expression": text}} for text in one.selectors],
            "allocationMode": "ExactCount",
            "count": count,
        }
        for one in alternatives
    ]
    if len(requests) == 1:
        del requests[0]["name"]
        return {"devices": {"requests": [{"name": REQUEST, "exactly": requests[0]}]}}
    return {"devices": {"requests": [{"name": REQUEST, "firstAvailable": requests}]}}


def template_name(spec: Json) -> str:
    """Return the name of the template with a ResourceClaimSpec: a hash of its content."""
    digest = hashlib.sha256(canonical(spec).encode()).hexdigest()
    return f"gpuspec-{digest[:_NAME_CHARACTERS]}"


def canonical(value: Json) -> str:
    """Return JSON that is the same for the same content."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def template(name: str, spec: Json, namespace: str | None = None) -> Json:
    """Return the object that has a name and a ResourceClaimSpec."""
    place = {} if namespace is None else {"namespace": namespace}
    return {
        "apiVersion": _API_VERSION,
        "kind": _KIND,
        "metadata": {"name": name, **place, "labels": {TEMPLATE_LABEL: REQUEST}},
        "spec": {"spec": spec},
    }


def wanted(pod: Json) -> dict[str, Json]:
    """Return by template name the specs that a Pod brings along for templates it names itself.

    Only those whose name is the hash of their content (C3, R2); nothing where there is nothing to
    read. Never raises.
    """
    annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
    written = _written(annotations.get(CLAIMS_ANNOTATION))
    claims = mapping(pod.get("spec")).get("resourceClaims")
    named = [
        one.get("resourceClaimTemplateName")
        for one in (claims if isinstance(claims, list) else ())
        if isinstance(one, dict)
    ]
    return {
        name: written[name]
        for name in dict.fromkeys(one for one in named if isinstance(one, str))
        if _is_content_of(name, written.get(name))
    }


def _is_content_of(name: str, spec: object) -> bool:
    try:
        return isinstance(spec, dict) and template_name(spec) == name
    except RecursionError:
        return False


def _written(annotation: object) -> Json:
    if not isinstance(annotation, str):
        return {}
    try:
        written = json.loads(annotation)
    except (ValueError, RecursionError):
        return {}
    return written if isinstance(written, dict) else {}


def refusal(spec: Json, classes: Collection[str]) -> str:
    """Return why no template may be made of a ResourceClaimSpec that a Pod brings along (C3).

    It may hold nothing but DeviceClasses of a table, selectors and counts: what admission writes.

    Args:
        spec: From ``wanted``.
        classes: The DeviceClasses that tables know.

    Returns:
        A clause with the field at fault; "" if it may be made.
    """
    if what := malformed(spec):
        return what
    unknown = sorted({one["deviceClassName"] for one in asked_of(spec)} - set(classes))
    return f"no SelectionTable asks DeviceClass {few(map(_shown, unknown))}" if unknown else ""


def asked_of(spec: Json) -> list[Json]:
    """Return the alternatives of a ResourceClaimSpec that is not ``malformed``."""
    request = spec["devices"]["requests"][0]
    asked: list[Json] = (
        request["firstAvailable"] if "firstAvailable" in request else [request["exactly"]]
    )
    return asked


def malformed(spec: Json) -> str:
    """Return in what a ResourceClaimSpec is not as ``claim_spec`` writes them, "" if it is."""
    try:
        request = _only(_only(spec, "devices")["devices"], "requests")["requests"]
        if not isinstance(request, list) or len(request) != 1:
            return "it does not have exactly one request"
        request = request[0]
        if isinstance(request, dict) and "firstAvailable" in request:
            many = _only(request, "name", "firstAvailable")["firstAvailable"]
            if not isinstance(many, list) or not 0 < len(many) <= MAX_ALTERNATIVES:
                return f"firstAvailable does not have 1 to {MAX_ALTERNATIVES} alternatives"
            asked = [_only(one, "name", *_ASKED) for one in many]
        else:
            asked = [_only(_only(request, "name", "exactly")["exactly"], *_ASKED)]
    except _UnknownFieldError as error:
        return str(error)
    if not all(map(_is_whole, asked)) or not all(map(_is_named, (request, *_sub(asked)))):
        return "its names, selectors, allocationMode or count are not as we write them"
    return ""


def _sub(asked: list[Json]) -> list[Json]:
    return [one for one in asked if "name" in one]


def _is_named(request: Json) -> bool:
    return isinstance(request["name"], str) and is_dns_label(request["name"])


def _shown(text: str) -> str:
    """Return a text of a user's as it may stand in any message: printable, and not long."""
    return ascii(text[:_SHOWN_CHARACTERS])[1:-1]


def _is_whole(asked: Json) -> bool:
    selectors = asked["selectors"]
    return (
        _is_text(asked["deviceClassName"])
        and asked["allocationMode"] == "ExactCount"
        and type(asked["count"]) is int
        and 0 < asked["count"] <= MAX_DEVICES
        and isinstance(selectors, list)
        and all(
            isinstance(one, dict)
            and set(one) == {"cel"}
            and isinstance(one["cel"], dict)
            and set(one["cel"]) == {"expression"}
            and _is_text(one["cel"]["expression"])
            for one in selectors
        )
    )


def _is_text(value: object) -> bool:
    """Tell whether a value is a text that can be written: JSON has half characters, UTF-8 none."""
    return isinstance(value, str) and not any("\ud800" <= one <= "\udfff" for one in value)


_ASKED: Final = ("deviceClassName", "selectors", "allocationMode", "count")


class _UnknownFieldError(Exception):
    """A field is there that we never write, or one is missing that we always write."""


def _only(value: object, *fields: str) -> Json:
    """Return an object that has exactly these fields.

    Raises:
        _UnknownFieldError: It has not.
    """
    if not isinstance(value, dict):
        raise _UnknownFieldError(f"an object with {', '.join(fields)} is missing")
    if other := sorted(set(value) - set(fields)):
        raise _UnknownFieldError(f"it holds {few(map(_shown, other))}")
    if missing := sorted(set(fields) - set(value)):
        raise _UnknownFieldError(f"it lacks {', '.join(missing)}")
    return value
