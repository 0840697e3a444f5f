"""A cluster is read, and judged once, as the controller would; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import click

from selection_spec.table import Table
from webhook.advice.health.judged import About, Judged
from webhook.advice.health.marks_left import marks_left
from webhook.cli.cluster import asked, served_table
from webhook.cli.health.reading import Reader
from webhook.health.gather import Facts, Homes, remembered
from webhook.health.moment import Moment
from webhook.health.records import State
from webhook.health.step import step
from webhook.health.words import FIRST_WITH_ALL, MISSING_SIGNALS
from webhook.inventory.facts import NodeFacts
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts
from webhook.settings import ClusterPlace

# Of one answer: a list of a large cluster takes its time.
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asks about: a Pod, unless a node has this name.

    Attributes:
        node: The node's name; "" where only a Pod is meant.
        pod: Namespace and name of the Pod.
    """

    node: str
    pod: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Looked:
    """A cluster that was judged, and what was asked about: a node, a Pod, or nothing."""

    judged: Judged
    node: NodeFacts | None = None
    pod: PodFacts | None = None


def look(
    place: ClusterPlace, namespace: str, table_name: str, wanted: Wanted | None = None
) -> Looked:
    """Read a cluster, and judge it once.

    Args:
        place: Which cluster.
        namespace: Where gpuspec is installed.
        table_name: The SelectionTable in use.
        wanted: What a person asks about.

    Raises:
        UnreadableError: It does not answer, or its nodes or its table may not be seen.
    """
    from webhook.kube.versions import server_version  # noqa: PLC0415 -- see webhook.cli.cluster

    with asked(place) as connected:
        reader = Reader(connected.with_patience(_PATIENCE_S))
        version = server_version(reader.cluster)
        kubernetes = str(reader.cluster.get("/version").get("gitVersion"))
        table = served_table(reader.cluster, table_name).table
        marked = reader.marked()
        node = marked.nodes.get(wanted.node) if wanted is not None else None
        pod = reader.pod(*wanted.pod) if wanted is not None and node is None else None
        facts = reader.facts(marked)
        state = remembered(marked.nodes, reader.ledger(namespace))
        moment = _moment(table, facts, time.time())
        facts = replace(facts, jobs=reader.jobs((*_holding(moment, state), *_those(pod))))
        judged = Judged.of(
            About(reader.cluster.server, kubernetes, namespace),
            table,
            _moment(table, facts, moment.now),
            state,
            marks_left(marked.nodes, marked.devices, marked.rules),
        )
        refusals = reader.refusals((*judged.holders, *_those(pod)))
        missing = () if version >= FIRST_WITH_ALL else MISSING_SIGNALS
        unseen = tuple(reader.unseen)
    for text in unseen:
        click.echo(f"note: {text}", err=True)
    about = replace(judged.about, missing=missing, unseen=unseen)
    return Looked(replace(judged, about=about, refusals=refusals), node, pod)


def _moment(table: Table, facts: Facts, now: float) -> Moment:
    return Moment(Homes(table, Matcher(table)).observed(facts), table.health, now)


def _holding(moment: Moment, state: State) -> Iterable[PodFacts]:
    """Yield the Pods that hold what has failed."""
    for one in step(moment, state).decisions:
        yield from (holder.pod for holder in one.holders or ())


def _those(pod: PodFacts | None) -> Iterable[PodFacts]:
    return () if pod is None else (pod,)
