"""PriorityClasses that a table speaks of and a cluster does not have (D3)."""

from __future__ import annotations

from collections.abc import Collection

from selection_spec.denial import few
from selection_spec.errors import Level, Problem

# Kubernetes' own classes are for what runs the cluster itself.
_SYSTEM = "system-"


def missing_class(name: str, classes: Collection[str]) -> Problem:
    """Say that a class is none of a cluster's, and which it has instead."""
    own = sorted(one for one in classes if not one.startswith(_SYSTEM))
    return Problem(
        f"the cluster has no PriorityClass {name}",
        hint=f"it has {few(own)}" if own else "it has none of its own",
        rule="D3",
        level=Level.WARNING,
    )
