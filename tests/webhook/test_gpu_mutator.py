"""The gpu mutator on whole Pods: what it changes, and what it leaves alone (N1, N7, N8, D1, R2)."""

from __future__ import annotations

from copy import deepcopy

import pytest

from selection_spec.availability import Availability, RowStatus
from tests.answers import admitted, denied, outcome, warned
from tests.builders import (
    GPU,
    Json,
    PodBuilder,
    asking,
    expression,
    make_pod,
    make_row,
    make_table,
    pfn,
    pfn_table,
    term,
)
from webhook.admission.reasons import Reason
from webhook.admission.translate import Context, Verdict
from webhook.snapshot import Snapshot

MIRROR = {"kubernetes.io/config.mirror": "f1"}
A100_IS_AMD = Snapshot(
    make_table(make_row("a30-24gb"), make_row("mi300-192gb", cost=1, resource="amd.com/gpu"))
)


def without(pod: Json, *fields: tuple[str, str]) -> Json:
    """A copy of a Pod without some fields."""
    rest = deepcopy(pod)
    for holder, field in fields:
        rest[holder].pop(field, None)
    return rest


class TestResource:
    """N1: the key leaves, the row's resource enters, nothing else changes."""

    @pytest.mark.rule("N1")
    @pytest.mark.parametrize(
        ("limits", "requests"),
        [
            pytest.param({}, None, id="only limits"),
            pytest.param({}, {"preferred.jp/gpu-a30": "2"}, id="both, as the API server sends it"),
            pytest.param({"cpu": "1"}, {"memory": "1Gi", "cpu": "500m"}, id="among others"),
        ],
    )
    def test_limits_and_requests(self, limits: Json, requests: Json | None) -> None:
        pod = make_pod().container("main", limits, requests, a30="2")

        resources = admitted(pod, pfn())["spec"]["containers"][0]["resources"]

        others = {key: n for key, n in (requests or {}).items() if not key.startswith("pref")}
        assert resources == {"limits": {**limits, GPU: "2"}, "requests": {**others, GPU: "2"}}

    @pytest.mark.rule("N1")
    def test_claims_and_unknown_fields_of_resources_stay(self) -> None:
        pod = asking(a30=1).build()
        pod["spec"]["containers"][0]["resources"] |= {"claims": [{"name": "net"}], "later": 1}

        resources = admitted(pod, pfn())["spec"]["containers"][0]["resources"]

        assert resources["claims"] == [{"name": "net"}]
        assert resources["later"] == 1

    @pytest.mark.rule("N1")
    def test_requests_that_are_null_are_made(self) -> None:
        pod = asking(a30=1).build()
        pod["spec"]["containers"][0]["resources"]["requests"] = None

        resources = admitted(pod, pfn())["spec"]["containers"][0]["resources"]

        assert resources == {"limits": {GPU: "1"}, "requests": {GPU: "1"}}

    @pytest.mark.rule("N1", "D9")
    def test_the_resource_is_the_first_rows(self) -> None:
        after = admitted(asking(), A100_IS_AMD)
        named = admitted(asking(mi300=1), A100_IS_AMD)

        assert after["spec"]["containers"][0]["resources"]["limits"] == {GPU: "1"}
        assert named["spec"]["containers"][0]["resources"]["limits"] == {"amd.com/gpu": "1"}

    @pytest.mark.rule("N1", "D1")
    def test_only_containers_that_asked_are_touched(self) -> None:
        pod = (
            make_pod()
            .container("main", a30=1)
            .container("side", {"cpu": "1"})
            .init("setup")
            .build()
        )

        after = admitted(pod, pfn())["spec"]

        assert after["containers"][1] == pod["spec"]["containers"][1]
        assert after["initContainers"] == pod["spec"]["initContainers"]

    @pytest.mark.rule("N1")
    def test_the_domain_is_the_tables(self) -> None:
        table = make_table(make_row("a30-24gb"), resourceDomain="gpu.example.com")
        pod = make_pod().container(
            "main", {"gpu.example.com/gpu-a30": "1", "preferred.jp/gpu-a30": "1"}
        )

        assert admitted(pod, Snapshot(table))["spec"]["containers"][0]["resources"] == {
            "limits": {"preferred.jp/gpu-a30": "1", GPU: "1"},
            "requests": {GPU: "1"},
        }
        assert outcome(asking(), Snapshot(table)).reason is Reason.NO_SPEC


