"""What the claim loop makes of what Pods bring along, and what it sweeps (C3)."""

from __future__ import annotations

import copy

import pytest

from tests.logbook import NOW
from tests.webhook.controllers.claim_stage import (
    GRACE_S,
    NAME,
    OURS,
    SPEC,
    Claims,
    raw_pod,
    spec_of,
)
from tests.webhook.controllers.worlds import pfn_table
from webhook.controllers import claim_sources, claim_texts
from webhook.controllers.tables import TableHeld, loaded
from webhook.inventory.conditions import Condition
from webhook.placement.templates import Json, canonical, template_name
from webhook.terms import MAX_CLAIMS_BYTES

FOUR = template_name(spec_of(4))


@pytest.mark.rule("C3")
def test_what_a_pod_brings_along_is_made_once_for_all_its_replicas() -> None:
    claims = Claims()
    claims.put(*(raw_pod(f"p{number}") for number in range(3)), raw_pod("q", SPEC, spec_of(4)))
    claims.look()
    assert claims.templates == [f"team/{NAME}", f"team/{FOUR}"]
    made = next(body for verb, path, body in claims.memory.writes if path.endswith(NAME))
    assert made["metadata"]["labels"] == {"gpuspec.preferred.jp/template": "gpu"}
    assert made["spec"]["spec"] == SPEC
    assert claims.look(0.4) == 0.5  # Kubernetes may pause: it is not known yet which one this is
    assert claims.look(0.4) == 30.0
    assert len(claims.memory.writes) == 2
    assert claims.count("made") == 2
    assert claims.condition == ("True", "no Pod waits for a ResourceClaimTemplate")
    line = {"level": "info", "message": "claim template made", "namespace": "team"}
    assert claims.book.lines[0] == line | {"template": NAME}


@pytest.mark.rule("C3")
def test_a_template_is_made_in_each_namespace_that_needs_it() -> None:
    claims = Claims()
    claims.put(raw_pod("p"), raw_pod("p", namespace="other"))
    claims.look()
    assert claims.templates == [f"team/{NAME}", f"other/{NAME}"]


@pytest.mark.rule("C3")
def test_what_was_made_is_not_made_again_while_the_mirror_is_behind() -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    for _ in range(3):
        claims.loop.run(NOW)
    assert claims.count("made") == 1
    assert len(claims.memory.writes) == 1


@pytest.mark.rule("C3")
def test_a_template_deleted_by_hand_is_made_again_while_a_pod_is_pending() -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    claims.look()
    claims.look()
    claims.memory.objects = {at: one for at, one in claims.memory.objects.items() if NAME not in at}
    claims.show()
    claims.look()
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
def test_one_deleted_by_hand_before_the_mirror_has_shown_it_is_made_again() -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    claims.look()
    claims.memory.objects = {at: one for at, one in claims.memory.objects.items() if NAME not in at}
    claims.show()
    assert claims.look(0.5) <= 5.0
    claims.look(4.5)
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
def test_one_that_somebody_else_made_is_left_as_it_is() -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    claims.put_template()
    claims.world.plain["templates"].objects.clear()
    claims.loop.run(NOW)
    claims.loop.run(NOW)
    assert claims.condition[0] == "True"
    assert claims.waiting("unanswered") == 0
    claims.show()
    claims.world.plain["pods"].objects.clear()
    claims.look()
    claims.look(GRACE_S)
    assert claims.memory.writes == []


@pytest.mark.rule("C3")
def test_one_that_somebody_else_made_and_deletes_again_is_made_at_once() -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    claims.put_template()
    claims.look()
    claims.delete_template()
    claims.look()
    assert claims.count("made") == 1


@pytest.mark.rule("C3")
@pytest.mark.parametrize("labels", [{}, OURS], ids=["without our label", "with it"])
def test_one_of_our_names_with_other_content_is_told_and_never_overwritten(
    labels: dict[str, str],
) -> None:
    claims = Claims()
    claims.put_template(NAME, spec_of(8), labels)
    claims.put(raw_pod("p"), raw_pod("q", spec_of(4)))
    claims.look()
    said = (
        f"ResourceClaimTemplate {NAME} is not what its name says: somebody made it with other "
        "content; delete it, and it is made as it should be"
    )
    assert claims.events == [("p", said)]
    assert claims.condition == ("False", f"namespace team: {said}")
    assert claims.waiting("odd") == 1
    assert claims.templates == [f"team/{NAME}", f"team/{FOUR}"]
    claims.delete_template()
    claims.look()
    assert claims.condition[0] == "True"
    assert claims.count("made") == 2


