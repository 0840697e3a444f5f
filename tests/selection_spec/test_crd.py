"""The CustomResourceDefinition: made from the model, teaching, and no hindrance to our own laws."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from selection_spec.crd import definition
from tests.builders import Json
from webhook.terms import TABLE_GROUP, TABLE_KIND, TABLE_PLURAL, TABLE_VERSION


@pytest.fixture(scope="module")
def root() -> Json:
    (version,) = definition()["spec"]["versions"]
    schema: Json = version["schema"]["openAPIV3Schema"]
    return schema


def parts(node: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every schema below a schema, with its path."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from parts(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from parts(node[key], f"{path}[]")


def at(root: Json, path: str) -> Json:
    return dict(parts(root))[path]


def test_names_are_those_that_the_rest_goes_by() -> None:
    made = definition()
    (version,) = made["spec"]["versions"]
    assert made["metadata"]["name"] == f"{TABLE_PLURAL}.{TABLE_GROUP}"
    assert made["spec"]["group"] == TABLE_GROUP
    assert made["spec"]["names"]["plural"] == TABLE_PLURAL
    assert made["spec"]["names"]["kind"] == TABLE_KIND
    assert version["name"] == TABLE_VERSION
    assert version["subresources"] == {"status": {}}


def test_every_field_of_ours_says_what_it_means(root: Json) -> None:
    silent = [
        path
        for path, node in parts(root)
        if path.startswith((".spec", ".status"))
        and not path.endswith("[]")
        and not node["description"].endswith(".")
    ]
    assert silent == []


def test_descriptions_tell_what_the_schema_does_not_enforce(root: Json) -> None:
    assert at(root, ".spec.defaultPolicy")["description"] == (
        "Policy of Pods that no priority rule matches. One of EveryFit, SmallestFit. "
        "Default: EveryFit."
    )
    row = at(root, ".spec.devices[]")["properties"]
    assert row["name"]["description"] == (
        "What users write after gpu-, without the memory: a100 for gpu-a100-80gb. Required."
    )
    assert row["any"] == {
        "type": "boolean",
        "description": "Whether gpu-any includes it. Default: true.",
    }
    assert row["aliases"]["type"] == "array"
    assert row["aliases"]["items"] == {"type": "string"}


def test_nothing_but_types_is_restricted(root: Json) -> None:
    """A restriction of the API server's would hide all that ``/validate`` finds beside it."""
    restricting = {"enum", "minimum", "maximum", "minItems", "pattern", "default", "const", "title"}
    found = [path for path, node in parts(root) if node.keys() & restricting]
    required = [path for path, node in parts(root) if "required" in node]
    assert (found, required) == ([], [".status.conditions[]"])


def test_unknown_fields_reach_us_and_lists_are_one_thing(root: Json) -> None:
    for path, node in parts(root):
        if node["type"] == "object" and "additionalProperties" not in node and path != ".metadata":
            assert node["x-kubernetes-preserve-unknown-fields"] is True, path
        if node["type"] == "array":
            kind = "map" if path == ".status.conditions" else "atomic"
            assert node["x-kubernetes-list-type"] == kind, path


def test_null_is_taken_where_the_model_takes_it(root: Json) -> None:
    nullable = {path for path, node in parts(root) if node.get("nullable")}
    assert nullable == {
        ".spec.health",
        ".spec.health.taints[].effect",
        ".spec.health.taints[].value",
        ".spec.devices[].claim",
        ".spec.devices[].output",
        ".spec.devices[].resource",
        ".spec.priorities[].classNames",
        ".spec.priorities[].minValue",
        ".spec.devices[].tolerations[].effect",
        ".spec.devices[].tolerations[].value",
    }
