"""What the API server refuses is told, tried again, and holds up nothing else (C3)."""

from __future__ import annotations

import pytest

from tests.webhook.controllers.claim_stage import GRACE_S, NAME, OURS, Claims, raw_pod, spec_of
from webhook.kube.errors import ApiError, UnreachableError
from webhook.placement.templates import template_name

TEMPLATES = "/namespaces/team/resourceclaimtemplates"
FOUR = template_name(spec_of(4))
QUOTA = ApiError(
    "POST /x",
    403,
    "Forbidden",
    'resourceclaimtemplates.resource.k8s.io "x" is forbidden: exceeded quota: few',
)
TOLD = (
    f"ResourceClaimTemplate {NAME} cannot be made: 403 Forbidden: "
    'resourceclaimtemplates.resource.k8s.io "x" is forbidden: exceeded quota: few; it is tried '
    "again"
)


@pytest.mark.rule("C3")
def test_a_namespace_that_refuses_holds_up_no_other_and_its_pods_are_told_once() -> None:
    claims = Claims()
    claims.refuse("create", TEMPLATES, QUOTA)
    claims.put(raw_pod("p"), raw_pod("q"), raw_pod("r", namespace="other"))
    for _ in range(4):
        claims.look(1.0)
    assert claims.templates == [f"other/{NAME}"]
    assert claims.events == []
    assert claims.condition == ("True", "no Pod waits for a ResourceClaimTemplate")
    for _ in range(60):
        claims.look(1.0)
    assert claims.events == [("p", TOLD), ("q", TOLD)]
    status, message = claims.condition
    assert status == "False"
    assert message == f"namespace team: 2 Pods wait, {TOLD.partition(': ')[2]}"
    assert claims.waiting("failed") == 2
    (warning,) = [line for line in claims.book.lines if line["level"] == "warning"]
    assert warning == {
        "level": "warning",
        "message": "claim template not made",
        "namespace": "team",
        "template": NAME,
        "why": f"403 Forbidden: {QUOTA.message}",
    }


@pytest.mark.rule("C3")
def test_it_is_tried_ever_more_seldom_and_made_as_soon_as_it_may_be() -> None:
    claims = Claims()
    claims.refuse("create", TEMPLATES, QUOTA)
    claims.put(raw_pod("p"))
    tries = []
    for second in range(200):
        before = claims.count("failed") or 0
        claims.look(1.0)
        if (claims.count("failed") or 0) > before:
            tries.append(second)
    assert tries == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    claims.memory.refusals.clear()
    claims.look(60)
    claims.look(6)
    assert claims.templates == [f"team/{NAME}"]
    assert claims.condition[0] == "True"


@pytest.mark.rule("C3")
def test_of_a_namespace_that_refuses_one_template_the_others_are_made() -> None:
    claims = Claims()
    claims.refuse("create", NAME, QUOTA)
    claims.put(raw_pod("p"), raw_pod("q", spec_of(4)))
    claims.look()
    assert claims.templates == [f"team/{FOUR}"]


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    "error",
    [
        ApiError("POST /x", 422, "Invalid", "spec.spec.devices: Invalid value"),
        TypeError("str is not valid UTF-8: surrogates not allowed"),
    ],
    ids=["the API server's word", "what cannot even be sent"],
)
def test_content_that_is_refused_delays_no_other_of_its_namespace(error: Exception) -> None:
    claims = Claims()
    claims.refuse("create", NAME, error)
    claims.put(raw_pod("p"), raw_pod("q", spec_of(4)))
    claims.look()
    assert claims.templates == [f"team/{FOUR}"]
    for _ in range(8):
        claims.look(1)
    assert [name for name, _ in claims.events] == ["p"]


@pytest.mark.rule("C3")
def test_a_namespace_that_hangs_holds_up_no_other() -> None:
    claims = Claims()
    claims.pool.hangs.add("team")
    claims.put(raw_pod("p"))
    claims.look()
    claims.put(raw_pod("r", namespace="other"), raw_pod("s", spec_of(4)))
    claims.look(1.0)
    assert claims.templates == [f"other/{NAME}"]
    claims.pool.let_go()
    claims.look()
    assert claims.templates == [f"other/{NAME}", f"team/{NAME}", f"team/{FOUR}"]
    assert claims.woken == 3


