"""What a table's rows have in a cluster, and what is wrong with them, word for word."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from selection_spec.errors import Level
from selection_spec.rows import Row
from selection_spec.table import Table
from tests.builders import GPU, Json, expression, make_row, make_table, pfn_table, tolerate
from tests.webhook.inventory.facts import node, nodes, pod
from tests.webhook.inventory.fleets import ready_fleet
from webhook.inventory.facts import NodeFacts, Taint, node_facts
from webhook.inventory.kinds import Kinds
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.status import RowCounts, Survey, table_status

A30 = make_row("a30-24gb", perNode=6)
UNHEALTHY = Taint("gpuspec.preferred.jp/unhealthy", "", "NoSchedule")
RESERVED = Taint("gpuspec.preferred.jp/reserved", "a30-24gb", "NoSchedule")
DOWN = Taint("node.kubernetes.io/unreachable", "", "NoExecute")
MEMORY = "nvidia.com/gpu.memory"
TEAM = Taint("team", "vision", "NoSchedule")


def counts(table: Table, cluster: list[NodeFacts], pods: tuple[PodFacts, ...] = ()) -> RowCounts:
    """The first row's."""
    return table_status(table, cluster, pods).rows[0]


def problems(row: Json, *cluster: NodeFacts, others: tuple[Json, ...] = ()) -> list[str]:
    """What is wrong with the first of several rows, as the status says it."""
    table = make_table(row, *others)
    status = table_status(table, cluster).to_json()
    wanted = f"{row['name']}-{row['vram']}"
    (found,) = (one["problems"] for one in status["rows"] if one["id"] == wanted)
    assert isinstance(found, list)
    return found


def levels(row: Json, *cluster: NodeFacts) -> list[Level]:
    return [one.level for one in counts(make_table(row), list(cluster)).problems]


def test_the_published_cluster_is_counted() -> None:
    status = table_status(pfn_table(), map(node_facts, ready_fleet())).to_json()

    assert status["digest"] == pfn_table().digest
    assert status["rowCount"] == 4
    assert status["unmatchedNodes"] == {"count": 0, "kinds": []}
    assert [(row["id"], row["nodes"], row["devices"], row["free"]) for row in status["rows"]] == [
        ("v100-16gb", 96, 768, 768),
        ("v100-32gb", 32, 256, 256),
        ("a30-24gb", 42, 252, 252),
        ("a100-80gb", 42, 168, 168),
    ]
    assert status["rows"][3] == {
        "id": "a100-80gb",
        "nodes": 42,
        "devices": 168,
        "usable": 168,
        "mostUsableOnANode": 4,
        "free": 168,
        "suspect": 0,
        "reserved": False,
        "problems": [],
    }


class TestCounts:
    """Devices of a row: there, usable, free."""

    @pytest.mark.rule("D7")
    @pytest.mark.parametrize(
        ("one", "usable"),
        [
            pytest.param({}, 6, id="healthy"),
            pytest.param({"ready": False}, 0, id="not ready"),
            pytest.param({"cordoned": True}, 0, id="cordoned"),
            pytest.param({"taints": (UNHEALTHY,)}, 0, id="our unhealthy taint"),
            pytest.param({"taints": (DOWN,)}, 0, id="a taint of Kubernetes' own"),
            pytest.param({"taints": (RESERVED,)}, 6, id="reserved for those who name it"),
            pytest.param({"taints": (TEAM,)}, 6, id="somebody's taint is no fault"),
            pytest.param(
                {"taints": (replace(DOWN, effect="PreferNoSchedule"),)}, 6, id="a soft taint"
            ),
            pytest.param({"sick": 2}, 4, id="the kubelet withholds two"),
        ],
    )
    def test_usable_is_where_a_pod_could_start(self, one: dict[str, Any], usable: int) -> None:
        found = counts(make_table(A30), [node("n", "a30-24gb", 6, **one)])

        assert (found.nodes, found.devices) == (1, 6 - one.get("sick", 0))
        assert (found.usable, found.most_usable_on_a_node, found.free) == (usable,) * 3

    @pytest.mark.rule("D7")
    def test_occupied_devices_are_usable_and_not_free(self) -> None:
        cluster = [node("n1", "a30-24gb", 6), node("n2", "a30-24gb", 4), node("n3", "other")]
        pods = (pod("n1", 6), pod("n2", 1), pod("n2", 2, finished=True), pod("", 3), pod("n3", 1))
        found = counts(make_table(A30), cluster, pods)

        assert (found.devices, found.usable, found.most_usable_on_a_node) == (10, 10, 6)
        assert found.free == 3

    def test_free_is_never_below_nothing(self) -> None:
        """A device that died under a Pod is withheld and held at once."""
        cluster = [node("n1", "a30-24gb", 6, sick=2), node("n2", "a30-24gb", 6)]

        assert counts(make_table(A30), cluster, (pod("n1", 6),)).free == 6

    def test_devices_of_another_resource_are_another_rows(self) -> None:
        cluster = [node("n", "a30-24gb", {GPU: 6, "amd.com/gpu": 3})]
        row = make_row("a30-24gb", resource="amd.com/gpu", perNode=3)

        assert counts(make_table(row), cluster).devices == 3

    @pytest.mark.rule("H7")
    def test_suspect_nodes_are_counted_and_usable(self) -> None:
        suspect = node("n1", "a30-24gb", 6)
        suspect = replace(
            suspect, labels={**suspect.labels, "gpuspec.preferred.jp/health": "suspect"}
        )
        found = counts(make_table(A30), [suspect, node("n2", "a30-24gb", 6)])

        assert (found.suspect, found.usable) == (1, 12)

    @pytest.mark.rule("D6")
    def test_a_reserved_row_says_so(self) -> None:
        table = make_table(make_row("a30-24gb", reserved=True))

        assert table_status(table, []).to_json()["rows"][0]["reserved"] is True


