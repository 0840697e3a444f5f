"""Everything that ``table diff`` finds, in one value; its reports are made from it."""

from __future__ import annotations

from dataclasses import dataclass

from selection_spec.errors import Level, Problem
from selection_spec.table import Table
from webhook.advice.asks import Ask
from webhook.advice.diff_nodes import Matched
from webhook.advice.moves import Move
from webhook.advice.owners import OwnerChange
from webhook.advice.row_changes import TableChanges
from webhook.advice.spec_changes import SpecChange
from webhook.advice.verdicts import Fate, PodVerdict


@dataclass(frozen=True, slots=True)
class NodesReport:
    """What two tables match of a cluster's nodes.

    Attributes:
        gpu_nodes: How many nodes have GPUs.
        problems: What the new table would wait for.
    """

    gpu_nodes: int
    old: Matched
    new: Matched
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class PodsReport:
    """What becomes of a cluster's Pods, those that stay as they are among them.

    ``nodes`` tells whether the nodes were known, so that Pods could be seen to move.
    """

    owners: tuple[OwnerChange, ...]
    nodes: bool

    def count(self, fate: Fate | None = None) -> int:
        """Return how many Pods have a fate, or how many there are."""
        return sum(one.count for one in self.owners if fate in {None, one.verdict.fate})


@dataclass(frozen=True, slots=True)
class ManifestChange:
    """What becomes of a Pod template in a manifest.

    Attributes:
        file: As it was given.
        owner: Such as ``Job/train``.
        path: Where the template stands in its document, a JSON pointer.
    """

    file: str
    owner: str
    path: str
    verdict: PodVerdict


@dataclass(frozen=True, slots=True)
class Diff:
    """Two tables, and what the step from one to the other means.

    Attributes:
        asks: Every request that was compared.
        moves: Rows that are taken by claims from now on, or no longer.
        specs: Those that are answered otherwise now.
        nodes: None where the nodes are not known.
        pods: None where no Pods were given.
        manifests: None where no manifests were given.
    """

    old: Table
    new: Table
    changes: TableChanges
    asks: tuple[Ask, ...]
    specs: tuple[SpecChange, ...]
    moves: tuple[Move, ...] = ()
    nodes: NodesReport | None = None
    pods: PodsReport | None = None
    manifests: tuple[ManifestChange, ...] | None = None

    @property
    def levels(self) -> frozenset[Level]:
        """How bad it is: an error where something that works would stop working."""
        found = [one.level for one in self.specs]
        found += [one.level for move in self.moves for one in move.problems]
        found += [one.level for one in self.nodes.problems] if self.nodes else []
        found += [one.verdict.level for one in self.pods.owners] if self.pods else []
        found += [one.verdict.level for one in self.manifests or ()]
        if self.domain_changes:
            found.append(Level.ERROR)
        return frozenset(level for level in found if level is not None)

    @property
    def domain_changes(self) -> bool:
        """Whether every key that is written today would stop being one (G1)."""
        return self.old.domain != self.new.domain
