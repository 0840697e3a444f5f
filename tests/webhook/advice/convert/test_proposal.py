"""Which spec says what a Pod says by hand, what goes with it, and why a Pod stays as it is."""

from __future__ import annotations

from copy import deepcopy

import pytest

from selection_spec.documents import field_path
from selection_spec.table import Table, builtin_table
from tests.builders import (
    GPU,
    Json,
    PodBuilder,
    claim_row,
    expression,
    make_pod,
    make_row,
    make_table,
    pfn_table,
    term,
    tolerate,
)
from webhook.admission.translate import Context
from webhook.advice.convert.proposal import ByHand, Proposal, proposal, propose
from webhook.advice.findings.views import View, views
from webhook.jsonpatch import write

RESERVED = "gpuspec.preferred.jp/reserved"
LOW = Context(is_template=True, priority=0)
HIGH = Context(is_template=True, priority=1_000_000)
EVERYTHING = {"operator": "Exists"}


def view(pod: PodBuilder | Json) -> View:
    (found,) = views(pod.build() if isinstance(pod, PodBuilder) else pod)
    return found


def by_hand(*models: str, amount: object = 1) -> PodBuilder:
    """A Pod that means rows of the example table, and tolerates their taints."""
    pod = make_pod().container("main", {GPU: amount})
    if len(models) == 1:
        pod.selector(gpu_model=models[0])
    elif models:
        pod.terms(term(expression("gpu-model", "In", *models)))
    return pod.tolerates(*(tolerate("gpu-model", one) for one in models))


def proposed(
    pod: PodBuilder | Json, known: Context = LOW, table: Table | None = None, *, widen: bool = False
) -> Proposal:
    found = propose(view(pod), table or pfn_table(), known, widen=widen)
    assert isinstance(found, Proposal), found
    return found


def why(
    pod: PodBuilder | Json, known: Context = LOW, table: Table | None = None, *, widen: bool = False
) -> list[str]:
    """Return where a Pod stays by hand, and why."""
    found = propose(view(pod), table or pfn_table(), known, widen=widen)
    assert isinstance(found, ByHand), found
    return [f"{field_path(one.path)}: {one.why}" for one in found.stays]


def spec_of(pod: PodBuilder, found: Proposal) -> Json:
    after: Json = write(pod.build(), found.edits).after["spec"]
    return after


SPECS: dict[str, tuple[PodBuilder, Context, str]] = {
    "one row": (by_hand("a100-80gb", amount=2), LOW, "a100-80gb"),
    "one row, whatever the priority": (
        by_hand("a100-80gb"),
        Context(is_template=True),
        "a100-80gb",
    ),
    "the larger of a name": (by_hand("v100-32gb"), LOW, "v100-32gb"),
    "the smaller of a name, where nothing larger is meant": (
        by_hand("v100-16gb"),
        HIGH,
        "v100-16gb",
    ),
    "all of a name": (by_hand("v100-16gb", "v100-32gb"), LOW, "v100"),
    "all there are": (by_hand("v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb"), LOW, "any"),
    "all from some memory on": (by_hand("v100-32gb", "a30-24gb", "a100-80gb"), LOW, "any-24gb"),
    "those with enough devices": (
        by_hand("v100-32gb", "a30-24gb", "a100-80gb", amount=6),
        LOW,
        "any-24gb",
    ),
    "whatever it tolerates": (by_hand().tolerates(EVERYTHING), LOW, "any"),
    "what it tolerates alone": (
        by_hand().tolerates(tolerate("gpu-model", "a100-80gb")),
        LOW,
        "a100-80gb",
    ),
}


@pytest.mark.parametrize(("pod", "known", "spec"), SPECS.values(), ids=SPECS)
def test_a_spec_that_means_the_same_rows(pod: PodBuilder, known: Context, spec: str) -> None:
    found = proposed(pod, known)

    assert found.key == f"preferred.jp/gpu-{spec}"
    assert (found.resource, found.containers) == (GPU, ("main",))
    assert (found.added, found.loosened, found.tolerated) == ((), (), ())
    assert proposal(view(pod), pfn_table(), known) == found


def test_nothing_needless_is_left() -> None:
    pod = by_hand("a100-80gb", amount=2)

    assert spec_of(pod, proposed(pod)) == {
        "containers": [
            {
                "name": "main",
                "image": "app",
                "resources": {"limits": {"preferred.jp/gpu-a100-80gb": 2}},
            }
        ]
    }


