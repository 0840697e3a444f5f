"""Jobs: whether they live on when a Pod of theirs is evicted (H9)."""

from __future__ import annotations

import pytest

from tests.builders import Json
from webhook.inventory.job_facts import JobFacts, job_facts
from webhook.inventory.pod_facts import Owner, PodFacts


def on(action: object, *conditions: object) -> Json:
    return {"action": action, "onPodConditions": list(conditions)}


def codes(operator: str, *values: int, action: str = "FailJob") -> Json:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values)}}


DISRUPTED = {"type": "DisruptionTarget"}


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("rules", "facts"),
    [
        ([], JobFacts()),
        ([on("Ignore", DISRUPTED)], JobFacts(ignores=True)),
        ([on("Ignore", {**DISRUPTED, "status": "True"})], JobFacts(ignores=True)),
        ([on("Ignore", {**DISRUPTED, "status": "False"})], JobFacts()),
        ([on("Ignore", {"type": "Other"})], JobFacts()),
        ([on("Ignore", {"type": "Other"}, DISRUPTED)], JobFacts(ignores=True)),
        ([on("FailJob", DISRUPTED)], JobFacts(fails=True)),
        ([on("FailIndex", DISRUPTED)], JobFacts(fails=True)),
        ([on("Count", DISRUPTED)], JobFacts()),
        ([on("Count", DISRUPTED), on("Ignore", DISRUPTED)], JobFacts()),
        ([{"action": "Ignore", "onExitCodes": {}}], JobFacts()),
        ([codes("In", 42), on("Ignore", DISRUPTED)], JobFacts(ignores=True)),
        ([codes("In", 1, 143), on("Ignore", DISRUPTED)], JobFacts(fails=True)),
        ([codes("NotIn", 42), on("Ignore", DISRUPTED)], JobFacts(fails=True)),
        ([codes("NotIn", 137, 143), on("Ignore", DISRUPTED)], JobFacts(ignores=True)),
        # It ends by either signal, and nobody knows by which.
        ([codes("NotIn", 143), on("Ignore", DISRUPTED)], JobFacts(fails=True)),
        ([codes("NotIn", 137), on("Ignore", DISRUPTED)], JobFacts(fails=True)),
        ([codes("In", 137), on("Ignore", DISRUPTED)], JobFacts(fails=True)),
        ([codes("In", 137, action="Ignore")], JobFacts()),
        ([codes("In", 143, action="Ignore")], JobFacts()),
        ([codes("In", 137, 143, action="Ignore")], JobFacts()),
        ([codes("NotIn", 1, action="Ignore"), on("FailJob", DISRUPTED)], JobFacts(fails=True)),
        ([codes("In", 137, action="Ignore"), on("Ignore", DISRUPTED)], JobFacts(ignores=True)),
        ([codes("In", 137, action="Count"), on("Ignore", DISRUPTED)], JobFacts()),
        ([codes("In", 137, action="FailIndex"), on("Ignore", DISRUPTED)], JobFacts(fails=True)),
        ([on("Unheard", DISRUPTED), on("Ignore", DISRUPTED)], JobFacts()),
    ],
    ids=str,
)
def test_the_first_rule_that_fits_decides(rules: list[Json], facts: JobFacts) -> None:
    assert job_facts({"spec": {"podFailurePolicy": {"rules": rules}}}) == facts


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("spec", "failed", "retries"),
    [({}, None, 6), ({}, 4, 2), ({"backoffLimit": 0}, None, 0), ({"backoffLimit": 1}, 3, -2)],
)
def test_retries_are_what_is_left(spec: Json, failed: int | None, retries: int) -> None:
    assert job_facts({"spec": spec, "status": {"failed": failed}}).retries == retries


@pytest.mark.rule("H9")
def test_pods_that_are_about_to_fail_count_against_the_retries() -> None:
    pod, left = PodFacts("team", "fit-0", "uid", Owner("Job", "fit")), JobFacts(retries=2)
    assert [left.outlives(pod, leaving) for leaving in range(4)] == [True, True, False, False]
    assert JobFacts(ignores=True, retries=0).outlives(pod, 9)


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, [None], [[]], True, [{"a": 1}]])
def test_odd_shapes_count_as_absent(odd: object) -> None:
    assert job_facts({"spec": odd, "status": odd}) == JobFacts()
    policies: list[object] = [odd, {"rules": odd}, {"rules": [on(odd, odd)]}]
    for policy in policies:
        assert job_facts({"spec": {"podFailurePolicy": policy}}) == JobFacts()
    if type(odd) is not int:
        assert job_facts({"spec": {"backoffLimit": odd}, "status": {"failed": odd}}) == JobFacts()
        assert job_facts({"spec": {"backoffLimitPerIndex": odd}}) == JobFacts()
