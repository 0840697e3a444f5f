"""What the bench of the controller counts and creates is what it says that it does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.bench.devices import allocations, claim_requests, slice_requests
from tests.bench.followed import Asked, writes
from tests.bench.population import Population
from webhook.controllers.tables import loaded, table_held
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.claims import offered
from webhook.inventory.facts import node_facts
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.status import Survey

_THERE = Population(nodes=12, pods=30, rows=5)


def _bodies(requests: Iterable[bytes]) -> list[dict[str, Any]]:
    return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in requests]


def _line(verb: str, resource: str, stage: str = "ResponseComplete", subresource: str = "") -> str:
    at = {"resource": resource, "subresource": subresource}
    return json.dumps({"verb": verb, "stage": stage, "objectRef": at}) + "\n"


def test_requests_are_counted_once_each_and_new_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    rest = _line("patch", "selectiontables", subresource="status")
    log.write_text(
        _line("get", "nodes")
        + _line("watch", "pods", "ResponseStarted")
        + _line("watch", "pods")
        + _line("update", "leases")
        + _line("patch", "nodes")
        + rest[:20]
    )
    asked = Asked(log)
    first = Counter({("get", "nodes"): 1, ("watch", "pods"): 1, ("patch", "nodes"): 1})
    assert asked.counts() == first
    with log.open("a") as more:
        more.write(rest[20:])
    assert asked.counts() - first == {("patch", "selectiontables/status"): 1}
    assert writes(asked.counts()) == 2


def test_nodes_are_as_large_as_real_ones_and_belong_to_one_row_each() -> None:
    table = loaded(table_held(_THERE.table(reserved=True)).text)
    assert table.matcher is not None
    assert table.table is not None
    raw = _bodies(_THERE.node_requests())
    nodes = [node_facts(one) for one in raw]
    assert len({node.name for node in nodes}) == 12
    rows = [[row.id for row in table.matcher.rows_of(node)] for node in nodes]
    assert rows[:6] == [
        ["m0-80gb"],
        ["m1-80gb"],
        ["m2-80gb"],
        ["m3-80gb"],
        ["m4-80gb"],
        ["m0-80gb"],
    ]
    assert rows.count(["m0-80gb"]) == _THERE.members
    offers = offered(map(slice_facts, _bodies(slice_requests(_THERE))))
    assert sum(len(one.devices) for one in offers.slices) == _THERE.gpus
    status = Survey(table.table).status(nodes, [], offers)
    assert sum(row.devices for row in status.rows) == _THERE.gpus
    assert [row.claim_devices for row in status.rows] == [row.devices for row in status.rows]
    assert all(node.ready and len(node.labels) > 100 for node in nodes)
    assert all(8_000 < len(json.dumps(one)) < 16_000 for one in raw)


def test_a_pod_holds_one_gpu_of_its_row_on_a_node_of_that_row() -> None:
    home = {one["metadata"]["name"]: one for one in _bodies(_THERE.node_requests())}
    pods = _bodies(_THERE.pod_requests())
    assert len({pod["metadata"]["name"] for pod in pods}) == 30
    made = {one["metadata"]["name"] for one in _bodies(claim_requests(_THERE))}
    for pod in pods:
        facts = pod_facts(pod)
        (row,) = facts.candidates
        claims = [one["resourceClaimName"] for one in pod["spec"].get("resourceClaims", ())]
        assert facts.devices == ({} if claims else {"nvidia.com/gpu": 1})
        assert row in (("m3-80gb", "m4-80gb") if claims else ("m0-80gb", "m1-80gb", "m2-80gb"))
        assert set(claims) <= made
        assert home[facts.node]["metadata"]["labels"]["gpu-model"] == row


def test_claims_hold_a_device_each_of_the_node_that_their_pod_is_on() -> None:
    slices = map(slice_facts, _bodies(slice_requests(_THERE)))
    there = {(one.driver, one.pool, device.name) for one in slices for device in one.devices}
    held = [claim_facts(one) for one in _bodies(allocations(_THERE))]
    devices = [one.devices[0] for one in held if one is not None]
    assert len(devices) == len(set(devices)) == len(_bodies(claim_requests(_THERE)))
    assert set(devices) <= there


def test_replacements_delete_the_oldest_and_create_under_a_new_name() -> None:
    replacing = _THERE.replacements()
    delete, create, delete_next = next(replacing), next(replacing), next(replacing)
    assert delete.startswith(b"DELETE /api/v1/namespaces/default/pods/trainer-6f7c9d8b5c-0")
    assert delete.partition(b" HTTP")[0].endswith(b"0?gracePeriodSeconds=0")
    assert _bodies([create])[0]["metadata"]["name"] == "trainer-6f7c9d8b5c-000000000030"
    assert delete_next.partition(b" HTTP")[0].endswith(b"1?gracePeriodSeconds=0")


def test_a_heartbeat_changes_nothing_that_is_kept_of_a_node() -> None:
    (node,) = _bodies([next(_THERE.node_requests())])
    (beat,) = _bodies([next(_THERE.heartbeats())])
    later = node | {"status": node["status"] | beat["status"]}
    assert later != node
    assert node_facts(later) == node_facts(node)
