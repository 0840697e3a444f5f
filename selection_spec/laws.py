"""The load-time laws of a selection table, as far as they are no matter of shape (design §3).

Each law yields problems with the path of the field at fault; all laws are always checked, on every
part of the table that has the right shape.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from selection_spec.errors import Problem
from selection_spec.grammar import is_ours, name_problem
from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator, Requirement
from selection_spec.names import (
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
    resource_name_problem,
)
from selection_spec.parts import Parts, pool_of
from selection_spec.rows import CLAIMS
from selection_spec.schema import ClaimPart, DeviceRow, MatchExpression, OutputName, PriorityRule

# Everything that this project puts on objects lives below it, taints included.
OUR_DOMAIN = "gpuspec.preferred.jp"

Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, Problem]]

_VRAM = re.compile(r"([1-9][0-9]{0,5})gb", re.ASCII)
_SIMILAR_VRAM = re.compile(r"([1-9][0-9]{0,5}) ?(?:gb?|gib?)?", re.ASCII | re.IGNORECASE)
# Kubernetes allows a device's attribute no more.
_MAX_ATTRIBUTE = 64

MAX_EXPRESSION_BYTES = 10_240
"""Kubernetes allows a CEL selector no more (C2)."""

_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)

# With more, weights of N6 that stand next to each other are the same whole number, and the steps
# between them do nothing but make every Pod larger.
MAX_COST_STEPS = 12


def broken_laws(parts: Parts) -> Found:
    """Yield every broken law as the path below ``spec`` and the problem."""
    yield from _domain(parts.domain)
    for number, rule in parts.priorities.items():
        yield from below(("priorities", number), _priority_rule(rule))
    for number, row in parts.devices.items():
        yield from below(("devices", number), _row(row, parts.domain))
        if parts.output is not None:
            yield from below(("devices", number), _taken(row, parts.output))
    yield from below(("devices",), _between_rows(parts.devices))
    if parts.prefer_cheaper:
        yield from _cost_steps(parts)


def broken_name(name: str) -> Found:
    """Yield what is wrong with the name of a table, which is one of Kubernetes' objects."""
    if what := dns_subdomain_problem(name):
        lower = name.lower()
        fits = not dns_subdomain_problem(lower)
        hint = f"write {lower}" if fits else "use lower-case letters, digits and dashes"
        yield ("metadata", "name"), error("name", name, what, hint)


def vram_gb(text: str) -> int | None:
    """Return the nominal gigabytes that a row's ``vram`` says, None where it says none."""
    match = _VRAM.fullmatch(text)
    return int(match[1]) if match else None


def below(path: Path, found: Found) -> Found:
    """Yield what was found below a field with the path from above it."""
    for rest, problem in found:
        yield path + rest, problem


def error(field: str, value: object, what: str, hint: str, rule: str = "") -> Problem:
    """Return the problem of a field's value, in the words that all laws use."""
    return Problem(f'{field} "{value}" {what}', hint=hint, rule=rule)


def _domain(domain: str) -> Found:
    if what := dns_subdomain_problem(domain):
        yield ("resourceDomain",), error("resourceDomain", domain, what, "write a DNS domain")
    elif what := resource_name_problem(f"{domain}/gpu-any"):
        yield (
            ("resourceDomain",),
            error("resourceDomain", domain, what, "use a domain of your own"),
        )


def _priority_rule(rule: PriorityRule) -> Found:
    given = [name for name in ("class_names", "min_value") if getattr(rule, name) is not None]
    if len(given) != 1:
        what = "neither classNames nor minValue" if not given else "both classNames and minValue"
        yield (), Problem(f"a priority rule has {what}", hint="give exactly one of them", rule="D3")
    for number, name in enumerate(rule.class_names or ()):
        if what := dns_subdomain_problem(name):
            hint = "write the name of a PriorityClass"
            yield ("classNames", number), error("class name", name, what, hint, "D3")
    if rule.class_names == []:
        hint = "name a PriorityClass, or remove the rule"
        yield ("classNames",), Problem("classNames is empty", hint=hint, rule="D3")


