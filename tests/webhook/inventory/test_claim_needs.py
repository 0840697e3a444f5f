"""Which templates are needed, which are swept, and who waits (C3)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.inventory.claim_needs import ClaimNeeds, Past, TemplateFacts, TemplateKey, claim_needs
from webhook.inventory.pod_facts import Owner, PodFacts, pod_facts

A, B = "gpuspec-" + "a" * 32, "gpuspec-" + "b" * 32
GRACE_S = 600.0


def waiting_pod(name: str = "p", *templates: str, namespace: str = "team") -> PodFacts:
    """A Pod that was just created."""
    return PodFacts(
        namespace,
        name,
        f"uid-{name}",
        Owner("Job", "j"),
        templates=templates or (A,),
        claims="{}",
        unclaimed=True,
    )


POD = waiting_pod()


def needs(
    *pods: PodFacts, there: set[TemplateKey] | None = None, past: Past | None = None, now: float = 0
) -> ClaimNeeds:
    seen = [TemplateFacts(key) for key in there or ()]
    return claim_needs(pods, seen, past or Past(), now=now, grace_s=GRACE_S)


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("pod", "needed", "used"),
    [
        pytest.param(POD, True, True, id="it waits for its claim"),
        pytest.param(replace(POD, unclaimed=False), True, True, id="it has a claim and no node"),
        pytest.param(replace(POD, node="n", unclaimed=False), False, True, id="it is bound"),
        pytest.param(replace(POD, node="n", finished=True), False, False, id="it has finished"),
        pytest.param(replace(POD, namespace="other"), False, False, id="it is elsewhere"),
        pytest.param(waiting_pod("p", B), False, False, id="it names another template"),
        pytest.param(replace(POD, templates=()), False, False, id="it names none"),
    ],
)
def test_a_template_is_needed_by_pending_pods_and_used_by_all(
    pod: PodFacts, *, needed: bool, used: bool
) -> None:
    key = ("team", A)
    assert (key in needs(pod).missing) is needed
    first = needs(pod, there={key})
    assert (key not in first.past.unused) is used
    later = needs(pod, there={key}, past=first.past, now=GRACE_S)
    assert (later.idle == ()) is used


@pytest.mark.rule("C3")
def test_who_waits_is_told_apart_from_who_only_needs() -> None:
    found = needs(waiting_pod("p", A, B), replace(POD, unclaimed=False), there={("team", B)})
    assert [(one.pod.name, one.missing, one.seconds) for one in found.waiting] == [("p", (A,), 0)]
    later = needs(waiting_pod("p", A, B), past=found.past, now=7)
    assert [(one.missing, one.seconds) for one in later.waiting] == [((A, B), 7)]


@pytest.mark.rule("C3")
def test_the_grace_time_begins_anew_with_each_use() -> None:
    key = ("team", A)
    past = needs(there={key}, now=10).past
    past = needs(POD, there={key}, past=past, now=GRACE_S).past
    past = needs(there={key}, past=past, now=GRACE_S + 1).past
    assert needs(there={key}, past=past, now=2 * GRACE_S).idle == ()
    assert needs(there={key}, past=past, now=2 * GRACE_S + 1).idle == (key,)
    again = past.used_just_now({key})
    assert needs(there={key}, past=again, now=2 * GRACE_S + 1).idle == ()


@pytest.mark.rule("C3")
def test_a_pod_that_waited_is_late_half_a_second_after_its_template_is_there() -> None:
    there = {("team", A)}
    waited = needs(POD).past
    seen = needs(POD, there=there, past=waited, now=3.0)
    assert seen.late == ()
    assert needs(POD, there=there, past=seen.past, now=3.4).late == ()
    assert needs(POD, there=there, past=seen.past, now=3.5).late == (POD,)
    claimed = replace(POD, unclaimed=False)
    assert needs(claimed, there=there, past=seen.past, now=3.5).late == ()


@pytest.mark.rule("C3")
def test_nobody_is_late_who_was_never_seen_to_wait() -> None:
    there = {("team", A)}
    known = needs().past
    seen = needs(POD, there=there, past=known, now=1)
    assert needs(POD, there=there, past=seen.past, now=60).late == ()


@pytest.mark.rule("C3")
def test_a_new_leader_cannot_know_how_long_pods_have_waited() -> None:
    there = {("team", A)}
    first = needs(POD, there=there)
    assert needs(POD, there=there, past=first.past, now=0.5).late == (POD,)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[float, list[PodFacts], set[TemplateKey]]]:
    """Looks at a cluster in which Pods and templates come and go."""
    looks = []
    now = 0.0
    for _ in range(draw(st.integers(1, 8))):
        now += draw(st.sampled_from([0.0, 0.5, 5.0, GRACE_S / 2, GRACE_S]))
        pods = [
            replace(
                waiting_pod(f"p{number}", *draw(st.sampled_from([(A,), (B,), (A, B)]))),
                node=draw(st.sampled_from(["", "n"])),
                finished=draw(st.booleans()),
            )
            for number in range(draw(st.integers(0, 3)))
        ]
        keys = st.sampled_from([("team", A), ("team", B)])
        looks.append((now, pods, draw(st.sets(keys))))
    return looks


@pytest.mark.rule("C3")
@given(histories())
def test_nothing_is_swept_that_is_used_or_was_within_the_grace_time(
    looks: list[tuple[float, list[PodFacts], set[TemplateKey]]],
) -> None:
    past = Past()
    last_used: dict[TemplateKey, float] = {}
    for now, pods, there in looks:
        seen = [TemplateFacts(key) for key in there]
        found = claim_needs(pods, seen, past, now=now, grace_s=GRACE_S)
        past = found.past
        for pod in pods:
            if not pod.finished:
                last_used |= {(pod.namespace, name): now for name in pod.templates}
        for key in found.idle:
            assert key in there
            assert now - last_used.get(key, 0.0) >= GRACE_S
        assert not found.missing.keys() & there


HASH = hashlib.sha256(b'{"a": 1}').hexdigest()
RAW: dict[str, dict[str, Any]] = {
    "metadata": {
        "namespace": "team",
        "name": "p",
        "uid": "u",
        "annotations": {"gpuspec.preferred.jp/claims": '{"a": 1}'},
    },
    "spec": {
        "containers": [],
        "resourceClaims": [
            {"name": "one", "resourceClaimTemplateName": A},
            {"name": "two", "resourceClaimTemplateName": A},
            {"name": "mine", "resourceClaimTemplateName": "mine"},
            {"name": "shared", "resourceClaimName": B},
        ],
    },
}


@pytest.mark.rule("C3")
def test_of_a_pending_pod_a_hash_of_what_it_brings_is_kept_once_for_all_replicas() -> None:
    first, second = pod_facts(RAW), pod_facts(RAW)
    assert (first.templates, first.claims, first.unclaimed) == ((A,), HASH, True)
    assert first.templates is second.templates
    assert first.claims is second.claims


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("part", "fields", "kept"),
    [
        pytest.param("spec", {"nodeName": "n"}, ((A,), "", False), id="bound"),
        pytest.param("status", {"phase": "Failed"}, ((A,), "", False), id="finished"),
        pytest.param(
            "status",
            {"resourceClaimStatuses": [{"name": "one"}]},
            ((A,), HASH, True),
            id="one of two claims is made",
        ),
        pytest.param(
            "status",
            {"resourceClaimStatuses": [{"name": "one"}, {"name": "two"}]},
            ((A,), HASH, False),
            id="all claims are made",
        ),
        pytest.param(
            "metadata", {"deletionTimestamp": "x"}, ((A,), HASH, False), id="being deleted"
        ),
        pytest.param("metadata", {"annotations": None}, ((A,), "", True), id="nothing brought"),
        pytest.param(
            "metadata",
            {"annotations": {"gpuspec.preferred.jp/claims": 5}},
            ((A,), "", True),
            id="odd annotation",
        ),
        pytest.param("spec", {"resourceClaims": "odd"}, ((), "", False), id="odd claims"),
        pytest.param(
            "spec",
            {"resourceClaims": [5, {"resourceClaimTemplateName": ["x"]}]},
            ((), "", False),
            id="odd names",
        ),
    ],
)
def test_what_is_kept_of_other_pods(
    part: str, fields: dict[str, object], kept: tuple[tuple[str, ...], str, bool]
) -> None:
    raw = RAW | {part: RAW.get(part, {}) | fields}
    facts = pod_facts(raw)
    assert (facts.templates, facts.claims, facts.unclaimed) == kept


@pytest.mark.rule("C3")
def test_what_is_kept_of_a_pod_does_not_grow_with_what_it_brings_along() -> None:
    long = RAW["metadata"] | {"annotations": {"gpuspec.preferred.jp/claims": "\ud800" * 200_000}}
    assert len(pod_facts(RAW | {"metadata": long}).claims) == 64


@pytest.mark.rule("R5")
@pytest.mark.parametrize(
    ("candidates", "kept"),
    [
        (["a30-24gb", "v100-16gb"], ("a30-24gb", "v100-16gb")),
        (["a30-24gb", 5, "a" * 64, "\ud800", ["x"]], ("a30-24gb",)),
        ([str(number) for number in range(2049)], ()),
        ("a30-24gb", ()),
        (["a30-24gb", "x" * 131_072], ()),
    ],
    ids=["ids", "what is no id", "too many", "no list", "too long"],
)
def test_of_candidates_no_more_is_kept_than_admission_writes(
    candidates: object, kept: tuple[str, ...]
) -> None:
    marks = {"gpuspec.preferred.jp/request": json.dumps({"candidates": candidates})}
    raw = RAW | {"metadata": RAW["metadata"] | {"annotations": marks}}
    assert pod_facts(raw).candidates == kept


@pytest.mark.rule("C3")
def test_nobody_elses_template_is_idle_and_an_odd_one_is_told_to_pending_pods() -> None:
    theirs = TemplateFacts(("team", A), is_ours=False)
    odd = TemplateFacts(("team", B), is_true=False)
    bound = replace(waiting_pod("q", B), node="n", unclaimed=False)
    found = claim_needs([POD, bound], [theirs, odd], Past(), now=0, grace_s=0)
    assert (found.idle, found.odd) == ((), {})
    pending = waiting_pod("r", B)
    found = claim_needs([pending], [theirs, odd], Past(), now=0, grace_s=0)
    assert (found.idle, found.odd) == ((), {("team", B): (pending,)})
    assert found.namespaces == {"team"}
