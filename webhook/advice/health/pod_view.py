"""``health explain POD``: which devices a Pod holds, how they fare, and what would become of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from selection_spec.health import Mode
from webhook.advice.health.fates import Fate, State, fates
from webhook.advice.health.health_json import about_json, named
from webhook.advice.health.judged import NO_ROW, Judged
from webhook.advice.health.phrases import since
from webhook.advice.health.subject_text import held_back
from webhook.advice.words import NOTHING, wrapped
from webhook.health.cases import Case, Verdict
from webhook.health.decisions import Decision
from webhook.health.mishaps import held_by
from webhook.health.permits import Permit, permit
from webhook.health.subjects import Subject, node_subject, plugin_subject
from webhook.inventory.pod_facts import PodFacts
from webhook.terms import ON_FAILURE_ANNOTATION

Json = dict[str, Any]

_INDENT = "  "
_SAID = {
    State.GOES: "it is evicted now, if its PodDisruptionBudgets let it go",
    State.FOLLOWS: "it is evicted once no new Pod can come there",
    State.REFUSED: "it is evicted once that is allowed: {why}",
    State.WAITS: "it waits for a budget: {why}",
    State.LEFT_ALONE: "it is left alone: {why}",
    State.STAYS: "it stays: {why}",
    State.LEAVES: "it is being deleted already",
    State.EVICTED: "it was evicted, and is being deleted already",
}
_NOBODY = f"it stays, for mode {Mode.OBSERVE} evicts nobody"
_OBSERVED = {
    **_SAID,
    State.GOES: f"{_NOBODY}; mode {Mode.EVICT} would evict it",
    State.REFUSED: f"{_NOBODY}; mode {Mode.EVICT} would, once that is allowed: {{why}}",
    State.WAITS: "it would wait for a budget: {why}",
    State.STAYS: "it would stay: {why}",
}
_UNTOLD = "it stays: its status does not say whether it holds what has failed"


def pod_text(pod: PodFacts, judged: Judged) -> str:
    """Return the explanation for people, in lines of 80 columns."""
    lines = [
        f"Pod {pod.key} of {judged.about.server}, {judged.about.kubernetes}",
        _place(pod, judged),
        f"{ON_FAILURE_ANNOTATION}: {pod.on_failure or NOTHING}",
    ]
    parts = ["\n".join(map(wrapped, lines)), "\n".join(_devices(pod, judged))]
    return "\n\n".join((*parts, "\n".join(wrapped(said) for said in _fate(pod, judged))))


def pod_json(pod: PodFacts, judged: Judged) -> Json:
    """Return the explanation for programs."""
    fate = _fate_of(pod, judged)
    given = _permit(pod, judged)
    is_given, why = (given.is_given, given.why) if fate is None else (fate.goes, fate.why)
    return {
        **about_json(judged),
        "pod": pod.key,
        "node": pod.node or None,
        "rows": list(judged.moment.rows(pod.node)),
        "nodeMode": judged.moment.mode(pod.node).value,
        "owner": str(pod.owner),
        "onDeviceFailure": pod.on_failure or None,
        "resources": dict(sorted(pod.devices.items())),
        "devices": [
            {**named(subject), "verdict": _verdict(judged.case_of(subject)).value}
            for subject in subjects_of(pod, judged)
        ],
        "evictable": is_given,
        "becomes": None if fate is None else fate.state.value,
        "why": why or None,
    }


def subjects_of(pod: PodFacts, judged: Judged) -> tuple[Subject, ...]:
    """Return what a Pod depends on: its devices as far as they can be told, and its node."""
    if not pod.node or pod.finished or not _has_devices(pod, judged):
        return ()
    known = tuple(held_by(pod, judged.moment.observed))
    named_ones = {subject.resource for subject in known}
    untold = tuple(
        plugin_subject(pod.node, resource)
        for resource in sorted(pod.devices)
        if resource in judged.moment.observed.resources
        and resource not in named_ones
        and resource not in pod.by_claim
    )
    return (*known, *untold, node_subject(pod.node))


def _has_devices(pod: PodFacts, judged: Judged) -> bool:
    observed = judged.moment.observed
    return bool(
        not observed.resources.isdisjoint(pod.devices) or observed.holdings.devices.get(pod.uid)
    )


def _place(pod: PodFacts, judged: Judged) -> str:
    if not pod.node:
        return "on no node yet, so it holds no device"
    if pod.finished:
        return f"has ended on node {pod.node}, so it holds no device any more"
    rows = ", ".join(judged.moment.rows(pod.node)) or NO_ROW
    return f"on node {pod.node}, row: {rows}, mode {judged.moment.mode(pod.node)}; of {pod.owner}"


def _devices(pod: PodFacts, judged: Judged) -> Iterator[str]:
    yield "Devices"
    for subject in subjects_of(pod, judged):
        case = judged.case_of(subject)
        said = [one.said for one in case.evidence] if case is not None else []
        how_long = f", {since(case.since, judged.now)}" if case is not None and said else ""
        verdict = _verdict(case)
        line = f"{verdict}: {_held(pod, subject)}{how_long}"
        yield wrapped("; ".join([line, *said]), _INDENT, _INDENT * 2)
    if not subjects_of(pod, judged):
        yield f"{_INDENT}{NOTHING}"


def _held(pod: PodFacts, subject: Subject) -> str:
    if subject.resource and not subject.device:
        count = pod.devices.get(subject.resource, 0)
        return f"{count} {subject.resource} of its node; its status does not say which"
    return str(subject)


def _verdict(case: Case | None) -> Verdict:
    return Verdict.HEALTHY if case is None else case.verdict


def _permit(pod: PodFacts, judged: Judged) -> Permit:
    """Tell whether it may be evicted if what it holds failed at this moment, or had failed."""
    cases = map(judged.case_of, subjects_of(pod, judged))
    failed = [one.failed for one in cases if one is not None and one.held is Verdict.FAILED]
    since = min(failed, default=judged.now)
    return permit(pod, judged.moment.observed.jobs, since, judged.now)


def _fate(pod: PodFacts, judged: Judged) -> Iterator[str]:
    subjects = subjects_of(pod, judged)
    if not subjects:
        yield "A failing device would not concern it."
        return
    failed = [one for one in subjects if _held_verdict(judged, one) is Verdict.FAILED]
    if not failed:
        yield "If one of these failed,"
        yield f"{_INDENT}{_would(pod, judged)}"
        if any(one.resource and not one.device for one in subjects):
            yield (
                f"{_INDENT}But were it a device alone and not the whole node, it would stay: its "
                "status does not say which devices of the device plugin it holds."
            )
    else:
        has = "has" if len(failed) == 1 else "have"
        yield f"{len(failed)} of these {has} failed, so"
        fate = _fate_of(pod, judged)
        yield f"{_INDENT}{_UNTOLD if fate is None else _said(fate, judged)}"
        for one in _decisions(failed, judged):
            yield from (f"{_INDENT}{said}" for said in held_back((one,), judged))


def _would(pod: PodFacts, judged: Judged) -> str:
    """Return what would become of a Pod of which nothing has failed."""
    given, mode = _permit(pod, judged), judged.moment.mode(pod.node)
    if pod.leaves:
        return "it is being deleted already"
    if not given.is_given:
        return f"it would stay: {given.why}"
    if mode is not Mode.EVICT:
        return f"it would stay, for mode {mode} evicts nobody; mode Evict would evict it"
    refusal = judged.refusals.get(pod.uid)
    return (
        "it would be evicted as soon as new Pods are kept away from there, if a budget is left "
        f"and its PodDisruptionBudgets let it go{f'; {refusal}' if refusal else ''}"
    )


def _said(fate: Fate, judged: Judged) -> str:
    """Return what becomes of a Pod of which something has failed."""
    mode = judged.moment.mode(fate.pod.node)
    if mode is Mode.QUARANTINE and fate.state is State.STAYS:
        given = _permit(fate.pod, judged)
        evicts = "would evict it" if given.is_given else f"would not, either: {given.why}"
        return f"it stays, for {fate.why}; mode {Mode.EVICT} {evicts}"
    said = (_OBSERVED if mode is Mode.OBSERVE else _SAID)[fate.state]
    return said.format(why=fate.why)


def _fate_of(pod: PodFacts, judged: Judged) -> Fate | None:
    """Return what becomes of a Pod; None where it holds nothing that is known to have failed."""
    found = fates(_decisions(subjects_of(pod, judged), judged), judged)
    return next((one for one in found if one.pod.uid == pod.uid), None)


def _decisions(subjects: Iterable[Subject], judged: Judged) -> list[Decision]:
    wanted = set(subjects)
    return [one for one in judged.step.decisions if one.case.subject in wanted]


def _held_verdict(judged: Judged, subject: Subject) -> Verdict:
    case = judged.case_of(subject)
    return Verdict.HEALTHY if case is None else case.held