class TestSeveralContainers:
    """D1: one Pod, one node, one model."""

    @pytest.mark.rule("D1")
    def test_the_candidates_meet_every_container(self) -> None:
        pod = make_pod().container("a", any_24gb=1).container("b", any_40gb=1)

        after = admitted(pod, pfn())["spec"]

        assert after["nodeSelector"] == {"gpu-model": "a100-80gb"}
        assert [one["resources"]["limits"] for one in after["containers"]] == [{GPU: "1"}] * 2

    @pytest.mark.rule("D1")
    def test_none_in_common_names_the_containers(self) -> None:
        pod = make_pod().init("fetch", v100=1).container("train", a30=1)

        assert denied(pod, pfn()) == (
            'init container "fetch" (gpu-v100) and container "train" (gpu-a30): no device meets '
            "them all, and a Pod runs on one node; ask for one kind of device, or use several Pods"
        )

    @pytest.mark.rule("D2")
    @pytest.mark.parametrize("high", [False, True])
    def test_amounts_add_up(self, high: bool) -> None:  # noqa: FBT001
        """Four and four are eight: more than an a30 or a100 node has."""
        pod = make_pod().container("a", any_24gb=4).container("b", any_24gb=4)

        spec = admitted(pod.high() if high else pod, pfn())["spec"]

        assert spec["nodeSelector"] == {"gpu-model": "v100-32gb"}

    @pytest.mark.rule("R4", "D1")
    def test_one_wrong_container_denies_the_whole_pod(self) -> None:
        pod = make_pod().container("fine", a30=1).container("wrong", a30=99)

        assert outcome(pod, pfn()).edits == ()
        assert outcome(pod, pfn()).verdict is Verdict.DENIED