def test_what_a_spec_does_not_say_stays_and_is_explained() -> None:
    pod = (
        by_hand("a100-80gb")
        .selector(gpu_model="a100-80gb", zone="east", **{"kubernetes.io/arch": "amd64"})
        .terms(
            term(expression("gpu-model", "In", "a100-80gb"), expression("disk", "Exists")),
            term(expression("gpu-model", "In", "a100-80gb"), fields=[_NAME]),
        )
        .prefers(_preference("gpu-model"), _preference("disk"))
        .tolerates(
            tolerate("gpu-model", "a100-80gb"),
            tolerate("mine"),
            {"key": "gpu-model", "operator": "Exists"},
            EVERYTHING,
        )
    )
    found = proposed(pod)
    after = spec_of(pod, found)

    assert after["nodeSelector"] == {"zone": "east", "kubernetes.io/arch": "amd64"}
    terms = after["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms == {
        "nodeSelectorTerms": [
            {"matchExpressions": [expression("disk", "Exists")]},
            {"matchFields": [_NAME]},
        ]
    }
    assert [one.get("key") for one in after["tolerations"]] == ["mine", "gpu-model", None]
    assert [(one.path[-1], one.why) for one in found.stays] == [
        ("zone", "no row of table pfn knows its nodes by zone"),
        ("kubernetes.io/arch", "a spec says nothing about operating system and architecture"),
        (1, "no row of table pfn knows its nodes by disk"),
        ("matchFields", "it chooses nodes by name, which no spec does"),
        (1, "no row tolerates mine"),
        (2, "it tolerates more than the nodes of a100-80gb need"),
        (3, "it tolerates whatever there is"),
        (0, "it is a preference; a spec prefers cheaper devices by itself"),
    ]


_NAME: Json = {"key": "metadata.name", "operator": "In", "values": ["n"]}


def _preference(key: str) -> Json:
    return {"weight": 1, "preference": {"matchExpressions": [expression(key, "In", "a100-80gb")]}}


def test_every_container_that_asks_gets_the_spec() -> None:
    pod = (
        make_pod()
        .init("fetch", {GPU: 1})
        .container("one", {GPU: 2, "cpu": 1}, {GPU: 2, "cpu": 1})
        .container("two", {GPU: "2"}, {GPU: "2"})
        .container("none", {GPU: 0})
        .selector(gpu_model="a100-80gb")
        .tolerates(tolerate("gpu-model", "a100-80gb"))
    )
    found = proposed(pod)
    after = spec_of(pod, found)
    key = "preferred.jp/gpu-a100-80gb"

    assert found.containers == ("fetch", "one", "two")
    assert after["initContainers"][0]["resources"] == {"limits": {key: 1}}
    assert [one["resources"] for one in after["containers"]] == [
        {"limits": {"cpu": 1, key: 2}, "requests": {"cpu": 1}},
        {"limits": {key: "2"}},
        {"limits": {GPU: 0}},
    ]


def test_an_alternative_for_every_row_is_as_good_as_one_list() -> None:
    pod = by_hand("v100-16gb", "v100-32gb").terms(
        term(expression("gpu-model", "In", "v100-16gb")),
        term(expression("gpu-model", "In", "v100-32gb")),
    )

    assert "affinity" not in spec_of(pod, proposed(pod))


def test_what_chooses_among_the_nodes_of_a_row_stays_unless_leave_is_given() -> None:
    table = make_table(
        make_row("a-16gb", nodes={"matchExpressions": [expression("card", "In", "x", "y")]}),
        make_row("b-16gb"),
    )
    pod = make_pod().container("main", {GPU: 1}).selector(card="x")

    exact, wide = proposed(pod, table=table), proposed(pod, table=table, widen=True)

    assert spec_of(pod, exact)["nodeSelector"] == {"card": "x"}
    assert exact.stays[0].why == "it chooses among the nodes of a-16gb"
    assert "nodeSelector" not in spec_of(pod, wide)
    assert wide.loosened == (("spec", "nodeSelector", "card"),)
    assert (exact.key, wide.key) == ("preferred.jp/gpu-a-16gb", "preferred.jp/gpu-a-16gb")


def test_with_leave_the_smallest_spec_that_includes_the_rows() -> None:
    smaller = proposed(by_hand("v100-16gb"), widen=True)
    apart = proposed(by_hand("a30-24gb", "a100-80gb"), widen=True)

    assert smaller.key == "preferred.jp/gpu-v100-16gb"
    assert [row.id for row in smaller.added] == ["v100-32gb"]
    assert apart.key == "preferred.jp/gpu-any-24gb"
    assert [row.id for row in apart.added] == ["v100-32gb"]


