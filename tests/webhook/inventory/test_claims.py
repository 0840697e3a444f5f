"""What rows' claims recognise in ResourceSlices, and what is wrong with that (design §3)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.builders import Json, make_row, make_table
from tests.webhook.inventory.drivers import A30, NVIDIA, device, pool
from webhook.inventory.claims import offered
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.status import RowCounts, table_status

CLASSES = {NVIDIA: "", "mig.nvidia.com": ""}
L4 = ("NVIDIA L4", "23034Mi")
T4 = ("Tesla T4", "15360Mi")


def counted(
    *slices: Json, classes: Mapping[str, str] | None = CLASSES, **claim: object
) -> RowCounts:
    """The status of a row of 24 GB with a claim, in a cluster with these slices and no node."""
    part = {"deviceClassName": NVIDIA, "driver": NVIDIA, **claim}
    table = make_table(make_row("a30-24gb", claim=part))
    (row,) = table_status(table, [], offers=offered(map(slice_facts, slices), classes)).rows
    return row


def said(row: RowCounts) -> list[str]:
    """What is wrong with the claim, apart from the labels that no node has."""
    return [one.text() for one in row.problems if not one.message.startswith("label ")]


def test_products_are_compared_exactly() -> None:
    row = counted(pool(device(*A30), device(*A30), device(*L4)), products=["NVIDIA A30"])
    assert (row.claim_devices, said(row)) == (2, [])


@pytest.mark.rule("G3")
def test_without_products_memory_counts_by_the_threshold_of_nominal_gigabytes() -> None:
    """An L4 reports less than 24 GiB and is a 24 GB card all the same."""
    row = counted(pool(device(*A30), device(*L4), device(*T4)))
    assert (row.claim_devices, said(row)) == (2, [])


@pytest.mark.parametrize("kind", ["mig", "vfio", "amdgpu-partition"])
def test_parts_of_a_card_are_no_cards(kind: str) -> None:
    assert counted(pool(device(*A30, kind))).claim_devices == 0


def test_another_drivers_devices_are_not_counted() -> None:
    assert counted(pool(device(*A30), driver="gpu.amd.com")).claim_devices == 0


def test_only_the_newest_generation_counts_and_only_when_it_is_complete() -> None:
    old = pool(device(*A30), device(*A30))
    new = [pool(device(*A30), generation=2, of=2, part=part) for part in (0, 1)]
    assert counted(old, *new).claim_devices == 2
    assert counted(old, new[0]).claim_devices == 0
    assert counted(old, pool(device(*A30), name="n2")).claim_devices == 3


def test_a_device_class_that_does_not_exist() -> None:
    row = counted(pool(device(*A30)), deviceClassName="gpu.example.com")
    assert said(row) == [
        "DeviceClass gpu.example.com does not exist; there is gpu.nvidia.com, mig.nvidia.com"
    ]
    none = counted(pool(device(*A30)), classes={})
    assert said(none) == ["DeviceClass gpu.nvidia.com does not exist; there is none"]
    assert said(counted(pool(device(*A30)), classes=None)) == []


def test_a_claim_that_recognises_nothing_is_told_what_there_is() -> None:
    row = counted(pool(device(*L4), device(*L4), device(*T4)), products=["A30"])
    assert said(row) == [
        (
            "the claim recognises no device of driver gpu.nvidia.com; "
            "it offers NVIDIA L4 (2), Tesla T4 (1)"
        )
    ]
    assert said(counted(products=["A30"])) == [
        (
            "the claim recognises no device of driver gpu.nvidia.com; "
            "it offers no GPU in any ResourceSlice"
        )
    ]


def test_the_status_shows_it_only_where_there_is_a_claim_and_somebody_looked() -> None:
    with_claim = make_row("a30-24gb", claim={"deviceClassName": NVIDIA, "driver": NVIDIA})
    table = make_table(with_claim, make_row("a100-80gb"))
    offers = offered([slice_facts(pool(device(*A30)))], CLASSES)
    rows = table_status(table, [], offers=offers).to_json()["rows"]
    assert {row["id"]: row.get("claimDevices") for row in rows} == {
        "a30-24gb": 1,
        "a100-80gb": None,
    }
    assert not any("claimDevices" in row for row in table_status(table, []).to_json()["rows"])


def test_slices_of_odd_shapes_offer_nothing_and_raise_nothing() -> None:
    odd: list[Json] = [
        {},
        {"spec": None},
        {"spec": {"devices": [1, {}], "pool": 5}},
        {"metadata": []},
    ]
    assert counted(*odd).claim_devices == 0
