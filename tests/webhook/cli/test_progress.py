"""What is shown on a terminal while something takes long."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest

from webhook.cli.saved import progress


class Terminal(io.StringIO):
    """Standard error as a person sees it."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, items: Iterable[int], length: int | None) -> str:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress(items, "Reading nodes", length) as bar:
        assert list(bar) == [0, 1, 2]
    return terminal.getvalue()


def test_a_bar_is_shown_where_it_can_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    for items, length in (([0, 1, 2], None), (iter([0, 1, 2]), 3)):
        assert "[####" in shown(monkeypatch, items, length)


def test_what_has_no_known_end_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(monkeypatch, (number for number in range(3)), None)
    assert "[" not in said.replace("\x1b[", "")
    assert "Reading nodes  3" in said
