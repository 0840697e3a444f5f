"""What is kept of a DeviceTaintRule: which devices it taints, and how (KEP-5055)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from webhook.inventory.facts import Json, Taint, mapping
from webhook.inventory.slice_facts import DeviceFacts, SliceFacts
from webhook.inventory.taints import keeps_pods_away
from webhook.terms import RULE_LABEL


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """A DeviceTaintRule.

    Attributes:
        selector: Driver, pool and device that it selects, each None where it takes any; None where
            it selects nothing.
        is_ours: Whether it has our label; nobody else's is ever changed.
    """

    name: str
    selector: tuple[str | None, str | None, str | None] | None
    taint: Taint
    is_ours: bool = False

    def covers(self, driver: str, pool: str, device: str) -> bool:
        """Tell whether it taints a device."""
        return self.selector is not None and all(
            wanted in (None, found)
            for wanted, found in zip(self.selector, (driver, pool, device), strict=True)
        )


def rule_facts(rule: Json) -> RuleFacts:
    """Read a raw DeviceTaintRule, of any version: they do not differ in what is read here."""
    metadata, spec = mapping(rule.get("metadata")), mapping(rule.get("spec"))
    selector = spec.get("deviceSelector")
    taint = mapping(spec.get("taint"))
    return RuleFacts(
        name=str(metadata.get("name") or ""),
        selector=_selector(selector) if isinstance(selector, dict) else None,
        taint=Taint(*(str(taint.get(part) or "") for part in ("key", "value", "effect"))),
        is_ours=RULE_LABEL in mapping(metadata.get("labels")),
    )


def _selector(selector: Json) -> tuple[str | None, str | None, str | None]:
    driver, pool, device = (
        str(selector[part]) if selector.get(part) is not None else None
        for part in ("driver", "pool", "device")
    )
    return driver, pool, device


def with_rules(slices: Iterable[SliceFacts], rules: Iterable[RuleFacts]) -> tuple[SliceFacts, ...]:
    """Return slices whose devices have the taints of rules beside their drivers' own."""
    by_pool: dict[tuple[str | None, str | None], list[RuleFacts]] = defaultdict(list)
    for rule in rules:
        if rule.selector is not None and keeps_pods_away(rule.taint):
            by_pool[rule.selector[:2]].append(rule)
    if not by_pool:
        return tuple(slices)
    return tuple(_tainted(one, by_pool) for one in slices)


def _tainted(
    one: SliceFacts, by_pool: Mapping[tuple[str | None, str | None], list[RuleFacts]]
) -> SliceFacts:
    keys = product((one.driver, None), (one.pool, None))
    rules = [rule for key in keys for rule in by_pool.get(key, ())]
    if not rules:
        return one
    return replace(one, devices=tuple(_with(device, one, rules) for device in one.devices))


def _with(device: DeviceFacts, one: SliceFacts, rules: list[RuleFacts]) -> DeviceFacts:
    more = tuple(r.taint for r in rules if r.covers(one.driver, one.pool, device.name))
    return replace(device, taints=(*device.taints, *more)) if more else device
