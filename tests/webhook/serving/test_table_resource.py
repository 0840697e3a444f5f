"""A SelectionTable of the cluster reaches what serves, and its live status with it (design §3)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar, cast

import pytest
import yaml

from selection_spec.availability import Availability, RowStatus
from selection_spec.resolve import NOTHING_KNOWN
from selection_spec.table import builtin_table
from tests.builders import PFN_TABLE
from tests.cluster.api import wait_until
from tests.logbook import NOW, Logbook
from webhook.inventory.table_object import load_table_text
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, ClusterError, UnreachableError
from webhook.metrics import Metrics
from webhook.serving.live_table import LiveTable
from webhook.serving.table_resource import TableResource, table_object

Json = dict[str, Any]

PFN = yaml.safe_load(PFN_TABLE.read_text())
DIGEST = "e714847787031e18"
ROWS = [{"id": "a30-24gb", "devices": 24, "mostUsableOnANode": 4}]
KNOWN = Availability({"a30-24gb": RowStatus(24, 4)})


def raw(status: object = None, **spec: object) -> Json:
    """The fleet's table as the API server sends it."""
    return {
        "metadata": {"name": "default", "resourceVersion": "1", "managedFields": [{}]},
        "spec": PFN["spec"] | spec,
        "status": status,
    }


def status(**fields: object) -> Json:
    return {"digest": DIGEST, "renewTime": "2026-06-01T12:00:00Z", "rows": ROWS} | fields


class Collection:
    """Stands in for the API server's collection of tables: what a list finds, or why not."""

    def __init__(self, found: Json | ClusterError | None) -> None:
        self.found = found
        self.lists = 0

    def pages(self, _: str, **query: str) -> Iterator[tuple[str, list[Json]]]:
        assert query == {"fieldSelector": "metadata.name=default"}
        self.lists += 1
        if isinstance(self.found, ClusterError):
            raise self.found
        yield "1", [] if self.found is None else [self.found]

    def watch(self, *_: str, **__: str) -> Iterator[Json]:
        yield {"type": "CONNECTED"}
        yield {"type": "ERROR", "object": {"code": 410}}  # so that it is listed again