def test_with_leave_taints_are_tolerated_that_were_not() -> None:
    found = proposed(by_hand("a30-24gb").tolerates(), widen=True)

    assert found.key == "preferred.jp/gpu-a30-24gb"
    assert found.tolerated == ("gpu-model=a30-24gb:NoSchedule",)
    assert found.added == ()


def test_tolerations_cover_what_a_row_needs_together() -> None:
    taint: Json = {"key": "gpu", "operator": "Exists"}
    table = make_table(make_row("a-16gb", tolerations=[taint]), make_row("b-16gb"))
    pod = make_pod().container("main", {GPU: 1}).selector(gpu_model="a-16gb")
    both = [tolerate("gpu", effect=effect) for effect in ("NoSchedule", "NoExecute")]

    assert proposed(pod.tolerates(*both), table=table).key == "preferred.jp/gpu-a-16gb"
    (reason,) = why(pod.tolerates(both[0]), table=table)
    assert "does not tolerate their gpu:NoExecute" in reason


def test_a_reserved_row_is_meant_where_its_taint_is_tolerated() -> None:
    table = make_table(make_row("a-16gb", reserved=True), make_row("b-16gb"))
    pod = make_pod().container("main", {GPU: 1}).selector(gpu_model="a-16gb")

    (reason,) = why(pod, table=table)
    assert f"{RESERVED}=a-16gb:NoSchedule" in reason
    found = proposed(pod.tolerates(tolerate(RESERVED, "a-16gb")), table=table)
    assert found.key == "preferred.jp/gpu-a-16gb"
    assert found.stays == ()


MAIN = "spec.containers[0].resources"
OTHER = "spec.containers[1].resources"
NEAR = "preferred.jp/gpu-v100-16gb means v100-32gb, too (--widen)"
REASONS: dict[str, tuple[PodBuilder, Context, str]] = {
    "a larger one of the name": (
        by_hand("v100-16gb"),
        LOW,
        f"{MAIN}: it means v100-16gb alone; {NEAR}",
    ),
    "rows with nothing in common but more": (
        by_hand("v100-16gb", "a100-80gb"),
        LOW,
        (
            f"{MAIN}: it means v100-16gb, a100-80gb alone; "
            "preferred.jp/gpu-any means v100-32gb, a30-24gb, too (--widen)"
        ),
    ),
    "rows of several sizes, of which one policy takes the smallest": (
        by_hand("v100-16gb", "v100-32gb"),
        HIGH,
        (
            f"{MAIN}: it means v100-16gb, v100-32gb, and preferred.jp/gpu-v100 "
            "would, under SmallestFit, mean v100-16gb alone"
        ),
    ),
    "a priority that decides": (
        by_hand("v100-16gb", "v100-32gb"),
        Context(is_template=True),
        (
            f"{MAIN}: preferred.jp/gpu-v100 means the same under EveryFit only, "
            "and its priority is not known (say --priority-class or --priority)"
        ),
    ),
    "a taint that is not tolerated": (
        by_hand("a30-24gb").tolerates(),
        LOW,
        (
            "spec.tolerations: its selectors choose a30-24gb, but it does not tolerate their "
            "gpu-model=a30-24gb:NoSchedule, and a spec would (--widen)"
        ),
    ),
    "a taint that is tolerated for a while": (
        by_hand("a30-24gb").tolerates(
            {**tolerate("gpu-model", "a30-24gb"), "tolerationSeconds": 9}
        ),
        LOW,
        "spec.tolerations[0]: it tolerates gpu-model for a while, which no spec does",
    ),
    "no such row": (
        by_hand("h100"),
        LOW,
        "spec: its selectors and amounts fit no row of table pfn",
    ),
    "more than a node has": (
        by_hand("a100-80gb", amount=5),
        LOW,
        "spec: its selectors and amounts fit no row of table pfn",
    ),
    "half a device": (
        by_hand("a100-80gb", amount="500m"),
        LOW,
        (
            f"{MAIN}: preferred.jp/gpu-a100-80gb would be denied: container "
            '"main": preferred.jp/gpu-a100-80gb: "500m" is not a whole number'
        ),
    ),
    "a part of a device": (
        make_pod().container("main", {"nvidia.com/mig-1g.5gb": 1}),
        LOW,
        (
            f'{MAIN}: container "main" asks for nvidia.com/mig-1g.5gb, a part or '
            "a share of a device: no spec means that"
        ),
    ),
    "a share of a device": (
        by_hand("a100-80gb").container("other", {"nvidia.com/gpu.shared": 1}),
        LOW,
        (
            f'{OTHER}: container "other" asks for nvidia.com/gpu.shared, a part or '
            "a share of a device: no spec means that"
        ),
    ),
    "a spec already": (
        by_hand("a100-80gb").container("other", a30=1),
        LOW,
        (
            f"{MAIN}: the Pod asks by preferred.jp/gpu-a30 already: write that in "
            "this container, too"
        ),
    ),
    "requests alone": (
        make_pod().container("main", {"cpu": 1}, {GPU: 1}).tolerates(EVERYTHING),
        LOW,
        (f'{MAIN}: container "main" has nvidia.com/gpu only under requests, which is refused'),
    ),
    "limits and requests that differ": (
        make_pod().container("main", {GPU: 2}, {GPU: 1}).tolerates(EVERYTHING),
        LOW,
        (
            f'{MAIN}: container "main": limits and requests differ in '
            "nvidia.com/gpu, which is refused"
        ),
    ),
    "a node": (
        by_hand("a100-80gb").spec(nodeName="n"),
        LOW,
        "spec.nodeName: it names its node, and a spec would choose nothing",
    ),
    "an empty affinity": (
        by_hand("a100-80gb").terms(),
        LOW,
        "spec.affinity: its required node affinity is empty, which is refused",
    ),
    "a DaemonSet's Pod": (
        by_hand("a100-80gb").owner("DaemonSet", "d"),
        LOW,
        (f"{MAIN}: a DaemonSet picks its nodes before admission, so it needs what it says"),
    ),
}


