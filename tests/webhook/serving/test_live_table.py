"""The table in use is the last good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from selection_spec.errors import TableError
from selection_spec.table import load_table
from tests.logbook import NOW, Logbook
from tests.mounted import MountedVolume
from tests.webhook.documents import BROKEN_TABLE, table_text
from webhook.metrics import Metrics
from webhook.serving.feeds import TableFeed
from webhook.serving.live_table import LiveTable

GOOD = load_table(table_text())
OTHER = load_table(table_text(per_node=4))

PROBLEMS = [
    "12:7: spec.devices[1].vram: vram is missing",
    "12:7: spec.devices[1].perNode: perNode is missing",
    "13:7: spec.devices[1].perNodes: unknown key perNodes; did you mean perNode?",
]


class Live:
    """A live table with everything that it reports to."""

    def __init__(self) -> None:
        self.book = Logbook()
        self.metrics = Metrics()
        self.table = LiveTable(
            load=load_table, metrics=self.metrics, log=self.book.log, clock=lambda: NOW
        )

    def digest(self) -> str | None:
        return None if self.table.snapshot is None else self.table.snapshot.digest

    def reloads(self, result: str) -> float | None:
        value: float | None = self.metrics.registry.get_sample_value(
            "gpuspec_table_reloads_total", {"result": result}
        )
        return value

    def shown(self) -> set[tuple[str, str]]:
        """The name and digest of every table that the metrics show."""
        return {
            (sample.labels["name"], sample.labels["digest"])
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "gpuspec_table_info"
        }


def test_before_the_first_table_there_is_none() -> None:
    live = Live()

    assert live.table.snapshot is None
    assert live.table.loaded_at is None
    assert live.shown() == set()


def test_a_good_table_is_taken_up() -> None:
    live = Live()

    assert live.table.offer(table_text(), "table.yaml")

    assert live.digest() == GOOD.digest
    assert live.table.loaded_at == NOW
    assert live.table.problems == ()
    assert live.shown() == {("small", GOOD.digest)}
    assert live.reloads("success") == 1
    assert live.book.lines == [
        {
            "level": "info",
            "message": "table in use",
            "table": "small",
            "digest": GOOD.digest,
            "rows": 2,
            "source": "table.yaml",
        }
    ]


def test_only_the_table_in_use_is_shown() -> None:
    live = Live()

    live.table.offer(table_text(), "table.yaml")
    live.table.offer(table_text(), "table.yaml")
    live.table.offer(table_text(per_node=4), "table.yaml")

    assert live.shown() == {("small", OTHER.digest)}
    assert live.reloads("success") == 3


def test_a_bad_table_leaves_the_good_one_and_says_why() -> None:
    live = Live()
    live.table.offer(table_text(), "table.yaml")

    assert not live.table.offer(BROKEN_TABLE, "table.yaml")

    assert live.digest() == GOOD.digest
    assert live.table.problems == tuple(f"table.yaml:{problem}" for problem in PROBLEMS)
    assert live.shown() == {("small", GOOD.digest)}
    assert (live.reloads("success"), live.reloads("failure")) == (1, 1)
    assert live.book.lines[-1] == {
        "level": "error",
        "message": "table refused, the one in use stays",
        "digest": GOOD.digest,
        "problems": [f"table.yaml:{problem}" for problem in PROBLEMS],
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"", id="empty"),
        pytest.param(table_text()[:-30], id="cut short"),
        pytest.param(b"\x00\xff", id="binary"),
        pytest.param(b"[" * 5000, id="nested too deeply"),
    ],
)
def test_whatever_is_offered_the_good_one_stays(text: bytes) -> None:
    live = Live()
    live.table.offer(table_text(), "table.yaml")

    assert not live.table.offer(text, "table.yaml")

    assert live.digest() == GOOD.digest
    assert live.table.problems


def test_a_good_table_ends_the_problems_of_a_bad_one() -> None:
    live = Live()
    live.table.offer(BROKEN_TABLE, "table.yaml")

    live.table.offer(table_text(), "table.yaml")

    assert live.table.problems == ()


def test_a_review_that_has_begun_keeps_its_table() -> None:
    """Who has read the snapshot is not affected by a swap."""
    live = Live()
    live.table.offer(table_text(), "table.yaml")
    held = live.table.snapshot

    live.table.offer(table_text(per_node=4), "table.yaml")

    assert held is not None
    assert held.digest == GOOD.digest
    assert live.digest() == OTHER.digest


class TestFeed:
    """From the file to the live table."""

    def test_at_the_start_problems_are_returned_and_not_logged(self, tmp_path: Path) -> None:
        live = Live()
        path = tmp_path / "table.yaml"
        path.write_bytes(BROKEN_TABLE)

        problems = TableFeed(path, live.table).begin()

        assert problems == tuple(f"{path}:{problem}" for problem in PROBLEMS)
        assert live.table.snapshot is None
        assert live.book.lines == []

    def test_at_the_start_a_missing_file_is_a_problem(self, tmp_path: Path) -> None:
        path = tmp_path / "table.yaml"

        assert TableFeed(path, Live().table).begin() == (
            f"cannot read {path}: No such file or directory",
        )

    def test_a_swap_is_followed(self, tmp_path: Path) -> None:
        live = Live()
        volume = MountedVolume(tmp_path / "table", {"table.yaml": table_text()})
        feed = TableFeed(volume / "table.yaml", live.table)
        assert feed.begin() == ()

        volume.swap({"table.yaml": table_text(per_node=4)})
        feed.look()
        while_it_settles = live.digest()
        feed.look()

        assert while_it_settles == GOOD.digest
        assert live.digest() == OTHER.digest

    def test_a_bad_swap_is_reported_once(self, tmp_path: Path) -> None:
        live = Live()
        volume = MountedVolume(tmp_path / "table", {"table.yaml": table_text()})
        feed = TableFeed(volume / "table.yaml", live.table)
        assert feed.begin() == ()

        volume.swap({"table.yaml": BROKEN_TABLE})
        for _ in range(5):
            feed.look()

        assert live.digest() == GOOD.digest
        assert live.reloads("failure") == 1
        assert [line["level"] for line in live.book.lines] == ["info", "error"]

    def test_a_file_that_goes_away_leaves_the_good_table(self, tmp_path: Path) -> None:
        live = Live()
        path = tmp_path / "table.yaml"
        path.write_bytes(table_text())
        feed = TableFeed(path, live.table)
        assert feed.begin() == ()

        path.unlink()
        for _ in range(5):
            feed.look()

        assert live.digest() == GOOD.digest
        assert live.table.problems == (f"cannot read {path}: No such file or directory",)
        assert live.reloads("failure") == 1


def test_loading_raises_what_offering_reports() -> None:
    with pytest.raises(TableError, match="vram is missing"):
        Live().table.load(BROKEN_TABLE, "table.yaml")