class TestProblems:
    """Each with numbers, and with what may have been meant."""

    def test_nothing_is_wrong(self) -> None:
        assert problems(A30, *nodes(42, "a30-24gb", 6)) == []

    @pytest.mark.parametrize(
        ("labels", "cluster", "said"),
        [
            pytest.param(
                {"gpu-model": "a30"},
                nodes(42, "a30-24gb", 6),
                "label gpu-model=a30 matches no node; near: gpu-model=a30-24gb on 42 nodes",
                id="part of a value",
            ),
            pytest.param(
                {"gpu-model": "a3O-24gb"},
                nodes(1, "a30-24gb", 6),
                "label gpu-model=a3O-24gb matches no node; near: gpu-model=a30-24gb on 1 node",
                id="a slip",
            ),
            pytest.param(
                {"gpu_model": "a30-24gb"},
                [*nodes(2, "a30-24gb"), node("x", pool="a30-24gb")],
                "label gpu_model=a30-24gb matches no node; near: gpu-model=a30-24gb on 2 nodes",
                id="the key spelt otherwise",
            ),
            pytest.param(
                {"card": "a30-24gb"},
                [*nodes(2, "a30-24gb"), node("x", pool="a30-24gb")],
                "label card=a30-24gb matches no node; "
                "near: gpu-model=a30-24gb on 2 nodes, pool=a30-24gb on 1 node",
                id="the value under other keys",
            ),
            pytest.param(
                {"GPU-model": "h100"},
                nodes(2, "a30-24gb"),
                "label GPU-model=h100 matches no node; near: gpu-model=a30-24gb on 2 nodes",
                id="a key spelt alike, whatever the value",
            ),
            pytest.param(
                {"gpu-model": "h100"},
                nodes(2, "a30-24gb"),
                "label gpu-model=h100 matches no node",
                id="nothing near",
            ),
            pytest.param(
                {"tier": "8"},
                [node("x", slots="8")],
                "label tier=8 matches no node",
                id="a bare number is under any key",
            ),
            pytest.param(
                {"gpu-model": "a30-24gb", "pool": "x"},
                [*nodes(2, "a30-24gb"), node("y", pool="x")],
                "no node has all of gpu-model=a30-24gb (2 nodes) and pool=x (1 node)",
                id="each on some, all on none",
            ),
            pytest.param(
                {"gpu-model": "a30-24gb"},
                [],
                "label gpu-model=a30-24gb matches no node",
                id="no nodes at all",
            ),
        ],
    )
    def test_a_label_that_no_node_has(
        self, labels: dict[str, str], cluster: list[NodeFacts], said: str
    ) -> None:
        assert problems(make_row("x-24gb", nodes={"matchLabels": labels}), *cluster) == [said]

    def test_values_of_other_rows_are_no_near_misses(self) -> None:
        other = make_row("a30-24gb", perNode=8)
        row = make_row("a30-48gb", nodes={"matchLabels": {"gpu-model": "a30"}})

        assert problems(row, *nodes(3, "a30-24gb"), others=(other,)) == [
            "label gpu-model=a30 matches no node"
        ]

    @pytest.mark.parametrize(
        ("one", "said"),
        [
            (
                expression("gpu-model", "In", "a30", "a31", "a32", "a33", "a34"),
                (
                    "label gpu-model In [a30, a31, a32, a33 and 1 more] matches no node; "
                    "near: gpu-model=a30-24gb on 2 nodes"
                ),
            ),
            (
                expression("gpu-memory", "Gt", "40000"),
                "label gpu-memory Gt [40000] matches no node",
            ),
            (expression("nothing", "Exists"), "label nothing Exists matches no node"),
            (
                expression("gpu-model", "DoesNotExist"),
                "label gpu-model DoesNotExist matches no node",
            ),
            (
                expression("gpu-model", "NotIn", "a30-24gb"),
                "label gpu-model NotIn [a30-24gb] matches no node",
            ),
        ],
        ids=lambda one: one["operator"] if isinstance(one, dict) else "",
    )
    def test_expressions_are_named_as_they_are(self, one: Json, said: str) -> None:
        row = make_row("x-24gb", nodes={"matchExpressions": [one]})

        assert problems(row, *nodes(2, "a30-24gb", gpu_memory="24576")) == [said]

    @pytest.mark.rule("N5")
    def test_taints_that_are_not_tolerated(self) -> None:
        cluster = [*nodes(40, "a30-24gb", 6), *nodes(2, "a30-24gb", 6, taints=(TEAM,))]

        assert problems(A30, *cluster) == [
            "2 of 42 nodes carry taint team=vision:NoSchedule that this row does not tolerate"
        ]
        assert problems(A30, *cluster[41:]) == [
            "1 node carries taint team=vision:NoSchedule that this row does not tolerate"
        ]
        assert (levels(A30, *cluster), levels(A30, *cluster[41:])) == (
            [Level.WARNING],
            [Level.ERROR],
        )

    def test_many_taints_are_counted(self) -> None:
        taints = tuple(Taint(f"t{number}", "", "NoExecute") for number in range(5))

        assert problems(A30, node("n", "a30-24gb", 6, taints=taints)) == [
            "1 node carries taint t0:NoExecute that this row does not tolerate",
            "1 node carries taint t1:NoExecute that this row does not tolerate",
            "1 node carries taint t2:NoExecute that this row does not tolerate",
            "its nodes carry 2 more such taints, each on fewer of them",
        ]

    @pytest.mark.parametrize(
        "taint",
        [UNHEALTHY, RESERVED, DOWN, replace(TEAM, effect="PreferNoSchedule")],
        ids=lambda one: f"{one.key}:{one.effect}",
    )
    def test_taints_that_pass_or_are_ours_are_no_problem(self, taint: Taint) -> None:
        assert problems(A30, node("n", "a30-24gb", 6, taints=(taint,))) == []

    @pytest.mark.parametrize(
        ("toleration", "problem"),
        [
            (tolerate("team", "vision"), []),
            (tolerate("team"), []),
            (tolerate("team", "vision", effect=None), []),
            (
                tolerate("team", "speech"),
                [
                    "1 node carries taint team=vision:NoSchedule that this row does not tolerate",
                    "tolerates team=speech:NoSchedule, a taint that none of its nodes has",
                ],
            ),
            (
                tolerate("other", effect=None),
                [
                    "1 node carries taint team=vision:NoSchedule that this row does not tolerate",
                    "tolerates other, a taint that none of its nodes has",
                ],
            ),
        ],
        ids=["equal", "exists", "every effect", "another value", "another key"],
    )
    def test_tolerations_and_taints_meet(self, toleration: Json, problem: list[str]) -> None:
        row = {**A30, "tolerations": [toleration]}

        assert problems(row, node("n", "a30-24gb", 6, taints=(TEAM,))) == problem

    @pytest.mark.rule("D2")
    def test_the_largest_node_is_not_as_large_as_the_row_says(self) -> None:
        row = make_row("a30-24gb", perNode=8)
        cluster = [node("n1", "a30-24gb", 6, sick=1), node("n2", "a30-24gb", 4)]

        assert problems(row, *cluster) == ["perNode is 8, the largest node has 6"]
        assert levels(row, *cluster) == [Level.WARNING]

    @pytest.mark.rule("D2")
    def test_or_it_is_larger(self) -> None:
        assert problems(A30, node("n", "a30-24gb", 8)) == ["perNode is 6, the largest node has 8"]
        assert levels(A30, node("n", "a30-24gb", 8)) == [Level.ERROR]

    @pytest.mark.rule("G3")
    @pytest.mark.parametrize(
        ("row", "labels", "problem"),
        [
            pytest.param({}, {}, [], id="as sold"),
            pytest.param(
                {}, {MEMORY: "81920"}, ["vram is 24gb, its nodes say 81920 MiB: 80gb"], id="more"
            ),
            pytest.param(
                {}, {MEMORY: "16160"}, ["vram is 24gb, its nodes say 16160 MiB: 16gb"], id="less"
            ),
            pytest.param({}, {MEMORY: "81920", "nvidia.com/gpu.replicas": "4"}, [], id="shared"),
            pytest.param(
                {}, {MEMORY: "5000", "nvidia.com/gpu.product": "A30-MIG-1g.6gb"}, [], id="MIG"
            ),
            pytest.param({"resource": "nvidia.com/mig-1g.6gb"}, {MEMORY: "81920"}, [], id="slices"),
        ],
    )
    def test_vram_and_what_the_driver_says(
        self, row: Json, labels: dict[str, str], problem: list[str]
    ) -> None:
        cluster = [
            replace(one, labels={**one.labels, MEMORY: "24576", **labels})
            for one in nodes(2, "a30-24gb", {row.get("resource", GPU): 6})
        ]

        assert problems({**A30, **row}, *cluster) == problem

    @pytest.mark.rule("G3")
    def test_some_nodes_have_another_memory(self) -> None:
        cluster = nodes(3, "a30-24gb", 6)
        cluster[1] = replace(cluster[1], labels={**cluster[1].labels, MEMORY: "40960"})

        assert problems(A30, *cluster) == ["vram is 24gb, 1 of 3 nodes says 40960 MiB: 40gb"]
        assert levels(A30, *cluster) == [Level.WARNING]

    def test_nodes_without_the_resource(self) -> None:
        cluster = [*nodes(2, "a30-24gb", 6), node("n", "a30-24gb", 0)]

        assert problems(A30, *cluster) == [
            "1 of 3 nodes has no nvidia.com/gpu; does the device plugin run there?"
        ]

    def test_nodes_with_another_resource_instead(self) -> None:
        shared = {"nvidia.com/gpu.shared": 24, "example.com/nic": 2}

        assert problems(A30, node("n", "a30-24gb", shared)) == [
            "1 node has no nvidia.com/gpu; there is nvidia.com/gpu.shared instead"
        ]

    def test_rows_that_match_the_same_nodes(self) -> None:
        same = make_row("b-24gb", perNode=6, nodes={"matchLabels": {"gpu-model": "a30-24gb"}})
        some = make_row("c-24gb", perNode=6, nodes={"matchLabels": {"pool": "x"}})
        cluster = [*nodes(41, "a30-24gb", 6), node("n", "a30-24gb", 6, pool="x")]

        assert problems(A30, *cluster, others=(same, some)) == [
            "42 nodes belong to row b-24gb too",
            "1 of 42 nodes belongs to row c-24gb too",
        ]

    def test_rows_of_two_resources_may_share_nodes(self) -> None:
        nic = make_row(
            "b-24gb",
            perNode=2,
            resource="amd.com/gpu",
            nodes={"matchLabels": {"gpu-model": "a30-24gb"}},
        )

        assert problems(A30, node("n", "a30-24gb", {GPU: 6, "amd.com/gpu": 2}), others=(nic,)) == []

    @pytest.mark.rule("D10")
    def test_nodes_of_another_architecture(self) -> None:
        arm = replace(
            node("n", "a30-24gb", 6),
            labels={"gpu-model": "a30-24gb", "kubernetes.io/arch": "arm64"},
        )

        assert problems(A30, arm) == [
            "1 node has this row's labels but is linux/arm64; the row says linux/amd64"
        ]
        assert problems(A30, arm, *nodes(2, "a30-24gb", 6)) == [
            "1 node has this row's labels but is linux/arm64; the row says linux/amd64"
        ]
        assert levels(A30, arm) == [Level.ERROR]
        assert levels(A30, arm, *nodes(2, "a30-24gb", 6)) == [Level.WARNING]


