"""Laws of placement, judged by a matcher that agrees with the real scheduler (N3 to N6, N9)."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from selection_spec.table import Table
from tests.answers import outcome
from tests.builders import Json
from tests.matcher import admits
from tests.property.generated import LABELS
from tests.property.strategies import nodes_of, placed_pods, pods, table_documents, table_of
from webhook.admission.translate import Outcome, Verdict
from webhook.jsonpatch import write
from webhook.selectors import PREFERRED, REQUIRED
from webhook.snapshot import Snapshot

EVERYTHING = [{"operator": "Exists"}]
RESERVED = "gpuspec.preferred.jp/reserved"
HEALTH = "gpuspec.preferred.jp/health"


_DOCUMENTS = st.one_of(table_documents(), table_documents(3), table_documents(4))
_PODS = st.one_of(pods(), placed_pods())


class Case:
    """A Pod before and after, the table's rows by id, and nodes to ask about."""

    def __init__(self, pod: Json, document: Json, there: list[Json]) -> None:
        self.before = pod
        self.nodes = there
        self.table: Table = table_of(document)
        self.rows = {f"{row['name']}-{row['vram']}": row for row in document["spec"]["devices"]}
        self.outcome: Outcome = outcome(pod, Snapshot(self.table))
        self.after: Json = write(pod, self.outcome.edits).after
        self.document = document

    def __repr__(self) -> str:
        return f"Case(\n{self.before!r},\n{self.document!r},\n{self.nodes!r})"

    @property
    def candidates(self) -> list[Json]:
        """The rows that the Pod may use, as the table wrote them."""
        resolution = self.outcome.resolution
        assert resolution is not None
        return [self.rows[row.id] for row in resolution.candidates]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases with nodes of the table's rows, and others."""
    document = draw(_DOCUMENTS)
    return Case(draw(_PODS), document, draw(nodes_of(document, 8)))


def translated() -> st.SearchStrategy[Case]:
    """Cases whose Pod is placed by nodes, and whose own words the API server takes."""
    return cases().filter(
        lambda case: (
            case.outcome.placement is not None
            and not case.outcome.claims
            and _is_valid(case.before)
        )
    )


def placed() -> st.SearchStrategy[Case]:
    """Cases whose Pod is placed by nodes or gets claims."""
    return cases().filter(
        lambda case: case.outcome.placement is not None and _is_valid(case.before)
    )


def _is_valid(pod: Json) -> bool:
    """Whether required affinity, where there is any, has terms; the API server insists."""
    node = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return node.get(REQUIRED) is None or bool(node[REQUIRED].get("nodeSelectorTerms"))


def selected(pod: Json, node: Json) -> bool:
    """Whether a Pod's selectors let it on a node, taints aside."""
    return admits(node, {"spec": {**pod["spec"], "tolerations": EVERYTHING}})


def tolerated(tolerations: Iterable[Json], node: Json) -> bool:
    """Whether tolerations cover a node's taints."""
    return admits(node, {"spec": {"tolerations": [*tolerations]}})


def is_of(row: Json, node: Json) -> bool:
    """Whether a node carries a row's devices."""
    labels = row["nodes"].get("matchLabels")
    said = {"matchExpressions": row["nodes"].get("matchExpressions")}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [said]}}}
    spec = {"nodeSelector": labels, "tolerations": EVERYTHING}
    return admits(node, {"spec": {**spec, "affinity": affinity} if labels is None else spec})


class TestNodes:
    """Where a Pod may go, before and after."""

    @pytest.mark.rule("N3", "N2")
    @given(translated())
    def test_no_node_is_admitted_that_the_user_excluded(self, case: Case) -> None:
        for node in case.nodes:
            if selected(case.after, node):
                assert selected(case.before, node)

    @pytest.mark.rule("N3", "N2")
    @given(translated())
    def test_no_node_is_admitted_that_has_no_candidate(self, case: Case) -> None:
        for node in case.nodes:
            if selected(case.after, node):
                assert any(is_of(row, node) for row in case.candidates)

    @pytest.mark.rule("N3", "N4", "N5")
    @given(translated())
    def test_no_node_of_a_candidate_is_lost(self, case: Case) -> None:
        own = case.before["spec"].get("tolerations") or []
        for node in case.nodes:
            for row in case.candidates:
                if not is_of(row, node) or not selected(case.before, node):
                    continue
                assert selected(case.after, node)
                if tolerated([*own, *row["tolerations"]], node):
                    event("a node of a candidate")
                    assert admits(node, case.after)

    @pytest.mark.rule("N3")
    @given(translated())
    def test_a_list_of_terms_is_never_emptied(self, case: Case) -> None:
        node = (case.after["spec"].get("affinity") or {}).get("nodeAffinity") or {}
        required = node.get(REQUIRED)

        assert required is None or required["nodeSelectorTerms"]

    @pytest.mark.rule("N4", "D10")
    @given(cases())
    def test_no_row_is_dropped_whose_nodes_the_user_admits(self, case: Case) -> None:
        """Whatever else is said of the Pod: its own words drop only what they exclude."""
        resolution = case.outcome.resolution
        if resolution is None or not _is_valid(case.before):
            return
        dropped = {
            row.id
            for step in resolution.steps
            if step.rule in ("N4", "D10")
            for row in case.table.select(step.dropped)
        }
        os = (case.before["spec"].get("os") or {}).get("name", "linux")
        for row_id, row in case.rows.items():
            for node in (_pure(row, node) for node in case.nodes):
                if is_of(row, node) and selected(case.before, node):
                    event("a node of a row, admitted by the user")
                    assert row_id not in dropped or row.get("os", "linux") != os


