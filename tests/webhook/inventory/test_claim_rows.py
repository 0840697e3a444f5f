"""What rows have that get their devices from DRA drivers (design §3, D7, C3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from selection_spec.errors import Level, Problem
from selection_spec.table import Table
from tests.builders import GPU, Json, make_pod, make_row, make_table
from tests.webhook.inventory.drivers import A30, NVIDIA, claim, device, pool, tainted
from tests.webhook.inventory.facts import node, nodes, pod
from webhook.inventory import recogniser
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.claims import Offered, offered
from webhook.inventory.facts import NodeFacts
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.slice_facts import DeviceFacts, slice_facts
from webhook.inventory.status import RowCounts, Survey, table_status

CLASSES = {NVIDIA: ""}
MI300 = device("AMD Instinct MI300X", "192Gi", "amdgpu")
A100 = device("NVIDIA A100", "80Gi")
ON_N1 = [node("n1", "a30-24gb", {})]


def claimed(row_id: str = "a30-24gb", output: str = "ResourceClaim", **fields: object) -> Json:
    """A row whose claim knows its devices by memory unless said otherwise."""
    part = {"deviceClassName": NVIDIA, "driver": NVIDIA, **fields}
    return make_row(row_id, output=output, perNode=2, claim=part)


def offers(
    *slices: Json, classes: Mapping[str, str] | None = CLASSES, claims: Iterable[Json] = ()
) -> Offered:
    held = [facts for facts in map(claim_facts, claims) if facts is not None]
    return offered(map(slice_facts, slices), classes, held)


def first(table: Table, there: list[NodeFacts], given: Offered | None) -> RowCounts:
    return table_status(table, there, offers=given).rows[0]


def said(row: RowCounts) -> list[str]:
    return [one.text() for one in row.problems]


def numbers(row: RowCounts) -> tuple[int, ...]:
    """Devices, usable, the most usable on a node, free."""
    return row.devices, row.usable, row.most_usable_on_a_node, row.free


class TestCounts:
    """Devices of a row: there, usable, free."""

    @pytest.mark.rule("D7")
    def test_devices_of_slices_count_and_what_kubelets_offer_does_not(self) -> None:
        there = [node("n1", "a30-24gb", 8), node("n2", "a30-24gb", 8)]
        given = offers(pool(device(), device()), pool(device(), name="n2"))
        row = first(make_table(claimed()), there, given)
        assert (row.nodes, *numbers(row), row.claim_devices) == (2, 3, 3, 2, 3, 3)

    @pytest.mark.rule("D7")
    @pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute", "None"])
    def test_a_device_that_its_driver_taints_is_not_usable(self, effect: str) -> None:
        given = offers(pool(tainted(device(), effect), device()))
        usable = 2 if effect == "None" else 1
        assert numbers(first(make_table(claimed()), ON_N1, given)) == (2, usable, usable, usable)

    @pytest.mark.rule("D7")
    @pytest.mark.parametrize(
        "there",
        [
            pytest.param([replace(ON_N1[0], ready=False)], id="not ready"),
            pytest.param([replace(ON_N1[0], cordoned=True)], id="cordoned"),
            pytest.param([], id="the node is gone, its slice not yet"),
        ],
    )
    def test_nothing_is_usable_where_no_pod_could_start(self, there: list[NodeFacts]) -> None:
        given = offers(pool(device()), claims=[claim("gpu-0-0")])
        assert numbers(first(make_table(claimed()), there, given)) == (1, 0, 0, 0)

    @pytest.mark.rule("D7")
    def test_what_a_claim_holds_is_usable_and_not_free(self) -> None:
        claims = [
            claim("gpu-0-0", "gpu-0-1"),
            claim("gpu-0-2", adminAccess=True),
            claim("gpu-0-2", at="n9"),
            claim("gpu-0-2", driver="gpu.amd.com"),
            {"metadata": {"name": "pending"}},
        ]
        given = offers(pool(*[device()] * 3), claims=claims)
        assert numbers(first(make_table(claimed()), ON_N1, given)) == (3, 3, 3, 1)

    @pytest.mark.rule("D7")
    def test_a_held_device_that_is_tainted_is_not_taken_off_twice(self) -> None:
        given = offers(pool(tainted(device()), device()), claims=[claim("gpu-0-0")])
        assert numbers(first(make_table(claimed()), ON_N1, given)) == (2, 1, 1, 1)

    def test_two_pools_of_a_node_add_up(self) -> None:
        given = offers(pool(device()), pool(device(), name="second", node="n1"))
        assert numbers(first(make_table(claimed()), ON_N1, given)) == (2, 2, 2, 2)

    def test_a_pool_that_is_on_no_one_node_is_a_place_of_its_own(self) -> None:
        given = offers(pool(device()), pool(*[device()] * 3, name="rack", node=""))
        assert numbers(first(make_table(claimed()), ON_N1, given)) == (4, 4, 3, 4)

    def test_nobody_has_looked(self) -> None:
        status = table_status(make_table(claimed()), ON_N1).to_json()
        assert status["rows"] == [
            {"id": "a30-24gb", "nodes": 1, "suspect": 0, "reserved": False, "problems": []}
        ]

    def test_intels_product_is_the_attribute_model(self) -> None:
        one = {"attributes": {"model": {"string": "Max 1550"}}, "capacity": {}}
        row = claimed(driver="gpu.intel.com", products=["Max 1550"])
        given = offers(pool(one, driver="gpu.intel.com"))
        assert first(make_table(row), ON_N1, given).devices == 1

    def test_attributes_may_be_published_with_the_drivers_own_domain(self) -> None:
        one = {
            "attributes": {
                f"{NVIDIA}/productName": {"string": A30[0]},
                f"{NVIDIA}/type": {"string": "gpu"},
            },
            "capacity": {f"{NVIDIA}/memory": {"value": "24Gi"}},
        }
        for row in (claimed(), claimed(products=[A30[0]])):
            assert first(make_table(row), ON_N1, offers(pool(one))).devices == 1


class TestOwnSelectors:
    """CEL of the admin's, besides products or instead of them."""

    ARCHITECTURE = f'device.attributes["{NVIDIA}"].architecture == "Ampere"'

    @staticmethod
    def ampere(one: Json) -> Json:
        return one | {"attributes": one["attributes"] | {"architecture": {"string": "Ampere"}}}

    def row(self, *expressions: str, **fields: object) -> Json:
        own = [{"cel": {"expression": one}} for one in expressions]
        return claimed("a30-24gb", "ResourceClaim", selectors=own, **fields)

    def test_selectors_alone_say_everything(self) -> None:
        given = offers(pool(self.ampere(device(kind="mig", memory="1Gi"))))
        assert first(make_table(self.row(self.ARCHITECTURE)), ON_N1, given).devices == 1

    def test_with_products_both_have_to_hold(self) -> None:
        given = offers(pool(self.ampere(device()), self.ampere(A100), device()))
        guarded = f'device.attributes["{NVIDIA}"].?architecture.orValue("") == "Ampere"'
        row = self.row(guarded, products=[A30[0]])
        assert first(make_table(row), ON_N1, given).devices == 1

    def test_all_of_them_have_to_hold(self) -> None:
        given = offers(pool(self.ampere(device()), self.ampere(A100)))
        small = (
            f'device.capacity["{NVIDIA}"].memory.isLessThan(quantity("40Gi"))'
            f' && device.driver == "{NVIDIA}"'
        )
        assert first(make_table(self.row(self.ARCHITECTURE, small)), ON_N1, given).devices == 1

    def test_an_attribute_that_single_devices_are_told_by(self) -> None:
        def numbered(number: int) -> Json:
            one = device()
            return one | {"attributes": one["attributes"] | {"uuid": {"string": f"GPU-{number}"}}}

        row = self.row(f'device.attributes["{NVIDIA}"].uuid != "GPU-1"')
        given = offers(pool(*map(numbered, range(4))))
        assert first(make_table(row), ON_N1, given).devices == 3

    def test_a_domain_of_which_nothing_else_is_read(self) -> None:
        row = self.row(f'"{NVIDIA}" in device.attributes')
        assert first(make_table(row), ON_N1, offers(pool(device()))).devices == 1

    @pytest.mark.rule("C3")
    def test_a_selector_that_fails_on_devices(self) -> None:
        ampere = self.ampere(device())
        given = offers(pool(device(), device(), ampere, ampere))
        row = first(make_table(self.row(self.ARCHITECTURE)), ON_N1, given)
        assert row.devices == 2
        assert said(row) == [
            (
                "a selector of the claim fails on 2 devices: "
                'Key not found in map : "architecture"; '
                "Kubernetes schedules no Pod that meets one; guard it: .?name.orValue(...)"
            )
        ]

    @pytest.mark.rule("C3")
    def test_a_selector_that_the_api_server_refuses(self) -> None:
        row = first(make_table(self.row("device.driver ==")), ON_N1, offers(pool(device())))
        (problem,) = row.problems
        assert problem.text() == (
            "the API server does not take a selector of the claim: it is no CEL: something is "
            "missing at its end, such as a closing bracket; "
            "no Pod starts whose claim names this row: mend it"
        )
        assert (problem.level, row.grave) == (Level.ERROR, (problem,))

    def test_a_selector_that_cannot_be_read_here(self) -> None:
        row = self.row('device.attributes["x"].y.findAll("a") == []')
        status = table_status(make_table(row), ON_N1, offers=offers(pool(device())))
        assert said(status.rows[0]) == [
            (
                "a selector of the claim cannot be read here: undeclared reference to "
                "'findAll'; the devices that it recognises are not counted"
            )
        ]
        assert status.rows[0].problems[0].level is Level.WARNING
        shown = status.to_json()["rows"][0]
        assert not {"devices", "usable", "mostUsableOnANode", "free", "claimDevices"} & set(shown)


