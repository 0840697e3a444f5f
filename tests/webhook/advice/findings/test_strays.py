"""Keys of ours where they do nothing, and texts that mention them (A8)."""

from __future__ import annotations

import json

import pytest

from selection_spec.errors import Level
from tests.builders import claim_row, make_row, make_table
from tests.webhook.advice.findings.judged import found, ids, pod, told

KEY = "preferred.jp/gpu-any"


def _object(kind: str, rest: str, api: str = "v1") -> str:
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\n{rest}\n"


@pytest.mark.rule("A8")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            _object("PersistentVolumeClaim", f"spec: {{resources: {{requests: {{{KEY}: 1}}}}}}"),
            "only the resources of a Pod's containers ask for devices",
        ),
        (
            pod("limits: {cpu: 1}").replace("spec:\n", f"spec:\n  overhead: {{{KEY}: 1}}\n"),
            "an overhead is what a runtime takes beside the containers",
        ),
        (
            pod("limits: {cpu: 1}").replace("spec:\n", f"spec:\n  nodeSelector: {{{KEY}: yes}}\n"),
            "a nodeSelector chooses nodes by their labels",
        ),
        (
            pod("limits: {cpu: 1}")
            + f"  ephemeralContainers: [{{name: d, resources: {{limits: {{{KEY}: 1}}}}}}]\n",
            "an ephemeral container has no resources",
        ),
        (
            _object(
                "StatefulSet",
                "spec:\n  volumeClaimTemplates:\n"
                f"    - spec: {{resources: {{requests: {{{KEY}: 1}}}}}}",
                "apps/v1",
            ),
            "a claim of a volume asks for storage alone",
        ),
        (_object("RuntimeClass", f"overhead: {{podFixed: {{{KEY}: 1}}}}"), "an overhead is"),
        (
            _object("Farm", f"spec: {{overhead: {{{KEY}: 1}}}}", "example.com/v1"),
            "an overhead is what a runtime takes beside the containers",
        ),
    ],
)
def test_a_key_elsewhere_does_nothing_and_why(text: str, reason: str) -> None:
    stray = next(one for one in found(text) if one.rule.id == "GS201")
    assert stray.message.startswith(f"{KEY} does nothing here: {reason}")
    assert stray.hint == "put it under a container's resources.limits"
    assert stray.semantics == "A8"
    assert stray.source[stray.place.column - 1 : stray.place.end_column - 1] == KEY


@pytest.mark.parametrize(
    ("api", "kind", "rest"),
    [
        ("example.com/v1", "Farm", f"spec: {{gpus: {{{KEY}: 1}}}}"),
        (
            "apps.nvidia.com/v1alpha1",
            "NIMService",
            f"spec: {{resources: {{limits: {{{KEY}: 1}}}}}}",
        ),
        (
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            f"spec: {{values: {{resources: {{limits: {{{KEY}: 1}}}}}}}}",
        ),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", f"spec: {{conf: {{{KEY}: 1}}}}"),
        ("kueue.x-k8s.io/v1beta1", "ClusterQueue", f"spec: {{quota: {{{KEY}: 1}}}}"),
    ],
)
def test_what_becomes_of_a_key_in_a_custom_kind_is_for_its_operator_to_say(
    api: str, kind: str, rest: str
) -> None:
    (one,) = found(_object(kind, rest, api))
    assert (one.rule.id, one.level, one.semantics) == ("GS207", Level.NOTE, "")
    assert one.message == (
        f"{KEY} is not judged: what becomes of it here is for the operator of {kind} to say"
    )
    assert one.hint == "the Pods that it makes are judged when they are made"


@pytest.mark.parametrize("api", ["v1", "apps/v1", "networking.k8s.io/v1"])
def test_in_kubernetes_own_kinds_it_is_known_to_do_nothing(api: str) -> None:
    assert ids(_object("Other", f"spec: {{gpus: {{{KEY}: 1}}}}", api)) == ["GS201"]


def test_a_patch_of_pods_is_noted_even_in_one_line() -> None:
    patch = json.dumps({"containers": [{"resources": {"limits": {KEY: 1}}}]})
    text = _object("Workflow", f"spec: {{podSpecPatch: '{patch}'}}", "argoproj.io/v1alpha1")
    assert told(text) == [("GS204", 4, 8)]
    assert ids(text.replace(KEY, "cpu")) == []


@pytest.mark.rule("A8")
def test_a_pods_own_resources_are_judged_and_no_stray() -> None:
    text = pod("limits: {cpu: 1}").replace(
        "spec:\n", f"spec:\n  resources: {{limits: {{{KEY}: 1}}}}\n"
    )
    assert told(text) == [("GS103", 5, 24)]


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    "rest",
    [
        "spec: {resources: {requests: {preferred.jp/gpudirect-nic: 1, preferred.jp/network: 1}}}",
        f"spec: {{a: {{requests.x.{KEY}: 1, x{KEY}: 1, count/{KEY}: 1}}}}",
        f"spec: {{a: {KEY}, b: [{KEY}]}}",
        f"spec: {{selector: {{matchLabels: {{{KEY}: a}}}}}}",
    ],
)
def test_other_keys_are_not_ours(rest: str) -> None:
    assert ids(_object("PersistentVolumeClaim", rest)) == []