@pytest.mark.rule("C3")
def test_pods_are_told_too_where_making_a_template_is_not_answered() -> None:
    claims = Claims()
    claims.refuse("create", TEMPLATES, UnreachableError("https://x: POST /x: Read timed out."))
    claims.put(raw_pod("p"))
    for _ in range(8):
        claims.look(1.0)
    why = "the API server has not answered; a webhook of others that it calls may hang"
    said = f"ResourceClaimTemplate {NAME} cannot be made: {why}; it is tried again"
    assert claims.events == [("p", said)]
    problems = [line["problem"] for line in claims.book.lines if "problem" in line]
    assert problems == ["https://x: POST /x: Read timed out."]


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    "error",
    [
        ApiError("POST /x", 404, "NotFound", 'namespaces "team" not found'),
        ApiError("POST /x", 403, "Forbidden", "namespace team because it is being terminated"),
    ],
    ids=["gone", "going"],
)
def test_a_namespace_that_is_leaving_is_no_news(error: ApiError) -> None:
    claims = Claims()
    claims.refuse("create", "/namespaces/team/", error)
    claims.put(raw_pod("p"))
    for _ in range(20):
        claims.look(1.0)
    assert claims.condition[0] == "True"
    assert [line for line in claims.book.lines if line["level"] != "info"] == []
    assert claims.waiting("leaving") == 1


@pytest.mark.rule("C3")
def test_a_quota_that_is_being_counted_is_no_template_that_exists() -> None:
    claims = Claims()
    busy = ApiError("POST /x", 409, "Conflict", "Operation cannot be fulfilled on resourcequotas")
    claims.refuse("create", TEMPLATES, busy)
    claims.put(raw_pod("p"))
    claims.look()
    claims.memory.refusals.clear()
    claims.look(0.0)
    claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]


@pytest.mark.rule("C3")
def test_after_an_outage_everything_is_tried_at_once() -> None:
    claims = Claims()
    claims.refuse("create", "", UnreachableError("POST /x: connection refused"))
    claims.put(raw_pod("p"))
    for _ in range(100):
        claims.look(1.0)
    claims.world.plain["pods"].trouble = "connection refused"
    claims.look(1.0)
    claims.world.plain["pods"].trouble = ""
    claims.memory.refusals.clear()
    claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]


def test_an_event_that_may_not_be_made_is_given_up_and_one_that_cannot_is_tried_again() -> None:
    claims = Claims()
    claims.put(raw_pod("p", annotation="{}"))
    claims.refuse("create", "/events", ApiError("POST /x", 403, "Forbidden", "no"))
    for _ in range(10):
        claims.look(1.0)
    problems = [line["problem"] for line in claims.book.lines]
    assert problems == ["POST /x: 403 Forbidden: no"]

    claims = Claims()
    claims.put(raw_pod("p", annotation="{}"))
    claims.refuse("create", "/events", ApiError("POST /x", 429, "TooManyRequests", "later"))
    for _ in range(10):
        claims.look(1.0)
    claims.memory.refusals.clear()
    for _ in range(10):
        claims.look(1.0)
    assert [name for name, _ in claims.events] == ["p"]


def test_a_template_that_cannot_be_swept_is_swept_later() -> None:
    claims = Claims()
    claims.put_template(labels=OURS)
    claims.refuse("delete", TEMPLATES, ApiError("DELETE /x", 403, "Forbidden", "no"))
    claims.look()
    for _ in range(10):
        claims.look(GRACE_S / 2)
    assert claims.templates == [f"team/{NAME}"]
    assert claims.condition[0] == "True"
    claims.memory.refusals.clear()
    claims.look(GRACE_S)
    claims.look()
    assert claims.templates == []
    problems = [line["problem"] for line in claims.book.lines if line["level"] == "warning"]
    assert problems == ["DELETE /x: 403 Forbidden: no"]


def test_a_nudge_that_may_not_be_given_is_told_and_given_up() -> None:
    claims = Claims("35")
    claims.refuse("patch", "/pods/", ApiError("PATCH /x", 403, "Forbidden", "no"))
    claims.put(raw_pod("p"))
    claims.memory.put("/api/v1/namespaces/team/pods/p", raw_pod("p"))
    for _ in range(10):
        claims.look(1.0)
    problems = [line["problem"] for line in claims.book.lines if line["level"] == "warning"]
    assert problems == ["PATCH /x: 403 Forbidden: no"]
    assert claims.count("nudged") == 1


def test_hundreds_of_pods_of_one_namespace_are_served_in_portions() -> None:
    claims = Claims("35")
    claims.pool.hangs.add("team")
    claims.put(*(raw_pod(f"p{number}", spec_of(product=str(number + 1))) for number in range(250)))
    claims.look()
    claims.pool.let_go()
    assert len(claims.templates) == 100
    claims.look()
    assert len(claims.templates) == 250


