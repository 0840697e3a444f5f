"""What is written on nodes: by whomever it was spoilt, and whoever does not answer (H11)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.controllers.health_stage import NODES, Stage
from webhook.controllers.health_records import RecordBook
from webhook.kube.errors import UnreachableError
from webhook.terms import HEALTH, VERDICTS_ANNOTATION

Json = dict[str, Any]


def spoil(stage: Stage, name: str, text: str = "x") -> None:
    """Somebody writes where we write."""
    found = stage.server.get(f"{NODES}/{name}")
    found["metadata"]["annotations"] = {VERDICTS_ANNOTATION: text}
    stage.server.put(f"{NODES}/{name}", found)


def owned_by_others(stage: Stage) -> None:
    """Have the server keep what our field manager did not write, as a real one does."""
    patch, owned = stage.server.patch, set()

    def as_owned(path: str, body: Json, kind: str = "merge", **query: str) -> Json:
        if kind == "apply" and path.startswith(NODES):
            if "annotations" not in body["metadata"] and path not in owned:
                stage.server.writes.append(("apply", path, body))
                return stage.server.get(path)
            owned.add(path)
        return patch(path, body, kind, **query)

    stage.server.patch = as_owned  # type: ignore[method-assign]


def on_nodes(stage: Stage) -> int:
    """How often nodes were written."""
    return sum(path.startswith(f"{NODES}/") for _, path, _ in stage.server.writes)


def test_what_somebody_else_wrote_there_is_removed_once() -> None:
    stage = Stage()
    owned_by_others(stage)
    for number in range(10):
        spoil(stage, f"n{number}")
    for _ in range(20):
        stage.run()
        stage.pass_(5)
    assert on_nodes(stage) == 20
    assert all(
        VERDICTS_ANNOTATION not in stage.server.get(f"{NODES}/n{number}")["metadata"]["annotations"]
        for number in range(10)
    )


def test_it_is_removed_from_that_node_and_no_other_of_its_name() -> None:
    stage = Stage()
    owned_by_others(stage)
    spoil(stage, "n0")
    stage.run()
    (said,) = [body for verb, path, body in stage.server.writes if verb == "patch"]
    assert said == {"metadata": {"uid": "uid-n0", "annotations": {VERDICTS_ANNOTATION: None}}}


@pytest.mark.parametrize("is_sick", [False, True])
def test_who_writes_there_again_and_again_is_answered_ever_more_rarely(*, is_sick: bool) -> None:
    stage = Stage(mode="Observe")
    if is_sick:
        stage.fail("n0")
    for _ in range(720):
        spoil(stage, "n0")
        stage.run()
        stage.pass_(5)
    assert 3 < on_nodes(stage) < 25
    spoilt = on_nodes(stage)
    for _ in range(110):
        stage.run()
        stage.pass_(100)
    assert on_nodes(stage) <= spoilt + 3
    record = stage.record("n0")
    assert (record is not None) is is_sick
    spoil(stage, "n0")
    stage.run()
    assert stage.record("n0") == record, "it is written at once after a quiet time"


@pytest.mark.rule("H7")
def test_one_node_that_does_not_answer_holds_up_no_other() -> None:
    stage = Stage()
    stage.fail("n0", "n1")
    tries = []

    def hang(verb: str, path: str) -> None:
        if (verb, path) == ("patch", f"{NODES}/n0"):
            tries.append(path)
            raise UnreachableError(f"PATCH {path}: no answer within 10 s")

    stage.server.before_write = hang
    for _ in range(30):
        stage.run()
        stage.pass_(1)
    assert stage.tainted() == ["n1"]
    assert len(tries) < 10
    assert "no answer within 10 s" in stage.condition(HEALTH).message
    stage.server.before_write = lambda *_: None
    stage.pass_(60)
    for _ in range(2):
        stage.run()
    assert sorted(stage.tainted()) == ["n0", "n1"]


def test_an_api_server_that_answers_nobody_is_given_up_on() -> None:
    stage = Stage(budget={"percent": 100})
    names = [f"n{number}" for number in range(4)]
    stage.fail(*names)
    tries = []

    def hang(verb: str, path: str) -> None:
        if verb == "patch":
            tries.append(path)
            raise UnreachableError(f"PATCH {path}: no answer within 10 s")

    stage.server.before_write = hang
    with pytest.raises(UnreachableError, match="no answer"):
        stage.run()
    assert tries == [f"{NODES}/n{number}" for number in range(3)]
    stage.run()
    assert tries[3:] == [f"{NODES}/n3"]


def test_a_clock_that_is_set_back_stops_no_writing() -> None:
    stage = Stage()
    book = RecordBook(stage.server)  # type: ignore[arg-type]
    spoil(stage, "n0")
    stage.see()
    nodes = stage.world.nodes.held()
    book.write({}, nodes, 10_000.0, 0.0)
    spoil(stage, "n0", "y")
    stage.see()
    written = on_nodes(stage)
    book.write({}, stage.world.nodes.held(), 0.0, 10.0)
    assert on_nodes(stage) > written