def test_labels_and_annotations_may_be_called_alike() -> None:
    text = pod("limits: {cpu: 1}").replace(
        "{name: p}", f"{{name: p, labels: {{{KEY}: a}}, annotations: {{{KEY}: a}}}}"
    )
    assert ids(text) == []


def test_a_node_selector_by_a_label_of_the_table_is_none() -> None:
    row = make_row("a30-24gb", nodes={"matchLabels": {"preferred.jp/gpu-model": "a30"}})
    text = pod("limits: {cpu: 1}").replace(
        "spec:\n", "spec:\n  nodeSelector: {preferred.jp/gpu-model: a30}\n"
    )
    assert ids(text, table=make_table(row)) == []
    assert ids(text) == ["GS201"]


@pytest.mark.rule("G4")
@pytest.mark.parametrize("key", ["preferred.jp/gpu", "preferred.jp/GPU-A100", "preferred.jp/gpu-"])
def test_misspelt_keys_are_ours_as_well(key: str) -> None:
    text = _object("PersistentVolumeClaim", f"spec: {{resources: {{requests: {{{key}: 1}}}}}}")
    assert ids(text) == ["GS201"]


@pytest.mark.parametrize("prefix", ["", "requests.", "limits."])
def test_a_quota_is_told_what_to_count(prefix: str) -> None:
    text = _object(
        "ResourceQuota", f"spec: {{hard: {{{prefix}{KEY}: 8, requests.nvidia.com/gpu: 8}}}}"
    )
    (one,) = found(text)
    assert (one.rule.id, one.place.line, one.place.column) == ("GS202", 4, 15)
    assert one.message == (
        f"{prefix}{KEY} counts nothing: a quota is charged for what admission has made of a Pod"
    )
    assert one.hint == "count requests.nvidia.com/gpu"


def test_a_quota_counts_claims_by_their_class() -> None:
    table = make_table(claim_row("a30-24gb"), make_row("v100-16gb"))
    (one,) = found(_object("ResourceQuota", f"spec: {{hard: {{{KEY}: 8}}}}"), table=table)
    assert one.hint == (
        "count requests.nvidia.com/gpu or gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    )


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("gpu-max1550-128gb", "count requests.gpu.intel.com/i915"),
        ("gpu-a30", "count requests.nvidia.com/gpu"),
        ("gpu-any", "count requests.nvidia.com/gpu or requests.gpu.intel.com/i915"),
        ("gpu-nobody", "count requests.nvidia.com/gpu or requests.gpu.intel.com/i915"),
        ("gpu-A30", "count requests.nvidia.com/gpu or requests.gpu.intel.com/i915"),
    ],
)
def test_a_quota_counts_the_devices_that_are_named(spec: str, hint: str) -> None:
    table = make_table(
        make_row("a30-24gb"), make_row("max1550-128gb", resource="gpu.intel.com/i915")
    )
    text = _object("ResourceQuota", f"spec: {{hard: {{requests.preferred.jp/{spec}: 8}}}}")
    assert [one.hint for one in found(text, table=table)] == [hint]


@pytest.mark.rule("A5")
def test_a_limit_range_gives_or_limits_nothing() -> None:
    text = _object(
        "LimitRange",
        f"spec:\n  limits:\n    - default: {{{KEY}: 1}}\n      defaultRequest: {{{KEY}: 1}}\n"
        f"      max: {{{KEY}: 1}}",
    )
    first, second, third = found(text)
    assert {one.rule.id for one in (first, second, third)} == {"GS203"}
    given = f"a LimitRange that has {KEY} gives it to every container of its namespace"
    assert (first.message, second.message) == (given, given)
    assert third.message == (
        f"{KEY} limits nothing: admission has replaced it when a LimitRange is asked"
    )


@pytest.mark.parametrize(
    ("rest", "lines"),
    [
        (f"data:\n  a: |\n    limits: {{{KEY}: 1}}\n  b: {KEY}\n", [5]),
        (f'data: {{a: "x\\n{KEY}"}}', [4]),
        (f"data:\n  a: |\n    {KEY}\nmore:\n  - |\n    {KEY}\n", [5, 8]),
        ("data:\n  a: |\n    nothing\n", []),
    ],
)
def test_texts_that_mention_a_key_are_noted_and_not_judged(rest: str, lines: list[int]) -> None:
    text = _object("ConfigMap", rest)
    assert [(rule, line) for rule, line, _ in told(text)] == [("GS204", line) for line in lines]


def test_what_kubectl_has_kept_of_an_object_is_no_text_of_anybody() -> None:
    text = pod("limits: {cpu: 1}").replace(
        "{name: p}",
        "\n  name: p\n  annotations:\n"
        f"    kubectl.kubernetes.io/last-applied-configuration: |\n      {{{KEY}: 1}}",
    )
    assert ids(text) == []


def test_each_item_of_a_list_is_an_object_of_its_own() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        f"  - {{kind: ResourceQuota, metadata: {{name: q}}, spec: {{hard: {{{KEY}: 1}}}}}}\n"
        f"  - {{kind: LimitRange, metadata: {{name: l}}, spec: {{default: {{{KEY}: 1}}}}}}\n"
        f"  - {{kind: Other, metadata: {{name: o}}, spec: {{{KEY}: 1}}}}\n"
    )
    assert [(one.rule.id, one.place.object) for one in found(text)] == [
        ("GS202", "ResourceQuota/q"),
        ("GS203", "LimitRange/l"),
        ("GS201", "Other/o"),
    ]