class Followed:
    """A live table that follows a collection until the test is over."""

    all: ClassVar[list[Followed]] = []

    def __init__(self, found: Json | ClusterError | None) -> None:
        self.collection = Collection(found)
        self.book = Logbook()
        self.metrics = Metrics()
        self.now = NOW
        self.live = LiveTable(
            load=load_table_text, metrics=self.metrics, log=self.book.log, clock=lambda: NOW
        )
        self.feed = TableResource(
            cast("Cluster", self.collection),
            "default",
            self.live,
            builtin=builtin_table,
            clock=self.clock,
        )
        self.all.append(self)
        assert self.feed.begin() == ()
        self.settle()

    def clock(self) -> datetime:
        return self.now

    def become(self, found: Json | ClusterError | None) -> None:
        self.collection.found = found
        self.settle()

    def settle(self) -> None:
        """Wait until what is there now was listed, and let a moment pass."""
        asked = self.collection.lists + 2
        wait_until(lambda: self.collection.lists >= asked, timeout=20, what="two lists", poll=0.002)
        self.feed.look()

    @property
    def digest(self) -> str:
        return "" if self.live.snapshot is None else self.live.snapshot.digest

    @property
    def known(self) -> Availability | None:
        return None if self.live.snapshot is None else self.live.snapshot.availability


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("webhook.kube.reflector._FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("webhook.kube.reflector._LONGEST_PAUSE_S", 0.001)
    yield
    while Followed.all:
        Followed.all.pop().feed.end()


def test_a_table_that_is_there_serves() -> None:
    followed = Followed(raw())
    assert followed.digest == DIGEST
    assert followed.live.source == "SelectionTable default"


@pytest.mark.parametrize(
    "nothing",
    [None, ApiError("GET", 404, "NotFound", "no such kind of object")],
    ids=["no table of the name", "no such resource"],
)
def test_where_there_is_none_the_built_in_one_serves(nothing: ApiError | None) -> None:
    followed = Followed(nothing)
    assert followed.digest == builtin_table().digest
    assert followed.live.source == "built-in, for the cluster has no SelectionTable default"
    assert followed.live.unreached == ""


@pytest.mark.parametrize(
    "trouble",
    [
        UnreachableError("https://x: GET /apis: refused"),
        ApiError("GET /apis", 403, "Forbidden", "cannot list selectiontables"),
        ApiError("GET /apis", 404, "", "default backend - 404"),
    ],
    ids=["away", "forbidden", "a proxy's 404"],
)
def test_where_nothing_can_be_seen_there_is_no_table_and_the_reason_is_told(
    trouble: ClusterError,
) -> None:
    followed = Followed(trouble)
    assert followed.live.snapshot is None
    assert followed.live.unreached == str(trouble)
    assert followed.metrics.registry.get_sample_value("gpuspec_table_unreached") == 1
    followed.become(raw())
    assert followed.digest == DIGEST
    assert followed.live.unreached == ""
    assert followed.metrics.registry.get_sample_value("gpuspec_table_unreached") == 0


def test_an_outage_changes_nothing() -> None:
    followed = Followed(raw(status()))
    followed.become(UnreachableError("away"))
    assert followed.digest == DIGEST
    assert followed.known == KNOWN


def test_a_bad_table_never_replaces_a_good_one_and_is_told_once() -> None:
    followed = Followed(raw())
    followed.become(raw(devices=[]))
    followed.settle()
    assert followed.digest == DIGEST
    refused = "SelectionTable default: spec.devices: devices is empty; write one or more"
    assert followed.live.problems == (refused,)
    messages = [line["message"] for line in followed.book.lines]
    assert messages == ["table in use", "table refused, the one in use stays"]


def test_a_deleted_table_gives_way_to_the_built_in_one_and_comes_back() -> None:
    followed = Followed(raw())
    followed.become(None)
    assert followed.digest == builtin_table().digest
    followed.become(raw())
    assert followed.digest == DIGEST


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    ("said", "known"),
    [
        pytest.param(status(), KNOWN, id="fresh"),
        pytest.param(None, NOTHING_KNOWN, id="none"),
        pytest.param({}, NOTHING_KNOWN, id="empty"),
        pytest.param(status(digest="another"), NOTHING_KNOWN, id="of another table"),
        pytest.param(status(renewTime="2026-06-01T11:56:59Z"), NOTHING_KNOWN, id="stale"),
        pytest.param(status(renewTime="2026-06-01T11:57:01Z"), KNOWN, id="just fresh"),
        pytest.param(status(renewTime="2026-06-01T12:04:00Z"), NOTHING_KNOWN, id="of the future"),
        pytest.param(status(renewTime="yesterday"), NOTHING_KNOWN, id="no time"),
        pytest.param(status(renewTime="2026-06-01T12:00:00"), NOTHING_KNOWN, id="no zone"),
        pytest.param(status(rows="many"), NOTHING_KNOWN, id="rows of a wrong shape"),
        pytest.param(status(rows=[{"id": "a30-24gb"}, *ROWS]), KNOWN, id="one row misshapen"),
    ],
)
def test_the_live_status_counts_while_it_is_fresh_and_of_this_table(
    said: Json | None, known: Availability
) -> None:
    assert Followed(raw(said)).known == known


@pytest.mark.rule("D7")
def test_a_status_that_is_not_renewed_is_forgotten_by_the_clock_alone() -> None:
    followed = Followed(raw(status()))
    assert followed.known == KNOWN
    followed.collection.found = UnreachableError("away")
    followed.now += timedelta(seconds=181)
    followed.feed.look()
    assert followed.known == NOTHING_KNOWN
    assert followed.digest == DIGEST


def test_a_renewed_status_that_says_the_same_keeps_the_snapshot() -> None:
    followed = Followed(raw(status()))
    before = followed.live.snapshot
    followed.become(raw(status(renewTime="2026-06-01T12:01:00Z")))
    assert followed.live.snapshot is before


def test_a_table_that_is_nested_without_end_is_refused_and_not_taken_for_none() -> None:
    followed = Followed(raw())
    deep: object = 1
    for _ in range(300):
        deep = {"x": deep}
    followed.become(raw(deep=deep))
    assert followed.digest == DIGEST
    nested = "SelectionTable default: the table is nested too deeply; remove what nests so"
    assert followed.live.problems == (nested,)


def test_a_table_is_read_without_what_the_api_server_adds() -> None:
    assert table_object(raw()).text == table_object(raw(status()) | {"kind": "x"}).text
    assert load_table_text(table_object(raw()).text).digest == DIGEST