@pytest.mark.parametrize(("pod", "known", "reason"), REASONS.values(), ids=REASONS)
def test_what_stays_by_hand_is_explained(pod: PodBuilder, known: Context, reason: str) -> None:
    assert why(pod, known) == [reason]
    assert proposal(view(pod), pfn_table(), known) is None


FOR_A_WHILE = {**tolerate("gpu-model", "v100-16gb"), "tolerationSeconds": 9}
SEVERAL: dict[str, tuple[PodBuilder, list[str]]] = {
    "what it says beside what no spec means": (
        by_hand("v100-16gb").terms().spec(nodeName="n").tolerates(FOR_A_WHILE),
        [
            "spec.nodeName: it names its node, and a spec would choose nothing",
            "spec.affinity: its required node affinity is empty, which is refused",
            "spec.tolerations[0]: it tolerates gpu-model for a while, which no spec does",
            f"{MAIN}: it means v100-16gb alone; {NEAR}",
        ],
    ),
    "taints beside a larger one of the name": (
        by_hand("v100-16gb").tolerates(),
        [
            (
                "spec.tolerations: its selectors choose v100-16gb, but it does not tolerate their "
                "gpu-model=v100-16gb:NoSchedule, and a spec would (--widen)"
            ),
            f"{MAIN}: it means v100-16gb alone; {NEAR}",
        ],
    ),
    "amounts on one side beside rows that it cannot mean": (
        make_pod().container("main", {"cpu": 1}, {GPU: 1}).selector(gpu_model="h100"),
        [
            f'{MAIN}: container "main" has nvidia.com/gpu only under requests, which is refused',
            "spec: its selectors and amounts fit no row of table pfn",
        ],
    ),
    "amounts that differ beside taints": (
        make_pod().container("main", {GPU: 2}, {GPU: 1}).selector(gpu_model="a30-24gb"),
        [
            (
                f'{MAIN}: container "main": limits and requests differ in nvidia.com/gpu, '
                "which is refused"
            ),
            (
                "spec.tolerations: its selectors choose a30-24gb, but it does not tolerate their "
                "gpu-model=a30-24gb:NoSchedule, and a spec would (--widen)"
            ),
        ],
    ),
    "a part of a device beside a larger one of the name": (
        by_hand("v100-16gb").container("other", {"nvidia.com/mig-1g.5gb": 1}),
        [
            (
                f'{OTHER}: container "other" asks for nvidia.com/mig-1g.5gb, a part or '
                "a share of a device: no spec means that"
            ),
            f"{MAIN}: it means v100-16gb alone; {NEAR}",
        ],
    ),
    "amounts that no spec has": (
        by_hand("a100-80gb", amount="500m").container("other", {GPU: "1500m"}),
        [
            (
                f"{MAIN}: preferred.jp/gpu-a100-80gb would be denied: container "
                f'"{name}": preferred.jp/gpu-a100-80gb: "{amount}" is not a whole number'
            )
            for name, amount in (("main", "500m"), ("other", "1500m"))
        ],
    ),
    "a spec beside several containers": (
        by_hand("a100-80gb").container("other", {GPU: 1}).container("third", a30=1),
        [
            (
                f"{place}: the Pod asks by preferred.jp/gpu-a30 already: write that in "
                "this container, too"
            )
            for place in (MAIN, OTHER)
        ],
    ),
}


