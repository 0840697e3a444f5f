"""What a Pod asks for: amounts, sides, neighbours, and where a key may stand (A1 to A8, N8)."""

from __future__ import annotations

import pytest

from selection_spec.demand import Kind, at_peak, peak
from tests.answers import admitted, denied, outcome, warned
from tests.builders import (
    GPU,
    Json,
    PodBuilder,
    asking,
    make_pod,
    make_row,
    make_table,
    pfn,
    pfn_table,
)
from webhook.admission.reasons import Reason
from webhook.admission.translate import Verdict
from webhook.pods import daemon_set_of, demand_of, is_mirror, read
from webhook.shapes import SIDES
from webhook.snapshot import Snapshot

ANY = "preferred.jp/gpu-any"

# Two kinds of resource, so that amounts of one say nothing about the other.
MIXED = Snapshot(
    make_table(make_row("a30-24gb"), make_row("mi300-192gb", resource="amd.com/gpu", cost=1))
)


def resources(pod: Json, container: int = 0, of: str = "containers") -> Json:
    found: Json = pod["spec"][of][container]["resources"]
    return found


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("amount", "canonical"),
    [
        pytest.param("2", "2", id="as it arrives"),
        pytest.param(2, "2", id="a number"),
        pytest.param(2.0, "2", id="a float"),
        pytest.param("2.0", "2", id="a fraction of nothing"),
        pytest.param("+2", "2", id="signed"),
        pytest.param("002", "2", id="leading zeros"),
        pytest.param("2000m", "2", id="thousandths"),
        pytest.param("0.002k", "2", id="thousands"),
        pytest.param("2e0", "2", id="exponent"),
        pytest.param("20E-1", "2", id="negative exponent"),
        pytest.param("2000000000n", "2", id="billionths"),
        pytest.param("1.9999999999", "2", id="below nano is rounded up"),
        pytest.param("0.00390625Ki", "4", id="binary"),
    ],
)
def test_amounts_are_emitted_as_canonical_integers(amount: object, canonical: str) -> None:
    after = admitted(asking(amount), pfn())

    assert resources(after) == {"limits": {GPU: canonical}, "requests": {GPU: canonical}}


@pytest.mark.rule("A1", "A2")
@pytest.mark.parametrize(
    ("amount", "wrong"),
    [
        pytest.param(
            "500m", '"500m" is not a whole number; devices come whole: 1 or more', id="fraction"
        ),
        pytest.param(1.5, '"1.5" is not a whole number; devices come whole: 1 or more', id="float"),
        pytest.param("-1", '"-1" is negative; ask for 1 or more', id="negative"),
        pytest.param(
            "one",
            '"one" is not a Kubernetes quantity; write a whole number such as 1',
            id="no quantity",
        ),
        pytest.param(
            "", '"" is not a Kubernetes quantity; write a whole number such as 1', id="empty"
        ),
        pytest.param(
            True,
            "true is not a Kubernetes quantity; write a whole number such as 1",
            id="true is not 1",
        ),
        pytest.param(
            [1], "a list is not a Kubernetes quantity; write a whole number such as 1", id="list"
        ),
        pytest.param(
            {},
            "an object is not a Kubernetes quantity; write a whole number such as 1",
            id="object",
        ),
        pytest.param(
            "$GPUS",
            '"$GPUS" looks like a variable that nothing has filled in; '
            "render the template before it is applied",
            id="shell variable",
        ),
        pytest.param(
            "{{ .Values.gpus }}",
            '"{{ .Values.gpus }}" looks like a variable that nothing has filled in; '
            "render the template before it is applied",
            id="template",
        ),
        pytest.param(
            "1e400",
            '"1e400" is more than Kubernetes can count; ask for fewer',
            id="huge exponent",
        ),
        pytest.param(
            "9" * 401,
            f'"{"9" * 40}…" has more than 400 digits; write 1 or more',
            id="too many digits",
        ),
        pytest.param(
            10**5000,
            "an integer of more than 40 digits has more than 400 digits; write 1 or more",
            id="an integer that Python does not print",
        ),
    ],
)
def test_what_is_no_amount_of_devices(amount: object, wrong: str) -> None:
    assert denied(asking(amount), pfn()) == f'container "main": {ANY}: {wrong}'


