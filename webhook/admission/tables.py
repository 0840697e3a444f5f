"""From the review of a SelectionTable to the answer: load-time laws, smells, and the table in use.

A bad table is never stored, so that the one in force can always be read again. No live table is
needed here: a replica that has none yet validates all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from selection_spec.errors import GpuspecError, Level, Problem
from selection_spec.names import dns_subdomain_problem
from selection_spec.schema import DEFAULT_DOMAIN
from selection_spec.table import smells_of
from webhook.admission import messages
from webhook.admission.decide import Decision
from webhook.admission.reasons import Reason
from webhook.admission.review import allowed, bad_request, denied, read_request, text_of
from webhook.admission.translate import Verdict
from webhook.terms import (
    ALLOW_DELETE_ANNOTATION,
    MAX_TABLE_MESSAGE_BYTES,
    TABLE_GROUP,
    TABLE_KIND,
    TABLE_PLURAL,
)

Json = dict[str, Any]

_ROW = re.compile(r"spec\.devices\[([0-9]+)\]", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What was made of a request; a message refuses it."""

    reason: Reason
    message: str = ""
    warnings: Sequence[Problem] = ()


def decide_table(document: object, in_use: str) -> Decision:
    """Answer an AdmissionReview of a SelectionTable; any other kind and operation is allowed.

    Args:
        document: The review.
        in_use: The name of the table that decides, which cannot be deleted by accident.

    Raises:
        Undecidable: It is no AdmissionReview that can be answered, or has no table in it (R6).
    """
    uid, request = read_request(document)
    judgement = _judge(request, in_use)
    texts = messages.warnings(judgement.warnings)
    if judgement.message:
        answer = denied(uid, judgement.message, texts)
    else:
        answer = allowed(uid, warnings=texts)
    return Decision(
        answer=answer,
        outcome=Verdict.DENIED if judgement.message else Verdict.UNCHANGED,
        reason=judgement.reason,
        uid=uid,
        namespace="",
        name=_name(request),
        dry_run=request.get("dryRun") is True,
    )


def _judge(request: Json, in_use: str) -> _Judgement:
    operation = request.get("operation")
    if not _is_about_a_table(request) or operation not in ("CREATE", "UPDATE", "DELETE"):
        return _Judgement(Reason.OTHER_OPERATION)
    former = None if operation == "CREATE" else _object(request, "oldObject")
    if operation == "DELETE":
        return _deletion(former or {}, _name(request), in_use)
    table = _object(request, "object")
    if former is not None and former.get("spec") == table.get("spec"):
        # Whatever else is changed, such as a finalizer, may be needed to get rid of a bad table.
        return _Judgement(Reason.OTHER_OPERATION)
    return _stored(table, former, _name(request), in_use)


def _stored(table: Json, former: Json | None, name: str, in_use: str) -> _Judgement:
    problems = list(_moved_domain(table, former or {}))
    smells: tuple[Problem, ...] = ()
    try:
        smells = smells_of(table)
    except GpuspecError as error:
        problems += error.problems
    if problems:
        head = f'SelectionTable "{name}" is refused:'
        lines = [head, *(_located(problem, table) for problem in problems)]
        message = messages.bounded(lines, MAX_TABLE_MESSAGE_BYTES)
        return _Judgement(Reason.BAD_TABLE, message)
    return _Judgement(Reason.GOOD_TABLE, warnings=(*_out_of_use(name, in_use), *smells))


def _moved_domain(table: Json, former: Json) -> Iterator[Problem]:
    """G1: another domain would silently switch admission off for everybody's manifests."""
    domain, before = _domain(table), _domain(former)
    if former and domain != before and not dns_subdomain_problem(before):
        yield Problem(
            f'resourceDomain cannot change from "{before}" to "{domain}", which would leave every '
            f"{before}/gpu-… untranslated",
            path="spec.resourceDomain",
            hint="keep it, or delete the table and create it anew",
            rule="G1",
        )


def _domain(table: Json) -> str:
    spec = table.get("spec")
    domain = spec.get("resourceDomain") if isinstance(spec, dict) else None
    return domain if isinstance(domain, str) else DEFAULT_DOMAIN


def _deletion(table: Json, name: str, in_use: str) -> _Judgement:
    annotations = _metadata(table).get("annotations")
    marks = annotations if isinstance(annotations, dict) else {}
    if name != in_use or marks.get(ALLOW_DELETE_ANNOTATION) == "true":
        return _Judgement(Reason.GOOD_TABLE)
    message = (
        f'SelectionTable "{name}" is in use, and without it the built-in table would decide; '
        f"to delete it all the same, first run: kubectl annotate {TABLE_KIND.lower()} {name} "
        f"{ALLOW_DELETE_ANNOTATION}=true"
    )
    return _Judgement(Reason.TABLE_IN_USE, message)


def _out_of_use(name: str, in_use: str) -> Iterator[Problem]:
    if name != in_use:
        text = f'this table decides nothing, the one in use is called "{in_use}"'
        yield Problem(text, level=Level.WARNING)


def _located(problem: Problem, table: Json) -> str:
    """Return a line with the path, and with the row's name, which is easier to find than [37]."""
    found = _ROW.match(problem.path)
    row = table["spec"]["devices"][int(found[1])] if found else None
    name = text_of(row.get("name")) if isinstance(row, dict) else ""
    place = f"{problem.path} ({name})" if name else problem.path
    return f"{place}: {problem.text()}" if place else problem.text()


def _is_about_a_table(request: Json) -> bool:
    resource = request.get("resource")
    return (
        not request.get("subResource")
        and isinstance(resource, dict)
        and (resource.get("group"), resource.get("resource")) == (TABLE_GROUP, TABLE_PLURAL)
    )


def _object(request: Json, field: str) -> Json:
    found = request.get(field)
    if not isinstance(found, dict):
        raise bad_request(f"request.{field} is no {TABLE_KIND}; send the object")
    return found


def _name(request: Json) -> str:
    """Return the table's name; the deletion of a whole collection has it in the object alone."""
    for field in ("object", "oldObject"):
        if name := text_of(_metadata(request.get(field)).get("name")):
            return name
    return text_of(request.get("name"))


def _metadata(table: object) -> Json:
    metadata = table.get("metadata") if isinstance(table, dict) else None
    return metadata if isinstance(metadata, dict) else {}
