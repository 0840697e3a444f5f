"""A stored Pod becomes again what admission was asked, or it is said that this cannot be told."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from selection_spec.table import Table, load_table
from tests.builders import (
    GPU,
    Json,
    PodBuilder,
    asking,
    expression,
    make_pod,
    make_row,
    make_table,
    pfn_table,
    term,
    tolerate,
)
from tests.property.strategies import placed_pods, pods, tables
from tests.webhook.advice.pods import moved_document, moved_table, stored
from webhook.admission.essence import essence_of
from webhook.admission.translate import ADMISSION, KUEUE, Verdict, translate
from webhook.advice.rebuild import CannotTellError, _comparable, rebuild
from webhook.jsonpatch import write
from webhook.snapshot import Snapshot

_TWO_LABELS = make_table(
    make_row("a-16gb", nodes={"matchLabels": {"a": "yes"}}, cost=1),
    make_row("b-24gb", nodes={"matchLabels": {"b": "yes"}}, cost=2),
)


def _alike(pod: Json, other: Json, table: Table) -> bool:
    """Whether two Pods ask for the same, however an absence is spelt."""
    snapshot = Snapshot(table)
    return _comparable(pod, snapshot) == _comparable(other, snapshot)


@pytest.mark.rule("R5")
@pytest.mark.parametrize(
    ("table", "pod"),
    [
        pytest.param(pfn_table(), asking(any_24gb=2), id="every fit"),
        pytest.param(pfn_table(), asking(any_24gb=2).high(), id="smallest fit"),
        pytest.param(pfn_table(), asking(a100=4), id="by name, with the reserve toleration"),
        pytest.param(pfn_table(), asking(any=1).selector(zone="east"), id="a selector beside ours"),
        pytest.param(
            pfn_table(),
            asking(any=1).terms(term(expression("zone", "In", "a"))),
            id="a term that ours was added to",
        ),
        pytest.param(
            pfn_table(),
            asking(any=1).terms(term(fields=[expression("metadata.name", "In", "n")]), {}),
            id="fields and an empty term",
        ),
        pytest.param(
            _TWO_LABELS,
            asking(any=1).terms(
                term(expression("zone", "In", "a")), term(expression("zone", "In", "b"))
            ),
            id="two terms times two alternatives",
        ),
        pytest.param(
            pfn_table(),
            asking(any=1).prefers({"weight": 5, "preference": term(expression("z", "Exists"))}),
            id="a preference beside ours",
        ),
        pytest.param(
            pfn_table(), asking(any=1).tolerates(tolerate("spot")), id="a toleration beside ours"
        ),
        pytest.param(
            pfn_table(),
            make_pod().container("a", any_24gb=2).container("b", v100=1).init("c", any=8),
            id="several containers",
        ),
        pytest.param(
            pfn_table(),
            asking(any=1).selector(gpu_model="a30-24gb"),
            id="a selector of the user's own that is like ours",
        ),
        pytest.param(moved_table(), asking(any_24gb=2), id="claims, every fit"),
        pytest.param(moved_table(), asking(any_24gb=2).high(), id="claims, smallest fit"),
        pytest.param(moved_table(), asking(a100=4), id="claims by name"),
        pytest.param(
            moved_table(),
            asking(any=1)
            .terms(term(expression("zone", "In", "a")), {})
            .tolerates(tolerate("spot")),
            id="claims beside terms and tolerations",
        ),
        pytest.param(
            moved_table(),
            make_pod()
            .container("a", any_24gb=2)
            .init("b", any_24gb=2)
            .sidecar("c", v100=1)
            .spec(resourceClaims=[{"name": "gpuspec-a", "resourceClaimName": "nic"}]),
            id="claims that containers share, beside one of the user's own",
        ),
        pytest.param(
            moved_table(mixedNodes=True),
            make_pod().container("a", a100=1).container("b", v100=1),
            id="claims on several models",
        ),
        pytest.param(
            moved_table(),
            asking(any=1).metadata(labels={"kueue.x-k8s.io/queue-name": "q"}),
            id="claims in a queue",
        ),
    ],
)
def test_what_was_asked(table: Table, pod: PodBuilder) -> None:
    raw = pod.build()
    before = deepcopy(there := stored(raw, table, "node-1"))
    assert _alike(rebuild(there, Snapshot(table)), essence_of(_as_defaulted(raw)), table)
    assert there == before


@pytest.mark.rule("C5")
def test_a_namespace_of_kueue_s_is_told_by_the_claims() -> None:
    raw = asking(any=1).build()
    edits = translate(raw, KUEUE, Snapshot(moved_table())).edits
    again = rebuild(write(raw, edits).after, Snapshot(moved_table()))
    assert again["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": ""}
    assert _alike(again, _as_defaulted(raw), moved_table())


@pytest.mark.parametrize(
    ("then", "now"),
    [
        pytest.param(pfn_table(), moved_table(), id="to claims"),
        pytest.param(moved_table(), moved_table(()), id="and back"),
        pytest.param(pfn_table(), moved_table(["v100-16gb"]), id="one row"),
    ],
)
def test_pods_from_before_their_rows_were_moved_are_told(then: Table, now: Table) -> None:
    raw = asking(any_24gb=2).build()
    assert _alike(rebuild(stored(raw, then, "n"), Snapshot(now)), _as_defaulted(raw), now)


def test_a_container_without_its_claim_cannot_be_told() -> None:
    pod = stored(asking(any_24gb=2), moved_table())
    pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "other"}]}
    with pytest.raises(CannotTellError) as caught:
        rebuild(pod, Snapshot(moved_table()))
    assert str(caught.value) == 'container "main" uses no claim of its annotation'


def test_a_pod_without_claim_and_resource_cannot_be_told() -> None:
    document = moved_document()
    for row in document["spec"]["devices"]:
        del row["resource"]
    with pytest.raises(CannotTellError) as caught:
        rebuild(stored(asking(any=1), pfn_table()), Snapshot(load_table(json.dumps(document))))
    assert str(caught.value) == "it has no claim of ours, and v100-16gb has no resource"


def _as_defaulted(pod: Json) -> Json:
    """Amounts are texts on both sides, as the API server fills them in (A4)."""
    for of in ("initContainers", "containers"):
        for container in pod["spec"].get(of, ()):
            limits = {key: str(amount) for key, amount in container["resources"]["limits"].items()}
            container["resources"] = {"limits": limits, "requests": dict(limits)}
    return pod


_NO_ROW = (
    '{"policy":"EveryFit","candidates":[],"table":"?",'
    '"containers":[{"name":"main","spec":"gpu-any","count":2}]}'
)


def _annotated(text: str) -> Callable[[Json], None]:
    def change(pod: Json) -> None:
        pod["metadata"]["annotations"]["gpuspec.preferred.jp/request"] = text

    return change


def _with_fewer(pod: Json) -> None:
    pod["spec"]["containers"][0]["resources"]["limits"][GPU] = "1"


def _elsewhere(pod: Json) -> None:
    pod["spec"]["affinity"]["nodeAffinity"] = {}


def _misshapen(pod: Json) -> None:
    pod["spec"]["containers"] = []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            _annotated("{"),
            "its annotation gpuspec.preferred.jp/request cannot be read",
        ),
        (
            _annotated("[1]"),
            "its annotation gpuspec.preferred.jp/request cannot be read",
        ),
        (
            _annotated(_NO_ROW.replace("[]", '["h100-80gb"]')),
            "its annotation names h100-80gb, which the old table does not have",
        ),
        (
            _annotated(_NO_ROW),
            "its annotation names no row",
        ),
        (
            _annotated(_NO_ROW.replace("[]", '["a30-24gb"]').replace("gpu-any", "any")),
            (
                "its annotation holds a spec that is none: names no device; "
                "write gpu-any, gpu-<name> or gpu-<name>-<N>gb"
            ),
        ),
        (
            _with_fewer,
            f'container "main" does not hold the 2 {GPU} of its annotation',
        ),
        (_elsewhere, "admitted by this table, which is not what the old table makes of it now"),
        (_misshapen, "it is not shaped as a Pod"),
    ],
)
def test_what_cannot_be_told(change: Callable[[Json], None], why: str) -> None:
    pod = deepcopy(stored(asking(any_24gb=2), pfn_table()))
    change(pod)
    with pytest.raises(CannotTellError) as caught:
        rebuild(pod, Snapshot(pfn_table()))
    assert str(caught.value) == why


def test_another_table_admitted_it() -> None:
    first = make_table(make_row("a-16gb"))
    second = make_table(make_row("a-16gb"), make_row("b-24gb"))
    with pytest.raises(CannotTellError) as caught:
        rebuild(stored(asking(any=1), first), Snapshot(second))
    assert str(caught.value) == (
        f"admitted by table {first.digest}, which is not what the old table makes of it now"
    )


def test_another_table_that_would_do_the_same_is_as_good() -> None:
    first = make_table(make_row("a-16gb"), make_row("b-24gb"))
    second = make_table(make_row("a-16gb"), make_row("b-24gb"), make_row("c-80gb", any=False))
    pod = rebuild(stored(asking(any=1), first), Snapshot(second))
    assert "preferred.jp/gpu-any" in pod["spec"]["containers"][0]["resources"]["limits"]


@given(table=tables(), pod=st.one_of(pods(), placed_pods()))
def test_whatever_is_rebuilt_is_translated_into_what_is_stored(table: Table, pod: Json) -> None:
    snapshot = Snapshot(table)
    pod["spec"].pop("nodeName", None)
    outcome = translate(pod, ADMISSION, snapshot)
    assume(outcome.verdict is Verdict.PATCHED and outcome.resolution is not None)
    there = write(pod, outcome.edits).after
    there["spec"]["nodeName"] = "node-1"
    try:
        again = rebuild(there, snapshot)
    except CannotTellError:
        return
    after = write(again, translate(again, ADMISSION, snapshot).edits).after
    assert _alike(after, there, table)
