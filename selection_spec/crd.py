"""The CustomResourceDefinition of SelectionTables, made from the model (design §3).

Its schema tells types and what each field means, so that ``kubectl explain`` teaches, and leaves
everything else to ``/validate``: the API server would answer with restrictions of its own and hide
all that is wrong beside them. Unknown fields are kept for the same reason: ``/validate`` says what
they were probably meant to be.
"""

from __future__ import annotations

import json
from typing import Any

from selection_spec.schema import TableDocument
from selection_spec.status import TableStatus

Json = dict[str, Any]

_KEEP_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_TYPE_AND_FORMAT: dict[str, Json] = {"integer": {"type": "integer", "format": "int64"}}

# The API server knows better than the model what these hold.
_OWN = ("apiVersion", "kind", "metadata")

_COLUMNS = (
    ("Rows", "integer", ".status.rowCount", 0),
    ("Accepted", "string", '.status.conditions[?(@.type=="Accepted")].status', 0),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', 0),
    ("Digest", "string", ".status.digest", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Message", "string", '.status.conditions[?(@.type=="Ready")].message', 1),
)


def definition() -> Json:
    """Return the CustomResourceDefinition as the API server takes it."""
    model = TableDocument.model_json_schema(by_alias=True)
    group, _, version = model["properties"]["apiVersion"]["const"].partition("/")
    kind: str = model["properties"]["kind"]["const"]
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": ["seltab"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(*column) for column in _COLUMNS],
                    "schema": {"openAPIV3Schema": _root(model)},
                }
            ],
        },
    }


def _column(name: str, kind: str, path: str, priority: int) -> Json:
    return {"name": name, "type": kind, "jsonPath": path, "priority": priority}


def _root(model: Json) -> Json:
    root = _structural(model, model["$defs"])
    for name in _OWN:
        root["properties"][name] = {"type": "object" if name == "metadata" else "string"}
    status = TableStatus.model_json_schema(by_alias=True)
    root["properties"]["status"] = _structural(status, status["$defs"])
    conditions = root["properties"]["status"]["properties"]["conditions"]
    conditions["x-kubernetes-list-type"] = "map"
    conditions["x-kubernetes-list-map-keys"] = ["type"]
    conditions["items"]["required"] = ["type", "status"]
    return root


def _structural(node: Json, shared: Json) -> Json:
    """Return a part of the model's JSON schema as a structural schema, without its restrictions."""
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        return _structural(
            {**shared[name], **{k: v for k, v in node.items() if k != "$ref"}}, shared
        )
    if "anyOf" in node:
        (only,) = (choice for choice in node["anyOf"] if choice != {"type": "null"})
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        return {**_structural({**only, **rest}, shared), "nullable": True}
    found = dict(_TYPE_AND_FORMAT.get(node["type"], {"type": node["type"]}))
    if text := _description(node):
        found["description"] = text
    if node["type"] == "array":
        found["items"] = _structural(node["items"], shared)
        found["x-kubernetes-list-type"] = "atomic"
    if isinstance(node.get("additionalProperties"), dict):
        found["additionalProperties"] = _structural(node["additionalProperties"], shared)
    elif node["type"] == "object":
        found[_KEEP_UNKNOWN] = True
        found["properties"] = _properties(node, shared)
    return found


def _properties(node: Json, shared: Json) -> Json:
    required = node.get("required", ())
    found = {}
    for name, child in node.get("properties", {}).items():
        found[name] = _structural(child, shared)
        if name in required:
            found[name]["description"] = f"{found[name]['description']} Required."
    return found


def _description(node: Json) -> str:
    """Say beside what the field means which values it takes and what is assumed without one."""
    parts = [" ".join(node.get("description", "").split())]
    if "enum" in node:
        parts.append(f"One of {', '.join(node['enum'])}.")
    elif "const" in node:
        parts.append(f"Always {node['const']}.")
    if node.get("default") not in (None, [], {}, "") and node["type"] != "object":
        parts.append(f"Default: {json.dumps(node['default']).strip(chr(34))}.")
    return " ".join(part for part in parts if part)
