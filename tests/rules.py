"""Which tests show which rules of the semantics to hold: ``python -m tests.rules``.

Prints every rule with its tests and ends with exit code 1 where a rule of a finished part has none.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping

import pytest

# Letter and highest number of each section of the semantics.
_SECTIONS = {"G": 6, "A": 8, "D": 10, "N": 9, "C": 7, "R": 8, "U": 4, "H": 11}
_FINISHED = ("G", "A", "D", "N", "C", "R", "H")


def _numbered(letters: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"{letter}{number}" for letter in letters for number in range(1, _SECTIONS[letter] + 1)
    )


RULES = _numbered(tuple(_SECTIONS))
FINISHED_RULES = _numbered(_FINISHED)


def rules_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the rules that a test is marked with."""
    return tuple(rule for mark in item.iter_markers("rule") for rule in mark.args)


class Collected:
    """A pytest plugin that only listens: rule → its tests → the Kubernetes versions they run on."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, list[str]]] = {rule: {} for rule in RULES}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note every test of the session, each once, whatever its parameters."""
        for item in session.items:
            test = item.nodeid.partition("[")[0]
            version = _kubernetes(item)
            for rule in rules_of(item):
                versions = self.tests[rule].setdefault(test, [])
                if version is not None and version not in versions:
                    versions.append(version)


def _kubernetes(item: pytest.Item) -> str | None:
    """Return the version of the control plane that a test runs on, None without one."""
    parameters: dict[str, str] = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("kubernetes")


def collect() -> Mapping[str, Mapping[str, list[str]]]:
    """Return rule → tests → Kubernetes versions, without running any.

    Raises:
        RuntimeError: pytest cannot collect the tests; the message is what it said.
    """
    collected, said = Collected(), io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(["--collect-only", "--quiet", "-p", "no:cacheprovider"], [collected])
    if code is not pytest.ExitCode.OK:
        raise RuntimeError(said.getvalue())
    return collected.tests


def main() -> int:
    """Print the rules and their tests; return the exit code."""
    try:
        tests = collect()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    for rule in RULES:
        if tests[rule]:
            print(f"{rule}: {len(tests[rule])}")
            for test, versions in tests[rule].items():
                print(f"    {test}", *([f"({', '.join(versions)})"] if versions else []))
    missing = [rule for rule in FINISHED_RULES if not tests[rule]]
    if missing:
        print(f"\nno test shows {', '.join(missing)}", file=sys.stderr)
        return 1
    print(f"\nall {len(FINISHED_RULES)} rules of the finished parts have tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
