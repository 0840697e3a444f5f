"""Loops hand in what they have to say; who writes is woken by what is new."""

from __future__ import annotations

from webhook.controllers.board import Board, Part
from webhook.inventory.conditions import Condition

FINE = Condition("A", "True", "Fine", "all is well")


def test_parts_are_kept_by_loop_and_only_news_wakes() -> None:
    woken: list[int] = []
    board = Board(lambda: woken.append(1))
    board.post("one", Part((FINE,), {"x": 1}))
    board.post("two", Part((), {"y": 2}))
    assert board.conditions() == (FINE,)
    assert board.fields() == {"x": 1, "y": 2}
    board.post("one", Part((FINE,), {"x": 1}))
    assert len(woken) == 2
    board.post("one", Part((), {"x": 3}))
    assert board.fields() == {"x": 3, "y": 2}
    assert board.conditions() == ()
    assert len(woken) == 3