@pytest.mark.parametrize(("pod", "reasons"), SEVERAL.values(), ids=SEVERAL)
def test_all_reasons_are_told_at_once(pod: PodBuilder, reasons: list[str]) -> None:
    before = deepcopy(pod.build())

    assert why(pod) == reasons
    assert pod.build() == before


def test_leave_to_widen_mends_nothing_else() -> None:
    pod = by_hand("v100-16gb").tolerates().spec(nodeName="n")

    assert why(pod, widen=True) == [
        "spec.nodeName: it names its node, and a spec would choose nothing"
    ]


def test_a_reserved_row_counts_as_tolerated_by_name_once_it_is_told() -> None:
    taint = {"key": "x", "effect": "NoSchedule"}
    table = make_table(
        make_row("a-16gb", reserved=True, tolerations=[taint]),
        make_row("b-16gb", tolerations=[taint]),
    )

    (reason,) = why(make_pod().container("main", {GPU: 1}), table=table)
    assert f"choose a-16gb, b-16gb, but it does not tolerate their x:NoSchedule, {RESERVED}" in (
        reason
    )


def test_two_makers_are_not_one_spec() -> None:
    table = make_table(make_row("a-16gb"), make_row("b-16gb", resource="amd.com/gpu"))
    pod = make_pod().container("one", {GPU: 1}).container("two", {"amd.com/gpu": 1})

    assert why(pod, table=table) == [
        "spec: a spec means one kind of resource, and it asks for nvidia.com/gpu, amd.com/gpu"
    ]


def test_what_a_table_hands_out_by_claim_stays() -> None:
    table = make_table(claim_row("a-16gb", resource=GPU), output="ResourceClaim")
    only_claims = make_table(claim_row("a-16gb"), output="ResourceClaim")
    pod = make_pod().container("main", {GPU: 1}).tolerates(EVERYTHING)

    (reason,) = why(pod, table=table)
    assert "hands out a-16gb by claim, not as nvidia.com/gpu" in reason
    (reason,) = why(pod, table=only_claims)
    assert "asks for nvidia.com/gpu, which no row of table" in reason


NOTHING = {
    "no device": make_pod().container("main", {"cpu": 1}),
    "a spec": make_pod().container("main", any=1),
    "zero": make_pod().container("main", {GPU: 0}),
    "a mirror Pod": by_hand("a100-80gb").metadata(annotations={"kubernetes.io/config.mirror": "x"}),
}


@pytest.mark.parametrize("pod", NOTHING.values(), ids=NOTHING)
def test_where_nothing_is_said_by_hand_nothing_is_told(pod: PodBuilder) -> None:
    assert propose(view(pod), pfn_table()) is None


def test_fields_that_a_workflow_shares_among_its_pods_stay() -> None:
    resources = {"limits": {GPU: 1}}
    workflow: Json = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": {
            "nodeSelector": {"gpu-model": "a100-80gb"},
            "templates": [
                {
                    "name": "t",
                    "tolerations": [tolerate("gpu-model", "a100-80gb")],
                    "container": {"name": "main", "resources": resources},
                }
            ],
        },
    }

    assert why(workflow) == ["spec.nodeSelector: Workflow keeps that in a place of its own"]
    template = workflow["spec"]["templates"][0]
    workflow["spec"]["tolerations"] = template.pop("tolerations")
    assert why(workflow) == [
        "spec.tolerations: Workflow keeps that in a place of its own",
        "spec.nodeSelector: Workflow keeps that in a place of its own",
    ]


def test_the_built_in_table_knows_cards_by_their_product() -> None:
    pod = (
        make_pod()
        .container("main", {GPU: 1})
        .spec(nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"})
        .tolerates(tolerate(GPU))
    )
    found = proposed(pod, Context(is_template=True), builtin_table())

    assert found.key == "preferred.jp/gpu-t4-16gb"
    assert found.stays == ()
    assert set(spec_of(pod, found)) == {"containers"}
