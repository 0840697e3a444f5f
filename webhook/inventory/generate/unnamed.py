"""GPU nodes that no vendor's label names: the admin's own label that tells them apart, if any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from webhook.inventory.facts import NodeFacts
from webhook.inventory.generate.catalogue import Card, Catalogue
from webhook.inventory.generate.sightings import Sighting
from webhook.inventory.memory import memory_of, shares_of
from webhook.inventory.vendors import GPU_WORDS

_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_HOSTNAME = "kubernetes.io/hostname"

# Domains whose labels say what the machine or Kubernetes is, not what its GPUs are.
_FOREIGN = ("kubernetes.io", "k8s.io")


class _Key(NamedTuple):
    """How well a label key tells GPU nodes apart; the best sorts first."""

    unlike_cards: int
    leaks: int
    uncovered: int
    unspoken: bool
    values: int
    key: str


def with_clues(
    found: Iterable[Sighting],
    others: Iterable[NodeFacts],
    catalogue: Catalogue,
) -> Iterator[Sighting]:
    """Give sightings without a clue the label that tells most, else type or name of the machine.

    Args:
        found: Sightings without a clue.
        others: Nodes without GPUs; a label value that they have too is a poor clue.
        catalogue: Knows which values mean cards.
    """
    left = list(found)
    elsewhere = {pair for node in others for pair in node.labels.items()}
    while left:
        key = _best_key(left, elsewhere, catalogue)
        if key is None:
            break
        yield from _named([one for one in left if key in one.node.labels], key, catalogue)
        left = [one for one in left if key not in one.node.labels]
    for one in left:
        key = _INSTANCE_TYPE if _INSTANCE_TYPE in one.node.labels else _HOSTNAME
        value = one.node.labels.get(key, one.node.name)
        card = one.card or _card("unknown" if key == _HOSTNAME else value, [one], catalogue)
        doubt = "no label tells what its GPUs are; give these nodes one and use it here"
        card = replace(card, doubts=(*card.doubts, doubt))
        yield replace(one, clue=((key, value),), card=card)


def _best_key(
    left: list[Sighting], elsewhere: set[tuple[str, str]], catalogue: Catalogue
) -> str | None:
    values: dict[str, Counter[str]] = {}
    for one in left:
        for key, value in one.node.labels.items():
            if not _is_foreign(key):
                values.setdefault(key, Counter())[value] += 1
    keys = []
    for key, counts in values.items():
        cards = sum(count for value, count in counts.items() if value and catalogue.knows(value))
        covered = counts.total()
        leaks = sum((key, value) in elsewhere for value in counts)
        # One value a node is a serial number, and one that other nodes have says nothing of GPUs,
        # unless the values are names of cards.
        if not cards and (len(counts) == covered > 1 or leaks or "" in counts):
            continue
        keys.append(
            _Key(
                unlike_cards=len(left) - cards,
                leaks=leaks,
                uncovered=len(left) - covered,
                unspoken=not any(word in key.lower() for word in GPU_WORDS),
                values=len(counts),
                key=key,
            )
        )
    return min(keys).key if keys else None


def _named(found: list[Sighting], key: str, catalogue: Catalogue) -> Iterator[Sighting]:
    alike: dict[tuple[str, str], list[Sighting]] = {}
    for one in found:
        alike.setdefault((one.resource, one.node.labels[key]), []).append(one)
    for (_, value), those in alike.items():
        card = _card(value, those, catalogue)
        for one in those:
            yield replace(one, clue=((key, value),), card=one.card or card)


def _card(value: str, those: list[Sighting], catalogue: Catalogue) -> Card:
    """Return the card of nodes that share a label's value; what the driver says counts most."""
    drivers = [driver for one in those for driver in one.drivers if driver.product]
    shares = max(shares_of(one.node.labels) for one in those)
    if drivers:
        least = min(drivers, key=lambda one: (one.memory_mib, one.product))
        card = catalogue.card(least.product, least.memory_mib, shares)
        products = sorted({one.product for one in drivers})
        if len(products) > 1:
            doubt = f"these nodes have {' and '.join(products)}; a row is one kind of card"
            card = replace(card, doubts=(*card.doubts, doubt))
        return card
    told = min((driver.memory_mib for one in those for driver in one.drivers), default=0)
    memory = min(memory_of(one.node.labels) for one in those) or told
    return catalogue.card(value, memory, shares)


def _is_foreign(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return any(domain == one or domain.endswith(f".{one}") for one in _FOREIGN)
