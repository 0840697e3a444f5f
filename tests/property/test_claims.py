"""Laws of claims: what a Pod gets from DRA drivers, whatever it asks for (C1 to C6, A7, D1, R2)."""

from __future__ import annotations

import json
import re
from copy import deepcopy

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from selection_spec.grammar import is_ours
from selection_spec.rows import CLAIMS
from tests.answers import outcome
from tests.builders import DOMAIN, Json
from tests.property.strategies import pods, table_documents, table_of
from webhook.admission.translate import Outcome, Verdict
from webhook.jsonpatch import write
from webhook.placement.templates import refusal, template_name, wanted
from webhook.snapshot import Snapshot

ANNOTATION = "gpuspec.preferred.jp/claims"
LABEL = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class Case:
    """A Pod before and after, with claims."""

    def __init__(self, pod: Json, document: Json) -> None:
        self.before = pod
        self.snapshot = Snapshot(table_of(document))
        self.document = document
        self.outcome: Outcome = outcome(pod, self.snapshot)
        self.after: Json = write(pod, self.outcome.edits).after

    def __repr__(self) -> str:
        return f"Case(\n{self.before!r},\n{self.document!r})"

    @property
    def contents(self) -> Json:
        """The annotation of the Pod."""
        found: Json = json.loads(self.after["metadata"]["annotations"][ANNOTATION])
        return found

    @property
    def asking(self) -> dict[str, int]:
        """The containers that ask by a spec and get something, and how much."""
        resolution = self.outcome.resolution
        assert resolution is not None
        return {need.name: need.count for need in resolution.demand.specs}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases of tables with claims."""
    output = draw(st.sampled_from(("ResourceClaim", "ResourceClaim", "mixed")))
    return Case(draw(pods()), draw(table_documents(2, output)))


def claimed() -> st.SearchStrategy[Case]:
    """Cases whose Pod got claims."""
    return cases().filter(lambda case: bool(case.outcome.claims))


def containers(pod: Json) -> dict[str, Json]:
    """All containers of a Pod by name."""
    lists = (pod["spec"].get(name) or () for name in ("initContainers", "containers"))
    return {one["name"]: one for some in lists for one in some}


def asked(spec: Json) -> list[Json]:
    """The alternatives of a claim's content."""
    (request,) = spec["devices"]["requests"]
    alternatives: list[Json] = request.get("firstAvailable") or [request["exactly"]]
    return alternatives


class TestClaims:
    """C1 and C2: every container has one, named as Kubernetes wants it, of a known template."""

    @pytest.mark.rule("C1")
    @given(claimed())
    def test_every_container_that_asks_uses_one_claim(self, case: Case) -> None:
        before = [one["name"] for one in case.before["spec"].get("resourceClaims") or ()]
        names = [one["name"] for one in case.after["spec"]["resourceClaims"]]

        assert names[: len(before)] == before
        assert len(set(names)) == len(names)
        assert all(len(name) <= 63 and LABEL.fullmatch(name) for name in names)
        used = set()
        for name, container in containers(case.after).items():
            (one,) = container["resources"]["claims"] if name in case.asking else [{"name": ""}]
            used.add(one["name"])
        assert used - {""} == set(names) - set(before)

    @pytest.mark.rule("C1")
    @given(claimed())
    def test_no_key_of_ours_is_left_and_no_resource_is_added(self, case: Case) -> None:
        for name, container in containers(case.after).items():
            was = containers(case.before)[name].get("resources") or {}
            for side in ("limits", "requests"):
                there = (container.get("resources") or {}).get(side) or {}
                kept = {
                    key: value
                    for key, value in (was.get(side) or {}).items()
                    if not (key.startswith(f"{DOMAIN}/") and is_ours(key.partition("/")[2]))
                }
                assert there == kept

    @pytest.mark.rule("C2", "C3")
    @given(claimed())
    def test_templates_are_named_by_content_that_may_be_made(self, case: Case) -> None:
        classes = {row.claim.device_class for row in case.snapshot.table.rows if row.claim}
        named = {claim.content.template for claim in case.outcome.claims}

        assert wanted(case.after) == case.contents
        assert set(case.contents) == named
        for name, spec in case.contents.items():
            assert template_name(spec) == name
            assert refusal(spec, classes) == ""
            assert 0 < len(asked(spec)) <= 8

    @pytest.mark.rule("C2", "C5", "D8", "D9")
    @given(claimed())
    def test_alternatives_are_the_candidates_in_order(self, case: Case) -> None:
        resolution = case.outcome.resolution
        assert resolution is not None
        queued = "kueue.x-k8s.io/queue-name" in (case.before["metadata"].get("labels") or {})
        for claim in case.outcome.claims:
            for container in claim.containers:
                rows = resolution.of(container).candidates
                assert [row.order for row in rows] == sorted(row.order for row in rows)
                assert all(row.pool == CLAIMS for row in rows)
                alternatives = asked(claim.content.spec)
                counts = {one["count"] for one in alternatives}
                assert counts == {case.asking[container]}
                assert len(alternatives) == len(rows)
                if len(rows) > 1:
                    event("alternatives")
                    assert not queued
                    assert [one["name"] for one in alternatives] == [row.id for row in rows]

    @pytest.mark.rule("A7", "D1", "D2", "C6")
    @given(claimed())
    def test_no_node_is_promised_more_than_it_has(self, case: Case) -> None:
        resolution = case.outcome.resolution
        assert resolution is not None
        held = {claim.name: case.asking[claim.containers[0]] for claim in case.outcome.claims}
        assert max(held.values()) <= 32
        for claim in case.outcome.claims:
            for row in resolution.of(claim.containers[0]).candidates:
                together = held[claim.name] if resolution.apart else sum(held.values())
                assert together <= row.per_node

    @pytest.mark.rule("C4", "N7")
    @given(claimed())
    def test_devices_decide_the_node(self, case: Case) -> None:
        def required(pod: Json) -> Json:
            node = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
            return {
                "selector": pod["spec"].get("nodeSelector"),
                "required": node.get("requiredDuringSchedulingIgnoredDuringExecution"),
            }

        assert required(case.after) == required(case.before)
        assert not case.before["spec"].get("nodeName")


class TestAgain:
    """R2: an injected container gets devices that the first pass leaves room for."""

    @pytest.mark.rule("R2", "A7", "D1")
    @given(claimed(), st.integers(1, 4))
    def test_an_injected_container(self, case: Case, count: int) -> None:
        first = deepcopy(case.after)
        limits = {f"{DOMAIN}/gpu-any": str(count)}
        first["spec"]["containers"].append({"name": "injected", "resources": {"limits": limits}})
        second = outcome(first, case.snapshot)
        assume(second.verdict is Verdict.PATCHED and second.claims)
        event("injected")
        after = write(first, second.edits).after

        assert wanted(after).items() >= case.contents.items()
        assert after["spec"]["resourceClaims"][:-1] == first["spec"]["resourceClaims"]
        resolution, before = second.resolution, case.outcome.resolution
        assert resolution is not None
        assert before is not None
        if not case.snapshot.table.mixed_nodes:
            assert {row.id for row in resolution.candidates} <= {
                row.id for row in before.candidates
            }
            held = sum(case.asking[claim.containers[0]] for claim in case.outcome.claims)
            assert all(held + count <= row.per_node for row in resolution.candidates)
        assert outcome(after, case.snapshot).verdict is Verdict.UNCHANGED
