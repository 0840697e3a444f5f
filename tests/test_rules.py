"""The list of rules and tests, and the check that marks name rules that exist."""

from __future__ import annotations

from typing import Any

import pytest

from tests import conftest, rules


class Item:
    """As much of a collected test as the list looks at."""

    def __init__(self, nodeid: str, *marked: str, **parameters: str) -> None:
        self.nodeid = nodeid
        self.marked = marked
        self.callspec = type("CallSpec", (), {"params": parameters})

    def iter_markers(self, name: str) -> list[Any]:
        """Return its one mark."""
        return [pytest.mark.rule(*self.marked).mark] if name == "rule" else []


def collected(*items: Item) -> dict[str, dict[str, list[str]]]:
    plugin = rules.Collected()
    plugin.pytest_collection_finish(type("Session", (), {"items": items}))  # type: ignore[arg-type]
    return {rule: tests for rule, tests in plugin.tests.items() if tests}


def test_a_test_is_listed_once_whatever_its_parameters() -> None:
    assert collected(Item("t.py::a[1]", "R2", "R3"), Item("t.py::a[2]", "R2")) == {
        "R2": {"t.py::a": []},
        "R3": {"t.py::a": []},
    }


def test_the_versions_of_kubernetes_are_listed() -> None:
    items = [Item(f"t.py::a[{minor}]", "N3", kubernetes=minor) for minor in ("1.36", "1.37")]

    assert collected(*items, Item("t.py::b", "N3")) == {
        "N3": {"t.py::a": ["1.36", "1.37"], "t.py::b": []}
    }


@pytest.mark.parametrize("missing", [[], ["A3"], ["A3", "R8"]])
def test_a_finished_rule_without_a_test_fails(
    missing: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, dict[str, list[str]]] = {
        rule: {} if rule in missing or rule[0] == "U" else {"t.py::a": ["1.37"]}
        for rule in rules.RULES
    }
    monkeypatch.setattr(rules, "collect", lambda: found)

    code = rules.main()

    out, err = capsys.readouterr()
    assert code == (1 if missing else 0)
    assert (f"no test shows {', '.join(missing)}" in err) is bool(missing)
    assert "A1: 1\n    t.py::a (1.37)\n" in out


def test_tests_that_cannot_be_collected_are_another_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def collect() -> None:
        raise RuntimeError("ERROR tests/test_x.py")

    monkeypatch.setattr(rules, "collect", collect)

    assert rules.main() == 2
    assert capsys.readouterr().err == "ERROR tests/test_x.py\n"


def test_a_mark_of_no_rule_is_refused() -> None:
    items: Any = [Item("t.py::a", "R2"), Item("t.py::b", "R9", "X1")]

    with pytest.raises(pytest.UsageError) as caught:
        conftest.pytest_collection_modifyitems(items)

    assert str(caught.value) == (
        "t.py::b is marked with R9, which is no rule\nt.py::b is marked with X1, which is no rule"
    )