def test_hundreds_of_pods_of_one_namespace_are_nudged_and_told_in_portions() -> None:
    claims = Claims("35")
    claims.put(*(raw_pod(f"p{number}") for number in range(250)))
    claims.put(*(raw_pod(f"f{number}", spec_of(2), annotation="{}") for number in range(250)))
    for _ in range(12):
        claims.look(1.0)
    assert len(claims.nudged) == len(set(claims.nudged)) == 250
    assert len(claims.events) == 250


@pytest.mark.rule("C3")
def test_a_policy_against_one_content_delays_nothing_that_was_never_tried() -> None:
    claims = Claims()
    claims.refuse("create", NAME, QUOTA)
    claims.put(raw_pod("p"))
    for _ in range(70):
        claims.look(1.0)
    claims.put(*(raw_pod(f"q{number}", spec_of(number)) for number in (4, 5, 6)))
    claims.look(0.5)
    assert len(claims.templates) == 3
    assert [name for name, _ in claims.events] == ["p"]


@pytest.mark.rule("C3")
def test_a_namespace_that_refuses_all_is_asked_once_for_each_and_says_why_it_waits() -> None:
    claims = Claims()
    claims.refuse("create", TEMPLATES, QUOTA)
    claims.put(*(raw_pod(f"p{number}", spec_of(number)) for number in range(1, 21)))
    claims.look()
    assert claims.count("failed") == 20
    claims.look(0.9)
    assert claims.count("failed") == 20
    claims.look(0.1)
    assert claims.count("failed") == 21
    for _ in range(5):
        claims.look(1.0)
    assert len(claims.events) == 20


@pytest.mark.rule("C3")
def test_pods_of_a_namespace_that_hangs_are_told_so_though_theirs_was_not_tried() -> None:
    claims = Claims()
    claims.refuse("create", NAME, UnreachableError("https://x: POST /x: Read timed out."))
    claims.put(raw_pod("p"))
    for _ in range(100):
        claims.look(1.0)
    claims.put(raw_pod("q", spec_of(4)))
    for _ in range(7):
        claims.look(1.0)
    said = (
        "the API server has not answered; a webhook of others that it calls may hang; "
        "it is tried again"
    )
    assert claims.events[1:] == [("q", f"ResourceClaimTemplate {FOUR} cannot be made: {said}")]
    assert claims.templates == []


@pytest.mark.rule("C3")
def test_who_hung_last_time_takes_no_hand_of_the_others() -> None:
    claims = Claims()
    claims.refuse("create", TEMPLATES, UnreachableError("https://x: POST /x: Read timed out."))
    claims.put(raw_pod("p"))
    claims.look()
    claims.memory.refusals.clear()
    claims.pool.hangs.add("team")
    claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]
    claims.put(raw_pod("q", spec_of(4)))
    claims.look(1.0)
    assert claims.templates == [f"team/{NAME}"]  # it is as quick as the others again
    claims.pool.let_go()
    claims.look()
    assert claims.templates == [f"team/{NAME}", f"team/{FOUR}"]


def test_the_same_trouble_is_logged_again_when_it_comes_back() -> None:
    claims = Claims()
    late = ApiError("POST /x", 429, "TooManyRequests", "later")
    for name in ("p", "q"):
        claims.put(raw_pod(name, annotation="{}"))
        claims.refuse("create", "/events", late)
        for _ in range(20):
            claims.look(1.0)
        claims.memory.refusals.clear()
        for _ in range(70):
            claims.look(1.0)
    problems = [line["problem"] for line in claims.book.lines]
    assert problems == ["POST /x: 429 TooManyRequests: later"] * 2


def test_nothing_is_remembered_of_namespaces_that_are_gone() -> None:
    claims = Claims()
    claims.put(raw_pod("p", annotation="{}"))
    claims.refuse("create", "/events", ApiError("POST /x", 429, "TooManyRequests", "later"))
    claims.refuse("create", TEMPLATES, QUOTA)
    for _ in range(20):
        claims.look(1.0)
    claims.world.plain["pods"].objects.clear()
    claims.look()
    claims.memory.refusals.clear()
    claims.put(raw_pod("q", annotation="[]"))
    for _ in range(6):
        claims.look(1.0)
    assert [name for name, _ in claims.events] == ["q"]  # no pause is left of before
