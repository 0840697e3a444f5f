"""What a Pod with a spec becomes where a DRA driver hands out the devices (C1 to C6, D1, N7)."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from selection_spec.availability import Availability
from tests.answers import admitted, denied, outcome, warned
from tests.builders import DOMAIN, Json, asking, claim_row, make_pod, make_row, make_table, tolerate
from webhook.admission.translate import KUEUE, Verdict
from webhook.placement.templates import template_name
from webhook.snapshot import Snapshot

REQUEST = "gpuspec.preferred.jp/request"
CLAIMS = "gpuspec.preferred.jp/claims"

ROWS = (
    claim_row("v100-16gb", cost=1, tolerations=[tolerate("gpu", "v100")]),
    claim_row("v100-32gb", cost=2, tolerations=[tolerate("gpu", "v100")]),
    claim_row("a30-24gb", cost=3, perNode=6),
    claim_row("a100-40gb", cost=4, perNode=4),
)
TABLE = Snapshot(make_table(*ROWS))
MIXED = Snapshot(make_table(*ROWS, mixedNodes=True))


def expression(row_id: str) -> str:
    """The CEL by which the devices of a row are known."""
    attributes = 'device.attributes["gpu.nvidia.com"]'
    return (
        f'device.driver == "gpu.nvidia.com" && {attributes}.?type.orValue("gpu") in '
        f'["gpu", "amdgpu"] && {attributes}.?productName.orValue("") in ["{row_id}"]'
    )


def request(row_id: str, count: int = 1) -> Json:
    """What a claim asks for on devices of one row."""
    return {
        "deviceClassName": "gpu.nvidia.com",
        "selectors": [{"cel": {"expression": expression(row_id)}}],
        "allocationMode": "ExactCount",
        "count": count,
    }


def content(*row_ids: str, count: int = 1) -> Json:
    """The content of a claim on one of some rows."""
    if len(row_ids) == 1:
        asked: Json = {"exactly": request(row_ids[0], count)}
    else:
        asked = {"firstAvailable": [{"name": one, **request(one, count)} for one in row_ids]}
    return {"devices": {"requests": [{"name": "gpu", **asked}]}}


def written(pod: Json) -> list[Json]:
    """What a Pod brings along for the controller, each under the name that is its hash."""
    found: Json = json.loads(pod["metadata"]["annotations"][CLAIMS])
    assert all(template_name(one) == name for name, one in found.items())
    return list(found.values())


@pytest.mark.rule("C1", "C2", "C4", "N6", "R5")
def test_a_whole_pod() -> None:
    after = admitted(asking(any_24gb=2), TABLE)

    asked = content("v100-32gb", "a30-24gb", "a100-40gb", count=2)
    mark = after["metadata"]["annotations"].pop(REQUEST)
    assert json.loads(mark)["candidates"] == ["v100-32gb", "a30-24gb", "a100-40gb"]
    assert after == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "train",
            "labels": {"gpuspec.preferred.jp/spec": "gpu-any-24gb"},
            "annotations": {
                CLAIMS: json.dumps(
                    {template_name(asked): asked}, sort_keys=True, separators=(",", ":")
                )
            },
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "app",
                    "resources": {"limits": {}, "claims": [{"name": "gpuspec-main"}]},
                }
            ],
            "resourceClaims": [
                {"name": "gpuspec-main", "resourceClaimTemplateName": template_name(asked)}
            ],
            "tolerations": [
                {"key": "gpu", "operator": "Equal", "value": "v100", "effect": "NoSchedule"}
            ],
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        preferred(100, "v100-32gb"),
                        preferred(10, "v100-32gb", "a30-24gb"),
                    ]
                }
            },
        },
    }


def preferred(weight: int, *models: str) -> Json:
    """A preference of nodes of some models."""
    expressions = [{"key": "gpu-model", "operator": "In", "values": list(models)}]
    return {"weight": weight, "preference": {"matchExpressions": expressions}}


@pytest.mark.rule("C2")
def test_one_candidate_is_asked_for_exactly() -> None:
    assert written(admitted(asking(a100=4), TABLE)) == [content("a100-40gb", count=4)]
    assert written(admitted(asking(any_24gb=1).high(), TABLE)) == [content("a30-24gb")]


class TestSharing:
    """C1: whose claim a container uses."""

    @pytest.mark.rule("C1", "A7")
    def test_a_plain_init_container_uses_that_of_the_first_main_one_alike(self) -> None:
        pod = make_pod().init("fetch", a30=2).container("one", a30=2).container("two", a30=2)

        after = admitted(pod, TABLE)

        using = [
            one["resources"]["claims"]
            for one in (*after["spec"]["initContainers"], *after["spec"]["containers"])
        ]
        assert using == [[{"name": f"gpuspec-{name}"}] for name in ("one", "one", "two")]
        templates = {one["resourceClaimTemplateName"] for one in after["spec"]["resourceClaims"]}
        assert len(templates) == 1

    @pytest.mark.rule("C1", "A7", "D2")
    @pytest.mark.parametrize(
        ("pod", "claims"),
        [
            (make_pod().init("fetch", a30=3).container("main", a30=3), 1),
            (make_pod().init("fetch", a30=2).container("main", a30=3), 2),
            (make_pod().init("fetch", any=3).container("main", a30=3), 2),
            (make_pod().sidecar("proxy", a30=3).container("main", a30=3), 2),
        ],
        ids=["the same", "another amount", "another spec", "a sidecar"],
    )
    def test_claims(self, pod: object, claims: int) -> None:
        after = admitted(pod, TABLE)  # type: ignore[arg-type]

        assert len(after["spec"]["resourceClaims"]) == claims

    @pytest.mark.rule("A7", "D2")
    def test_claims_of_init_containers_are_held_for_ever(self) -> None:
        """As extended resources they would follow one another: 4 at a time."""
        pod = make_pod().init("fetch", a30=3).container("main", a30=4)

        assert denied(pod, TABLE) == (
            '7 GPUs in one Pod (3 in "fetch", 4 in "main"), the largest a30 node has 6; ask for '
            "fewer, or use several Pods"
        )


class TestNames:
    """C1: claims are called like their containers, and nothing else is."""

    @pytest.mark.rule("C1")
    @pytest.mark.parametrize(
        ("container", "there", "name"),
        [
            ("main", [], "gpuspec-main"),
            ("main", ["gpuspec-main"], "gpuspec-main-2"),
            ("main", ["gpuspec-main", "gpuspec-main-2", "x"], "gpuspec-main-3"),
            ("c" * 55, [], "gpuspec-" + "c" * 55),
            ("c" * 56, [], "gpuspec-" + "c" * 46 + "-f6c7b87a"),
            ("c" * 45 + "-" + "c" * 17, [], "gpuspec-" + "c" * 45 + "--66a6f4e7"),
            ("c" * 55, ["gpuspec-" + "c" * 55], "gpuspec-" + "c" * 53 + "-2"),
            ("c" * 52 + "-cc", ["gpuspec-" + "c" * 52 + "-cc"], "gpuspec-" + "c" * 52 + "-2"),
        ],
    )
    def test_of_a_claim(self, container: str, there: list[str], name: str) -> None:
        theirs = [{"name": one, "resourceClaimName": "x"} for one in there]
        pod = make_pod().container(container, any=1).spec(resourceClaims=theirs)

        after = admitted(pod, TABLE)

        assert after["spec"]["resourceClaims"][:-1] == theirs
        assert after["spec"]["resourceClaims"][-1]["name"] == name
        assert len(name) <= 63

    @pytest.mark.rule("C1")
    def test_two_long_names_that_begin_alike(self) -> None:
        pod = make_pod().container("c" * 62 + "a", any=1).container("c" * 62 + "b", any=1)

        after = admitted(pod, TABLE)

        assert len({one["name"] for one in after["spec"]["resourceClaims"]}) == 2

    @pytest.mark.rule("C1", "R6")
    def test_a_container_whose_own_name_is_refused(self) -> None:
        """The API server then speaks of the container alone."""
        after = admitted(make_pod().container("A_b", any=1), TABLE)

        assert after["spec"]["resourceClaims"][0]["name"] == "gpuspec-08eb65ad"


@pytest.mark.rule("C1", "R6")
def test_a_name_that_the_user_left_dangling_stays_so() -> None:
    """Kubernetes then speaks of the user's own field."""
    pod = asking(a30=1).container("other").build()
    for container in pod["spec"]["containers"]:
        container.setdefault("resources", {})["claims"] = [{"name": "gpuspec-main"}]

    after = admitted(pod, TABLE)

    assert [one["name"] for one in after["spec"]["resourceClaims"]] == ["gpuspec-main-2"]
    assert after["spec"]["containers"][1]["resources"]["claims"] == [{"name": "gpuspec-main"}]


