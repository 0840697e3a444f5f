"""``table diff`` for people: grouped, so that one change in 65 rows is one line; 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from selection_spec.errors import Level
from selection_spec.grammar import Spec
from selection_spec.rows import Policy
from webhook.advice.diff import Diff, ManifestChange, NodesReport, PodsReport
from webhook.advice.diff_nodes import Matched, Served
from webhook.advice.moves import Move, meaning
from webhook.advice.owners import OwnerChange
from webhook.advice.row_changes import FieldChange, TableChanges
from webhook.advice.spec_changes import SpecChange
from webhook.advice.verdicts import Fate, PodVerdict
from webhook.advice.words import counted, number, some, wrapped

_FEW = 8
_FIELDS = 4
_OWNERS = 5
_GROUPS = 10

_Reason = tuple[Level | None, str]

_DOMAIN = "every key that is written today would stop being a spec"


def as_text(diff: Diff, *, show_all: bool = False) -> str:
    """Return the report; with ``show_all`` nothing is left out of long lists."""
    return "\n".join(_Report(show_all=show_all).lines(diff))


@dataclass(frozen=True, slots=True)
class _Group:
    """Requests of which the same becomes under the same policies."""

    level: Level | None
    said: str
    policies: tuple[Policy, ...]
    requests: list[str]


class _Report:
    """Writes one report; knows how much of long lists to show."""

    def __init__(self, *, show_all: bool) -> None:
        self.few = None if show_all else _FEW
        self.fields = None if show_all else _FIELDS
        self.owners = None if show_all else _OWNERS
        self.groups = None if show_all else _GROUPS
        self.cut = False

    def lines(self, diff: Diff) -> Iterator[str]:
        yield f"{diff.old.name} {diff.old.digest} → {diff.new.name} {diff.new.digest}"
        sections = (
            ("Table", self._table(diff)),
            ("Outputs", self._moves(diff.moves)),
            (_nodes_head(diff.nodes), self._nodes(diff.nodes)),
            ("Specs", self._specs(diff)),
            (_pods_head(diff.pods), self._pods(diff.pods)),
            ("Manifests", self._manifests(diff.manifests)),
        )
        for head, lines in sections:
            found = list(lines)
            if found:
                yield from ("", head, *found)
        if self.cut:
            yield "\n(--all leaves nothing out)"

    def _some(self, parts: list[str], at_most: int | None) -> str:
        self.cut = self.cut or (at_most is not None and len(parts) > at_most)
        return some(parts, at_most)

    def _table(self, diff: Diff) -> Iterator[str]:
        changes = diff.changes
        for one in changes.settings:
            error = f" (error: {_DOMAIN})" if one.field == "resourceDomain" else ""
            yield wrapped(f"{one.alike}{error}", "  ", "    ")
        for reach in changes.reaches:
            yield wrapped(f"note: {reach}", "  ", "    ")
        for verb, ids in (
            ("added", [row.id for row in changes.added]),
            ("removed", [row.id for row in changes.removed]),
            ("renamed", [f"{old} → {new}" for old, new in changes.renamed]),
        ):
            if ids:
                yield wrapped(self._some(ids, self.few), f"  {verb}: ", "    ")
        yield from self._changed(changes)
        if not changes.settings and diff.old.digest == diff.new.digest:
            yield "  no difference"

    def _changed(self, changes: TableChanges) -> Iterator[str]:
        """Rows that changed in the same way share a line; fields with many ways an example."""
        by_field: dict[str, dict[str, list[FieldChange]]] = {}
        for one in changes.changed:
            by_field.setdefault(one.field, {}).setdefault(one.alike, []).append(one)
        for field, ways in by_field.items():
            groups = list(ways.items())
            for alike, rows in groups[: self.fields]:
                ids = self._some([one.row for one in rows], self.few)
                yield wrapped(f"{ids}: {alike}", "  ", "    ")
            rest = sum(len(rows) for _, rows in groups) - sum(
                len(rows) for _, rows in groups[: self.fields]
            )
            if rest:
                self.cut = True
                yield f"  and {counted(rest, 'more row')}: {field}"

    def _moves(self, moves: Iterable[Move]) -> Iterator[str]:
        for move in moves:
            yield wrapped(f"{self._some(list(move.rows), self.few)}: {_way(move)}", "  ", "    ")
            for text in meaning(move):
                yield wrapped(text, "    ", "      ")
            for one in move.problems:
                yield wrapped(f"{one.level}: {one.text()}", "    ", "      ")

    def _nodes(self, nodes: NodesReport | None) -> Iterator[str]:
        if nodes is None:
            return
        old, new = (_matches(one) for one in (nodes.old, nodes.new))
        yield f"  {new}, as before" if old == new else f"  {old} → {new}"
        for one in nodes.problems:
            yield wrapped(f"{one.level}: {one.text()}", "  ", "    ")

    def _specs(self, diff: Diff) -> Iterator[str]:
        most = {ask.spec: ask.most for ask in diff.asks}
        shown = [one for one in diff.specs if self.few is None or not one.is_idle]
        groups = _groups(shown, most, self._said)
        for level in (Level.ERROR, Level.WARNING, None):
            same = [one for one in groups if one.level is level]
            for one in same[: self.groups]:
                under = "" if len(one.policies) == len(Policy) else f" under {one.policies[0]}"
                head = f"  {level.value}: " if level else "  "
                yield wrapped(f"{self._some(one.requests, self.few)}{under}", head, "    ")
                yield wrapped(one.said, "    ", "      ")
            rest = len(same) - len(same[: self.groups])
            if rest:
                self.cut = True
                what = level.value if level else "change"
                yield f"  and {counted(rest, f'more such {what}')}"
        if len(shown) < len(diff.specs):
            self.cut = True
            idle = _groups((one for one in diff.specs if one.is_idle), most, lambda _: "")
            yield f"  {_idle(len({text for one in idle for text in one.requests}))}"

    def _said(self, one: SpecChange) -> str:
        """Say what becomes of a request; rows that gave nothing are no loss."""
        served = one.served
        is_new = served is not None and not served.before and bool(served.after)
        parts = [
            f"{verb} {self._some(list(ids), self.few)}"
            for verb, ids in (("loses", one.shift.lost), ("gains", one.shift.gained))
            if ids and not (is_new and verb == "loses")
        ]
        if one.left_out:
            ids, has = list(one.left_out), "has" if len(one.left_out) == 1 else "have"
            others = f"{has} another output than {one.after[0]}"
            parts.append(f"D9: {self._some(ids, self.few)} {others}")
        if one.never:
            parts.append(f"its Pods would never start: {one.never}")
        elif not one.after:
            parts.append("nothing is left")
        elif served is not None:
            parts += _nodes_said(served)
        return "; ".join(parts)

    def _pods(self, pods: PodsReport | None) -> Iterator[str]:
        shown = dict.fromkeys(Fate, 0)
        for verdict, owners in _by_verdict(pods.owners if pods else ()):
            shown[verdict.fate] += 1
            if self.groups is not None and shown[verdict.fate] > self.groups:
                self.cut = True
                continue
            count = counted(sum(one.count for one in owners), "Pod")
            yield f"  {_head(verdict)}, {count}"
            yield wrapped(verdict.reason, "    ", "    ")
            for one in owners[: self.owners]:
                yield wrapped(f"{one.namespace}/{one.owner}: {_states(one)}", "      ", "        ")
            rest = len(owners) - len(owners[: self.owners])
            if rest:
                self.cut = True
                yield f"      and {counted(rest, 'more owner')}"

    def _manifests(self, manifests: tuple[ManifestChange, ...] | None) -> Iterator[str]:
        for one in manifests or ():
            if one.verdict.fate is not Fate.SAME:
                yield wrapped(f"{one.file}: {one.owner}: {_head(one.verdict)}", "  ", "    ")
                yield wrapped(one.verdict.reason, "    ", "    ")
        same = sum(one.verdict.fate is Fate.SAME for one in manifests or ())
        if same:
            yield f"  {counted(same, 'Pod template')} as before"


def _groups(
    specs: Iterable[SpecChange], most: dict[Spec, int], said: Callable[[SpecChange], str]
) -> list[_Group]:
    """Gather requests by what becomes of them, then by the policies under which it does."""
    merged: dict[tuple[Spec, Policy, _Reason], list[SpecChange]] = {}
    for one in specs:
        merged.setdefault((one.ask.spec, one.policy, (one.level, said(one))), []).append(one)
    policies: dict[tuple[_Reason, str], list[Policy]] = {}
    for (spec, policy, reason), changes in merged.items():
        for text in _requests(changes, most[spec]):
            policies.setdefault((reason, text), []).append(policy)
    requests: dict[tuple[_Reason, tuple[Policy, ...]], list[str]] = {}
    for (reason, text), under in policies.items():
        requests.setdefault((reason, tuple(under)), []).append(text)
    return [_Group(*reason, under, texts) for (reason, under), texts in requests.items()]


def _nodes_said(served: Served) -> Iterator[str]:
    """Say what becomes of the nodes of a request that still has rows."""
    if served.before and not served.after and not served.reasons:
        yield "no node can serve what is left"
    elif served.after and not served.before:
        yield f"no node could serve it, now {number(served.after)} can"
    elif str(served):
        yield str(served)


def _way(move: Move) -> str:
    """Say which way rows go: ``nvidia.com/gpu → claims (DeviceClass gpu.nvidia.com)``."""
    claims = f"claims (DeviceClass {move.device_class})"
    return f"{move.before} → {claims}" if move.to_claims else f"{claims} → {move.after}"


def _idle(count: int) -> str:
    loses = "loses" if count == 1 else "lose"
    return f"{counted(count, 'request')} that no node here can serve {loses} rows"


def _nodes_head(nodes: NodesReport | None) -> str:
    return "" if nodes is None else f"Nodes ({number(nodes.gpu_nodes)} with GPUs)"


def _matches(one: Matched) -> str:
    """Say what a table matches: ``65 rows match none``, ``3 of 4 rows match 170``."""
    some_of = "" if one.with_nodes in {0, one.rows} else f"{number(one.with_nodes)} of "
    match = "matches" if one.with_nodes == 1 or (one.rows == 1 and not some_of) else "match"
    nodes = number(one.gpu_nodes) if one.gpu_nodes else "none"
    return f"{some_of}{counted(one.rows, 'row')} {match} {nodes}"


def _requests(changes: list[SpecChange], most: int) -> Iterator[str]:
    """Write a spec with the counts that a change is about; without any where it is all of them."""
    spans: list[list[int]] = []
    for one in changes:
        if spans and one.ask.least == spans[-1][1] + 1:
            spans[-1][1] = one.ask.most
        else:
            spans.append([one.ask.least, one.ask.most])
    for least, last in spans:
        span = str(least) if least == last else f"{least}-{last}"
        yield str(changes[0].ask.spec) + ("" if (least, last) == (1, most) else f":{span}")


def _pods_head(pods: PodsReport | None) -> str:
    if pods is None:
        return ""
    same = pods.count(Fate.SAME)
    unseen = "" if pods.nodes else "; without nodes nobody is seen to move"
    return f"Pods ({number(pods.count())} judged, {number(same)} as before{unseen})"


def _by_verdict(owners: Iterable[OwnerChange]) -> Iterator[tuple[PodVerdict, list[OwnerChange]]]:
    groups: dict[PodVerdict, list[OwnerChange]] = {}
    for one in owners:
        if one.verdict.fate is not Fate.SAME:
            groups.setdefault(one.verdict, []).append(one)
    yield from groups.items()


def _head(verdict: PodVerdict) -> str:
    return f"{verdict.level.value}: {verdict.fate}" if verdict.level else verdict.fate.value


def _states(one: OwnerChange) -> str:
    states = ((one.running, "running"), (one.pending, "pending"))
    return ", ".join(f"{number(count)} {state}" for count, state in states if count)
