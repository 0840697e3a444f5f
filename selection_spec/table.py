"""The selection table: loaded once, asked for every Pod (design §3)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ValidationError

from selection_spec.catalog import default_table_text
from selection_spec.documents import (
    Document,
    field_path,
    load_manifests,
    load_strict,
    problems_from_validation,
)
from selection_spec.drivers import PLUGIN_RESOURCES
from selection_spec.errors import DocumentError, Problem, TableError
from selection_spec.health import HealthPolicy
from selection_spec.health_section import canonical, policy_of
from selection_spec.index import RowIndex, select
from selection_spec.labels import Operator, Requirement, Toleration, of_labels
from selection_spec.laws import Found, Path, broken_laws, broken_name, vram_gb
from selection_spec.laws_health import broken_health_laws
from selection_spec.parts import Parts, mended_parts, parts_of
from selection_spec.recognition import Recognition
from selection_spec.rows import Claim, Output, Policy, PriorityRule, Row
from selection_spec.schema import ClaimPart, DeviceRow, Metadata, TableDocument, TableSpec
from selection_spec.smells import smells

_DIGEST_CHARACTERS = 16


@dataclass(frozen=True)
class Table:
    """A selection table that has passed all its laws; immutable.

    Attributes:
        rows: The rows in D8 order: cheapest, then smallest, then by name.
        index: The sets of rows by every property that a rule asks for.
        names: Every device name and alias that users may write.
        resources: The extended resources that any row's devices are requested by, also of rows that
            are taken by claims.
        rivals: These, and what the vendors of claimed devices hand out besides: other ways to ask
            for the same devices (A5).
        has_health: Whether the table has a health section (N6).
        health: What it says, the defaults where there is none.
        digest: The first 16 hex digits of the SHA-256 of the canonical spec: the same for the same
            content, whatever its spelling or order.
    """

    name: str
    domain: str
    rows: tuple[Row, ...]
    digest: str
    priorities: tuple[PriorityRule, ...] = ()
    default_policy: Policy = Policy.EVERY_FIT
    prefer_cheaper: bool = True
    mixed_nodes: bool = False
    has_health: bool = False
    health: HealthPolicy = field(default_factory=HealthPolicy)

    # Worked out while the table is loaded, not by the first Pod that meets it.
    index: RowIndex = field(init=False, repr=False, compare=False)
    names: frozenset[str] = field(init=False, repr=False, compare=False)
    resources: frozenset[str] = field(init=False, repr=False, compare=False)
    rivals: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = RowIndex(self.rows)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "names", frozenset(index.by_name))
        resources = frozenset(row.resource for row in self.rows if row.resource)
        object.__setattr__(self, "resources", resources)
        served = (_served(row.claim) for row in self.rows if row.claim is not None)
        object.__setattr__(self, "rivals", resources.union(*served))

    @cached_property
    def recognition(self) -> Recognition:
        """Finds rows by the claims that were written for them (R2); made when first asked for."""
        return Recognition(self.rows)

    def select(self, rows: int) -> tuple[Row, ...]:
        """Return the rows of a set, in D8 order."""
        return tuple(select(self.rows, rows))


def load_table(text: str | bytes) -> Table:
    """Read a SelectionTable from YAML or JSON.

    Raises:
        DocumentError: The text is no strict YAML; problems with line and column.
        TableError: It breaks the schema or a load-time law; every problem with path and line, those
            of the text among them.
    """
    return _build(_checked(*_read(text)))


def table_of(value: object) -> Table:
    """Return the table that an object of the API server is.

    Raises:
        TableError: It breaks the schema or a load-time law; every problem with its path, none with
            a line.
    """
    return _build(_checked(Document.of_value(value)))


def smells_in(text: str | bytes) -> tuple[Problem, ...]:
    """Return what is doubtful in a table that loads, with path, line and column.

    Raises:
        DocumentError, TableError: It does not load (``load_table``).
    """
    document, unread = _read(text)
    return _smells(_checked(document, unread), document)


def located_in(text: str | bytes, found: Iterable[tuple[Path, Problem]]) -> tuple[Problem, ...]:
    """Return problems with path, line and column, in the order of the text.

    Args:
        text: A table that loads.
        found: Paths below ``spec`` and problems; ``("devices", ID)`` is the row of that id.

    Raises:
        DocumentError, TableError: It does not load (``load_table``).
    """
    document, unread = _read(text)
    rows = enumerate(_checked(document, unread).spec.devices)
    places: dict[str | int, int] = {f"{row.name}-{row.vram}": number for number, row in rows}
    located = (
        _located(problem, ("spec", *(places.get(part, part) for part in path)), document)
        for path, problem in found
    )
    return tuple(sorted(located, key=_place))


def smells_of(value: object) -> tuple[Problem, ...]:
    """Return what is doubtful in an object of the API server that is a table, with its path.

    Raises:
        TableError: It is none (``table_of``).
    """
    document = Document.of_value(value)
    return _smells(_checked(document), document)


def problems_of(document: Document) -> tuple[Problem, ...]:
    """Return what is wrong with a table among other documents; where nothing is, what is doubtful.

    What is doubtful is of level warning or note. All of it has path, line and column.
    """
    try:
        checked = _checked(document)
    except TableError as error:
        return error.problems
    return _smells(checked, document)


def builtin_table() -> Table:
    """Return the table that serves where an admin gave none."""
    return load_table(default_table_text())


def _read(text: str | bytes) -> tuple[Document, tuple[Problem, ...]]:
    """Return the document, and what is wrong with the text where its values are known all the same.

    Raises:
        DocumentError: There is no one document whose values could be judged any further.
    """
    try:
        return load_strict(text), ()
    except DocumentError as error:
        try:
            documents = load_manifests(text)
        except DocumentError:
            raise error from None
        if len(documents) != 1:
            raise
        return documents[0], error.problems


def _checked(document: Document, unread: Sequence[Problem] = ()) -> TableDocument:
    """Hold a document against the schema and all laws.

    Args:
        document: The document.
        unread: What is wrong with its text though its values are known.
    """
    problems: list[Problem] = []
    parsed = None
    try:
        parsed = TableDocument.model_validate(document.value)
    except ValidationError as error:
        problems += problems_from_validation(error, document, TableDocument)
        parts, name = mended_parts(document.value), _name(document.value)
    else:
        parts, name = parts_of(parsed.spec), parsed.metadata.name
    problems += (_located(problem, path, document) for path, problem in broken_name(name))
    problems += (_located(problem, ("spec", *path), document) for path, problem in _broken(parts))
    # A value that is read otherwise than it looks is wrong once, not twice.
    doubtful = {problem.path for problem in unread}
    problems = [problem for problem in problems if problem.path not in doubtful]
    if problems:
        raise TableError(sorted((*unread, *problems), key=_place))
    if unread or parsed is None:
        raise DocumentError(unread)
    return parsed


def _broken(parts: Parts) -> Found:
    yield from broken_laws(parts)
    if parts.health is not None:
        yield from broken_health_laws(parts.health, parts.row_ids)


def _name(value: object) -> str:
    """Return what a document of any shape is called; what is no name is told elsewhere."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else Metadata().name