class TestUnmatched:
    """Nodes with GPUs of which the table does not speak."""

    def test_they_are_counted_by_kind_with_what_tells_most(self) -> None:
        cluster = [
            *nodes(3, "h100-80gb"),
            NodeFacts("l4", {"nvidia.com/gpu.product": "NVIDIA-L4"}, capacity={GPU: 4}),
            node("mig", None, {"nvidia.com/mig-1g.5gb": 7}),
            node("a", "a30-24gb", 6),
            node("cpu", None, {"example.com/nic": 2}),
        ]

        assert table_status(make_table(A30), cluster).to_json()["unmatchedNodes"] == {
            "count": 5,
            "kinds": [
                {
                    "nodes": 3,
                    "name": "h100-80gb-0",
                    "devices": {GPU: 8},
                    "labels": {"gpu-model": "h100-80gb"},
                },
                {
                    "nodes": 1,
                    "name": "l4",
                    "devices": {GPU: 4},
                    "labels": {"nvidia.com/gpu.product": "NVIDIA-L4"},
                },
                {"nodes": 1, "name": "mig", "devices": {"nvidia.com/mig-1g.5gb": 7}, "labels": {}},
            ],
        }

    def test_a_resource_of_the_table_is_a_gpu_whoever_makes_it(self) -> None:
        row = make_row("x-8gb", resource="example.com/gpu")
        cluster = [node("n", None, {"example.com/gpu": 4})]

        assert table_status(make_table(row), cluster).unmatched[0].name == "n"
        assert table_status(make_table(A30), cluster).unmatched == ()

    def test_ten_kinds_are_shown(self) -> None:
        cluster = [node(f"n{number:02}", f"m{number}") for number in range(30)]
        shown = table_status(make_table(A30), cluster).to_json()["unmatchedNodes"]

        assert (shown["count"], len(shown["kinds"])) == (30, 10)


