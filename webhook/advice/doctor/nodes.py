"""Whether the table speaks of the GPUs that the cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from selection_spec.denial import few
from webhook.advice.doctor.claims import offers
from webhook.advice.doctor.findings import Finding, error, fine, warning
from webhook.advice.doctor.seen import Seen, Topic
from webhook.advice.homes import Homes
from webhook.advice.words import number
from webhook.inventory.facts import node_facts
from webhook.inventory.matching import Matcher
from webhook.inventory.vendors import gpus

_GENERATE = "have one written for the nodes that are there: gpuspec table generate --cluster"


def nodes(seen: Seen) -> Iterator[Finding]:
    """Check that GPU nodes match rows: no Pod with a spec is placed on any other."""
    table, offered = seen.table, offers(seen)
    drivers = {row.claim.driver for row in table.rows if row.claim is not None}
    with_slices = {one.node for one in offered.slices if one.driver in drivers} if offered else ()
    every = map(node_facts, seen.items(Topic.NODES))
    found = [node for node in every if gpus(node, table.resources) or node.name in with_slices]
    homes, matcher = Homes(table, offered), Matcher(table)
    # What keeps claims from devices of nodes that have a row's labels is said of claims.
    missed = sorted(
        node.name for node in found if not (matcher.rows_of(node) or homes.rows_of(node))
    )
    if not found:
        yield warning(
            "no node has GPUs in its capacity, so Pods with a spec wait"
            if not drivers
            else "no node has GPUs in its capacity or in ResourceSlices, so Pods with a spec wait",
            "see that a device plugin runs, unless an autoscaler brings the nodes"
            if not drivers
            else "see that device plugin or driver runs, unless an autoscaler brings the nodes",
        )
    elif len(missed) == len(found):
        text = (
            f"0 of {number(len(found))} GPU nodes match a row of {seen.served.called}: no Pod with "
            "a spec can start"
        )
        # Right after installing that is so, and what is installed is as it should be.
        yield error(text, _GENERATE) if seen.served.raw else warning(text, _GENERATE)
    elif missed:
        match = "matches" if len(missed) == 1 else "match"
        yield warning(
            f"{number(len(missed))} of {number(len(found))} GPU nodes {match} no row of "
            f"{seen.served.called}, so no Pod with a spec is placed there: {few(missed)}",
            "add rows for them; these would do: gpuspec table generate --cluster",
        )
    else:
        yield fine(f"{number(len(found))} of {number(len(found))} GPU nodes match a row")