@pytest.mark.rule("C1")
def test_claims_of_the_users_own_stay() -> None:
    theirs = [{"name": "net", "resourceClaimTemplateName": "roce"}]
    pod = asking(a30=1).spec(resourceClaims=theirs).build()
    pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "net", "request": "nic"}]

    after = admitted(pod, TABLE)

    assert after["spec"]["resourceClaims"][0] == theirs[0]
    assert after["spec"]["containers"][0]["resources"]["claims"] == [
        {"name": "net", "request": "nic"},
        {"name": "gpuspec-main"},
    ]


class TestManyRows:
    """C2: at most eight alternatives, of at most 10,240 bytes."""

    @pytest.mark.rule("C2")
    def test_rows_of_one_cost_become_one_alternative(self) -> None:
        rows = [claim_row(f"g{number}-16gb", cost=number % 3) for number in range(9)]

        (asked,) = written(admitted(asking(any=1), Snapshot(make_table(*rows))))

        alternatives = asked["devices"]["requests"][0]["firstAvailable"]
        assert [one["name"] for one in alternatives] == [
            "g0-16gb-and-2-more",
            "g1-16gb-and-2-more",
            "g2-16gb-and-2-more",
        ]
        texts = [one["selectors"][0]["cel"]["expression"] for one in alternatives]
        assert [text.rpartition(" in ")[2] for text in texts] == [
            '["g0-16gb", "g3-16gb", "g6-16gb"]',
            '["g1-16gb", "g4-16gb", "g7-16gb"]',
            '["g2-16gb", "g5-16gb", "g8-16gb"]',
        ]

    @pytest.mark.rule("C2")
    def test_nine_classes_are_too_many(self) -> None:
        rows = [
            claim_row(f"g{number}-16gb", claim={"deviceClassName": f"c{number}", "driver": "gpu.x"})
            for number in range(9)
        ]

        assert denied(asking(any=1), Snapshot(make_table(*rows))) == (
            'container "main": preferred.jp/gpu-any: the devices that fit are of 9 kinds, a claim '
            "names at most 8; name a device, or ask for more memory"
        )
        assert written(admitted(asking(g3=1), Snapshot(make_table(*rows))))

    @pytest.mark.rule("C2")
    def test_an_expression_that_would_be_too_long_is_split(self) -> None:
        rows = [
            claim_row(
                f"g{number}-16gb",
                claim={
                    "deviceClassName": "gpu.nvidia.com",
                    "driver": "gpu.nvidia.com",
                    "products": [f"{number} {place} {'x' * 50}" for place in range(64)],
                },
            )
            for number in range(9)
        ]

        (asked,) = written(admitted(asking(any=1), Snapshot(make_table(*rows))))

        alternatives = asked["devices"]["requests"][0]["firstAvailable"]
        sizes = [len(one["selectors"][0]["cel"]["expression"].encode()) for one in alternatives]
        assert max(sizes) <= 10_240
        assert [one["name"] for one in alternatives] == [
            "g0-16gb-and-1-more",
            "g2-16gb-and-1-more",
            "g4-16gb-and-1-more",
            "g6-16gb-and-1-more",
            "g8-16gb",
        ]