@pytest.mark.rule("A2")
def test_more_than_any_candidate_node_has() -> None:
    """The bound is the largest node among the candidates, not of the table."""
    assert denied(asking(any_40gb=5), pfn()) == (
        'container "main": preferred.jp/gpu-any-40gb: 5: no node has 5 such GPUs, the most is 4 '
        "(a100-80gb); ask for 4 or less in one Pod"
    )


@pytest.mark.rule("A3")
@pytest.mark.parametrize("zero", ["0", 0, "0m", "-0", "0e9", None], ids=repr)
@pytest.mark.parametrize("sides", [("limits",), ("requests",), ("limits", "requests")])
def test_zero_removes_the_key_and_does_nothing_else(zero: object, sides: tuple[str, ...]) -> None:
    limits, requests = ({ANY: zero, "cpu": "1"} if one in sides else None for one in SIDES)
    pod = make_pod().container("main", limits, requests).build()

    after = admitted(pod, pfn())

    assert after["spec"] == {
        "containers": [
            {"name": "main", "image": "app", "resources": {side: {"cpu": "1"} for side in sides}}
        ]
    }
    assert after["metadata"] == pod["metadata"]
    assert outcome(pod, pfn()).reason is Reason.ZERO_REMOVED


@pytest.mark.rule("A3")
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(asking(h100=0), id="unknown name (G5)"),
        pytest.param(make_pod().container("main", h100=0, any_24gb=1), id="two specs (A5)"),
        pytest.param(
            make_pod().container("main", {GPU: "1"}, any_24gb=0), id="beside a raw device (A5)"
        ),
        pytest.param(asking(0).owner("DaemonSet", "monitor"), id="a DaemonSet's Pod (N8)"),
        pytest.param(asking(0).selector(gpu_model="none"), id="selectors that exclude all (N4)"),
        pytest.param(asking(0).spec(os={"name": "windows"}), id="another os (D10)"),
    ],
)
def test_zero_goes_before_every_other_rule(pod: PodBuilder) -> None:
    after = admitted(pod, pfn())

    assert not [key for key in resources(after)["limits"] if key.startswith("preferred.jp/")]


@pytest.mark.rule("A3")
def test_zero_beside_a_real_spec_is_removed_with_it() -> None:
    after = admitted(make_pod().container("a", any=0).container("b", a30=1), pfn())

    assert resources(after, 0) == {"limits": {}}
    assert resources(after, 1) == {"limits": {GPU: "1"}, "requests": {GPU: "1"}}


@pytest.mark.rule("A3", "G4")
@pytest.mark.parametrize("spec", ["any-24gib", "24gb", "a100-80", "any-024gb"])
def test_a_misspelt_key_is_denied_even_with_zero(spec: str) -> None:
    message = denied(asking(**{spec: 0}), pfn())

    assert message.startswith(f'container "main": preferred.jp/gpu-{spec} ')


@pytest.mark.rule("A3", "R8")
@pytest.mark.parametrize(
    ("pod", "warnings"),
    [
        pytest.param(
            asking(None),
            [f'container "main": {ANY} has no amount, which asks for no device'],
            id="null",
        ),
        pytest.param(asking(0), [], id="zero is meant"),
    ],
)
def test_an_amount_that_was_forgotten_is_worth_a_warning(
    pod: PodBuilder, warnings: list[str]
) -> None:
    assert warned(pod, pfn()) == warnings


@pytest.mark.rule("G4", "R8")
@pytest.mark.parametrize("beside", [{}, {"a30": 1}, {"any": 0}])
def test_what_is_nearly_a_key_is_worth_a_warning(beside: dict[str, object]) -> None:
    """It passes untouched, and would pend for ever."""
    pod = make_pod().container("main", {"preferred.jp/gpu_any": 1, "x/gpu_any": 1}, **beside)

    assert warned(pod, pfn()) == [
        'did you mean preferred.jp/gpu-any? preferred.jp/gpu_any is no spec: container "main"'
    ]