FORGED = {
    "nothing": "",
    "no JSON": "{",
    "no object": "[]",
    "another content": f'{{"{NAME}": {{"devices": {{}}}}}}',
    "nested": f'{{"{NAME}": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "huge number": f'{{"{NAME}": {"9" * 5000}}}',
}


@pytest.mark.rule("C3")
@pytest.mark.parametrize("annotation", FORGED.values(), ids=FORGED)
def test_a_forged_annotation_makes_nothing_and_its_pod_is_told_why(annotation: str) -> None:
    claims = Claims()
    claims.put(raw_pod("p", annotation=annotation))
    for _ in range(12):
        claims.look(1.0)
    assert claims.templates == []
    why = (
        "the Pod's annotation gpuspec.preferred.jp/claims: it has nothing whose hash is this name; "
        "create the Pod again by its spec"
    )
    assert claims.events == [("p", f"ResourceClaimTemplate {NAME} is not made: {why}")]
    assert claims.condition == ("False", f"namespace team: 1 Pod waits, {why}")
    assert claims.waiting("refused") == 1


def with_fields(**more: object) -> dict[str, object]:
    return spec_of() | {"devices": spec_of()["devices"] | more}


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"\ud800": 1}, "it holds \\ud800"),
        (spec_of(adminAccess=True), "it holds adminAccess"),
        (spec_of(tolerations=[]), "it holds tolerations"),
        (with_fields(config=[]), "it holds config"),
        (with_fields(constraints=[]), "it holds constraints"),
        (with_fields(requests=[5]), "an object with name, exactly is missing"),
    ],
    ids=["half a character", "adminAccess", "tolerations", "config", "constraints", "no request"],
)
def test_what_admission_never_writes_is_not_made(spec: dict[str, object], why: str) -> None:
    claims = Claims()
    claims.put(raw_pod("p", spec), raw_pod("honest"))
    for _ in range(12):
        claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]
    name = template_name(spec)
    said = (
        f"ResourceClaimTemplate {name} is not made: the Pod's annotation "
        f"gpuspec.preferred.jp/claims: {why}; create the Pod again by its spec"
    )
    assert claims.events == [("p", said)]


@pytest.mark.rule("C3")
def test_a_class_of_no_table_is_not_asked_for_until_a_table_does() -> None:
    claims = Claims()
    spec = spec_of(device_class="other.example.com")
    claims.put(raw_pod("p", spec))
    for _ in range(12):
        claims.look(1.0)
    said = (
        f"ResourceClaimTemplate {template_name(spec)} is not made: no SelectionTable asks "
        "DeviceClass other.example.com; it is made as soon as one does"
    )
    assert claims.events == [("p", said)]
    claims.world.put_table(table("candidate", "other.example.com"))
    claims.look(1.0)
    assert claims.templates == [f"team/{template_name(spec)}"]


@pytest.mark.rule("C3")
def test_while_a_table_cannot_be_read_its_classes_may_be_any() -> None:
    claims = Claims()
    readable = claims.world.plain["tables"].objects["default"]
    claims.world.put_table(TableHeld("default", "uid-1", b"{}", 2, {}))
    claims.put(raw_pod("p"))
    for _ in range(12):
        claims.look(1.0)
    said = (
        f"ResourceClaimTemplate {NAME} cannot be made: no SelectionTable asks DeviceClass "
        "gpu.example.com, and default cannot be read: gpuspec doctor tells why; it is tried again"
    )
    assert claims.events == [("p", said)]
    assert claims.waiting("failed") == 1
    claims.world.put_table(readable)
    claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C2", "C3")
