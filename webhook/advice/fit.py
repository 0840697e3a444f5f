"""How a table fits a cluster, beyond what its status says of each row.

Each finding comes with the path below ``spec`` that it is about; ``("devices", ID)`` is a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.table import Table
from webhook.advice.words import counted
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts
from webhook.inventory.matching import Matcher
from webhook.inventory.missing_class import missing_class
from webhook.inventory.reservation import reservation
from webhook.inventory.status import UnmatchedNodes
from webhook.terms import RESERVED_TAINT

Finding = tuple[tuple[str | int, ...], Problem]

# Kinds of nodes that are shown; whoever forgot more rows than these begins with them.
_KINDS = 10


def waiting(
    table: Table, nodes: Iterable[NodeFacts], daemons: Sequence[DaemonFacts]
) -> Iterator[Finding]:
    """Yield the reserved rows whose nodes would not be tainted, because of DaemonSets (H7)."""
    for one in reservation(table, Matcher(table), nodes, daemons, ()).blocked:
        each = "it" if len(one.daemons) == 1 else "each"
        yield (
            ("devices", one.row),
            Problem(
                f"{one.row}: reserved waits for {_daemon_sets(one.daemons)}, whose Pods would not "
                "come back to its nodes",
                hint=f"give {each} the toleration key {RESERVED_TAINT}, operator Exists, effect "
                "NoSchedule",
                rule="H7",
                level=Level.WARNING,
            ),
        )


def unmatched(kinds: Sequence[UnmatchedNodes]) -> Iterator[Finding]:
    """Yield the nodes with GPUs that no row matches, those alike in one."""
    for one in kinds[:_KINDS]:
        devices = ", ".join(f"{count} {name}" for name, count in one.devices)
        labels = ", ".join(f"{key}={value}" for key, value in one.labels)
        about = f"{one.name} ({'; '.join(filter(None, (devices, labels)))})"
        such = f": {about}" if one.nodes == 1 else f", such as {about}"
        yield _unmatched(f"{_gpu_nodes(one.nodes)} no row{such}")
    more = sum(one.nodes for one in kinds[_KINDS:])
    if more:
        yield _unmatched(f"{_gpu_nodes(more, 'more ')} no row")


def unknown_classes(table: Table, classes: Collection[str]) -> Iterator[Finding]:
    """Yield the class names of priority rules that no Pod can have (D3)."""
    for number, rule in enumerate(table.priorities):
        for name in sorted((rule.class_names or frozenset()) - set(classes)):
            yield ("priorities", number, "classNames"), missing_class(name, classes)


def other_domain(table: Table, served: str) -> Iterator[Finding]:
    """Yield the domain where the cluster's table of the same name has another (G1)."""
    if table.domain != served:
        yield (
            ("resourceDomain",),
            Problem(
                f'resourceDomain is "{table.domain}", but "{served}" in the cluster\'s table '
                f"{table.name}, where it cannot change",
                hint=f"write {served}",
                rule="G1",
            ),
        )


def _unmatched(text: str) -> Finding:
    hint = "add a row for them, or mend the one that should match them"
    return ("devices",), Problem(text, hint=hint, level=Level.WARNING)


def _gpu_nodes(count: int, more: str = "") -> str:
    match = "matches" if count == 1 else "match"
    return f"{counted(count, f'{more}node', f'{more}nodes')} with GPUs {match}"


def _daemon_sets(names: Sequence[str]) -> str:
    return f"DaemonSet{'' if len(names) == 1 else 's'} {few(names)}"