@pytest.mark.rule("G4", "R8")
def test_what_is_nearly_a_key_is_told_beside_a_denial() -> None:
    result = outcome(make_pod().container("main", {"preferred.jp/gpu_any": 1}, a999=1), pfn())

    assert result.verdict is Verdict.DENIED
    assert [warning.text() for warning in result.warnings] == [
        'did you mean preferred.jp/gpu-any? preferred.jp/gpu_any is no spec: container "main"'
    ]


@pytest.mark.rule("A4")
def test_equal_limits_and_requests_are_one_request() -> None:
    pod = make_pod().container("main", {ANY: "2"}, {ANY: "2000m"})

    assert resources(admitted(pod, pfn())) == {"limits": {GPU: "2"}, "requests": {GPU: "2"}}


@pytest.mark.rule("A4", "A3")
@pytest.mark.parametrize(
    ("limits", "requests", "wrong"),
    [
        pytest.param(
            "2",
            "1",
            ': limits say "2", requests say "1"; write the same amount, or only limits',
            id="different",
        ),
        pytest.param(
            "0",
            "1",
            ': limits say "0", requests say "1"; write the same amount, or only limits',
            id="only limits are zero",
        ),
        pytest.param(
            "1",
            None,
            ': limits say "1", requests say null; write the same amount, or only limits',
            id="only requests are null",
        ),
        pytest.param(
            "1",
            "x",
            ': "x" is not a Kubernetes quantity; write a whole number such as 1',
            id="one side is no quantity",
        ),
    ],
)
def test_limits_and_requests_that_disagree(limits: object, requests: object, wrong: str) -> None:
    pod = make_pod().container("main", {ANY: limits}, {ANY: requests})

    assert denied(pod, pfn()) == f'container "main": {ANY}{wrong}'


@pytest.mark.rule("A4")
def test_requests_alone() -> None:
    pod = make_pod().container("main", None, {ANY: "1"})

    assert denied(pod, pfn()) == (
        f'container "main": {ANY} stands only under requests; put it under limits'
    )


@pytest.mark.rule("A5")
def test_two_specs_in_one_container() -> None:
    assert denied(make_pod().container("main", any_24gb=1, v100=1), pfn()) == (
        'container "main" asks by 2 specs, preferred.jp/gpu-any-24gb and preferred.jp/gpu-v100; '
        "keep one: a container gets devices of one spec"
    )


@pytest.mark.rule("A5")
def test_one_spec_under_limits_and_another_under_requests() -> None:
    """Moving it is denied next; what stands under requests does not count as a second spec."""
    pod = make_pod().container("main", {ANY: "1"}, {"preferred.jp/gpu-v100": "1"})

    assert denied(pod, pfn()) == (
        'container "main": preferred.jp/gpu-v100 stands only under requests; put it under limits'
    )


@pytest.mark.rule("A5")
@pytest.mark.parametrize(
    "raw",
    [
        GPU,
        "nvidia.com/gpu.shared",
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        "nvidia.com/mig-1g.5gb",
        "amd.com/gpu",
    ],
)
@pytest.mark.parametrize("side", ["limits", "requests"])
def test_a_spec_beside_raw_devices(raw: str, side: str) -> None:
    """Any row's resource or a sibling of it, wherever it stands."""
    pod = make_pod().container("main", any=1).build()
    resources(pod).setdefault(side, {})[raw] = "1"

    assert denied(pod, MIXED) == (
        f'container "main" asks for {ANY} and for {raw}; keep the spec; if you did not write the '
        "other, a LimitRange of the namespace added it and should not"
    )


@pytest.mark.rule("A5", "N1")
@pytest.mark.parametrize("zero", ["0", 0, None, "0m"], ids=repr)
def test_an_output_resource_of_zero_is_overwritten(zero: object) -> None:
    after = admitted(make_pod().container("main", {GPU: zero}, {GPU: zero}, any=1), pfn())

    assert resources(after) == {"limits": {GPU: "1"}, "requests": {GPU: "1"}}