class TestProblems:
    """Each with numbers, and with what to do."""

    @pytest.mark.rule("C3")
    def test_a_device_class_that_does_not_exist(self) -> None:
        table = make_table(
            claimed(deviceClassName="gpu.example.com"),
            claimed("a100-80gb", products=["NVIDIA A100"]),
            claimed("h100-80gb", output="ExtendedResource", deviceClassName="not-asked-yet"),
        )
        status = table_status(table, ON_N1, offers=offers(pool(device(), device())))
        assert status.missing_classes == ("gpu.example.com",)
        assert status.to_json()["missingDeviceClasses"] == ["gpu.example.com"]
        assert "DeviceClass gpu.example.com does not exist; there is gpu.nvidia.com" in said(
            status.rows[0]
        )

    @pytest.mark.rule("C3")
    def test_classes_that_nobody_has_seen_are_not_missing(self) -> None:
        table = make_table(claimed())
        assert table_status(table, [], offers=offers(classes=None)).missing_classes == ()
        assert table_status(table, []).to_json()["missingDeviceClasses"] == []

    def test_devices_on_nodes_without_the_rows_labels(self) -> None:
        given = offers(*(pool(device(), device(), name=name) for name in ("n1", "n2", "n3")))
        strays = [*ON_N1, node("n2", "other", {}), node("n3", None, {})]
        row = first(make_table(claimed()), strays, given)
        assert numbers(row) == (6, 6, 2, 6)
        assert said(row) == [
            (
                "4 of 6 devices that the claim recognises are on nodes without the row's labels: "
                "n2, n3; correct nodes, or the claim: Pods may get these devices too"
            )
        ]
        assert row.problems[0].level is Level.WARNING
        nowhere_else = offers(pool(device(), device(), name="n2"))
        assert first(make_table(claimed()), strays[1:], nowhere_else).problems[-1] == Problem(
            "2 devices that the claim recognises are on nodes without the row's labels: n2",
            hint="correct nodes, or the claim: Pods may get these devices too",
        )

    def test_nodes_with_the_rows_labels_and_no_device(self) -> None:
        there = [*ON_N1, node("n2", "a30-24gb", {}), node("n3", "a30-24gb", {})]
        row = first(make_table(claimed()), there, offers(pool(device(), device())))
        assert said(row) == [
            "2 of 3 nodes have no device that the claim recognises; does the DRA driver run there?"
        ]
        assert row.problems[0].level is Level.WARNING

    def test_two_rows_that_recognise_the_same_device(self) -> None:
        table = make_table(claimed(), claimed("a100-80gb"))
        there = [*ON_N1, node("n2", "a100-80gb", {})]
        given = offers(pool(device(), device()), pool(A100, A100, name="n2"))
        small, large = table_status(table, there, offers=given).rows
        assert said(small) == [
            (
                "2 of 4 devices that the claim recognises are row a100-80gb's too; "
                "give products, or selectors that tell them apart"
            ),
            (
                "2 of 4 devices that the claim recognises are on nodes without the row's labels: "
                "n2; correct nodes, or the claim: Pods may get these devices too"
            ),
        ]
        assert said(large) == [
            (
                "2 devices that the claim recognises are row a30-24gb's too; "
                "give products, or selectors that tell them apart"
            )
        ]
        assert {one.level for one in (*small.problems, *large.problems)} == {Level.WARNING}

    def test_rows_of_claims_may_share_nodes(self) -> None:
        shared = {"matchLabels": {"gpu-model": "a30-24gb"}}
        rows = [claimed(products=[A30[0]]), claimed("a100-80gb", products=["NVIDIA A100"])]
        table = make_table(*(row | {"nodes": shared} for row in rows))
        status = table_status(table, ON_N1, offers=offers(pool(device(), device(), A100, A100)))
        assert [said(row) for row in status.rows] == [[], []]

    @pytest.mark.rule("D2")
    def test_a_node_with_more_devices_than_the_row_says(self) -> None:
        row = first(make_table(claimed()), ON_N1, offers(pool(*[device()] * 3)))
        assert said(row) == ["perNode is 2, the largest node has 3"]

    def test_a_device_plugin_that_hands_out_the_same_cards(self) -> None:
        there = [node("n1", "a30-24gb", 2)]
        row = first(make_table(claimed()), there, offers(pool(device(), device())))
        assert said(row) == [
            (
                "1 node has nvidia.com/gpu of a device plugin too; "
                "stop it there: both hand out the same cards"
            )
        ]


