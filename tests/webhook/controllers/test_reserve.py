"""What the reserve loop does to nodes, Pods and the status (D6, N9, H7)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from selection_spec.labels import Toleration
from tests.logbook import NOW, Logbook
from tests.webhook.controllers.memory import Memory
from tests.webhook.controllers.worlds import PlainWorld, gpu_node, pfn_table
from webhook.controllers.board import Board
from webhook.controllers.reserve import ReserveLoop
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.pod_facts import Owner, PodFacts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, UnreachableError

ROW = "a100-80gb"
OURS = Taint("gpuspec.preferred.jp/reserved", ROW, "NoSchedule")
EVENTS = "/api/v1/namespaces/team/events"


class Reserve:
    """The loop with a world and an API server of plain objects."""

    def __init__(self, *nodes: NodeFacts, **row: object) -> None:
        self.world = PlainWorld()
        self.world.put_table(pfn_table(**row))  # type: ignore[arg-type]
        self.world.put_nodes(nodes)
        self.memory = Memory(
            {
                f"/api/v1/nodes/{node.name}": {
                    "metadata": {"name": node.name},
                    "spec": {
                        "taints": [
                            {"key": one.key, "value": one.value, "effect": one.effect}
                            for one in node.taints
                        ]
                    },
                }
                for node in nodes
            }
        )
        self.board = Board(lambda: None)
        self.book = Logbook()
        self.loop = self.another()

    def another(self) -> ReserveLoop:
        """The loop of another process."""
        return ReserveLoop(
            cast("Cluster", self.memory),
            self.world,
            in_use="default",
            board=self.board,
            log=self.book.log,
        )

    def run(self) -> list[str]:
        """Run once; the nodes that carry our taint then."""
        self.loop.run(NOW)
        return [
            path.rpartition("/")[2]
            for path, one in self.memory.objects.items()
            if any(taint["key"] == OURS.key for taint in one.get("spec", {}).get("taints", ()))
        ]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [body for verb, path, body in self.memory.writes if path.startswith(EVENTS)]


def nodes(*taints: Taint) -> tuple[NodeFacts, ...]:
    return (
        gpu_node("a100-1", ROW, 4, *taints),
        gpu_node("a100-2", ROW, 4, *taints),
        gpu_node("a30-1", "a30-24gb", 6),
    )


def pending(name: str, *candidates: str, tolerations: tuple[Toleration, ...] = ()) -> PodFacts:
    return PodFacts(
        "team",
        name,
        f"uid-{name}",
        Owner("Job", "j"),
        candidates=candidates,
        tolerations=tolerations,
    )


def condition(reserve: Reserve) -> tuple[str, str]:
    (one,) = reserve.board.conditions()
    return one.status, one.message


@pytest.mark.rule("D6", "N9")
def test_a_reserved_rows_nodes_are_tainted_and_others_not() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    assert reserve.run() == ["a100-1", "a100-2"]
    reserve.world.put_nodes(nodes(OURS))  # as the mirror shows them a moment later
    reserve.run()
    assert reserve.board.fields() == {"reserved": {"nodes": 2, "pendingPods": 0}}
    assert condition(reserve) == ("False", "no reserved row waits")
    line = {"level": "info", "message": "reserve taint", "node": "a100-1"}
    assert reserve.book.lines[0] == line | {"taint": str(OURS)}


@pytest.mark.rule("D6")
@pytest.mark.parametrize(
    "row", [{}, {"reserved": True, "name": "a100x"}], ids=["taken back", "another name"]
)
def test_what_is_no_longer_reserved_loses_that_taint(row: dict[str, Any]) -> None:
    reserve = Reserve(*nodes(OURS), **row)
    reserve.run()
    for name in ("a100-1", "a100-2"):
        taints = reserve.memory.objects[f"/api/v1/nodes/{name}"]["spec"]["taints"]
        values = [one["value"] for one in taints if one["key"] == OURS.key]
        assert values == (["a100x-80gb"] if row else [])


def test_a_node_that_left_the_row_loses_the_taint() -> None:
    reserve = Reserve(gpu_node("n", "a30-24gb", 6, OURS), reserved=True)
    assert reserve.run() == []


@pytest.mark.rule("H7")
def test_a_daemon_set_that_would_be_locked_out_holds_the_whole_row_back() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    every = Toleration("gpu-model", "Exists")
    reserve.world.put_daemon(DaemonFacts("kube-system", "driver", tolerations=(every,)))
    reserve.world.put_daemon(
        DaemonFacts("kube-system", "proxy", tolerations=(Toleration("", "Exists"),))
    )
    reserve.world.put_daemon(
        DaemonFacts("kube-system", "elsewhere", {"gpu-model": "a30-24gb"}, tolerations=(every,))
    )
    assert reserve.run() == []
    status, message = condition(reserve)
    assert status == "True"
    assert message == (
        "not tainted yet: a100-80gb for kube-system/driver; their Pods would not come back to "
        "these nodes, so give each DaemonSet the toleration key gpuspec.preferred.jp/reserved, "
        "operator Exists, effect NoSchedule"
    )
    assert reserve.board.fields() == {"reserved": {"nodes": 0, "pendingPods": 0}}


@pytest.mark.rule("H7")
def test_a_daemon_set_made_later_takes_no_taint_away() -> None:
    reserve = Reserve(*nodes(OURS), reserved=True)
    every = Toleration("gpu-model", "Exists")
    reserve.world.put_daemon(DaemonFacts("kube-system", "driver", tolerations=(every,)))
    assert reserve.run() == ["a100-1", "a100-2"]
    assert condition(reserve)[0] == "False"


@pytest.mark.rule("D6")
def test_pods_that_no_device_is_left_for_are_told_once_also_by_the_next_leader() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    reserve.world.put_pod(pending("stranded", ROW))
    reserve.world.put_pod(pending("wide", ROW, "a30-24gb"))
    reserve.world.put_pod(pending("raw"))
    named = Toleration(OURS.key, "Equal", ROW, "NoSchedule")
    reserve.world.put_pod(pending("named", ROW, tolerations=(named,)))
    reserve.run()
    reserve.run()
    reserve.loop = reserve.another()
    reserve.run()
    (event,) = reserve.events
    assert event["involvedObject"]["name"] == "stranded"
    assert event["involvedObject"]["uid"] == "uid-stranded"
    assert event["reason"] == "DevicesReserved"
    assert event["message"] == (
        "every device that this Pod may use is reserved now (a100-80gb); "
        "create it again with the name of one, such as preferred.jp/gpu-a100-80gb"
    )
    assert reserve.board.fields()["reserved"] == {"nodes": 0, "pendingPods": 1}


@pytest.mark.rule("D6", "H7")
def test_pods_can_still_start_while_the_switch_is_blocked() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    every = Toleration("gpu-model", "Exists")
    reserve.world.put_daemon(DaemonFacts("kube-system", "driver", tolerations=(every,)))
    reserve.world.put_pod(pending("waiting", ROW))
    reserve.run()
    assert reserve.events == []
    assert reserve.board.fields()["reserved"] == {"nodes": 0, "pendingPods": 0}


def test_thousands_of_stranded_pods_are_told_in_portions() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    for number in range(250):
        reserve.world.put_pod(pending(f"pod-{number}", ROW))
    waits = [reserve.loop.run(NOW) for _ in range(3)]
    assert len(reserve.events) == 250
    assert waits == [1.0, 1.0, 30.0]


@pytest.mark.parametrize(
    "error",
    [
        ApiError("POST", 404, "NotFound", 'namespaces "team" not found'),
        ApiError("POST", 403, "Forbidden", "it is being terminated"),
    ],
    ids=["gone", "going"],
)
def test_a_namespace_that_is_leaving_needs_no_events(error: ApiError) -> None:
    reserve = Reserve(*nodes(), reserved=True)
    reserve.world.put_pod(pending("stranded", ROW))

    def refuse(verb: str, path: str) -> None:
        if path == EVENTS and verb == "create":
            raise error

    reserve.memory.before_write = refuse
    assert reserve.run() == ["a100-1", "a100-2"]


def test_a_node_that_refuses_its_taint_holds_up_no_other() -> None:
    many = [gpu_node(f"a100-{number:03d}", ROW, 4) for number in range(250)]
    reserve = Reserve(*many, reserved=True)

    def refuse(_: str, path: str) -> None:
        if path.startswith("/api/v1/nodes/a100-0"):  # the first hundred
            raise ApiError(f"PATCH {path}", 403, "Forbidden", "no")

    reserve.memory.before_write = refuse
    refused = []
    for _ in range(3):
        try:
            reserve.run()
        except ApiError as error:
            refused.append(error.code)
        written = [path.rpartition("/")[2] for _, path, _ in reserve.memory.writes]
        reserve.world.put_nodes(gpu_node(name, ROW, 4, OURS) for name in written)
    assert len(written) == 150
    assert refused == [403, 403]  # in the second run only others were tried
    assert condition(reserve) == (
        "True",
        "some nodes cannot be changed: PATCH /api/v1/nodes/a100-049: 403 Forbidden: no",
    )
    assert reserve.board.fields()["reserved"] == {"nodes": 100, "pendingPods": 0}


@pytest.mark.rule("D6")
def test_a_taint_of_our_key_that_somebody_else_placed_is_made_ours() -> None:
    other = Taint(OURS.key, "mine", "NoExecute")
    reserve = Reserve(*nodes(OURS, other), reserved=True)
    reserve.run()
    taints = reserve.memory.objects["/api/v1/nodes/a100-1"]["spec"]["taints"]
    assert [one for one in taints if one["key"] == OURS.key] == [
        {"key": OURS.key, "value": ROW, "effect": "NoSchedule"}
    ]


def test_a_missing_permission_is_an_error() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    reserve.world.put_pod(pending("stranded", ROW))

    def refuse(_: str, path: str) -> None:
        if path == EVENTS:
            raise ApiError("POST", 403, "Forbidden", "cannot create events")

    reserve.memory.before_write = refuse
    with pytest.raises(ApiError, match="cannot create events"):
        reserve.run()


def test_without_a_table_of_the_name_the_built_in_one_reserves_nothing() -> None:
    reserve = Reserve(*nodes(OURS))
    reserve.world.plain["tables"].objects.clear()
    assert reserve.run() == []


def test_a_table_that_cannot_be_read_changes_nothing() -> None:
    reserve = Reserve(*nodes(OURS), reserved=True, perNode=0)
    assert reserve.run() == ["a100-1", "a100-2"]
    assert reserve.memory.writes == []


def test_nothing_is_judged_before_everything_was_seen() -> None:
    reserve = Reserve(*nodes(OURS))
    reserve.world.plain["daemons"].synced = False
    assert reserve.run() == ["a100-1", "a100-2"]


def test_what_cannot_be_seen_for_good_is_a_failure_of_the_loop() -> None:
    reserve = Reserve(*nodes(OURS))
    mirror = reserve.world.plain["daemons"]
    mirror.synced, mirror.trouble = False, "cannot list daemonsets"
    with pytest.raises(UnreachableError, match="not everything was seen yet: cannot list daemon"):
        reserve.run()


def test_thousands_of_nodes_are_tainted_in_portions_and_the_rest_at_once() -> None:
    reserve = Reserve(*(gpu_node(f"a100-{number}", ROW, 4) for number in range(250)), reserved=True)
    tainted = []
    waits = []
    for _ in range(3):
        waits.append(reserve.loop.run(NOW))
        written = [path.rpartition("/")[2] for _, path, _ in reserve.memory.writes]
        tainted.append(len(written))
        reserve.world.put_nodes(gpu_node(name, ROW, 4, OURS) for name in written)
    assert tainted == [100, 200, 250]
    assert waits == [0.0, 0.0, 30.0]
    reserve.run()  # when the mirror shows the last of them
    assert reserve.board.fields() == {"reserved": {"nodes": 250, "pendingPods": 0}}


def test_a_node_deleted_meanwhile_keeps_no_other_from_its_taint() -> None:
    reserve = Reserve(*nodes(), reserved=True)
    del reserve.memory.objects["/api/v1/nodes/a100-1"]
    assert reserve.run() == ["a100-2"]
    assert [line["node"] for line in reserve.book.lines] == ["a100-2"]


def test_a_node_that_may_not_be_changed_is_an_error() -> None:
    reserve = Reserve(*nodes(), reserved=True)

    def refuse(*_: str) -> None:
        raise ApiError("PATCH", 403, "Forbidden", "cannot patch nodes")

    reserve.memory.before_write = refuse
    with pytest.raises(ApiError, match="cannot patch nodes"):
        reserve.run()
