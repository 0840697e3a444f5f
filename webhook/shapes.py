"""Which Pods can be read at all (semantics R6).

Whatever the API server will refuse later anyway (wrong shapes, containers of one name) makes a Pod
unreadable: it is left as it is, never repaired, and never an error of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.selectors import PREFERRED, REQUIRED

CONTAINER_LISTS = ("initContainers", "containers")
SIDES = ("limits", "requests")

_OF_A_TOLERATION = ("key", "operator", "value", "effect")


def unreadable(pod: dict[str, Any]) -> str:
    """Return which field of a Pod has a shape that the API server will refuse, "" if none (R6)."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return "spec"
    if not isinstance(spec.get("containers"), list) or not spec["containers"]:
        return "spec.containers"
    seen: set[str] = set()
    for name in CONTAINER_LISTS:
        containers = spec.get(name)
        if containers is not None and not isinstance(containers, list):
            return f"spec.{name}"
        for number, container in enumerate(containers or ()):
            if not _is_container(container) or container["name"] in seen:
                return f"spec.{name}[{number}]"
            seen.add(container["name"])
    if not _has_resources(spec):
        return "spec.resources"
    return next((path for path, fine in _shapes(pod, spec) if not fine), "")


def _is_container(container: object) -> bool:
    return (
        isinstance(container, dict)
        and isinstance(container.get("name"), str)
        and _has_resources(container)
    )


def _has_resources(holder: dict[str, Any]) -> bool:
    resources = holder.get("resources")
    if resources is None:
        return True
    return (
        isinstance(resources, dict)
        and all(resources.get(side) is None or isinstance(resources[side], dict) for side in SIDES)
        and _is(resources.get("claims"), list)
        and all(map(_is_named, resources.get("claims") or ()))
    )


def _shapes(pod: dict[str, Any], spec: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield every field that a patch may touch or that is read, and whether its shape is right."""
    metadata = pod.get("metadata")
    yield "metadata", _is(metadata, dict)
    for name in ("labels", "annotations"):
        yield f"metadata.{name}", _is((metadata or {}).get(name), dict)
    for name, shape in (("nodeSelector", dict), ("tolerations", list), ("affinity", dict)):
        yield f"spec.{name}", _is(spec.get(name), shape)
    for number, toleration in enumerate(spec.get("tolerations") or ()):
        yield f"spec.tolerations[{number}]", _is_toleration(toleration)
    claims = spec.get("resourceClaims")
    yield (
        "spec.resourceClaims",
        _is(claims, list)
        and all(
            _is_named(one) and _is(one.get("resourceClaimTemplateName"), str)
            for one in claims or ()
        ),
    )
    yield (
        "spec.nodeSelector",
        all(_is(one, str) for one in (spec.get("nodeSelector") or {}).values()),
    )
    node = (spec.get("affinity") or {}).get("nodeAffinity")
    yield "spec.affinity.nodeAffinity", _is(node, dict)
    required = (node or {}).get(REQUIRED)
    yield f"spec.affinity.nodeAffinity.{REQUIRED}", _is(required, dict)
    terms = (required or {}).get("nodeSelectorTerms")
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    yield path, _is(terms, list)
    for number, term in enumerate(terms or ()):
        yield f"{path}[{number}]", _is_term(term)
    preferred = (node or {}).get(PREFERRED)
    path = f"spec.affinity.nodeAffinity.{PREFERRED}"
    yield path, _is(preferred, list)
    for number, one in enumerate(preferred or ()):
        is_fine = one is None or (isinstance(one, dict) and _is_term(one.get("preference")))
        yield f"{path}[{number}]", is_fine


def _is_toleration(one: object) -> bool:
    if one is None:
        return True
    return isinstance(one, dict) and all(_is(one.get(name), str) for name in _OF_A_TOLERATION)


def _is_named(one: object) -> bool:
    return isinstance(one, dict) and _is(one.get("name"), str)


def _is_term(term: object) -> bool:
    if term is None:
        return True
    if not isinstance(term, dict):
        return False
    return all(
        _is(term.get(name), list) and all(map(_is_expression, term.get(name) or ()))
        for name in ("matchExpressions", "matchFields")
    )


def _is_expression(expression: object) -> bool:
    if not isinstance(expression, dict):
        return False
    values = expression.get("values")
    return (
        isinstance(expression.get("key"), str)
        and isinstance(expression.get("operator"), str)
        and _is(values, list)
        and all(isinstance(value, str) for value in values or ())
    )


def _is(value: object, shape: type) -> bool:
    return value is None or isinstance(value, shape)