class TestOneCard:
    """A card is counted once, and told of where two give it out who do not know of each other."""

    @pytest.mark.rule("D7")
    def test_what_pods_hold_by_the_plugins_resource_is_not_free_for_claims(self) -> None:
        there = [node("n1", "a30-24gb", 2), node("n2", "a30-24gb", {})]
        given = offers(pool(device(), device()), pool(device(), device(), name="n2"))
        pods = [pod("n1", 1), pod("n2", 1), pod("n2", 5, finished=True)]
        (row,) = table_status(make_table(claimed()), there, pods, given).rows
        assert numbers(row) == (4, 4, 2, 2)
        assert said(row) == [
            (
                "1 of 2 nodes has nvidia.com/gpu of a device plugin too; "
                "stop it there: both hand out the same cards"
            ),
            (
                "2 Pods still hold nvidia.com/gpu on 2 nodes whose devices are given out by "
                "claims; let them end first, for the same cards are given out again"
            ),
        ]
        assert row.grave == row.problems
        assert {one.level for one in row.grave} == {Level.ERROR}

    @pytest.mark.rule("D7")
    def test_a_row_without_a_resource_is_known_by_its_driver(self) -> None:
        raw = claimed()
        del raw["resource"]
        given = offers(pool(device(), device()))
        (row,) = table_status(make_table(raw), ON_N1, [pod("n1", 1)], given).rows
        assert row.free == 1
        assert "1 Pod still holds nvidia.com/gpu on 1 node whose" in row.grave[0].message

    @pytest.mark.rule("D7")
    def test_more_held_than_there_are_is_nothing_free(self) -> None:
        there = [node("n1", "a30-24gb", {}), node("n2", "a30-24gb", {})]
        given = offers(pool(device(), device()), pool(device(), device(), name="n2"))
        (row,) = table_status(make_table(claimed()), there, [pod("n1", 9)], given).rows
        assert row.free == 2

    @pytest.mark.rule("D7")
    @pytest.mark.parametrize("pools", [1, 0], ids=["driver runs", "driver is gone"])
    def test_what_claims_hold_is_not_free_for_the_plugin(self, pools: int) -> None:
        """Its slices may be gone; where its devices were, the allocation says."""
        there = nodes(2, "a30-24gb", 2)
        name = there[0].name
        held = claim("gpu-0-0", "gpu-0-1", at="the pool")
        in_ = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]
        held["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": in_}
        slices = [pool(device(), device(), name="the pool", node=name)] * pools
        given = offers(*slices, claims=[held])
        for fields in ({}, {"claim": {"deviceClassName": NVIDIA, "driver": NVIDIA}}):
            table = make_table(make_row("a30-24gb", perNode=2, **fields))
            (row,) = table_status(table, there, [pod(there[1].name, 1)], given).rows
            assert numbers(row) == (4, 4, 2, 1)
            assert [one.text() for one in row.grave] == [
                (
                    "1 claim still holds devices on 1 node whose devices a device plugin gives "
                    "out as nvidia.com/gpu; let their Pods end first, for the same cards are "
                    "given out again"
                )
            ]

    @pytest.mark.rule("D7")
    def test_a_part_of_a_card_is_no_card_of_the_plugins(self) -> None:
        given = offers(pool(device(kind="mig")), claims=[claim("gpu-0-0")])
        row = first(make_table(make_row("a30-24gb", perNode=2)), [node("n1", "a30-24gb", 2)], given)
        assert (row.free, row.grave) == (2, ())

    @pytest.mark.rule("D7")
    def test_an_extended_resource_that_a_driver_gave_is_held_by_its_claim_alone(self) -> None:
        served = {"requestMappings": [{"containerName": "main", "resourceName": GPU}]}
        mine = make_pod().container("main", {GPU: 1}).spec(nodeName="n1").build()
        mine["status"] = {"extendedResourceClaimStatus": served}
        given = offers(pool(device(), device()), classes={NVIDIA: GPU}, claims=[claim("gpu-0-0")])
        table = make_table(claimed(output="ExtendedResource"))
        (row,) = table_status(table, ON_N1, [pod_facts(mine)], given).rows
        assert (row.free, row.grave) == (1, ())
        (row,) = table_status(table, ON_N1, [pod("n1", 1)], given).rows
        assert row.free == 0
        assert [one.message for one in row.grave] == [
            "1 Pod still holds nvidia.com/gpu on 1 node whose devices are given out by a DRA driver"
        ]


