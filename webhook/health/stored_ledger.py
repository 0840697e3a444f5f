"""The ledger as the JSON in which it outlives a process.

An entry that cannot be read is left out, and the others count all the same: a budget that a typing
error makes larger would be worse than one that it makes smaller by nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from webhook.health.ledger import Eviction, Ledger
from webhook.health.stored import UNREADABLE, VERSION, content_of, time_of
from webhook.health.subjects import Subject
from webhook.inventory.facts import Json, mapping

E = TypeVar("E")
K = TypeVar("K")
T = TypeVar("T")


def ledger_text(ledger: Ledger) -> str:
    """Return a ledger as text: devices by node, driver and pool, for there may be thousands."""
    quarantined: Json = {}
    for subject, at in sorted(ledger.quarantined.items()):
        on_node = quarantined.setdefault(subject.node, {})
        if subject.is_node:
            on_node["at"] = at
        else:
            pools = on_node.setdefault("devices", {}).setdefault(subject.driver, {})
            pools.setdefault(subject.pool, {})[subject.device] = at
    content = {
        "version": VERSION,
        "evictions": [
            [one.pod, one.namespace, one.at, one.node, one.owner, one.newest]
            for one in ledger.evictions
        ],
        "quarantined": quarantined,
        "breakers": dict(ledger.breakers),
        "resumed": dict(ledger.resumed),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def ledger_of(text: str) -> Ledger | None:
    """Read a ledger; None where there is nothing to be read."""
    try:
        content = content_of(text)
    except UNREADABLE:
        return None
    evictions = content.get("evictions")
    return Ledger(
        evictions=tuple(_each(evictions if isinstance(evictions, list) else (), _eviction)),
        quarantined=dict(_each(_quarantines(mapping(content.get("quarantined"))), _timed)),
        breakers=dict(_each(mapping(content.get("breakers")).items(), _timed)),
        resumed=dict(_each(mapping(content.get("resumed")).items(), _timed)),
    )


def _each(entries: Iterable[E], read: Callable[[E], T]) -> Iterator[T]:
    for one in entries:
        try:
            yield read(one)
        except UNREADABLE:
            continue


def _eviction(entry: object) -> Eviction:
    if not isinstance(entry, list):
        raise TypeError(entry)
    pod, namespace, at, *rest = entry
    node, owner, newest = rest or ("", "", 0.0)
    return Eviction(str(pod), str(namespace), time_of(at), str(node), str(owner), time_of(newest))


def _quarantines(quarantined: Json) -> Iterator[tuple[Subject, object]]:
    for node, held in quarantined.items():
        on_node = mapping(held)
        if "at" in on_node:
            yield Subject(node), on_node["at"]
        for driver, pools in mapping(on_node.get("devices")).items():
            for pool, devices in mapping(pools).items():
                for device, at in mapping(devices).items():
                    yield Subject(node, driver=driver, pool=pool, device=device), at


def _timed(entry: tuple[K, object]) -> tuple[K, float]:
    return entry[0], time_of(entry[1])