def _pure(row: Json, node: Json) -> Json:
    """A node with no label that only other rows know theirs by, on the row's own platform."""
    said = row["nodes"].get("matchLabels") or row["nodes"].get("matchExpressions")
    own = {one if isinstance(one, str) else one["key"] for one in said}
    platform = {
        "kubernetes.io/arch": row.get("arch", "amd64"),
        "kubernetes.io/os": row.get("os", "linux"),
    }
    labels = {
        key: value
        for key, value in node["metadata"]["labels"].items()
        if key in own or key not in LABELS
    }
    return {**node, "metadata": {**node["metadata"], "labels": {**labels, **platform}}}


class TestTerms:
    """What the user wrote stays, term by term."""

    @pytest.mark.rule("N3")
    @given(translated())
    def test_every_term_begins_as_one_of_theirs(self, case: Case) -> None:
        before, after = (
            (
                ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
            ).get("nodeSelectorTerms", [])
            for pod in (case.before, case.after)
        )
        if not before:
            return
        for term in after:
            theirs = [
                one
                for one in before
                if (one.get("matchExpressions") or [])
                == (term.get("matchExpressions") or [])[: len(one.get("matchExpressions") or [])]
                and one.get("matchFields") == term.get("matchFields")
            ]
            assert theirs
        empty = [one for one in before if not any(one.values())]
        assert [one for one in after if not any(one.values())] == empty

    @pytest.mark.rule("N4")
    @given(translated())
    def test_the_node_selector_only_grows(self, case: Case) -> None:
        before = case.before["spec"].get("nodeSelector") or {}
        after = case.after["spec"].get("nodeSelector") or {}

        assert before.items() <= after.items()


class TestTolerations:
    """N5 and N9: appended, of the candidates only, never all-embracing."""

    @pytest.mark.rule("N5", "N9", "C4")
    @given(placed())
    def test_what_is_added(self, case: Case) -> None:
        before = case.before["spec"].get("tolerations") or []
        after = case.after["spec"].get("tolerations") or []
        added = after[len(before) :]

        assert after[: len(before)] == before
        for toleration in added:
            assert toleration["key"]
            assert not toleration["key"].startswith("gpuspec.preferred.jp/") or (
                toleration["key"] == RESERVED and toleration["operator"] == "Equal"
            )
        allowed = [one for row in case.candidates for one in row["tolerations"]]
        allowed += [
            {"key": RESERVED, "value": f"{row['name']}-{row['vram']}", "effect": "NoSchedule"}
            for row in case.candidates
        ]
        for node in case.nodes:
            if tolerated(after, node):
                assert tolerated([*before, *allowed], node)


class TestPreferences:
    """N6: on nodes that are of one row each, cheaper scores higher."""

    @pytest.mark.rule("N6", "C4")
    @given(placed())
    def test_cheaper_scores_higher(self, case: Case) -> None:
        before, after = (
            ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(PREFERRED) or []
            for pod in (case.before, case.after)
        )
        assert after[: len(before)] == before
        placement = case.outcome.placement
        assert placement is not None
        scores: dict[int, set[int]] = {}
        for node in case.nodes:
            costs = {row["cost"] for row in case.candidates if is_of(row, node)}
            if len(costs) == 1:
                scores.setdefault(costs.pop(), set()).add(_score(placement.preferred, node))
        if not case.table.prefer_cheaper:
            return
        for cost, found in scores.items():
            event("scored")
            for other, others in scores.items():
                assert cost >= other or min(found) > max(others)


def _score(preferred: Iterable[Json], node: Json) -> int:
    """The sum that the scheduler computes for cost; alternatives of one weight count once here."""
    by_cost = [one for one in preferred if HEALTH not in str(one)]
    return sum({one["weight"] for one in by_cost if _has(one["preference"], node)})


def _has(preference: Json, node: Json) -> bool:
    """Whether a node fulfils the term of a preference."""
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [preference]}}}
    return selected({"spec": {"affinity": affinity}}, node)


class TestMonotone:
    """What a Pod says more never gives it more nodes."""

    @pytest.mark.rule("N3", "N4")
    @given(translated(), st.data())
    def test_one_more_selector(self, case: Case, data: st.DataObject) -> None:
        key, value = data.draw(st.sampled_from([("model", "a"), ("tier", "x"), ("zone", "east")]))
        narrower = deepcopy(case.before)
        narrower["spec"].setdefault("priorityClassName", "low")
        there = case.before["spec"].get("nodeSelector") or {}
        if case.before["spec"].get("priorityClassName") == "high" or key in there:
            return
        narrower["spec"]["nodeSelector"] = {
            **(narrower["spec"].get("nodeSelector") or {}),
            key: value,
        }
        became = outcome(narrower, Snapshot(case.table))
        if became.verdict is not Verdict.PATCHED:
            return
        after = write(narrower, became.edits).after
        for node in case.nodes:
            if selected(after, node):
                assert selected(case.before, node)