class TestServedResources:
    """Rows of output ExtendedResource whose resource a DeviceClass serves."""

    SERVED: Mapping[str, str] = {NVIDIA: GPU}

    @pytest.mark.rule("D7")
    def test_devices_count_by_plugin_or_by_driver_node_by_node(self) -> None:
        there = [node("n1", "a30-24gb", {}), *nodes(2, "a30-24gb", 2)]
        given = offers(
            pool(device(), tainted(device())),
            pool(device(), device(), name="a30-24gb-1"),
            classes=self.SERVED,
            claims=[claim("gpu-0-0")],
        )
        row = first(make_table(claimed(output="ExtendedResource")), there, given)
        assert (*numbers(row), row.claim_devices) == (6, 5, 2, 4, 4)
        assert said(row) == []

    def test_without_a_claim_nodes_are_not_blamed(self) -> None:
        table = make_table(make_row("a30-24gb"))
        assert said(first(table, ON_N1, offers(classes=self.SERVED))) == []
        unserved = first(table, ON_N1, offers())
        assert said(unserved) == ["1 node has no nvidia.com/gpu; does the device plugin run there?"]

    def test_nodes_that_neither_serves(self) -> None:
        there = [*ON_N1, node("n2", "a30-24gb", {}), node("n3", "a30-24gb", 2)]
        given = offers(pool(device(), device()), classes=self.SERVED)
        row = first(make_table(claimed(output="ExtendedResource")), there, given)
        assert said(row) == [
            "1 of 3 nodes has no device that the claim recognises; does the DRA driver run there?"
        ]

    def test_a_claim_that_is_only_prepared_changes_no_count(self) -> None:
        there = [node("n1", "a30-24gb", 2)]
        row = first(make_table(claimed(output="ExtendedResource")), there, offers(pool(device())))
        assert (*numbers(row), row.claim_devices, said(row)) == (2, 2, 2, 2, 1, [])