def test_longer_than_admission_writes_is_not_read() -> None:
    claims = Claims()
    claims.put(raw_pod("p", annotation=canonical({NAME: SPEC}).ljust(MAX_CLAIMS_BYTES)))
    claims.put(raw_pod("q", annotation=canonical({NAME: SPEC}).ljust(MAX_CLAIMS_BYTES + 1)))
    del claims.world.plain["pods"].objects["team/p"]
    claims.look()
    assert claims.templates == []
    assert claims.waiting("refused") == 1
    claims.put(raw_pod("p", annotation=canonical({NAME: SPEC}).ljust(MAX_CLAIMS_BYTES)))
    claims.look()
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
def test_a_text_is_read_once_and_again_when_it_changes() -> None:
    claims = Claims()
    reads = claims.memory.reads
    claims.put(raw_pod("p", annotation="{}"), raw_pod("q", annotation="{}"))
    for _ in range(5):
        claims.look(1.0)
    assert reads == ["/api/v1/namespaces/team/pods"]
    claims.put(raw_pod("q"))
    claims.look(1.0)
    assert len(reads) == 2
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
def test_a_pod_that_is_gone_already_brings_nothing_along() -> None:
    claims = Claims()
    claims.put(raw_pod("p"), raw_pod("q"))
    del claims.memory.objects["/api/v1/namespaces/team/pods/p"]
    del claims.memory.objects["/api/v1/namespaces/team/pods/q"]
    claims.look()
    assert claims.templates == []
    assert claims.waiting("leaving") == 2
    del claims.world.plain["pods"].objects["team/p"]
    claims.put(raw_pod("q"))
    claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
def test_what_a_bug_stumbles_over_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(spec: Json, _: object) -> str:
        if spec != SPEC:
            raise ZeroDivisionError
        return ""

    monkeypatch.setattr(claim_texts, "refusal", stumble)
    claims = Claims()
    claims.put(raw_pod("p", spec_of(4)), raw_pod("q"))
    for _ in range(8):
        claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]
    why = (
        "the Pod's annotation gpuspec.preferred.jp/claims: it cannot be read: ZeroDivisionError; "
        "create the Pod again by its spec"
    )
    assert claims.events == [("p", f"ResourceClaimTemplate {FOUR} is not made: {why}")]


@pytest.mark.rule("C3")
def test_a_forger_gives_nobody_a_name_that_another_pod_has_the_content_of() -> None:
    claims = Claims()
    claims.put(raw_pod("forged", annotation="{}"), raw_pod("honest"))
    claims.look()
    assert claims.templates == [f"team/{NAME}"]


def table(name: str, device_class: str) -> TableHeld:
    claim = {"deviceClassName": device_class, "driver": device_class}
    held = pfn_table(claim=claim)
    return TableHeld(name, f"uid-{name}", held.text, 1, {})


@pytest.mark.rule("C3")
def test_classes_of_any_table_are_known_and_of_a_broken_one_its_former_ones() -> None:
    claims = Claims()
    claims.world.put_table(table("candidate", "new.example.com"))
    claims.look()
    claims.world.put_table(TableHeld("candidate", "uid-candidate", b"{}", 2, {}))
    specs = [spec_of(count, device_class="new.example.com") for count in (1, 2)]
    claims.put(raw_pod("p", specs[0]))
    claims.look()
    assert claims.templates == [f"team/{template_name(specs[0])}"]
    del claims.world.plain["tables"].objects["candidate"]
    claims.put(raw_pod("q", specs[1]))
    claims.look()
    assert claims.templates == [f"team/{template_name(specs[0])}"]


@pytest.mark.rule("C3")
def test_where_the_table_in_use_is_gone_the_built_in_one_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builtin = loaded(table("builtin", "shipped.example.com").text).table
    monkeypatch.setattr(claim_sources, "builtin_table", lambda: builtin)
    claims = Claims()
    shipped = spec_of(device_class="shipped.example.com")
    claims.put(raw_pod("p"), raw_pod("q", shipped))
    claims.look()
    assert claims.templates == [f"team/{NAME}"]
    del claims.world.plain["tables"].objects["default"]
    claims.put(raw_pod("r", spec_of(2)))
    claims.look()
    assert claims.templates == [f"team/{NAME}", f"team/{template_name(shipped)}"]


@pytest.mark.rule("C3")
def test_what_no_pod_names_is_swept_after_the_grace_time() -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    claims.look()
    claims.look()
    claims.world.plain["pods"].objects.clear()
    claims.memory.objects.pop("/api/v1/namespaces/team/pods/p")
    claims.look()
    claims.look(GRACE_S - 1)
    assert claims.templates == [f"team/{NAME}"]
    claims.look(1)
    assert claims.templates == []
    claims.look()
    assert claims.count("swept") == 1