@pytest.mark.rule("A5", "N1")
def test_unrelated_resources_stay_as_they_are() -> None:
    others = {
        "cpu": "0.50",
        "hugepages-2Mi": "1Gi",
        "rdma/hca": 1,
        "nvidia.com/hostdev": "1",
        "preferred.jp/network": "3",
        "preferred.jp/gpudirect-nic": "1",
        "requests.preferred.jp/gpu-any": "1",
        "gpu-any": "1",
    }
    after = admitted(make_pod().container("main", others, {"memory": "1Gi"}, any=1), pfn())

    assert resources(after) == {
        "limits": {**others, GPU: "1"},
        "requests": {"memory": "1Gi", GPU: "1"},
    }


@pytest.mark.rule("A6")
@pytest.mark.parametrize("side", ["limits", "requests"])
@pytest.mark.parametrize("raw", [GPU, "nvidia.com/mig-1g.5gb"])
def test_raw_devices_in_another_container_are_worth_a_warning(raw: str, side: str) -> None:
    limits, requests = ({raw: "1"} if one == side else None for one in SIDES)
    pod = make_pod().container("main", any=1).container("other", limits, requests)

    assert warned(pod, pfn()) == [
        f'container "other" asks for {raw} by itself; it gets devices of the same node'
    ]


@pytest.mark.rule("A6")
def test_raw_devices_without_any_spec_are_no_business_of_ours() -> None:
    pod = make_pod().container("main", {GPU: "1"})

    assert outcome(pod, pfn()).reason is Reason.NO_SPEC
    assert warned(pod, pfn()) == []
    assert warned(pod.container("zero", any=0), pfn()) == []


@pytest.mark.rule("A7", "D2")
@pytest.mark.parametrize(
    ("pod", "need"),
    [
        pytest.param(make_pod().container("a", any=2).container("b", any=3), 5, id="main add up"),
        pytest.param(make_pod().init("i", any=4).container("a", any=2), 4, id="init is a maximum"),
        pytest.param(
            make_pod().init("i", any=2).init("j", any=3).container("a", any=1),
            3,
            id="init containers run one after the other",
        ),
        pytest.param(
            make_pod().sidecar("s", any=2).container("a", any=3), 5, id="sidecars stay and add up"
        ),
        pytest.param(
            make_pod().sidecar("s", any=2).init("i", any=4).container("a", any=1),
            6,
            id="an init container beside the sidecar before it",
        ),
        pytest.param(
            make_pod().init("i", any=4).sidecar("s", any=2).container("a", any=1),
            4,
            id="an init container before the sidecar",
        ),
        pytest.param(
            make_pod().container("a", any=1).container("raw", {GPU: "4"}), 5, id="raw amounts count"
        ),
        pytest.param(
            make_pod().container("a", any=1).container("raw", None, {GPU: "4"}),
            5,
            id="raw requests count",
        ),
        pytest.param(
            make_pod().container("a", any=1).container("raw", {"nvidia.com/mig-1g.5gb": "4"}),
            1,
            id="a sibling is another resource",
        ),
        pytest.param(
            make_pod().container("a", any=1).container("raw", {"amd.com/gpu": "4"}),
            1,
            id="another row's resource",
        ),
    ],
)
def test_the_need_of_a_pod_is_its_peak(pod: PodBuilder, need: int) -> None:
    built = pod.build()
    table = MIXED.table
    needs = demand_of(built, read(built, table), table).needs

    assert peak(needs, GPU) == need
    holders = at_peak(needs, GPU)
    assert sum(one.amount(GPU) for one in holders) == need
    assert len([one for one in holders if one.kind is Kind.INIT]) <= 1


@pytest.mark.rule("A7")
@pytest.mark.parametrize("policy", ["Never", "OnFailure", None])
def test_only_a_container_that_is_always_restarted_is_a_sidecar(policy: str | None) -> None:
    pod = make_pod().init("i", any=4).container("a", any=2).build()
    pod["spec"]["initContainers"][0]["restartPolicy"] = policy

    needs = demand_of(pod, read(pod, pfn_table()), pfn_table()).needs

    assert peak(needs, GPU) == 4


