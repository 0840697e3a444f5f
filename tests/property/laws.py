"""Laws of an answer to a review, for any Pod at all: used by hypothesis and by the long runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonpatch

from selection_spec.grammar import is_ours
from tests.answers import applied, patch_of
from tests.builders import UID, Json

# Every place that a patch may ever touch (R3). A parent only where it was missing or null.
_PATHS = re.compile(
    r"""
      /spec/(?:initContainers|containers)/[0-9]+/resources/(?:limits|requests)(?:/[^/]+)?
    | /spec/(?:initContainers|containers)/[0-9]+/resources/claims(?:/-)?
    | /spec/resourceClaims(?:/-)?
    | /spec/nodeSelector(?:/[^/]+)?
    | /spec/tolerations(?:/-)?
    | /spec/affinity(?:/nodeAffinity)?
    | /spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms
    | /spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution
    | /spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution(?:/-)?
    | /metadata
    | /metadata/labels(?:/gpuspec\.preferred\.jp~1spec)?
    | /metadata/annotations(?:/gpuspec\.preferred\.jp~1(?:request|claims))?
    """,
    re.VERBOSE,
)
_MAY_BE_REPLACED = re.compile(
    r".*/(?:limits|requests)/[^/]+|.*/nodeSelectorTerms|/metadata/(?:labels|annotations)/[^/]+"
)


def check_answer(pod: Json, response: dict[str, Any], domain: str = "preferred.jp") -> Json:
    """Hold a response against the laws of R3, R4, R6 and R8; return the Pod as it is stored."""
    assert response["uid"] == UID
    assert response["allowed"] in (True, False)
    _check_warnings(response.get("warnings", []))
    if not response["allowed"]:
        assert "patch" not in response
        _check_denial(response["status"])
        return pod
    operations = patch_of(response)
    assert ("patchType" in response) is bool(operations)
    if not operations:
        return pod
    after = applied(pod, operations)
    for operation in operations:
        _check_operation(operation, pod)
    assert list(changed_beside(pod, after, {operation["path"] for operation in operations})) == []
    assert inverted(pod, operations) == pod
    assert not list(keys_of_ours(after, domain))
    return after


def _check_denial(status: Json) -> None:
    message = status["message"]
    assert 400 <= status["code"] < 500
    assert 0 < len(message.encode()) <= 1000
    assert all(line.strip() for line in message.splitlines())


def _check_warnings(warnings: list[str]) -> None:
    assert len(warnings) <= 5
    assert all(0 < len(warning) <= 120 for warning in warnings)
    assert len(set(warnings)) == len(warnings)


def _check_operation(operation: Json, pod: Json) -> None:
    path = operation["path"]
    assert _PATHS.fullmatch(path), path
    if operation["op"] == "remove":
        assert "/resources/" in path
    if operation["op"] == "replace" and not _MAY_BE_REPLACED.fullmatch(path):
        assert jsonpatch.JsonPointer(path).resolve(pod) is None, path


def inverted(before: Json, operations: list[Json]) -> Json:
    """Apply operations, then their inverse one by one, last first."""
    document, inverse = before, []
    for operation in operations:
        inverse.append(_inverse(document, operation))
        document = applied(document, [operation])
    for operation in reversed(inverse):
        document = applied(document, [operation])
    return document


def _inverse(document: Json, operation: Json) -> Json:
    """Return what undoes one operation on a document."""
    path = operation["path"]
    holder_path, _, last = path.rpartition("/")
    holder = jsonpatch.JsonPointer(holder_path).resolve(document)
    key = last.replace("~1", "/").replace("~0", "~")
    if operation["op"] == "remove":
        return {"op": "add", "path": path, "value": holder[key]}
    if isinstance(holder, list) and last == "-":
        return {"op": "remove", "path": f"{holder_path}/{len(holder)}"}
    if operation["op"] == "add" and key not in holder:
        return {"op": "remove", "path": path}
    return {"op": "replace", "path": path, "value": holder[key]}


def changed_beside(before: object, after: object, touched: set[str], at: str = "") -> Iterator[str]:
    """Yield every place that differs, byte for byte, and that no operation named."""
    if at in touched or f"{at}/-" in touched:
        return
    below = any(path.startswith(f"{at}/") for path in touched)
    if below and isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            place = f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if place in touched:
                continue
            if (key in before) is not (key in after):
                yield place
            else:
                yield from changed_beside(before[key], after[key], touched, place)
    elif below and isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield at
        for number, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from changed_beside(one, other, touched, f"{at}/{number}")
    elif json.dumps(before) != json.dumps(after):
        yield at


def keys_of_ours(pod: Json, domain: str) -> Iterator[str]:
    """Yield every spec key that is left in a container."""
    for name in ("initContainers", "containers"):
        for container in pod["spec"].get(name) or ():
            for side in ("limits", "requests"):
                for key in (container.get("resources") or {}).get(side) or ():
                    prefix, _, rest = key.partition("/")
                    if prefix == domain and is_ours(rest):
                        yield key