class TestAgainAndAgain:
    """What did not change is not judged again, and nothing goes stale."""

    def test_each_pass_says_what_a_fresh_one_does(self) -> None:
        table = make_table(claimed(), claimed("a100-80gb", products=["NVIDIA A100"]))
        survey = Survey(table)
        steps: list[tuple[Any, ...]] = [
            (ON_N1, offers(pool(device(), device()))),
            (ON_N1, offers(pool(device(), device()), claims=[claim("gpu-0-1")])),
            (ON_N1, offers(pool(A100, generation=2))),
            ([replace(ON_N1[0], ready=False)], offers(pool(A100, generation=2))),
            (ON_N1, offers()),
        ]
        for there, given in steps:
            again = survey.status(there, [], given)
            assert again == table_status(table, there, offers=given)

    def test_devices_that_are_alike_are_judged_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        judged: list[str] = []
        judge = recogniser._judged

        def watched(known: Any, one: DeviceFacts, details: Any) -> object:  # noqa: ANN401
            judged.append(one.name)
            return judge(known, one, details)

        monkeypatch.setattr(recogniser, "_judged", watched)
        slices = [slice_facts(pool(*[device()] * 8, name=f"n{number}")) for number in range(100)]
        survey = Survey(make_table(claimed()))
        for _ in range(2):
            survey.status([], [], offered(slices))
        assert judged == ["gpu-0-0"]