@pytest.mark.rule("A7", "D2")
def test_only_those_that_hold_devices_at_the_peak_are_named() -> None:
    pod = make_pod().init("fetch", any=5).sidecar("log", any=4).container("main", any_24gb=5)

    assert denied(pod, pfn()) == (
        '9 GPUs in one Pod (4 in "log", 5 in "main"), the largest v100 node has 8; '
        "ask for fewer, or use several Pods"
    )


@pytest.mark.rule("A7", "D2")
def test_an_init_container_at_the_peak_is_named() -> None:
    pod = make_pod().sidecar("log", any=4).init("fetch", any=5).container("main", any_24gb=1)

    assert denied(pod, pfn()) == (
        '9 GPUs in one Pod (4 in "log", 5 in "fetch"), the largest v100 node has 8; '
        "ask for fewer, or use several Pods"
    )


@pytest.mark.rule("A8")
@pytest.mark.parametrize("side", ["limits", "requests"])
def test_a_key_in_the_pods_own_resources(side: str) -> None:
    pod = make_pod().container("main").spec(resources={side: {ANY: "1"}})

    assert denied(pod, pfn()) == (
        f"{ANY} stands in the Pod's own resources; put it in a container, under resources.limits"
    )


@pytest.mark.rule("A7", "N1")
def test_init_containers_and_sidecars_are_translated_in_place() -> None:
    """The list keeps its length and order, and a sidecar its restart policy."""
    pod = make_pod().init("first", any=1).sidecar("second", any=2).init("third").container("main")

    after = admitted(pod, pfn())["spec"]

    assert [one["name"] for one in after["initContainers"]] == ["first", "second", "third"]
    assert after["initContainers"][1] == {
        "name": "second",
        "image": "app",
        "resources": {"limits": {GPU: "2"}, "requests": {GPU: "2"}},
        "restartPolicy": "Always",
    }
    assert after["initContainers"][2] == {"name": "third", "image": "app"}
    assert after["containers"] == [{"name": "main", "image": "app"}]


@pytest.mark.rule("A4")
def test_init_containers_are_named_as_such() -> None:
    pod = make_pod().init("fetch", None, {ANY: "1"}).sidecar("log", any="x").container("main")

    assert denied(pod, pfn()) == (
        f'init container "fetch": {ANY} stands only under requests; put it under limits\n'
        f'init container "log": {ANY}: "x" is not a Kubernetes quantity; '
        "write a whole number such as 1"
    )


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        pytest.param({"kind": "DaemonSet", "name": "ds"}, "ds", id="a DaemonSet"),
        pytest.param({"kind": "ReplicaSet", "name": "rs"}, None, id="another kind"),
        pytest.param({"kind": "DaemonSet", "controller": False}, None, id="no controller"),
        pytest.param({"kind": "DaemonSet", "controller": "true"}, None, id="no boolean"),
        pytest.param({"kind": "DaemonSet", "apiVersion": "apps.example/v1"}, None, id="a namesake"),
        pytest.param({"kind": "DaemonSet", "apiVersion": ["apps/v1"]}, None, id="odd apiVersion"),
        pytest.param({"kind": "DaemonSet", "name": 5}, None, id="odd name"),
    ],
)
@pytest.mark.rule("N8")
def test_which_daemon_set_controls_a_pod(owner: Json, name: str | None) -> None:
    complete = {"apiVersion": "apps/v1", "name": "x", "controller": True, **owner}

    assert daemon_set_of({"metadata": {"ownerReferences": [None, complete]}}) == name


@pytest.mark.parametrize("metadata", [None, {}, {"ownerReferences": None}, {"ownerReferences": {}}])
@pytest.mark.rule("N8", "N7")
def test_a_pod_without_owners_or_annotations(metadata: Json | None) -> None:
    assert daemon_set_of({"metadata": metadata}) is None
    assert not is_mirror({"metadata": metadata})


def test_where_a_pod_stands_is_read_with_its_demand() -> None:
    pod = asking().selector(gpu_model="a30-24gb", zone="east").spec(os={"name": "windows"}).build()

    demand = demand_of(pod, read(pod, pfn_table()), pfn_table())

    assert demand.os == "windows"
    assert [[one.key for one in term] for term in demand.terms] == [["gpu-model"]]