@pytest.mark.rule("C6")
def test_more_devices_than_a_claim_can_hold() -> None:
    table = Snapshot(make_table(claim_row("a30-24gb", perNode=64)))

    assert denied(asking(33), table) == (
        'container "main": preferred.jp/gpu-any: 33: a claim holds at most 32 devices; ask for 32 '
        "or less in one container"
    )
    assert written(admitted(asking(32), table)) == [content("a30-24gb", count=32)]
    both = make_pod().container("one", a30=32).container("two", a30=32)
    assert len(admitted(both, table)["spec"]["resourceClaims"]) == 2


@pytest.mark.rule("C6", "D9")
def test_rows_of_the_other_output_hold_more() -> None:
    table = Snapshot(make_table(claim_row("a30-24gb", perNode=64), make_row("b-24gb", perNode=64)))

    after = admitted(asking(33), table)

    assert after["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "33"}


class TestClasses:
    """C3: a DeviceClass that does not exist would keep the whole Pod from being scheduled."""

    TABLE = make_table(
        claim_row("a30-24gb", claim={"deviceClassName": "old", "driver": "gpu.x"}),
        claim_row("a100-40gb"),
    )

    @pytest.mark.rule("C3")
    def test_its_rows_are_left_out(self) -> None:
        table = Snapshot(self.TABLE, Availability(missing_classes=frozenset({"old"})))

        assert written(admitted(asking(any=1), table)) == [content("a100-40gb")]
        assert warned(asking(any=1), table) == [
            "left out, as DeviceClass old does not exist: a30-24gb"
        ]
        high = admitted(asking(any=1).high(), table)
        assert written(high) == [content("a100-40gb")]

    @pytest.mark.rule("C3")
    def test_none_is_left(self) -> None:
        table = Snapshot(self.TABLE, Availability(missing_classes=frozenset({"old"})))

        assert denied(asking(a30=1), table) == (
            'container "main": preferred.jp/gpu-a30: DeviceClass old does not exist, which '
            "a30-24gb need; ask for another device, or tell your admin to install the driver of "
            "that class"
        )

    @pytest.mark.rule("C3")
    def test_it_is_of_no_matter_to_a_device_plugin(self) -> None:
        row = make_row("a30-24gb", claim={"deviceClassName": "old", "driver": "gpu.x"})
        table = Snapshot(make_table(row), Availability(missing_classes=frozenset({"old"})))

        assert admitted(asking(a30=1), table)["spec"]["nodeSelector"] == {"gpu-model": "a30-24gb"}


class TestKueue:
    """C5: Kueue takes no claim with alternatives."""

    @pytest.mark.rule("C5")
    def test_a_queued_pod_gets_the_cheapest(self) -> None:
        pod = asking(any_24gb=1).metadata(labels={"kueue.x-k8s.io/queue-name": "team"})

        assert written(admitted(pod, TABLE)) == [content("v100-32gb")]
        assert warned(pod, TABLE) == [
            "using v100-32gb only: Kueue takes no claim with alternatives"
        ]

    @pytest.mark.rule("C5")
    def test_so_does_a_pod_of_a_namespace_of_its(self) -> None:
        became = outcome(asking(any_24gb=1), TABLE, KUEUE)

        (claim,) = became.claims
        assert claim.content.spec == content("v100-32gb")

    @pytest.mark.rule("C5")
    def test_one_row_needs_no_warning(self) -> None:
        pod = asking(a30=1).metadata(labels={"kueue.x-k8s.io/queue-name": "team"})

        assert warned(pod, TABLE) == []

    @pytest.mark.rule("C5")
    def test_device_plugins_are_of_no_matter(self) -> None:
        table = Snapshot(make_table(make_row("v100-16gb"), make_row("a30-24gb")))
        pod = asking(any=1).metadata(labels={"kueue.x-k8s.io/queue-name": "team"})

        assert warned(pod, table) == []


class TestMixedTables:
    """D9: one Pod gets devices one way."""

    @pytest.mark.rule("D9")
    def test_the_first_row_decides(self) -> None:
        table = Snapshot(
            make_table(
                claim_row("v100-16gb", cost=1),
                make_row("a30-24gb", cost=2),
                claim_row("a100-40gb", cost=3),
            )
        )

        assert written(admitted(asking(any=1), table)) == [content("v100-16gb", "a100-40gb")]
        assert warned(asking(any=1), table) == ["left out, as they are not claims: a30-24gb"]
        after = admitted(asking(any_24gb=1), table)
        assert after["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
        assert warned(asking(any_24gb=1), table) == [
            "left out, as they are not nvidia.com/gpu: a100-40gb"
        ]

    @pytest.mark.rule("A5", "A6")
    def test_a_raw_resource(self) -> None:
        row = claim_row("a30-24gb", resource="nvidia.com/gpu")
        table = Snapshot(make_table(row))
        beside = make_pod().container("main", a30=1).container("raw", {"nvidia.com/gpu": "1"})

        assert warned(beside, table) == [
            (
                'container "raw" asks for nvidia.com/gpu by itself; that is counted apart from the '
                "Pod's claims"
            )
        ]
        both = make_pod().container("main", {"nvidia.com/gpu": "1"}, a30=1)
        for either in (table, TABLE):  # whose rows say nothing of a resource
            assert denied(both, either).startswith(
                'container "main" asks for preferred.jp/gpu-a30 and for nvidia.com/gpu'
            )


class TestMixedNodes:
    """D1: where a node may carry several rows' devices, claims keep their own candidates."""

    POD = make_pod().container("big", a100=4).container("small", any=2).build()

    @pytest.mark.rule("D1")
    def test_without(self) -> None:
        assert denied(self.POD, TABLE) == (
            '6 GPUs in one Pod (4 in "big", 2 in "small"), the largest a100 node has 4; ask for '
            "fewer, or use several Pods"
        )

    @pytest.mark.rule("D1", "D2")
    def test_with(self) -> None:
        after = admitted(self.POD, MIXED)

        assert sorted(written(after), key=str) == sorted(
            (
                content("a100-40gb", count=4),
                content("v100-16gb", "v100-32gb", "a30-24gb", "a100-40gb", count=2),
            ),
            key=str,
        )

    @pytest.mark.rule("D1", "D5")
    def test_every_claim_gets_its_own_smallest(self) -> None:
        pod = make_pod().container("one", any_24gb=1).container("two", any=1).high()

        contents = written(admitted(pod, MIXED))

        assert sorted(contents, key=str) == sorted(
            (content("a30-24gb"), content("v100-16gb")), key=str
        )

    @pytest.mark.rule("D1")
    def test_two_models_that_no_one_meets(self) -> None:
        pod = make_pod().container("one", a30=1).container("two", a100=1)

        assert denied(pod, TABLE) == (
            'container "one" (gpu-a30) and container "two" (gpu-a100): no device meets them all, '
            "and a Pod runs on one node; ask for one kind of device, or use several Pods"
        )
        assert len(written(admitted(pod, MIXED))) == 2

    @pytest.mark.rule("D1")
    def test_a_container_that_no_driver_serves(self) -> None:
        table = Snapshot(make_table(claim_row("a30-24gb"), make_row("b-24gb"), mixedNodes=True))
        pod = make_pod().container("one", a30=1).container("two", b=1)

        assert denied(pod, table) == (
            'container "two": preferred.jp/gpu-b: no DRA driver offers such a device, so that it '
            "would have to share the node of the Pod's other devices; ask for one kind of device, "
            "or use several Pods"
        )
        assert warned(asking(any=1), table) == ["left out, as they are not claims: b-24gb"]
        alone = admitted(make_pod().container("two", b=1), table)
        assert alone["spec"]["nodeSelector"] == {"gpu-model": "b-24gb"}

    @pytest.mark.rule("D1")
    def test_all_that_is_wrong_is_told(self) -> None:
        pod = make_pod().container("one", a30=7).container("two", a100=5)

        assert denied(pod, MIXED) == (
            'container "one": preferred.jp/gpu-a30: 7: no node has 7 such GPUs, the most is 6 '
            "(a30-24gb); ask for 6 or less in one Pod\n"
            'container "two": preferred.jp/gpu-a100: 5: no node has 5 such GPUs, the most is 4 '
            "(a100-40gb); ask for 4 or less in one Pod"
        )


class TestScheduling:
    """N7: a claim gets its devices from the scheduler."""

    @pytest.mark.rule("N7")
    def test_a_node_is_given(self) -> None:
        assert denied(asking(any=1).spec(nodeName="node-0"), TABLE) == (
            "the Pod is bound by spec.nodeName, and a claim gets its devices from the scheduler; "
            "remove nodeName; a nodeSelector on kubernetes.io/hostname chooses a node, too"
        )

    @pytest.mark.rule("N7")
    def test_another_scheduler(self) -> None:
        assert warned(asking(any=1).spec(schedulerName="volcano"), TABLE) == [
            "the Pod's devices are claims (DRA): scheduler volcano must be able to allocate"
        ]
        assert warned(asking(any=1).spec(schedulerName="default-scheduler"), TABLE) == []

    @pytest.mark.rule("N4", "C4")
    def test_what_the_user_wrote_narrows(self) -> None:
        after = admitted(asking(any=1).selector(gpu_model="a30-24gb"), TABLE)

        assert written(after) == [content("a30-24gb")]
        assert after["spec"]["nodeSelector"] == {"gpu-model": "a30-24gb"}


class TestAgain:
    """R2: the first pass is read from what it wrote, if that is what it is called."""

    @pytest.fixture
    def first(self) -> Json:
        after = admitted(asking(any_24gb=3), TABLE)
        resources = {"limits": {f"{DOMAIN}/gpu-any": "2"}}
        after["spec"]["containers"].append({"name": "injected", "resources": resources})
        return after

    @pytest.mark.rule("R2", "D1", "A7")
    def test_an_injected_container(self, first: Json) -> None:
        """Five together, which no a100 node has; and none of 16 GB, as the first has not."""
        after = admitted(first, TABLE)

        assert content("v100-32gb", "a30-24gb", count=2) in written(after)
        assert len(written(after)) == 2

    @pytest.mark.rule("R2", "A7")
    def test_too_much_together(self, first: Json) -> None:
        first["spec"]["containers"][1]["resources"]["limits"] = {f"{DOMAIN}/gpu-any": "6"}

        assert denied(first, TABLE) == (
            '9 GPUs in one Pod (6 in "injected", 3 translated before), the largest v100 node has '
            "8; ask for fewer, or use several Pods"
        )

    @pytest.mark.rule("R2", "C3")
    @pytest.mark.parametrize("spoilt", ["annotation", "name", "content"])
    def test_what_is_not_ours_says_nothing(self, first: Json, spoilt: str) -> None:
        annotations = first["metadata"]["annotations"]
        if spoilt == "annotation":
            del annotations[CLAIMS]
        elif spoilt == "name":
            first["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "theirs"
        else:
            annotations[CLAIMS] = annotations[CLAIMS].replace("v100-32gb", "a100-40gb")

        after = admitted(first, TABLE)

        assert content("v100-16gb", "v100-32gb", "a30-24gb", "a100-40gb", count=2) in written(after)

    @pytest.mark.rule("R2")
    def test_merged_alternatives_narrow_too(self) -> None:
        rows = [claim_row(f"g{number}-16gb", cost=number % 3) for number in range(9)]
        table = Snapshot(make_table(*rows, claim_row("h-8gb", cost=9)))
        first = admitted(asking(any_16gb=1), table)
        resources = {"limits": {f"{DOMAIN}/gpu-any": "1"}}
        first["spec"]["containers"].append({"name": "injected", "resources": resources})

        (only,) = written(admitted(first, table))

        assert "h-8gb" not in str(only)

    @pytest.mark.rule("R2", "D1")
    def test_devices_that_the_first_claim_cannot_have(self, first: Json) -> None:
        first["spec"]["containers"][1]["resources"]["limits"] = {f"{DOMAIN}/gpu-v100-16gb": "1"}
        small = admitted(asking(any_40gb=1), TABLE)
        small["spec"]["containers"].append(
            {"name": "injected", "resources": {"limits": {f"{DOMAIN}/gpu-v100": "1"}}}
        )

        assert denied(small, TABLE) == (
            'container "injected" (gpu-v100) and the Pod\'s claim from before (a100-40gb): no '
            "device meets them all, and a Pod runs on one node; ask for one kind of device, or use "
            "several Pods"
        )

    @pytest.mark.rule("A5", "N1")
    def test_a_key_that_is_still_there_beside_its_claim(self) -> None:
        """As where a translated template is applied over one with the key."""
        after = admitted(asking(any_24gb=3), TABLE)
        limits = {f"{DOMAIN}/gpu-any-24gb": "3"}
        after["spec"]["containers"][0]["resources"]["limits"] = limits

        assert denied(after, TABLE) == (
            'container "main" asks for preferred.jp/gpu-any-24gb and has a claim of ours already, '
            "gpuspec-main; take the spec out: a translated template was applied over it, or a "
            "stored Pod was copied"
        )

    @pytest.mark.rule("R2", "R6")
    def test_thousands_of_uses_of_one_template_cost_no_more_than_one(self) -> None:
        """Counted, not timed: each content is looked through once."""
        after = admitted(asking(any_24gb=1), TABLE)
        (claim,) = after["spec"]["resourceClaims"]
        after["spec"]["resourceClaims"] = [{**claim, "name": f"c{n}"} for n in range(4_000)]
        resources = {"limits": {f"{DOMAIN}/gpu-any": "1"}}
        after["spec"]["containers"].append({"name": "injected", "resources": resources})

        assert denied(after, TABLE) == (
            '4001 GPUs in one Pod (1 in "injected", 4000 translated before), the largest v100 node '
            "has 8; ask for fewer, or use several Pods"
        )

    @pytest.mark.rule("R2")
    def test_our_own_output_stays(self) -> None:
        after = admitted(asking(any_24gb=3), TABLE)

        assert outcome(deepcopy(after), TABLE).verdict is Verdict.UNCHANGED


@pytest.mark.rule("C2")
def test_more_than_an_annotation_may_have() -> None:
    """Eight alternatives of ten thousand bytes each, in two claims."""
    products = [f"{place} {'x' * 60}" for place in range(64)]
    of_driver = {"deviceClassName": "gpu.nvidia.com", "driver": "gpu.nvidia.com"}
    selectors = [{"cel": {"expression": f"true // {'x' * 9_000}"}}]
    rows = [
        claim_row(
            f"g{number}-16gb", claim=of_driver | {"products": products, "selectors": selectors}
        )
        for number in range(8)
    ]
    table = Snapshot(make_table(*rows))
    pod = make_pod().container("one", any=1).container("two", any=2)

    assert len(written(admitted(asking(any=1), table))) == 1
    assert denied(pod, table) == (
        "the Pod's claims take 220529 bytes of annotations, 131072 is the most; use several Pods, "
        "or name devices"
    )
