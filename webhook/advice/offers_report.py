"""``offers`` for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from webhook.advice.offers import Instead, Market, Offer, Start
from webhook.advice.supply import TAINTED_DEVICES
from webhook.advice.words import DEVICE_CLASS_REQUESTS, WIDTH, number, some, wrapped

Json = dict[str, Any]
Answer = tuple[Offer, tuple[Instead, ...]]

_NAMED = 8
_FEW = (3, 2, 1)
_NAMES = 12
_NUMBERS = 7
_GAP = "  "
_LIMITS = (
    "Free devices are on nodes that are ready and open to the row's Pods. Room for CPU and "
    "memory, quotas and Pods that wait already are not looked at."
)


def listing(market: Market, offers: Sequence[Offer], as_of: str = "") -> str:
    """Return a line for each offer; ``as_of`` is the time of a status, "" for the present."""
    there = [one for one in offers if one.total]
    nothing = [str(one.spec) for one in offers if not one.total]
    lines = [*_head(market, as_of), ""]
    if there:
        lines += [*_rows(there), ""]
    if nothing:
        lines += [wrapped(some(nothing, _NAMES), "No devices right now: ", "  "), ""]
    if dead := sum(pool.dead for pool in market.supply.pools):
        lines += [wrapped(f"{_dead(dead)}: gpuspec health", "", ""), ""]
    return "\n".join((*lines, wrapped(_LIMITS, "", "")))


def answers(market: Market, found: Iterable[Answer], as_of: str = "") -> str:
    """Return for each request whether it would start now, and what would."""
    paragraphs = ["\n".join(_answer(offer, instead)) for offer, instead in found]
    return "\n\n".join(("\n".join(_head(market, as_of)), *paragraphs))


def as_json(market: Market, found: Iterable[Answer], as_of: str = "") -> Json:
    """Return offers in their documented shape."""
    return {
        "table": {"name": market.table.name, "digest": market.table.digest},
        "policy": market.choice.policy.value,
        "policyFrom": market.choice.source,
        "source": "nodes" if market.supply.exact else "status",
        "asOf": as_of or None,
        "offers": [
            {**_offer(offer), "instead": [{"how": one.how, **_offer(one.offer)} for one in instead]}
            for offer, instead in found
        ],
    }


def _head(market: Market, as_of: str) -> Iterator[str]:
    table, choice = market.table, market.choice
    text = f"table {table.name} {table.digest}; {choice.policy} (from {choice.source})"
    yield wrapped(text, "", "  ")
    if not market.supply.exact:
        yield wrapped(
            f"as of {as_of or 'an unknown time'}, from the table's status, which does not tell "
            "how free devices are spread: figures for one node are the most that there can be",
            "",
            "  ",
        )


def _rows(offers: Sequence[Offer]) -> Iterator[str]:
    wide = max(len("SPEC"), *(len(str(one.spec)) for one in offers))
    numbers = _GAP.join(f"{head:>{_NUMBERS}}" for head in ("TOTAL", "FREE", "LARGEST"))
    room = WIDTH - wide - len(numbers) - 2 * len(_GAP)
    yield f"{'SPEC':<{wide}}{_GAP}{numbers}{_GAP}ROWS"
    for one in offers:
        cells = [some(one.candidates, few) for few in _FEW]
        cell = next((text for text in cells if len(text) <= room), cells[-1])
        figures = _GAP.join(
            f"{number(count):>{_NUMBERS}}" for count in (one.total, one.free, one.largest)
        )
        yield f"{one.spec!s:<{wide}}{_GAP}{figures}{_GAP}{cell}".rstrip()


def _answer(offer: Offer, instead: Sequence[Instead]) -> Iterator[str]:
    if offer.denial:
        yield f"{offer.request}: no, it would be denied"
        yield wrapped(offer.denial, "  ", "  ")
    else:
        yield f"{offer.request}: {_verdict(offer)}"
        if offer.broken:
            yield wrapped(offer.broken, "  ", "  ")
        rows = some(offer.candidates, _NAMED)
        yield wrapped(f"{rows}: {_figures(offer)}", "  ", "  ")
        yield wrapped(f"a quota counts {_charged(offer)}", "  ", "    ")
    if instead:
        yield "  would start now:" if instead[0].offer.start is Start.YES else "  may start now:"
        for one in instead:
            yield wrapped(
                f"{one.offer.request} ({one.how}): {_figures(one.offer)}", "    ", "      "
            )
    elif offer.start is Start.NO:
        yield "  and nothing near it would start now"


def _verdict(offer: Offer) -> str:
    if offer.start is Start.YES:
        return "yes, it would start now"
    if offer.start is Start.PERHAPS:
        return "perhaps: enough are free, though they may lie on several nodes"
    if offer.broken:
        return "no, its Pod would never start"
    if not offer.total:
        return "no: no node has such devices right now"
    return f"no: no node has {offer.count} free"


def _charged(offer: Offer) -> str:
    listed = [f"{key}: {number(amount)}" for key, amount in offer.charged]
    later = [one for one in listed if one.startswith(DEVICE_CLASS_REQUESTS)]
    always = ", ".join(listed[: len(listed) - len(later)])
    return f"{always}; from Kubernetes 1.36 on also {', '.join(later)}" if later else always


def _figures(offer: Offer) -> str:
    on = f" ({offer.node})" if offer.node else ""
    free = f"{number(offer.free)} of {number(offer.total)} free"
    largest = f"at most {number(offer.largest)} on one node{on}"
    dead = (_dead(offer.dead),) if offer.dead else ()
    return ", ".join((free, largest, *dead, *(_away(*one) for one in offer.away)))


def _dead(devices: int) -> str:
    is_free = "is" if devices == 1 else "are"
    return f"{number(devices)} of the free {is_free} Failed, as health says, and open to Pods"


def _away(reason: str, devices: int) -> str:
    where = "" if reason == TAINTED_DEVICES else "on nodes "
    return f"{number(devices)} {where}that are {reason}"


def _offer(offer: Offer) -> Json:
    return {
        "spec": str(offer.spec),
        "count": offer.count,
        "policy": offer.policy.value,
        "start": offer.start.value,
        "message": offer.denial or offer.broken,
        "candidates": list(offer.candidates),
        "total": offer.total,
        "free": offer.free,
        "failedFree": offer.dead,
        "largestFree": offer.largest,
        "node": offer.node or None,
        "quota": dict(offer.charged),
        "away": [{"reason": reason, "devices": devices} for reason, devices in offer.away],
    }