class TestAgain:
    """The same survey, again and again."""

    def test_each_pass_says_what_a_fresh_one_does(self) -> None:
        table = make_table(A30)
        survey = Survey(table)
        cluster = nodes(3, "a30-24gb", 6)
        changes = [
            cluster,
            [cluster[0], replace(cluster[1], ready=False), cluster[2]],
            cluster[1:],
            [*cluster, node("new", "a30", 6)],
            [replace(one, labels={}) for one in cluster],
            [],
            cluster,
        ]

        for nodes_now in changes:
            assert survey.status(nodes_now, ()) == table_status(table, nodes_now)

    def test_a_node_that_did_not_change_is_not_judged_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judged: list[str] = []
        judge = Kinds._kind

        def noting(self: Kinds, one: NodeFacts) -> object:
            judged.append(one.name)
            return judge(self, one)

        monkeypatch.setattr(Kinds, "_kind", noting)
        survey, cluster = Survey(make_table(A30)), nodes(3, "a30-24gb", 6)
        survey.status(cluster, ())
        judged.clear()
        survey.status([replace(cluster[0], ready=False), *cluster[1:]], (pod("a30-24gb-1", 2),))

        assert judged == ["a30-24gb-0"]


def test_the_status_of_a_thousand_bad_rows_stays_small() -> None:
    rows = [
        make_row(
            f"card{number}-{number % 90 + 1}gb",
            nodes={"matchLabels": {"pool": "gpu", "gpu-model": f"{number}" * 15}},
            tolerations=[tolerate(f"t{extra}") for extra in range(4)],
        )
        for number in range(1000)
    ]
    cluster = [
        node(f"n{number}", f"{number}" * 15, 4, pool="gpu", taints=(TEAM,))
        for number in range(1000)
    ]
    status = table_status(make_table(*rows), cluster).to_json()

    assert len(json.dumps(status)) < 512 * 1024
    assert len(status["rows"]) == 1000
    assert status["rows"][0]["problems"][0].startswith("1 node carries taint team=vision")
    assert status["rows"][-1]["problems"] == ["6 problems; gpuspec table lint --cluster shows them"]


def test_a_long_problem_is_cut() -> None:
    labels = {f"k{number}": "v" * 63 for number in range(9)}
    row = make_row("x-1gb", nodes={"matchLabels": labels})
    cluster = [NodeFacts(key, {key: value}) for key, value in labels.items()]
    (said,) = problems(row, *cluster)

    assert len(said) == 300
    assert said.endswith("…")


def test_rows_are_those_of_the_table() -> None:
    found: list[Row] = [one.row for one in table_status(pfn_table(), []).rows]

    assert found == list(pfn_table().rows)