def _smells(parsed: TableDocument, document: Document) -> tuple[Problem, ...]:
    found = (_located(problem, ("spec", *path), document) for path, problem in smells(parsed.spec))
    return tuple(sorted(found, key=_place))


def _place(problem: Problem) -> tuple[int, int, list[str | int]]:
    """Return where a problem stands in the text; without one, items count in their order."""
    if problem.line:
        return problem.line, problem.column, []
    parts = re.split(r"([0-9]+)", problem.path)
    return 0, 0, [int(part) if part.isdecimal() else part for part in parts]


def _located(problem: Problem, path: tuple[str | int, ...], document: Document) -> Problem:
    line, column = document.position(path)
    return Problem(
        problem.message, field_path(path), problem.hint, problem.rule, line, column, problem.level
    )


def _build(document: TableDocument) -> Table:
    spec = document.spec
    return Table(
        name=document.metadata.name,
        domain=spec.resource_domain,
        rows=tuple(
            sorted((_row(row, spec.output) for row in spec.devices), key=lambda row: row.order)
        ),
        digest=_digest(spec),
        priorities=tuple(
            PriorityRule(
                policy=Policy(rule.policy),
                class_names=None if rule.class_names is None else frozenset(rule.class_names),
                min_value=rule.min_value,
            )
            for rule in spec.priorities
        ),
        default_policy=Policy(spec.default_policy),
        prefer_cheaper=spec.prefer_cheaper,
        mixed_nodes=spec.mixed_nodes,
        has_health=spec.health is not None,
        health=HealthPolicy() if spec.health is None else policy_of(spec.health),
    )


