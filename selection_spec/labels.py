"""What a row says about node labels, and what a Pod may say about them (semantics N2 to N4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

OS_LABEL = "kubernetes.io/os"
ARCH_LABEL = "kubernetes.io/arch"

# Kubelets still set the old names, and old manifests still select them.
ARCH_LABELS = (ARCH_LABEL, f"beta.{ARCH_LABEL}")
OS_LABELS = (OS_LABEL, f"beta.{OS_LABEL}")
PLATFORM_LABELS = frozenset(ARCH_LABELS + OS_LABELS)

# A row that says nothing about one of these has it all the same, with a value that is not known.
ON_EVERY_NODE = frozenset(
    {
        "kubernetes.io/hostname",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)


class Operator(StrEnum):
    """The operators of node affinity, as the API spells them."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One expression on one label key; ``matchLabels`` entries are ``In`` of a single value."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether ``nodeSelector`` can say it (N2)."""
        return self.operator is Operator.IN and len(self.values) == 1

    def admits(self, value: str) -> bool:
        """Tell whether a node whose label has this value may fulfil it.

        ``Gt`` and ``Lt`` are left to the scheduler: in doubt, yes (N4).
        """
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.DOES_NOT_EXIST:
                return False
            case _:
                return True

    def to_json(self) -> dict[str, object]:
        """Return it as a node affinity ``matchExpressions`` entry."""
        expression: dict[str, object] = {"key": self.key, "operator": self.operator.value}
        if self.values:
            expression["values"] = list(self.values)
        return expression


def of_labels(labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """Return the requirements that a ``matchLabels`` or ``nodeSelector`` mapping stands for."""
    return tuple(Requirement(key, Operator.IN, (value,)) for key, value in labels.items())


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a row. ``effect`` None tolerates every effect; ``value`` only with Equal."""

    key: str
    operator: str = "Equal"
    value: str | None = None
    effect: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as a Pod's ``tolerations`` entry, without fields that say nothing."""
        toleration: dict[str, object] = {"key": self.key, "operator": self.operator}
        if self.value is not None:
            toleration["value"] = self.value
        if self.effect is not None:
            toleration["effect"] = self.effect
        return toleration
