"""What an admin changed in a table: settings, rows that came or went, fields of those that stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from selection_spec.labels import Requirement, Toleration
from selection_spec.rows import Claim, PriorityRule, Row
from selection_spec.table import Table
from webhook.advice import words
from webhook.advice.health_changes import Reach, health_fields, reaches
from webhook.advice.words import NOTHING, listed


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after, in words.

    Attributes:
        row: The id of the row in the new table; "" for a field of the table itself.
        alike: What all fields share that changed in the same way: ``cost: 3 → 1``.
    """

    row: str
    field: str
    before: str
    after: str
    alike: str


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Everything that differs between two tables as they are written.

    Attributes:
        successors: For each row of the old table that is still there the id in the new one.
        renamed: Those of them that have another id now.
        reaches: Rows with which health goes further.
    """

    settings: tuple[FieldChange, ...]
    added: tuple[Row, ...]
    removed: tuple[Row, ...]
    renamed: tuple[tuple[str, str], ...]
    changed: tuple[FieldChange, ...]
    successors: Mapping[str, str]
    reaches: tuple[Reach, ...] = ()


def table_changes(old: Table, new: Table) -> TableChanges:
    """Compare two tables row by row; the order in which they are written means nothing."""
    successors = _successors(old, new)
    before = {row.id: row for row in old.rows}
    after = {row.id: row for row in new.rows}
    kept = set(successors.values())
    return TableChanges(
        settings=tuple(_settings(old, new)),
        added=tuple(row for row in new.rows if row.id not in kept),
        removed=tuple(row for row in old.rows if row.id not in successors),
        renamed=tuple((one, other) for one, other in successors.items() if one != other),
        changed=tuple(
            change
            for one, other in successors.items()
            for change in _fields(before[one], after[other])
        ),
        successors=successors,
        reaches=reaches(old, new, successors),
    )


def _successors(old: Table, new: Table) -> dict[str, str]:
    """Find each old row among the new ones: by its id, else by the nodes that it means.

    A row whose name or memory was corrected still means the same devices.
    """
    ids = {row.id for row in new.rows}
    found = {row.id: row.id for row in old.rows if row.id in ids}
    unclaimed: dict[tuple[Requirement, ...], list[str]] = {}
    for row in new.rows:
        if row.id not in found:
            unclaimed.setdefault(row.nodes, []).append(row.id)
    for row in old.rows:
        if row.id not in found and unclaimed.get(row.nodes):
            found[row.id] = unclaimed[row.nodes].pop()
    return {row.id: found[row.id] for row in old.rows if row.id in found}


def _settings(old: Table, new: Table) -> Iterator[FieldChange]:
    for field, before, after in (
        ("resourceDomain", old.domain, new.domain),
        ("defaultPolicy", old.default_policy.value, new.default_policy.value),
        ("preferCheaper", _flag(old.prefer_cheaper), _flag(new.prefer_cheaper)),
        ("mixedNodes", _flag(old.mixed_nodes), _flag(new.mixed_nodes)),
        ("health", _presence(old.has_health), _presence(new.has_health)),
        *health_fields(old.health, new.health),
        ("priorities", _priorities(old.priorities), _priorities(new.priorities)),
    ):
        if before != after:
            yield _change("", field, before, after)


def _fields(old: Row, new: Row) -> Iterator[FieldChange]:
    for field, before, after in (
        ("vram", f"{old.vram_gb}gb", f"{new.vram_gb}gb"),
        ("aliases", listed(old.aliases), listed(new.aliases)),
        ("perNode", str(old.per_node), str(new.per_node)),
        ("cost", str(old.cost), str(new.cost)),
        ("any", _flag(old.any), _flag(new.any)),
        ("reserved", _flag(old.reserved), _flag(new.reserved)),
        ("os", old.os, new.os),
        ("arch", old.arch, new.arch),
        ("output", old.output.value, new.output.value),
        ("resource", old.resource or NOTHING, new.resource or NOTHING),
        *_claim_fields(old.claim, new.claim),
    ):
        if before != after:
            yield _change(new.id, field, before, after)
    if old.nodes != new.nodes:
        before, after = words.labels(old.nodes), words.labels(new.nodes)
        yield _change(new.id, "nodes", before, after, _rekeyed(old.nodes, new.nodes))
    if set(old.tolerations) != set(new.tolerations):
        yield _change(
            new.id,
            "tolerations",
            _tolerations(old.tolerations),
            _tolerations(new.tolerations),
            _rekeyed(old.tolerations, new.tolerations),
        )


def _claim_fields(old: Claim | None, new: Claim | None) -> Iterator[tuple[str, str, str]]:
    if old is None or new is None:
        yield "claim", _claim(old), _claim(new)
        return
    yield "claim.deviceClassName", old.device_class, new.device_class
    yield "claim.driver", old.driver, new.driver
    yield "claim.products", listed(old.products), listed(new.products)
    yield "claim.selectors", _expressions(old.selectors), _expressions(new.selectors)


def _claim(claim: Claim | None) -> str:
    if claim is None:
        return NOTHING
    asked = f"DeviceClass {claim.device_class}, driver {claim.driver}"
    products = f", products {listed(claim.products)}" if claim.products else ""
    selectors = f", selectors {_expressions(claim.selectors)}" if claim.selectors else ""
    return f"{asked}{products}{selectors}"


def _expressions(expressions: Iterable[str]) -> str:
    return " and ".join(" ".join(one.split()) for one in expressions) or NOTHING


def _change(row: str, field: str, before: str, after: str, alike: str = "") -> FieldChange:
    said = alike or f"{before} → {after}"
    return FieldChange(row, field, before, after, f"{field}: {said}")


def _rekeyed(
    old: Iterable[Requirement | Toleration], new: Iterable[Requirement | Toleration]
) -> str:
    """Say which key became which, where that is all that changed; a renamed label is one thing."""
    gone, come = set(old) - set(new), set(new) - set(old)
    keys, other_keys = {one.key for one in gone}, {one.key for one in come}
    if len(keys) != 1 or len(other_keys) != 1 or keys == other_keys:
        return ""
    if {_but_the_key(one) for one in gone} != {_but_the_key(one) for one in come}:
        return ""
    return f"key {keys.pop()} → {other_keys.pop()}, values as before"


def _but_the_key(one: Requirement | Toleration) -> tuple[object, ...]:
    if isinstance(one, Requirement):
        return (one.operator, frozenset(one.values))
    return (one.operator, one.value, one.effect)


def _tolerations(tolerations: Iterable[Toleration]) -> str:
    return listed(map(words.toleration, tolerations))


def _priorities(rules: Iterable[PriorityRule]) -> str:
    texts = [
        f"{rule.policy} for class {', '.join(sorted(rule.class_names))}"
        if rule.class_names is not None
        else f"{rule.policy} from {rule.min_value}"
        for rule in rules
    ]
    return "; ".join(texts) or NOTHING


def _flag(flag: bool) -> str:  # noqa: FBT001 - the flag is what is put into words
    return "true" if flag else "false"


def _presence(there: bool) -> str:  # noqa: FBT001 - the same
    return "set" if there else NOTHING