class TestPlacedAlready:
    """N7: nobody schedules such a Pod, but the kubelet starts it."""

    @pytest.mark.rule("N7")
    def test_node_name(self) -> None:
        pod = asking(any_24gb=1).spec(nodeName="node-1").build()

        after = admitted(pod, pfn())

        assert after["spec"] == {
            "containers": [
                {
                    "name": "main",
                    "image": "app",
                    "resources": {"limits": {GPU: "1"}, "requests": {GPU: "1"}},
                }
            ],
            "nodeName": "node-1",
        }
        assert after["metadata"]["labels"] == {"gpuspec.preferred.jp/spec": "gpu-any-24gb"}

    @pytest.mark.rule("N7", "N9")
    def test_a_named_row_brings_no_toleration_there(self) -> None:
        assert "tolerations" not in admitted(asking(a30=1).spec(nodeName="n"), pfn())["spec"]

    @pytest.mark.rule("N7")
    @pytest.mark.parametrize("name", ["", None])
    def test_no_node_name(self, name: str | None) -> None:
        assert "nodeSelector" in admitted(asking(a30=1).spec(nodeName=name), pfn())["spec"]

    @pytest.mark.rule("N7")
    def test_denials_are_the_same(self) -> None:
        assert denied(asking(h100=1).spec(nodeName="n"), pfn()) == denied(asking(h100=1), pfn())

    @pytest.mark.rule("N7", "N3")
    def test_terms_are_not_counted(self) -> None:
        terms = [term(expression("zone", "In", f"z{n}")) for n in range(65)]
        rows = [make_row("a30-24gb"), make_row("l4-24gb", nodes={"matchLabels": {"l4": "yes"}})]

        after = admitted(asking().terms(*terms).spec(nodeName="n"), Snapshot(make_table(*rows)))

        assert after["spec"]["containers"][0]["resources"]["limits"] == {GPU: "1"}

    @pytest.mark.rule("N7")
    @pytest.mark.parametrize("spec", [{"any": 1}, {"any": 0}, {"h100": 1}, {"any": "x"}])
    def test_a_mirror_pod_is_let_in_with_a_warning(self, spec: Json) -> None:
        pod = asking(**spec).metadata(annotations=MIRROR)

        assert outcome(pod, pfn()).reason is Reason.MIRROR_POD
        assert outcome(pod, pfn()).verdict is Verdict.UNCHANGED
        assert warned(pod, pfn()) == [
            "a mirror Pod is left as it is: the kubelet has already started it"
        ]

    @pytest.mark.rule("N7")
    def test_a_mirror_pod_without_a_spec_is_not_worth_a_word(self) -> None:
        assert warned(make_pod().container("main").metadata(annotations=MIRROR), pfn()) == []

    @pytest.mark.rule("N7")
    @pytest.mark.parametrize(
        "fields",
        [
            {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
            {"schedulerName": "volcano"},
        ],
        ids=str,
    )
    def test_gates_and_other_schedulers_change_nothing(self, fields: Json) -> None:
        plain, special = admitted(asking(), pfn()), admitted(asking().spec(**fields), pfn())

        assert {k: v for k, v in special["spec"].items() if k not in fields} == plain["spec"]
        assert {k: special["spec"][k] for k in fields} == fields


class TestDaemonSets:
    """N8: their nodes are picked from the template, before admission."""

    TEXT = (
        'this Pod belongs to DaemonSet "monitor", which picks its nodes before admission, so it '
        "would pend for ever; put selectors, tolerations and resource into its template: "
        '"gpuspec mutate --cluster -f FILE" writes them'
    )

    @pytest.mark.rule("N8")
    def test_a_pod_of_one_is_denied(self) -> None:
        pod = asking().owner("DaemonSet", "monitor")

        assert denied(pod, pfn()) == self.TEXT
        assert outcome(pod, pfn()).reason is Reason.DAEMON_SET

    @pytest.mark.rule("N8", "A3")
    def test_zeros_are_removed(self) -> None:
        assert outcome(asking(0).owner("DaemonSet", "m"), pfn()).reason is Reason.ZERO_REMOVED

    @pytest.mark.rule("N8")
    def test_without_a_spec_it_is_no_business_of_ours(self) -> None:
        pod = make_pod().container("main", {GPU: "1"}).owner("DaemonSet", "monitor")

        assert outcome(pod, pfn()).reason is Reason.NO_SPEC

    @pytest.mark.rule("N8")
    def test_its_template_is_translated(self) -> None:
        pod = asking(a30=1).owner("DaemonSet", "monitor")

        assert outcome(pod, pfn(), Context(is_template=True)).verdict is Verdict.PATCHED

    @pytest.mark.rule("N8", "R4")
    def test_other_problems_are_told_with_it(self) -> None:
        assert denied(asking(h100=1).owner("DaemonSet", "monitor"), pfn()) == (
            f'{self.TEXT}\ncontainer "main": preferred.jp/gpu-h100: no device is called h100; '
            "nearest: a100, v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
        )

    @pytest.mark.rule("N8", "A5")
    def test_a_template_that_was_translated_over_the_first_one_has_both(self) -> None:
        pod = make_pod().container("main", {GPU: "1"}, a30=1).owner("DaemonSet", "monitor")

        assert denied(pod, pfn()) == (
            f'{self.TEXT}\ncontainer "main" asks for preferred.jp/gpu-a30 and for nvidia.com/gpu; '
            "take the spec out of the template: applying a translated one over it left it there"
        )

    @pytest.mark.rule("N8")
    @pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
    def test_other_owners(self, kind: str) -> None:
        assert outcome(asking().owner(kind, "x"), pfn()).verdict is Verdict.PATCHED


class TestPolicy:
    """D3: the priority decides which of the fitting devices a Pod may take."""

    @pytest.mark.rule("D3", "D4", "D5")
    @pytest.mark.parametrize(
        ("pod", "is_high"),
        [
            pytest.param(asking(), False, id="nothing"),
            pytest.param(asking().spec(priorityClassName="high"), True, id="class"),
            pytest.param(asking().spec(priorityClassName="HIGH"), False, id="another class"),
            pytest.param(asking().spec(priority=1_000_000), True, id="number"),
            pytest.param(asking().spec(priority=999_999), False, id="lower number"),
            pytest.param(asking().spec(priority=-1), False, id="negative"),
            pytest.param(asking().spec(priority=None, priorityClassName=None), False, id="nulls"),
            pytest.param(asking().spec(priority=True), False, id="true is no number"),
            pytest.param(asking().spec(priority="2000000"), False, id="text is no number"),
            pytest.param(asking().spec(priority=2e6), False, id="a float is no number"),
            pytest.param(
                asking().spec(priorityClassName="low", priority=2_000_000), True, id="they disagree"
            ),
        ],
    )
    def test_policy(self, pod: PodBuilder, is_high: bool) -> None:  # noqa: FBT001
        after = admitted(pod, pfn())

        assert (after["spec"].get("nodeSelector") == {"gpu-model": "v100-16gb"}) is is_high

    @pytest.mark.rule("D3")
    @pytest.mark.parametrize("number", [True, 1.0, "1", [1], None])
    def test_only_an_integer_is_a_priority(self, number: object) -> None:
        """True is equal to 1 for Python."""
        rows = [make_row("a30-24gb"), make_row("a100-80gb")]
        lowest = {"priorities": [{"minValue": 1, "policy": "SmallestFit"}]}
        table = Snapshot(make_table(*rows, **lowest))

        assert "nodeSelector" in admitted(asking().spec(priority=1), table)["spec"]
        assert "nodeSelector" not in admitted(asking().spec(priority=number), table)["spec"]

    @pytest.mark.rule("D3")
    def test_priority_fields_are_never_written(self) -> None:
        pod = asking().high().build()

        after = admitted(pod, pfn())

        assert after["spec"]["priorityClassName"] == "high"
        assert "priority" not in after["spec"]

    @pytest.mark.rule("D3")
    def test_what_the_context_says_stands_in_for_the_pod(self) -> None:
        low = outcome(asking().high(), pfn(), Context(priority_class="low"))
        high = outcome(asking(), pfn(), Context(priority=1_000_000))

        assert low.choice is not None
        assert high.choice is not None
        assert (low.choice.policy, high.choice.policy) == ("EveryFit", "SmallestFit")


class TestWorkedCandidates:
    """The worked table of the semantics (§8)."""

    V16, V32, A30, A100 = "v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb"

    @pytest.mark.rule("D4", "D5", "D8")
    @pytest.mark.parametrize(
        ("asked", "every_fit", "smallest_fit"),
        [
            ({"any": 1}, [V16, V32, A30, A100], [V16]),
            ({"any_16gb": 1}, [V16, V32, A30, A100], [V16]),
            ({"any_24gb": 1}, [V32, A30, A100], [A30]),
            ({"any_24gb": 6}, [V32, A30], [A30]),
            ({"any_24gb": 8}, [V32], [V32]),
            ({"any_32gb": 1}, [V32, A100], [V32]),
            ({"any_40gb": 4}, [A100], [A100]),
            ({"any_40gb": 8}, [], []),
            ({"v100": 1}, [V16, V32], [V16]),
            ({"v100_24gb": 1}, [V32], [V32]),
            ({"a30_32gb": 1}, [], []),
            ({"h100": 1}, [], []),
        ],
        ids=str,
    )
    def test_one_container(
        self, asked: dict[str, int], every_fit: list[str], smallest_fit: list[str]
    ) -> None:
        for pod, rows in ((asking(**asked), every_fit), (asking(**asked).high(), smallest_fit)):
            became = outcome(pod, pfn())
            assert became.resolution is not None
            assert [row.id for row in became.resolution.candidates] == rows
            assert (became.verdict is Verdict.PATCHED) is bool(rows)


class TestWarnings:
    """What a user should know about a Pod that is let in, the useful ones first."""

    @pytest.mark.rule("D7", "R8")
    def test_a_tier_that_has_no_node_with_enough(self) -> None:
        live = Availability({"v100-16gb": RowStatus(devices=800, most_usable_on_a_node=3)})

        assert warned(asking(4).high(), Snapshot(pfn_table(), live)) == [
            "using a30-24gb: no node has enough usable v100-16gb"
        ]

    @pytest.mark.rule("D9", "R8")
    def test_rows_of_another_resource(self) -> None:
        assert warned(asking(), A100_IS_AMD) == [
            "left out, as they are not nvidia.com/gpu: mi300-192gb"
        ]

    @pytest.mark.rule("R8", "A6")
    def test_what_was_chosen_comes_before_what_stands_beside_it(self) -> None:
        pod = asking().container("raw", {GPU: "1"})

        assert warned(pod, A100_IS_AMD) == [
            "left out, as they are not nvidia.com/gpu: mi300-192gb",
            'container "raw" asks for nvidia.com/gpu by itself; it gets devices of the same node',
        ]

    @pytest.mark.rule("R8")
    def test_an_ordinary_pod_gets_none(self) -> None:
        assert warned(asking(), pfn()) == []


class TestAgain:
    """R2: our own output is no input."""

    PODS = (
        asking(any_24gb=1),
        asking(any_24gb=1).high(),
        make_pod().init("i", any=2).sidecar("s", any=1).container("a", any_24gb=1),
        asking().terms(term(expression("zone", "In", "a")), term(expression("zone", "Exists"))),
        asking(a30=1).spec(nodeName="n"),
        asking(0),
    )

    @pytest.mark.rule("R2")
    @pytest.mark.parametrize("pod", PODS)
    def test_a_second_pass_changes_nothing(self, pod: PodBuilder) -> None:
        again = outcome(admitted(pod, pfn()), pfn())

        assert (again.verdict, again.reason) == (Verdict.UNCHANGED, Reason.NO_SPEC)
        assert again.edits == ()

    @pytest.mark.rule("R2", "A7", "N4")
    def test_an_injected_container_alone_is_translated(self) -> None:
        first = admitted(asking(any_24gb=4), pfn())
        injected = {"name": "sidecar", "resources": {"limits": {"preferred.jp/gpu-any": "2"}}}
        first["spec"]["containers"].insert(0, injected)

        second = admitted(first, pfn())

        assert second["spec"]["containers"][1] == first["spec"]["containers"][1]
        assert second["spec"]["containers"][0]["resources"]["limits"] == {GPU: "2"}
        affinity = second["spec"]["affinity"]["nodeAffinity"]
        assert affinity["requiredDuringSchedulingIgnoredDuringExecution"] == {
            "nodeSelectorTerms": [
                term(
                    expression("gpu-model", "In", "v100-32gb", "a30-24gb", "a100-80gb"),
                    expression("gpu-model", "In", "v100-32gb", "a30-24gb"),
                )
            ]
        }

    @pytest.mark.rule("R2", "N4")
    def test_an_injected_container_is_narrowed_by_the_first_pass(self) -> None:
        first = admitted(asking().high(), pfn())
        first["spec"]["containers"].append(
            {"name": "sidecar", "resources": {"limits": {"preferred.jp/gpu-any-24gb": "1"}}}
        )

        assert denied(first, pfn()) == (
            "the Pod's nodeSelector or affinity (gpu-model=v100-16gb) excludes every device "
            "for gpu-any-24gb (v100-32gb: gpu-model=v100-32gb; a30-24gb: gpu-model=a30-24gb; "
            "a100-80gb: gpu-model=a100-80gb); remove it or change the spec; if you did not write "
            'it, it came of gpu-any in "main", translated before'
        )

    @pytest.mark.rule("N4", "R5")
    def test_a_copied_annotation_is_not_blamed_for_selectors(self) -> None:
        """Containers that are not there, or ask anew, were not translated before."""
        copied = admitted(asking().high(), pfn())["metadata"]["annotations"]
        for name in ("main", "other"):
            pod = make_pod().container(name, any_24gb=1).selector(gpu_model="v100-16gb")
            text = denied(pod.metadata(annotations=copied), pfn())
            assert text.endswith("; remove it or change the spec")

    @pytest.mark.rule("R2", "A7", "D2")
    def test_what_the_first_pass_took_counts(self) -> None:
        first = admitted(asking(a30=4), pfn())
        first["spec"]["containers"].append(
            {"name": "sidecar", "resources": {"limits": {"preferred.jp/gpu-a30": "3"}}}
        )

        assert denied(first, pfn()) == (
            '7 GPUs in one Pod (4 in "main", 3 in "sidecar"), the largest a30 node has 6; '
            "ask for fewer, or use several Pods"
        )


@pytest.mark.rule("R3")
def test_the_pod_that_came_in_is_not_changed() -> None:
    pod = asking(any_24gb=1).terms(term(expression("zone", "Exists"))).build()
    before = deepcopy(pod)

    after = admitted(pod, pfn())

    assert pod == before
    assert without(after, ("spec", "affinity"), ("spec", "tolerations")) != before


@pytest.mark.rule("D6", "R2")
def test_what_a_first_pass_found_named_is_open_to_an_injected_container() -> None:
    """As it would have been, had the container been there in the first place."""
    snapshot = Snapshot(make_table(make_row("a30-24gb"), make_row("a100-80gb", reserved=True)))
    first = admitted(asking(a100=1), snapshot)
    first["spec"]["containers"].append(
        {"name": "late", "resources": {"limits": {"preferred.jp/gpu-any": "1"}}}
    )
    both = admitted(first, snapshot)
    assert both["spec"]["containers"][1]["resources"]["limits"] == {GPU: "1"}
    assert both["spec"]["nodeSelector"] == first["spec"]["nodeSelector"]


@pytest.mark.rule("A6", "D9")
def test_raw_devices_that_the_chosen_nodes_do_not_have() -> None:
    pod = make_pod().container("main", any=1).container("other", {"amd.com/gpu": "1"})
    assert warned(pod, A100_IS_AMD)[-1] == (
        'container "other" asks for amd.com/gpu by itself; nodes of a30-24gb do not have that'
    )