def _digest(spec: TableSpec) -> str:
    """Hash what the table means: whatever is a set in any order, defaults filled in."""
    plain = spec.model_dump(mode="json", by_alias=True)
    plain["devices"] = sorted(plain["devices"], key=lambda row: (row["name"], row["vram"]))
    for row in plain["devices"]:
        row["aliases"] = sorted(row["aliases"])
        # What is not said is left out, as before it could be.
        if row["claim"] is None:
            del row["claim"]
        else:
            row["claim"]["products"] = sorted(row["claim"]["products"])
            if not row["claim"]["selectors"]:
                del row["claim"]["selectors"]
        if row["resource"] is None:
            del row["resource"]
        if row["output"] in (None, plain["output"]):
            del row["output"]
        expressions = row["nodes"]["matchExpressions"]
        row["nodes"]["matchExpressions"] = sorted(expressions, key=lambda one: one["key"])
    for rule in plain["priorities"]:
        rule["classNames"] = rule["classNames"] and sorted(rule["classNames"])
    if spec.health is not None:
        plain["health"] = canonical(policy_of(spec.health))
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _row(row: DeviceRow, output: str) -> Row:
    gigabytes = vram_gb(row.vram)
    if gigabytes is None:
        raise AssertionError(row.vram)  # the laws were checked before
    return Row(
        name=row.name,
        aliases=tuple(row.aliases),
        vram_gb=gigabytes,
        per_node=row.per_node,
        cost=row.cost,
        any=row.any,
        reserved=row.reserved,
        os=row.os,
        arch=row.arch,
        nodes=_requirements(row.nodes.match_labels, _expressions(row)),
        tolerations=tuple(
            Toleration(one.key, one.operator, one.value, one.effect) for one in row.tolerations
        ),
        resource=row.resource or "",
        output=Output(row.output or output),
        claim=None if row.claim is None else _claim(row.claim),
    )


def _served(claim: Claim) -> tuple[str, ...]:
    """Return what device plugins call a driver's devices; of an unknown one as most do."""
    usual = f"{claim.driver.removeprefix('gpu.')}/gpu"
    return PLUGIN_RESOURCES.get(claim.driver, (usual,))


def _claim(claim: ClaimPart) -> Claim:
    return Claim(
        claim.device_class_name,
        claim.driver,
        tuple(dict.fromkeys(claim.products)),
        tuple(dict.fromkeys(one.cel.expression for one in claim.selectors)),
    )


def _expressions(row: DeviceRow) -> Iterable[Requirement]:
    # Values are a set to Kubernetes; without repetition they also compare as one.
    return (
        Requirement(one.key, Operator(one.operator), tuple(dict.fromkeys(one.values)))
        for one in row.nodes.match_expressions
    )


def _requirements(
    labels: Mapping[str, str], expressions: Iterable[Requirement]
) -> tuple[Requirement, ...]:
    return tuple(sorted((*of_labels(labels), *expressions), key=lambda one: one.key))
