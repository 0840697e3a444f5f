"""What pydantic found wrong with a document becomes problems with line, column and hint."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from selection_spec.documents.nodes import field_path
from selection_spec.documents.scalars import shown
from selection_spec.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

    from selection_spec.documents.loading import Document
    from selection_spec.documents.nodes import Path

_WANTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
}
_SHOULD = "Input should "

Schema = dict[str, Any]


def problems_from_validation(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> tuple[Problem, ...]:
    """Return one problem for each entry of a validation error, in the order of the text.

    Args:
        error: What ``model.model_validate(document.value)`` raised.
        document: The document that was validated; it gives lines and columns.
        model: The model; its field names, as documents write them, make the hints.
    """
    schema = model.model_json_schema(by_alias=True)
    problems = [_problem(details, document, schema) for details in error.errors(include_url=False)]
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))


def _problem(details: ErrorDetails, document: Document, schema: Schema) -> Problem:
    kind = details["type"]
    path = _document_path(details["loc"], document.value, missing=kind == "missing")
    name = next((step for step in reversed(path) if isinstance(step, str)), "the document")
    hint = ""
    line, column = document.position(path)
    if kind == "missing":
        message = f"{shown(name)} is missing"
    elif kind == "extra_forbidden":
        message = f"unknown key {shown(name)}"
        hint = _nearest(name, _known_keys(schema, path[:-1]))
        line, column = document.key_position(path)
    elif kind == "too_short":
        message, hint = f"{shown(name)} is empty", "write one or more"
    elif kind in {"value_error", "assertion_error"}:
        message = str(details["ctx"]["error"])
    else:
        message, hint = _wrong_value(details, name)
    return Problem(message, path=field_path(path), hint=hint, line=line, column=column)


def _document_path(loc: tuple[int | str, ...], value: object, *, missing: bool) -> Path:
    """Return ``loc`` without the steps that name a branch of a union instead of a field."""
    path: list[str | int] = []
    for depth, step in enumerate(loc):
        in_mapping = isinstance(value, dict) and step in value
        in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if in_mapping or in_list:
            value = value[step]  # type: ignore[index]
        elif not (missing and depth == len(loc) - 1):
            continue
        path.append(step)
    return tuple(path)


def _wrong_value(details: ErrorDetails, name: str) -> tuple[str, str]:
    """Return (message, hint) for a value of the wrong type or outside its bounds."""
    value, text = details["input"], details["msg"]
    wanted = _WANTED.get(details["type"])
    if wanted:
        return f"{shown(name)} is {_shown_value(value)} where {wanted} is wanted", _retyped(
            value, wanted
        )
    if text.startswith(_SHOULD):
        return f"{shown(name)} is {_shown_value(value)} and should {text.removeprefix(_SHOULD)}", ""
    return f"{shown(name)} is {_shown_value(value)}: {text}", ""


def _retyped(value: object, wanted: str) -> str:
    """Say how a value gets the wanted type, where only its quotes are wrong."""
    if wanted == "text" and isinstance(value, bool | int | float):
        return f'write "{json.dumps(value)}" in quotes'
    if isinstance(value, str):
        try:
            bare = json.loads(value)
        except ValueError:
            return ""
        fits = {"true or false": bool, "a whole number": int, "a number": float}.get(wanted)
        if fits and isinstance(bare, fits):
            return f"write {value.strip()} without quotes"
    return ""


def _shown_value(value: object) -> str:
    match value:
        case str():
            return f'the text "{shown(value)}"'
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "empty"
        case _:
            return json.dumps(value)


def _nearest(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    lowered = {key.lower(): key for key in known}
    if name.lower() in lowered:
        return f"did you mean {lowered[name.lower()]}?"
    return f"known here: {', '.join(known)}" if known else ""


def _known_keys(schema: Schema, path: Path) -> list[str]:
    """Return the keys that the schema allows in the mapping at ``path``, in its order."""
    nodes: list[Schema] = [schema]
    for step in path:
        nodes = [child for node in _branches(nodes, schema) for child in _children(node, step)]
    keys = [key for node in _branches(nodes, schema) for key in node.get("properties", ())]
    return list(dict.fromkeys(keys))


def _branches(nodes: Iterable[Schema], root: Schema) -> Iterator[Schema]:
    """Yield the nodes with references and alternatives resolved."""
    for node in nodes:
        yield node
        if "$ref" in node:
            name = node["$ref"].removeprefix("#/$defs/")
            yield from _branches([root["$defs"][name]], root)
        for choice in ("anyOf", "oneOf", "allOf"):
            yield from _branches(node.get(choice, ()), root)


def _children(node: Schema, step: str | int) -> Iterator[Schema]:
    if isinstance(step, int):
        children = [node.get("items"), *node.get("prefixItems", ())[step : step + 1]]
    else:
        named = node.get("properties", {}).get(step)
        children = [named or node.get("additionalProperties")]
    yield from (child for child in children if isinstance(child, dict))
