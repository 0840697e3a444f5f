"""Golden cases: a folder each, with a Pod and all that becomes of it.

``tests/golden/<case>/``
    pod.yaml    what the API server sends
    table.yaml  the selection table, where it is not the example with four kinds of device
    want.yaml   the whole Pod as it is stored, its warnings as comments on top; or
    deny.txt    the message that the user reads; or
    skip.txt    why the Pod is left as it is, and its warnings

Every case goes each way that leads to a decision, then once more over its own output. The wanted
files are written by ``pytest --update-golden tests/test_golden.py``; read the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from selection_spec.table import Table, load_table
from tests.answers import applied, denial, patch_of
from tests.builders import Json, make_review, pfn_table
from webhook.admission import messages
from webhook.admission.decide import decide
from webhook.admission.translate import ADMISSION, Verdict, translate
from webhook.jsonpatch import write
from webhook.snapshot import Snapshot

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path for path in GOLDEN.iterdir() if path.is_dir())
WANTED = ("want.yaml", "deny.txt", "skip.txt")


@dataclass(frozen=True)
class Became:
    """What became of a Pod: exactly one of the three, and the file that says so."""

    file: str
    text: str
    pod: Json


def by_translate(pod: Json, snapshot: Snapshot) -> Became:
    """The way of the command line: edits, written by the one writer."""
    outcome = translate(pod, ADMISSION, snapshot)
    after = write(pod, outcome.edits).after if outcome.edits else pod
    warnings = messages.warnings(outcome.warnings)
    return _became(outcome.verdict, outcome.reason, after, denial(outcome), warnings)


def by_decide(pod: Json, snapshot: Snapshot) -> Became:
    """The way of the webhook: a review, answered by a patch that another library applies."""
    decision = decide(make_review(pod), snapshot)
    response = decision.answer["response"]
    message = response["status"]["message"] if "status" in response else ""
    after = applied(pod, patch_of(response))
    warnings = response.get("warnings", [])
    return _became(decision.outcome, decision.reason, after, message, warnings)


Way = Callable[[Json, Snapshot], Became]
WAYS: dict[str, Way] = {"translate": by_translate, "decide": by_decide}


def _became(
    verdict: Verdict, reason: str, after: Json, message: str, warnings: list[str]
) -> Became:
    if verdict is Verdict.DENIED:
        return Became("deny.txt", f"{message}\n", after)
    if verdict is Verdict.UNCHANGED:
        return Became("skip.txt", "\n".join([reason, *warnings]) + "\n", after)
    comments = "".join(f"# warning: {warning}\n" for warning in warnings)
    return Became("want.yaml", comments + _yaml(after), after)


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice in full, as people read it."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def _yaml(document: Json) -> str:
    text: str = yaml.dump(document, Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True)
    return text


def _pod(case: Path) -> Json:
    pod: Json = yaml.safe_load((case / "pod.yaml").read_text())
    return pod


def _table(case: Path) -> Table:
    own = case / "table.yaml"
    return load_table(own.read_bytes()) if own.exists() else pfn_table()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.rule("R2", "R3", "R4")
def test_golden(case: Path, way: str, pytestconfig: pytest.Config) -> None:
    became = WAYS[way](_pod(case), Snapshot(_table(case)))
    if pytestconfig.getoption("--update-golden") and way == "translate":
        for name in WANTED:
            (case / name).unlink(missing_ok=True)
        (case / became.file).write_text(became.text)

    assert [name for name in WANTED if (case / name).exists()] == [became.file]
    assert became.text == (case / became.file).read_text()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "case", [case for case in CASES if (case / "want.yaml").exists()], ids=lambda case: case.name
)
@pytest.mark.rule("R2")
def test_again(case: Path, way: str) -> None:
    """Our own output, as it was written down, is left as it is."""
    snapshot = Snapshot(_table(case))
    stored: Json = yaml.safe_load((case / "want.yaml").read_text())

    again = WAYS[way](stored, snapshot)

    assert again.file == "skip.txt"
    assert again.text.splitlines()[0] == "NoSpec"
    assert again.pod == stored


def test_every_file_is_used() -> None:
    """A forgotten or misspelt file would look like a test and be none."""
    known = {"pod.yaml", "table.yaml", *WANTED}

    assert [path.name for path in GOLDEN.iterdir() if not path.is_dir()] == []
    for case in CASES:
        names = {path.name for path in case.iterdir()}
        assert names <= known, case.name
        assert "pod.yaml" in names, case.name
        assert len(names & {*WANTED}) == 1, case.name
