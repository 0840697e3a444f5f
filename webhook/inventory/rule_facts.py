"""What is kept of a DeviceTaintRule: which devices it taints, and how (KEP-5055)."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.inventory.facts import Json, Taint, mapping
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
