"""When a status is written, and what it says (design §3, D7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from selection_spec.table import Table
from tests.logbook import NOW
from tests.webhook.controllers.memory import Memory
from tests.webhook.controllers.worlds import PlainWorld, gpu_node, pfn_table
from tests.webhook.inventory.drivers import NVIDIA, claim, device, pool
from webhook.controllers import table_status, tables
from webhook.controllers.board import Board, Part
from webhook.controllers.table_status import TableStatusLoop
from webhook.controllers.tables import TableHeld
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.conditions import Condition
from webhook.inventory.facts import node_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.status import Survey
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError

TABLE = "/apis/gpuspec.preferred.jp/v1alpha1/selectiontables/default"


class Status:
    """The loop with a world and an API server of plain objects."""

    def __init__(self, held: TableHeld | None = None) -> None:
        self.world = PlainWorld()
        self.world.put_nodes([gpu_node("n", "a30-24gb", 6)])
        self.memory = Memory()
        self.board = Board(lambda: None)
        self.put(held or pfn_table())
        self.loop = self.another()
        self.now = NOW
        self.is_mirrored = True

    def another(self) -> TableStatusLoop:
        """The loop of another process."""
        return TableStatusLoop(
            cast("Cluster", self.memory),
            self.world,
            in_use="default",
            board=self.board,
            monotonic=lambda: 0.0,
        )

    def put(self, held: TableHeld) -> None:
        self.world.put_table(held)
        self.memory.put(TABLE, {"metadata": {"name": held.name}})

    def run(self, seconds: float = 0.0) -> int:
        """Let time pass and run once; how many writes there were."""
        self.now += timedelta(seconds=seconds)
        if self.is_mirrored:
            self._mirror()
        before = len(self.memory.writes)
        self.loop.run(self.now)
        return len(self.memory.writes) - before

    def _mirror(self) -> None:
        """Show the loop what it has written, as its mirror does a moment later."""
        for name, held in self.world.plain["tables"].objects.items():
            found = self.memory.objects.get(TABLE.replace("default", name), {})
            self.world.put_table(replace(held, status=found.get("status", {})))

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.memory.objects[TABLE]["status"]
        return found

    def condition(self, kind: str) -> dict[str, Any]:
        (found,) = (one for one in self.status["conditions"] if one["type"] == kind)
        return dict(found)


def test_a_status_says_what_rows_match_and_of_which_table() -> None:
    status = Status(pfn_table(generation=3))
    assert status.run() == 1
    assert status.status["observedGeneration"] == 3
    assert status.status["digest"] == "e714847787031e18"
    assert status.status["renewTime"] == "2026-06-01T12:00:00Z"
    assert status.status["rowCount"] == 4
    rows = {row["id"]: row["devices"] for row in status.status["rows"]}
    assert rows == {"v100-16gb": 0, "v100-32gb": 0, "a30-24gb": 6, "a100-80gb": 0}
    assert status.condition("Accepted")["status"] == "True"
    assert status.condition("Ready")["observedGeneration"] == 3


@pytest.mark.rule("D7")
def test_it_is_written_when_it_changed_and_every_minute() -> None:
    status = Status()
    assert status.run() == 1
    assert status.run(5) == 0
    status.world.put_nodes([gpu_node("m", "a30-24gb", 6)])
    assert status.run(5) == 1
    assert status.run(59) == 0
    assert status.run(1) == 1
    assert status.status["renewTime"] == "2026-06-01T12:01:10Z"


def test_a_new_leader_writes_at_once_for_it_knows_nothing_of_the_former() -> None:
    status = Status()
    status.run()
    status.loop = status.another()
    assert status.run(1) == 1


def test_a_bad_table_is_told_with_all_problems_and_counts_nothing() -> None:
    status = Status(pfn_table(perNode=0, cost=-1))
    status.run()
    assert status.status["rows"] == []
    assert status.status["digest"] == ""
    accepted = status.condition("Accepted")
    assert accepted["status"] == "False"
    assert len(accepted["message"].splitlines()) == 2


def test_a_write_that_failed_is_made_again() -> None:
    status = Status()
    status.memory.before_write = _refuse
    with pytest.raises(ApiError):
        status.run()
    status.memory.before_write = lambda *_: None
    assert status.run(1) == 1


def test_a_table_deleted_meanwhile_is_no_error() -> None:
    status = Status()
    del status.memory.objects[TABLE]
    assert status.run() == 0


def test_the_other_loops_parts_are_in_the_status_of_the_table_in_use_alone() -> None:
    status = Status()
    other = TableHeld("other", "uid-2", pfn_table().text, 1, {})
    status.world.put_table(other)
    status.memory.put(TABLE.replace("default", "other"), {"metadata": {"name": "other"}})
    said = Condition("ReserveBlocked", "False", "NothingWaits", "fine")
    status.board.post("reserve", Part((said,), {"reserved": {"nodes": 2}}))
    assert status.run() == 2
    assert status.condition("ReserveBlocked")["message"] == "fine"
    assert status.status["reserved"] == {"nodes": 2}
    beside = status.memory.objects[TABLE.replace("default", "other")]["status"]
    assert {one["type"] for one in beside["conditions"]} == {"Accepted", "Following", "Ready"}
    assert "reserved" not in beside


def test_nothing_is_written_before_everything_was_seen() -> None:
    status = Status()
    status.world.plain["pods"].synced = False
    assert status.run() == 0
    status.world.plain["pods"].synced = True
    status.world.plain["daemons"].synced = False  # another loop's business
    assert status.run() == 1


@pytest.mark.rule("D7")
def test_what_cannot_be_seen_any_more_is_told_and_not_renewed() -> None:
    status = Status()
    status.run()
    status.world.plain["nodes"].trouble = "cannot list nodes"
    assert status.run(30) == 1
    assert status.condition("Following")["status"] == "False"
    assert status.condition("Following")["message"] == "counts are of earlier: cannot list nodes"
    assert status.status["renewTime"] == "2026-06-01T12:00:00Z"
    assert status.run(600) == 0
    status.world.plain["nodes"].trouble = ""
    assert status.run(5) == 1
    assert status.condition("Following")["status"] == "True"
    assert status.status["renewTime"] == "2026-06-01T12:10:35Z"


@pytest.mark.rule("D7")
def test_a_leader_that_sees_nothing_from_the_start_promises_nothing() -> None:
    status = Status()
    status.world.plain["pods"].trouble = "cannot list pods"
    assert status.run() == 1
    assert "renewTime" not in status.status


def test_a_table_that_was_deleted_and_made_again_is_written_at_once() -> None:
    status = Status()
    status.run()
    status.put(pfn_table(uid="uid-2"))
    assert status.run(1) == 1


def test_a_status_that_somebody_cleared_is_written_again() -> None:
    status = Status()
    status.run()
    assert status.run(30) == 0
    del status.memory.objects[TABLE]["status"]
    assert status.run(5) == 1
    status.is_mirrored = False  # a write of a moment ago may not be mirrored yet
    status.put(pfn_table())
    assert status.run(5) == 0


def test_one_table_that_refuses_its_status_holds_up_no_other() -> None:
    status = Status()
    first = TABLE.replace("default", "another")
    status.world.plain["tables"].objects.clear()
    status.world.put_table(TableHeld("another", "uid-2", pfn_table().text, 1, {}))
    status.world.put_table(pfn_table())
    status.memory.put(first, {"metadata": {"name": "another"}})

    def refuse(_: str, path: str) -> None:
        if path.startswith(first):
            raise ApiError(f"PATCH {path}", 403, "Forbidden", "no")

    status.memory.before_write = refuse
    with pytest.raises(ApiError, match="another/status: 403 Forbidden"):
        status.run()
    assert status.status["digest"] == "e714847787031e18"


def test_an_amount_beyond_reason_stops_nothing_and_shows() -> None:
    status = Status()
    huge = {"nvidia.com/gpu": "9223372036854775807"}
    node = {
        "metadata": {"name": "odd", "labels": {"gpu-model": "a30-24gb"}},
        "status": {
            "capacity": huge,
            "allocatable": huge,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    status.world.put_nodes([node_facts(node)])
    status.run()
    (row,) = (one for one in status.status["rows"] if one["id"] == "a30-24gb")
    assert row["devices"] == 1_000_006
    assert "perNode is 6, the largest node has 1000000" in row["problems"]


def _refuse(verb: str, path: str) -> None:
    raise ApiError(f"{verb} {path}", 500, "InternalError", "no")


@pytest.mark.rule("D7", "C3")
def test_devices_of_drivers_and_what_claims_hold_are_counted_anew_when_they_change() -> None:
    claim_part = {"deviceClassName": NVIDIA, "driver": NVIDIA}
    status = Status(pfn_table(output="ResourceClaim", claim=claim_part))
    there = status.world.plain

    def a100() -> tuple[int, int]:
        status.run()
        (row,) = (one for one in status.status["rows"] if one["id"] == "a100-80gb")
        return row["devices"], row["free"]

    there["slices"].put("s", slice_facts(pool(device(memory="80Gi"), device(memory="80Gi"))))
    status.world.put_nodes([gpu_node("n1", "a100-80gb", 0)])
    assert a100() == (2, 2)
    assert status.status["missingDeviceClasses"] == [NVIDIA]
    there["classes"].put(NVIDIA, "")
    there["claims"].put("team/c", claim_facts(claim("gpu-0-1")))
    assert a100() == (2, 1)
    assert status.status["missingDeviceClasses"] == []


@pytest.mark.rule("D7")
def test_a_status_waits_until_claims_were_seen() -> None:
    status = Status()
    status.world.plain["claims"].synced = False
    assert status.run() == 0
    status.world.plain["claims"].synced = True
    assert status.run() == 1


NO = "GET /x: 403 Forbidden: no"
CLAIMED: dict[str, Any] = {
    "output": "ResourceClaim",
    "claim": {"deviceClassName": NVIDIA, "driver": NVIDIA},
}


@pytest.mark.rule("D7", "C3")
@pytest.mark.parametrize("synced", [False, True], ids=["from the start", "later"])
@pytest.mark.parametrize("mirror", ["slices", "classes", "claims"])
def test_a_table_without_claims_has_all_its_status_where_drivers_cannot_be_seen(
    mirror: str, *, synced: bool
) -> None:
    status = Status()
    hidden = status.world.plain[mirror]
    hidden.synced, hidden.trouble = synced, NO
    status.run()
    rows = {row["id"]: row["devices"] for row in status.status["rows"]}
    assert rows == {"v100-16gb": 0, "v100-32gb": 0, "a30-24gb": 6, "a100-80gb": 0}
    assert status.status["renewTime"] == "2026-06-01T12:00:00Z"
    said = f"counts hold, but what depends on the following stands still: {NO}"
    assert status.condition("Following")["message"] == said
    assert status.run(60) == 1


@pytest.mark.rule("D7", "C3")
@pytest.mark.parametrize("mirror", ["slices", "classes", "claims"])
def test_of_a_table_with_claims_all_is_counted_that_can_be_seen(mirror: str) -> None:
    status = Status(pfn_table(**CLAIMED))
    status.world.put_nodes([gpu_node("n1", "a100-80gb", 0)])
    hidden = status.world.plain[mirror]
    hidden.synced, hidden.trouble = False, NO
    status.run()
    rows = {row["id"]: (row["nodes"], row.get("devices")) for row in status.status["rows"]}
    assert rows["a30-24gb"] == (1, 6)
    assert rows["a100-80gb"] == (1, None)
    assert status.condition("Following")["status"] == "False"
    said = f"devices of DRA drivers are not counted: {NO}"
    assert status.condition("Following")["message"] == said
    assert status.status["renewTime"] == "2026-06-01T12:00:00Z"
    hidden.synced, hidden.trouble = True, ""
    status.run(5)
    rows = {row["id"]: (row["nodes"], row.get("devices")) for row in status.status["rows"]}
    assert rows["a100-80gb"] == (1, 0)
    assert status.condition("Following")["status"] == "True"


@pytest.mark.rule("D7", "C3")
def test_what_a_table_with_claims_had_is_not_renewed_once_drivers_cannot_be_seen() -> None:
    status = Status(pfn_table(**CLAIMED))
    status.run()
    status.world.plain["slices"].trouble = NO
    assert status.run(60) == 1
    assert status.condition("Following")["message"] == f"counts are of earlier: {NO}"
    assert status.status["renewTime"] == "2026-06-01T12:00:00Z"


@pytest.mark.parametrize("mirror", ["nodes", "pods"])
def test_where_nothing_was_ever_seen_what_another_leader_counted_stays_and_is_not_renewed(
    mirror: str,
) -> None:
    status = Status()
    status.run()
    status.loop = status.another()
    hidden = status.world.plain[mirror]
    hidden.synced, hidden.trouble = False, NO
    assert status.run(5) == 1
    assert status.condition("Following")["message"] == f"nothing is counted: {NO}"
    assert len(status.status["rows"]) == 4
    assert "renewTime" not in status.status


@pytest.mark.parametrize("mirror", ["templates", "daemons"])
def test_what_other_loops_cannot_see_is_told_beside_counts_that_hold(mirror: str) -> None:
    status = Status()
    status.world.plain[mirror].trouble = NO
    status.run()
    assert status.condition("Following")["status"] == "False"
    said = f"counts hold, but what depends on the following stands still: {NO}"
    assert status.condition("Following")["message"] == said
    assert status.run(60) == 1


def test_a_bug_about_one_table_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    status = Status()
    odd = pfn_table(cost=7)
    status.world.put_table(TableHeld("odd", "uid-2", odd.text, 1, {}))
    status.memory.put(TABLE.replace("default", "odd"), {"metadata": {"name": "odd"}})

    def stumble(table: Table, clock: Callable[[], float]) -> Survey:
        if table.digest != "e714847787031e18":
            raise ZeroDivisionError("no way")
        return Survey(table, clock)

    monkeypatch.setattr(table_status, "Survey", stumble)
    status.world.plain["tables"].objects = dict(
        reversed(status.world.plain["tables"].objects.items())
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="no way"):
            status.run(60)
    assert status.status["renewTime"] == "2026-06-01T12:02:00Z"
    beside = status.memory.objects[TABLE.replace("default", "odd")]["status"]
    (said,) = (one for one in beside["conditions"] if one["type"] == "Following")
    assert said["message"] == "nothing is counted: ZeroDivisionError: no way"
    assert "rows" not in beside


def test_a_table_over_which_reading_stumbles_is_told_as_one_that_is_not_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stumble(_: bytes) -> Table:
        raise ZeroDivisionError("no way")

    monkeypatch.setattr(tables, "load_table_text", stumble)
    status = Status(pfn_table(cost=8))
    status.run()
    said = "it cannot be read: ZeroDivisionError: no way"
    assert status.condition("Accepted")["message"] == said