def _row(row: DeviceRow, domain: str) -> Found:
    for field, name in [(("name",), row.name), *_aliases(row)]:
        if what := name_problem(name):
            hint = "use lower-case parts such as a100 or rtx-4090, without the memory"
            yield field, error(str(field[0]).removesuffix("es"), name, what, hint, "G6")
    if vram_gb(row.vram) is None:
        yield ("vram",), error("vram", row.vram, "is no nominal memory", _vram_hint(row.vram))
    yield from _nodes(row)
    yield from _tolerations(row)
    if row.resource is not None:
        yield from _resource(row.resource, domain)
    if row.claim is not None:
        yield from below(("claim",), _claim(row.claim))


def _resource(resource: str, domain: str) -> Found:
    if what := resource_name_problem(resource):
        hint = "write the resource of the device plugin, such as nvidia.com/gpu"
        yield ("resource",), error("resource", resource, what, hint)
    elif resource.startswith(f"{domain}/") and is_ours(resource.partition("/")[2]):
        hint = "write the resource of the device plugin; this would be translated again"
        yield ("resource",), error("resource", resource, "is itself a spec", hint)


def _taken(row: DeviceRow, output: OutputName) -> Found:
    """A row needs what its output hands out."""
    taken_as = row.output or output
    if taken_as == CLAIMS:
        if row.claim is None:
            hint = "give deviceClassName and driver, or set output: ExtendedResource"
            yield ("claim",), Problem(f"claim is missing, output is {taken_as}", hint=hint)
    elif row.resource is None:
        hint = "write the resource of the device plugin, such as nvidia.com/gpu"
        yield ("resource",), Problem(f"resource is missing, output is {taken_as}", hint=hint)


def _claim(claim: ClaimPart) -> Found:
    for field, name, hint in (
        ("deviceClassName", claim.device_class_name, "write the name of a DeviceClass"),
        ("driver", claim.driver, "write the driver as its ResourceSlices have it"),
    ):
        if what := dns_subdomain_problem(name):
            yield (field,), error(field, name, what, hint)
    for number, product in enumerate(claim.products):
        hint = "write it as the driver's ResourceSlices have it"
        if not 0 < (size := len(product.encode())) <= _MAX_ATTRIBUTE:
            what = f"has {size} bytes, a device's attribute has 1 to {_MAX_ATTRIBUTE}"
            yield ("products", number), error("product", product[:_MAX_ATTRIBUTE], what, hint)
        elif not product.isprintable():
            what = "has characters that are not printable"
            yield ("products", number), error("product", repr(product)[1:-1], what, hint)
    for number, selector in enumerate(claim.selectors):
        size = len(selector.cel.expression.encode())
        if not 0 < size <= MAX_EXPRESSION_BYTES:
            what = f"the expression has {size} bytes, a selector has 1 to {MAX_EXPRESSION_BYTES}"
            hint = "write true for every device" if not size else "split it into several selectors"
            yield ("selectors", number, "cel", "expression"), Problem(what, hint=hint, rule="C2")


def _aliases(row: DeviceRow) -> list[tuple[Path, str]]:
    return [(("aliases", number), alias) for number, alias in enumerate(row.aliases)]


def _vram_hint(text: str) -> str:
    similar = _SIMILAR_VRAM.fullmatch(text.strip())
    return f"write {similar[1]}gb" if similar else "write whole gigabytes such as 24gb"


def _nodes(row: DeviceRow) -> Found:
    labels, expressions = row.nodes.match_labels, row.nodes.match_expressions
    if not labels and not expressions:
        hint = "give matchLabels or matchExpressions"
        yield ("nodes",), Problem("nodes names no label, so every node would match", hint=hint)
    for key, value in labels.items():
        path: Path = ("nodes", "matchLabels", key)
        if what := label_key_problem(key):
            yield path, error("label key", key, what, "write it as the node has it")
        if what := label_value_problem(value):
            yield path, error("label value", value, what, "write it as the node has it")
    for number, expression in enumerate(expressions):
        yield from below(("nodes", "matchExpressions", number), _expression(expression))
    yield from _keys_twice(row)
    yield from _platform(row)


def _expression(expression: MatchExpression) -> Found:
    if what := label_key_problem(expression.key):
        yield ("key",), error("label key", expression.key, what, "write it as the node has it")
    for number, value in enumerate(expression.values):
        if what := label_value_problem(value):
            hint = "write it as the node has it"
            yield ("values", number), error("label value", value, what, hint)
    operator, count = expression.operator, len(expression.values)
    if operator in ("In", "NotIn") and count == 0:
        yield ("values",), Problem(f"{operator} needs values", hint="list the label's values")
    if operator in ("Exists", "DoesNotExist") and count:
        hint = "remove values, or use In or NotIn"
        yield ("values",), Problem(f"{operator} takes no values", hint=hint)
    if operator in ("Gt", "Lt") and (count != 1 or not _INTEGER.fullmatch(expression.values[0])):
        hint = 'write one, in quotes: ["40000"]'
        yield ("values",), Problem(f"{operator} needs exactly one integer", hint=hint)