@pytest.mark.rule("C3")
def test_a_pod_that_the_mirror_does_not_show_yet_keeps_its_template() -> None:
    claims = Claims()
    claims.put_template(labels=OURS)
    claims.look()
    claims.memory.put("/api/v1/namespaces/team/pods/new", raw_pod("new"))
    claims.look(GRACE_S)
    claims.look()
    assert claims.templates == [f"team/{NAME}"]
    done = copy.deepcopy(raw_pod("new")) | {"status": {"phase": "Succeeded"}}
    claims.memory.put("/api/v1/namespaces/team/pods/new", done)
    claims.look(GRACE_S - 1)
    assert claims.templates == [f"team/{NAME}"]
    claims.look(1)
    assert claims.templates == []


@pytest.mark.rule("C3")
def test_what_is_not_seen_is_not_judged() -> None:
    claims = Claims()
    claims.world.put_template("team", NAME)
    claims.look()
    claims.world.plain["pods"].trouble = "GET /api/v1/pods: connection refused"
    assert claims.look(GRACE_S) == 1.0
    claims.world.plain["pods"].trouble = ""
    claims.world.plain["templates"].synced = False
    assert claims.look(GRACE_S) == 1.0
    assert claims.memory.writes == []


@pytest.mark.rule("C3")
@pytest.mark.parametrize("synced", [False, True], ids=["from the start", "later"])
@pytest.mark.parametrize("mirror", ["templates", "pods", "tables"])
def test_whoever_sees_nothing_says_so(mirror: str, *, synced: bool) -> None:
    claims = Claims()
    claims.put(raw_pod("p"))
    plain = claims.world.plain[mirror]
    plain.synced, plain.trouble = synced, "GET /x: 403 Forbidden: no"
    assert claims.look() == (0.5 if mirror == "tables" and synced else 1.0)
    if mirror == "tables" and synced:
        assert claims.templates == [f"team/{NAME}"]  # what tables were is known
        return
    (said,) = claims.board.conditions()
    assert said == Condition(
        "ClaimTemplates",
        "Unknown",
        "CannotFollow",
        "what cannot be seen is neither made nor swept: GET /x: 403 Forbidden: no",
    )
    plain.synced, plain.trouble = True, ""
    claims.look()
    assert claims.condition[0] == "True"
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
@pytest.mark.parametrize("minor", ["35", "35+", "34"])
def test_up_to_1_35_pods_that_waited_are_nudged_once(minor: str) -> None:
    claims = Claims(minor)
    claims.put(raw_pod("p"))
    claims.look()
    for _ in range(6):
        claims.look(0.3)
    assert claims.nudged == ["p"]
    (body,) = [body for verb, _, body in claims.memory.writes if verb == "patch"]
    assert body == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "uid": "uid-p"},
        "status": {
            "conditions": [
                {
                    "type": "gpuspec.preferred.jp/ClaimTemplates",
                    "status": "True",
                    "reason": "Made",
                    "message": "the ResourceClaimTemplates that this Pod waited for are there",
                    "lastTransitionTime": "2026-06-01T12:00:00Z",
                }
            ]
        },
    }
    assert claims.look() == 30.0


@pytest.mark.rule("C3")
@pytest.mark.parametrize("minor", ["36", "37"])
def test_later_versions_need_no_nudge(minor: str) -> None:
    claims = Claims(minor)
    claims.put(raw_pod("p"))
    claims.look()
    for _ in range(6):
        claims.look(0.3)
    assert claims.nudged == []
    assert claims.look() == 30.0


def test_a_version_that_cannot_be_asked_for_is_asked_for_again() -> None:
    claims = Claims("35")
    version = claims.memory.objects.pop("/version")
    claims.put(raw_pod("p"))
    claims.look()
    claims.look(1)
    claims.look(1)
    assert claims.nudged == []
    claims.memory.objects["/version"] = version
    claims.look(1)
    assert claims.nudged == ["p"]


@pytest.mark.rule("C3")
def test_the_next_leader_makes_what_is_left_and_nothing_twice() -> None:
    claims = Claims("35")
    claims.put(raw_pod("p"), raw_pod("q", spec_of(4), namespace="other"))
    claims.pool.hangs.add("other")
    claims.look()
    assert claims.templates == [f"team/{NAME}"]
    claims.loop = claims.another()
    claims.pool.hangs.clear()
    claims.look()
    assert claims.templates == [f"team/{NAME}", f"other/{FOUR}"]
    claims.pool.let_go()  # the former leader's thread goes on
    claims.look(0.5)
    claims.look(0.5)
    assert claims.templates == [f"team/{NAME}", f"other/{FOUR}"]
    assert claims.nudged == ["p", "q"]
