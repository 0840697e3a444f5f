"""Which rows' devices a node has, and how many."""

from __future__ import annotations

import json

import pytest

from selection_spec.table import Table, load_table
from tests.builders import GPU
from tests.webhook.advice.pods import (
    PRODUCTS,
    make_node,
    make_slice,
    moved_document,
    moved_table,
)
from webhook.advice.homes import Homes
from webhook.inventory.claims import Offered, offered
from webhook.inventory.facts import node_facts
from webhook.inventory.slice_facts import slice_facts

CLASS = "gpu.nvidia.com"
A100 = "a100-80gb"


def offers(*, classes: dict[str, str] | None = None, product: str = PRODUCTS[A100]) -> Offered:
    """Three cards on the node n."""
    return offered([slice_facts(make_slice("n", product, 3))], classes)


def counts(
    table: Table, offers: Offered | None, model: str = A100, **devices: int
) -> dict[str, int]:
    """What the node n has, if it is labelled as of a model."""
    amounts = {GPU: devices["plugin"]} if devices else {}
    node = node_facts(make_node("n", {"gpu-model": model}, devices=amounts))
    return {row.id: count for row, count in Homes(table, offers).counts_of(node).items()}


@pytest.mark.rule("N2")
def test_rows_of_a_resource_go_by_labels_and_the_plugin() -> None:
    assert counts(moved_table(()), offers(), plugin=4) == {A100: 4}
    assert counts(moved_table(()), offers()) == {A100: 0}
    assert counts(moved_table(()), None, "none", plugin=4) == {}


@pytest.mark.rule("C4")
def test_rows_of_claims_go_by_devices_alone() -> None:
    assert counts(moved_table(), offers(), plugin=4) == {A100: 3}
    assert counts(moved_table(), offers(), "a30-24gb") == {A100: 3}
    assert counts(moved_table(), offers(product="NVIDIA A30")) == {"a30-24gb": 3}
    assert counts(moved_table(), offers(product="other")) == {}


def test_where_nobody_looked_labels_and_the_row_have_to_do() -> None:
    assert counts(moved_table(), None, plugin=2) == {A100: 2}
    assert counts(moved_table(), None) == {A100: 4}


def test_a_selector_that_cannot_be_read_is_as_if_nobody_looked() -> None:
    document = moved_document()
    document["spec"]["devices"][3]["claim"]["selectors"] = [{"cel": {"expression": "no CEL ("}}]
    assert counts(load_table(json.dumps(document)), offers(), plugin=2) == {A100: 2}


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("classes", "found"),
    [(None, {A100: 3}), ({CLASS: ""}, {A100: 3}), ({"other": ""}, {})],
    ids=["not known", "there", "missing"],
)
def test_nothing_comes_from_a_class_that_does_not_exist(
    classes: dict[str, str] | None, found: dict[str, int]
) -> None:
    assert counts(moved_table(), offers(classes=classes)) == found


def test_a_resource_that_a_driver_serves_is_counted_by_devices() -> None:
    served = offers(classes={CLASS: GPU})
    assert counts(moved_table(()), served) == {A100: 3}
    assert counts(moved_table(()), served, plugin=4) == {A100: 4}
    assert counts(moved_table(()), served, "a30-24gb") == {"a30-24gb": 0}


def test_rows_come_in_their_order() -> None:
    both = [make_slice("n", PRODUCTS[A100], 1), make_slice("n", PRODUCTS["v100-16gb"], 2)]
    for number, one in enumerate(both):
        one["spec"]["pool"]["name"] = one["metadata"]["name"] = f"n-{number}"
    found = counts(moved_table([A100]), offered(map(slice_facts, both)), "v100-16gb", plugin=8)
    assert list(found.items()) == [("v100-16gb", 8), (A100, 1)]