def _keys_twice(row: DeviceRow) -> Found:
    seen = set(row.nodes.match_labels)
    for number, expression in enumerate(row.nodes.match_expressions):
        if expression.key in seen:
            hint = "say everything about one label in one expression"
            yield (
                ("nodes", "matchExpressions", number, "key"),
                error("label key", expression.key, "is set twice in this row", hint),
            )
        seen.add(expression.key)


def _platform(row: DeviceRow) -> Found:
    """A row's own labels may not contradict its os and arch, or nothing would ever match."""
    for key, field, value in ((ARCH_LABEL, "arch", row.arch), (OS_LABEL, "os", row.os)):
        said = row.nodes.match_labels.get(key, value)
        if said != value:
            path: Path = ("nodes", "matchLabels", key)
            what = f"contradicts {field} {value}"
            yield path, error(f"label {key}", said, what, f"set {field}: {said}", "D10")
        for number, one in enumerate(row.nodes.match_expressions):
            requirement = Requirement(one.key, Operator(one.operator), tuple(one.values))
            if one.key == key and not requirement.admits(value):
                path = ("nodes", "matchExpressions", number)
                text = f"the expression on {key} contradicts {field} {value}"
                hint = f"set {field} to what the nodes have"
                yield path, Problem(text, hint=hint, rule="D10")


def _tolerations(row: DeviceRow) -> Found:
    for number, toleration in enumerate(row.tolerations):
        path: Path = ("tolerations", number)
        if what := label_key_problem(toleration.key):
            hint = "name the taint; tolerating every taint is not possible here"
            yield (*path, "key"), error("toleration key", toleration.key, what, hint, "N5")
        elif toleration.key.startswith(f"{OUR_DOMAIN}/"):
            hint = "remove it; such tolerations are added where they are due"
            what = "is a taint of this project"
            yield (*path, "key"), error("toleration key", toleration.key, what, hint, "N5")
        if toleration.value is not None and toleration.operator == "Exists":
            hint = "remove the value, or use operator Equal"
            yield (*path, "value"), Problem("operator Exists takes no value", hint=hint)
        if what := label_value_problem(toleration.value or ""):
            hint = "write it as the taint has it"
            yield (*path, "value"), error("toleration value", toleration.value, what, hint)


def _cost_steps(parts: Parts) -> Found:
    """N6 within the rows of one pool: those that one Pod may have to choose from (D9)."""
    costs: dict[str, set[int]] = {}
    for row in parts.devices.values():
        costs.setdefault(pool_of(row, parts.output or "ExtendedResource"), set()).add(row.cost)
    for pool, steps in costs.items():
        if len(steps) > MAX_COST_STEPS:
            rows = f"of output {pool}" if pool == CLAIMS else f"of {pool}"
            what = f"the rows {rows} have {len(steps)} different costs"
            hint = (
                f"use at most {MAX_COST_STEPS}, a Pod's preferences tell no more apart; "
                "or set preferCheaper: false"
            )
            yield ("devices",), Problem(what, hint=hint, rule="N6")


def _between_rows(rows: Mapping[int, DeviceRow]) -> Found:
    first: dict[str, int] = {}
    for number, row in rows.items():
        row_id = f"{row.name}-{row.vram}"
        if row_id in first:
            hint = "one row may match several labels with matchExpressions"
            what = f"is also spec.devices[{first[row_id]}]"
            yield (number, "name"), error("row", row_id, what, hint)
        first.setdefault(row_id, number)
    names = Counter(row.name for row in rows.values())
    for number, row in rows.items():
        for place, alias in enumerate(row.aliases):
            if names[alias] > (alias == row.name):
                hint = "an alias may stand for several rows but not for a row's name"
                what = "is the name of another row"
                yield (number, "aliases", place), error("alias", alias, what, hint, "G2")
            if alias in row.aliases[:place]:
                hint = "remove one of them"
                yield (number, "aliases", place), error("alias", alias, "is listed twice", hint)
