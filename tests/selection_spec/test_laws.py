"""The load-time laws of a table: what is refused, where, in which words, all at once."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import DocumentError, GpuspecError, TableError
from selection_spec.laws import MAX_COST_STEPS
from selection_spec.table import load_table, table_of
from tests.builders import Json, make_row, make_table
from webhook.placement.node import weights

_TABLE = """\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: test}
spec:
  devices:
    - name: a100
      vram: 80gb
      perNode: 8
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu
"""
_NAME, _VRAM, _PER_NODE = "name: a100", "vram: 80gb", "perNode: 8"
_NODES, _LABEL, _RESOURCE = (
    "nodes: {matchLabels: {gpu-model: a100-80gb}}",
    "gpu-model: a100-80gb",
    "nvidia.com/gpu",
)
_SPEC = "spec:\n"

_NO_DOMAIN = "is no DNS domain (lower-case letters, digits, dashes and dots)"
_NO_KEY = "is no label key (letters, digits, '-', '_' and '.', after an optional domain/)"
_NO_VALUE = "is no label value (letters, digits, '-', '_' and '.', beginning and ending with one)"
_NAME_HINT = "use lower-case parts such as a100 or rtx-4090, without the memory"
_RESOURCE_HINT = "write the resource of the device plugin, such as nvidia.com/gpu"


def _problems(text: str) -> list[str]:
    """Return what is printed for a table, without the name of its file."""
    with pytest.raises(GpuspecError) as caught:
        load_table(text)
    return [problem.located("t").removeprefix("t:") for problem in caught.value.problems]


def _rules(text: str) -> list[str]:
    with pytest.raises(TableError) as caught:
        load_table(text)
    return [problem.rule for problem in caught.value.problems]


def _with(old: str, new: str) -> str:
    assert old in _TABLE
    return _TABLE.replace(old, new)


def _expression(expression: str) -> str:
    return _with(_NODES, f"nodes: {{matchExpressions: [{expression}]}}")


def _toleration(toleration: str) -> str:
    return _with(_RESOURCE, f"{_RESOURCE}\n      tolerations: [{toleration}]")


def test_the_table_of_these_tests_loads() -> None:
    assert [row.id for row in load_table(_TABLE).rows] == ["a100-80gb"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Default", f'"Default" {_NO_DOMAIN}; write default'),
        ("a_b", f'"a_b" {_NO_DOMAIN}; use lower-case letters, digits and dashes'),
        ('""', f'"" {_NO_DOMAIN}; use lower-case letters, digits and dashes'),
    ],
)
def test_a_name_that_no_object_can_have(name: str, said: str) -> None:
    named = _with("name: test", f"name: {name}")
    assert _problems(named) == [f"3:18: metadata.name: name {said}"]


def test_a_bad_name_is_told_beside_what_has_a_wrong_shape() -> None:
    both = _with("name: test", "name: Test").replace(_PER_NODE, "perNode: many")
    assert _problems(both) == [
        f'3:18: metadata.name: name "Test" {_NO_DOMAIN}; write test',
        (
            '8:16: spec.devices[0].perNode: perNode is the text "many" where a whole number is '
            "wanted"
        ),
    ]


@pytest.mark.parametrize("metadata", ["metadata: 7\n", "metadata: {name: 7}\n"])
def test_what_is_no_text_is_told_as_that_alone(metadata: str) -> None:
    (problem,) = _problems(_with("metadata: {name: test}\n", metadata))
    assert "DNS" not in problem


def test_a_table_without_a_name_is_called_default() -> None:
    assert load_table(_with("metadata: {name: test}\n", "")).name == "default"


@pytest.mark.rule("N6")
def test_cost_steps_are_as_many_as_weights_can_tell_apart() -> None:
    steps = weights(MAX_COST_STEPS)
    assert len(set(steps)) == len(steps) == MAX_COST_STEPS - 1
    more = weights(MAX_COST_STEPS + 1)
    assert len(set(more)) < len(more)

    rows = [make_row(f"m{cost}-8gb", cost=cost) for cost in range(MAX_COST_STEPS + 1)]
    with pytest.raises(TableError) as caught:
        make_table(*rows)
    assert [problem.located("t") for problem in caught.value.problems] == [
        (
            "t:1:192: spec.devices: the rows of nvidia.com/gpu have 13 different costs; use at "
            "most 12, a Pod's preferences tell no more apart; or set preferCheaper: false"
        )
    ]
    assert len(make_table(*rows, preferCheaper=False).rows) == len(rows)
    assert len(make_table(*rows[1:], {**rows[0], "resource": "amd.com/gpu"}).rows) == len(rows)


@pytest.mark.rule("N6")
def test_a_cost_that_is_not_known_is_no_step() -> None:
    rows = [make_row(f"m{cost}-8gb", cost=cost) for cost in range(1, MAX_COST_STEPS + 1)]
    with pytest.raises(TableError) as caught:
        make_table(*rows, make_row("x-8gb", cost="cheap"))
    assert [problem.text() for problem in caught.value.problems] == [
        'cost is the text "cheap" where a whole number is wanted'
    ]


@pytest.mark.rule("G6")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("any", "means every device and cannot name one"),
        ("a100-80gb", "ends in what reads as an amount of memory"),
        ("a100-80gib", "ends in what reads as an amount of memory"),
        ("rtx-04090", "ends in what reads as an amount of memory"),
        ("A100", "is not lower-case letters and digits in parts joined by single dashes"),
        ("a_100", "is not lower-case letters and digits in parts joined by single dashes"),
        ("x" * 49, "has more than 48 characters"),
    ],
)
def test_names_and_aliases_are_unambiguous(name: str, what: str) -> None:
    named = _with(_NAME, f"name: {name}")
    assert _problems(named) == [f'6:13: spec.devices[0].name: name "{name}" {what}; {_NAME_HINT}']
    assert _rules(named) == ["G6"]
    aliased = _with(_NAME, f"name: a100\n      aliases: [volta, {name}]")
    assert _problems(aliased) == [
        f'7:24: spec.devices[0].aliases[1]: alias "{name}" {what}; {_NAME_HINT}'
    ]


@pytest.mark.rule("G6")
def test_a_name_may_end_in_digits() -> None:
    assert load_table(_with(_NAME, "name: rtx-4090")).names == {"rtx-4090"}


@pytest.mark.rule("G3")
@pytest.mark.parametrize(
    ("vram", "problem"),
    [
        ("80", "vram 80 is no nominal memory; write 80gb"),
        ('"80"', 'vram "80" is no nominal memory; write 80gb'),
        ("80GB", 'vram "80GB" is no nominal memory; write 80gb'),
        ("80 GiB", 'vram "80 GiB" is no nominal memory; write 80gb'),
        ("80gib", 'vram "80gib" is no nominal memory; write 80gb'),
        ("0gb", 'vram "0gb" is no nominal memory; write whole gigabytes such as 24gb'),
        ("080gb", 'vram "080gb" is no nominal memory; write whole gigabytes such as 24gb'),
        ("1.5gb", 'vram "1.5gb" is no nominal memory; write whole gigabytes such as 24gb'),
        ("1000000gb", 'vram "1000000gb" is no nominal memory; write whole gigabytes such as 24gb'),
        ("80.5", 'vram is 80.5 where text is wanted; write "80.5" in quotes'),
        ("[80gb]", "vram is a list where text is wanted"),
    ],
)
def test_vram_is_whole_nominal_gigabytes(vram: str, problem: str) -> None:
    assert _problems(_with(_VRAM, f"vram: {vram}")) == [f"7:13: spec.devices[0].vram: {problem}"]


@pytest.mark.parametrize(
    ("per_node", "problem"),
    [
        ("0", "perNode is 0 and should be greater than or equal to 1"),
        ("-1", "perNode is -1 and should be greater than or equal to 1"),
        ("1025", "perNode is 1025 and should be less than or equal to 1024"),
        ('"8"', 'perNode is the text "8" where a whole number is wanted; write 8 without quotes'),
        ("true", "perNode is true where a whole number is wanted"),
    ],
)
def test_per_node_is_a_number_of_devices(per_node: str, problem: str) -> None:
    text = _with(_PER_NODE, f"perNode: {per_node}")
    assert _problems(text) == [f"8:16: spec.devices[0].perNode: {problem}"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            _with(_NODES, "nodes: {}"),
            (
                "9:14: spec.devices[0].nodes: nodes names no label, so every node would match; "
                "give matchLabels or matchExpressions"
            ),
        ),
        (
            _with(_LABEL, "Bad Key: x"),
            (
                '9:38: spec.devices[0].nodes.matchLabels["Bad Key"]: '
                f'label key "Bad Key" {_NO_KEY}; write it as the node has it'
            ),
        ),
        (
            _with(_LABEL, "gpu-model: Tesla V100"),
            (
                "9:40: spec.devices[0].nodes.matchLabels.gpu-model: "
                f'label value "Tesla V100" {_NO_VALUE}; write it as the node has it'
            ),
        ),
        (
            _with(_LABEL, "gpu-model: 100"),
            (
                "9:40: spec.devices[0].nodes.matchLabels.gpu-model: "
                'gpu-model is 100 where text is wanted; write "100" in quotes'
            ),
        ),
        (
            _expression("{key: -k, operator: Exists}"),
            (
                "9:40: spec.devices[0].nodes.matchExpressions[0].key: "
                f'label key "-k" {_NO_KEY}; write it as the node has it'
            ),
        ),
        (
            _expression("{key: k, operator: In, values: [a, b c]}"),
            (
                "9:69: spec.devices[0].nodes.matchExpressions[0].values[1]: "
                f'label value "b c" {_NO_VALUE}; write it as the node has it'
            ),
        ),
        (
            _expression("{key: k, operator: NotIn}"),
            (
                "9:34: spec.devices[0].nodes.matchExpressions[0].values: "
                "NotIn needs values; list the label's values"
            ),
        ),
        (
            _expression("{key: k, operator: Exists, values: [a]}"),
            (
                "9:69: spec.devices[0].nodes.matchExpressions[0].values: "
                "Exists takes no values; remove values, or use In or NotIn"
            ),
        ),
        (
            _expression("{key: k, operator: Gt, values: [a]}"),
            (
                "9:65: spec.devices[0].nodes.matchExpressions[0].values: "
                'Gt needs exactly one integer; write one, in quotes: ["40000"]'
            ),
        ),
        (
            _expression('{key: k, operator: Lt, values: ["1", "2"]}'),
            (
                "9:65: spec.devices[0].nodes.matchExpressions[0].values: "
                'Lt needs exactly one integer; write one, in quotes: ["40000"]'
            ),
        ),
        (
            _expression("{key: k, operator: in, values: [a]}"),
            (
                "9:53: spec.devices[0].nodes.matchExpressions[0].operator: operator is the text "
                "\"in\" and should be 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt' or 'Lt'"
            ),
        ),
        (
            _expression("{key: k, operator: Exists}, {key: k, operator: NotIn, values: [a]}"),
            (
                '9:68: spec.devices[0].nodes.matchExpressions[1].key: label key "k" is set twice '
                "in this row; say everything about one label in one expression"
            ),
        ),
        (
            _with("}}", "}, matchExpressions: [{key: gpu-model, operator: Exists}]}"),
            (
                '9:77: spec.devices[0].nodes.matchExpressions[0].key: label key "gpu-model" is '
                "set twice "
                "in this row; say everything about one label in one expression"
            ),
        ),
    ],
)
def test_nodes_are_told_by_labels_that_kubernetes_takes(text: str, problem: str) -> None:
    assert _problems(text) == [problem]


@pytest.mark.rule("D10")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            _with(_LABEL, "kubernetes.io/arch: arm64"),
            (
                '9:49: spec.devices[0].nodes.matchLabels["kubernetes.io/arch"]: '
                'label kubernetes.io/arch "arm64" contradicts arch amd64; set arch: arm64'
            ),
        ),
        (
            _with(_LABEL, "kubernetes.io/os: windows"),
            (
                '9:47: spec.devices[0].nodes.matchLabels["kubernetes.io/os"]: '
                'label kubernetes.io/os "windows" contradicts os linux; set os: windows'
            ),
        ),
        (
            _expression("{key: kubernetes.io/arch, operator: NotIn, values: [amd64]}"),
            (
                "9:34: spec.devices[0].nodes.matchExpressions[0]: the expression on "
                "kubernetes.io/arch contradicts arch amd64; set arch to what the nodes have"
            ),
        ),
        (
            _expression("{key: kubernetes.io/os, operator: DoesNotExist}"),
            (
                "9:34: spec.devices[0].nodes.matchExpressions[0]: the expression on "
                "kubernetes.io/os contradicts os linux; set os to what the nodes have"
            ),
        ),
    ],
)
def test_labels_agree_with_os_and_arch(text: str, problem: str) -> None:
    assert _problems(text) == [problem]
    assert _rules(text) == ["D10"]


@pytest.mark.rule("D10")
@pytest.mark.parametrize(
    ("field", "problem"),
    [
        (
            "arch: x86_64",
            (
                '9:13: spec.devices[0].arch: arch is the text "x86_64" and should be '
                "'386', 'amd64', 'arm', "
                "'arm64', 'loong64', 'ppc64le', 'riscv64' or 's390x'"
            ),
        ),
        (
            "os: macos",
            "9:11: spec.devices[0].os: os is the text \"macos\" and should be 'linux' or 'windows'",
        ),
    ],
    ids=["odd arch", "odd os"],
)
def test_platforms_are_labels_too(field: str, problem: str) -> None:
    assert _problems(_with(_PER_NODE, f"{_PER_NODE}\n      {field}")) == [problem]


@pytest.mark.rule("N5")
@pytest.mark.parametrize(
    ("toleration", "problem"),
    [
        ("operator: Exists", "key: key is missing"),
        (
            'key: "", operator: Exists',
            (
                f'key: toleration key "" {_NO_KEY}; name the taint; tolerating every taint is not '
                "possible here"
            ),
        ),
        (
            "key: gpuspec.preferred.jp/unhealthy, operator: Exists",
            (
                'key: toleration key "gpuspec.preferred.jp/unhealthy" is a taint of this project; '
                "remove it; such tolerations are added where they are due"
            ),
        ),
        (
            "key: gpuspec.preferred.jp/reserved, value: a100-80gb",
            (
                'key: toleration key "gpuspec.preferred.jp/reserved" is a taint of this project; '
                "remove it; such tolerations are added where they are due"
            ),
        ),
        (
            "key: k, operator: Exists, value: v",
            "value: operator Exists takes no value; remove the value, or use operator Equal",
        ),
        (
            "key: k, value: v w",
            f'value: toleration value "v w" {_NO_VALUE}; write it as the taint has it',
        ),
        (
            "key: k, effect: Never",
            (
                "effect: effect is the text \"Never\" and should be 'NoSchedule', "
                "'PreferNoSchedule' or 'NoExecute'"
            ),
        ),
        (
            "key: k, tolerationSeconds: 5",
            (
                "tolerationSeconds: unknown key tolerationSeconds; known here: key, operator, "
                "value, effect"
            ),
        ),
    ],
)
def test_no_toleration_does_too_much(toleration: str, problem: str) -> None:
    (found,) = _problems(_toleration(f"{{{toleration}}}"))
    assert re.sub(r"\A\d+:\d+: ", "", found) == f"spec.devices[0].tolerations[0].{problem}"


@pytest.mark.parametrize(
    ("resource", "problem"),
    [
        ("gpu", f"is no extended resource (it has no domain/); {_RESOURCE_HINT}"),
        ("kubernetes.io/gpu", f"is in kubernetes.io, which is Kubernetes' own; {_RESOURCE_HINT}"),
        ("requests.a.b/gpu", f"begins with requests., which quotas use; {_RESOURCE_HINT}"),
        ("nvidia.com/g pu", f"{_NO_KEY}; {_RESOURCE_HINT}"),
        *(
            (
                resource,
                (
                    "is itself a spec; write the resource of the device plugin; this would be "
                    "translated again"
                ),
            )
            for resource in ("preferred.jp/gpu-any", "preferred.jp/gpu", "preferred.jp/GPU-x")
        ),
    ],
)
def test_resources_are_those_of_device_plugins(resource: str, problem: str) -> None:
    text = _with(_RESOURCE, resource)
    assert _problems(text) == [f'10:17: spec.devices[0].resource: resource "{resource}" {problem}']


def test_another_resource_of_the_domain_is_fine() -> None:
    assert load_table(_with(_RESOURCE, "preferred.jp/accelerator")).resources == {
        "preferred.jp/accelerator"
    }


@pytest.mark.rule("G1")
@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ("Preferred.jp", f"{_NO_DOMAIN}; write a DNS domain"),
        ("a/b", f"{_NO_DOMAIN}; write a DNS domain"),
        (
            "x.kubernetes.io",
            "is in kubernetes.io, which is Kubernetes' own; use a domain of your own",
        ),
        ("requests.jp", "begins with requests., which quotas use; use a domain of your own"),
    ],
)
def test_the_domain_can_carry_resources(domain: str, problem: str) -> None:
    text = _with(_SPEC, f"spec:\n  resourceDomain: {domain}\n")
    assert _problems(text) == [f'5:19: spec.resourceDomain: resourceDomain "{domain}" {problem}']


@pytest.mark.rule("D3")
@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            "policy: EveryFit",
            "[0]: a priority rule has neither classNames nor minValue; give exactly one of them",
        ),
        (
            "classNames: [a], minValue: 1, policy: EveryFit",
            "[0]: a priority rule has both classNames and minValue; give exactly one of them",
        ),
        (
            "classNames: [], policy: EveryFit",
            "[0].classNames: classNames is empty; name a PriorityClass, or remove the rule",
        ),
        (
            "classNames: [a, B], policy: EveryFit",
            f'[0].classNames[1]: class name "B" {_NO_DOMAIN}; write the name of a PriorityClass',
        ),
        (
            "minValue: 1, policy: Fit",
            "[0].policy: policy is the text \"Fit\" and should be 'EveryFit' or 'SmallestFit'",
        ),
        ("minValue: 1", "[0].policy: policy is missing"),
    ],
)
def test_priority_rules(rule: str, problem: str) -> None:
    (found,) = _problems(_with(_SPEC, f"spec:\n  priorities: [{{{rule}}}]\n"))
    assert re.sub(r"\A5:\d+: ", "", found) == f"spec.priorities{problem}"


_TWO_ROWS = (
    _TABLE
    + """\
    - name: v100
      vram: 16gb
      perNode: 8
      aliases: [volta]
      nodes: {matchLabels: {gpu-model: v100-16gb}}
      resource: nvidia.com/gpu
"""
)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "name: v100\n      vram: 16gb",
            "name: a100\n      vram: 80gb",
            (
                '11:13: spec.devices[1].name: row "a100-80gb" is also spec.devices[0]; one row may '
                "match several labels with matchExpressions"
            ),
        ),
        (
            "[volta]",
            "[volta, a100]",
            (
                '14:24: spec.devices[1].aliases[1]: alias "a100" is the name of another row; an '
                "alias "
                "may stand for several rows but not for a row's name"
            ),
        ),
        (
            "[volta]",
            "[volta, volta]",
            '14:24: spec.devices[1].aliases[1]: alias "volta" is listed twice; remove one of them',
        ),
    ],
)
def test_laws_between_rows(old: str, new: str, problem: str) -> None:
    assert _problems(_TWO_ROWS.replace(old, new)) == [problem]


@pytest.mark.rule("G2")
def test_one_alias_may_stand_for_several_rows_and_repeat_its_own() -> None:
    table = make_table(
        make_row("v100-16gb", aliases=["volta", "v100"]),
        make_row("titan-v-12gb", aliases=["volta"]),
    )
    assert table.names == {"v100", "titan-v", "volta"}
    same_name = make_row("v100-16gb"), make_row("v100-32gb", aliases=["v100"])
    with pytest.raises(TableError, match='alias "v100" is the name of another row'):
        make_table(*same_name)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "{}",
            [
                "1:1: apiVersion: apiVersion is missing",
                "1:1: kind: kind is missing",
                "1:1: spec: spec is missing",
            ],
        ),
        ("[]", ["1:1: the document is a list where a mapping is wanted"]),
        ("", ["1:1: the text holds no document"]),
        (
            _TABLE + "---\n" + _TABLE,
            ["12:1: another document begins here, and only one is wanted; keep one"],
        ),
        (
            _with("v1alpha1", "v1"),
            [
                (
                    '1:13: apiVersion: apiVersion is the text "gpuspec.preferred.jp/v1" and '
                    "should be "
                    "'gpuspec.preferred.jp/v1alpha1'"
                )
            ],
        ),
        (
            _with("SelectionTable", "Table"),
            ["2:7: kind: kind is the text \"Table\" and should be 'SelectionTable'"],
        ),
        (
            _TABLE.partition("  devices:")[0] + "  devices: []",
            ["5:12: spec.devices: devices is empty; write one or more"],
        ),
        (
            _with(_PER_NODE, "pernode: 8"),
            [
                "6:7: spec.devices[0].perNode: perNode is missing",
                "8:7: spec.devices[0].pernode: unknown key pernode; did you mean perNode?",
            ],
        ),
    ],
)
def test_documents_of_the_wrong_shape(text: str, problems: list[str]) -> None:
    assert _problems(text) == problems


def test_all_problems_come_at_once_in_the_order_of_the_text() -> None:
    """Those of the text, of its shape and of its laws; a value is wrong once."""
    text = """\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
spec:
  resourceDomain: Preferred.jp
  priorities:
    - {policy: SmallestFit}
    - {minValue: high, policy: SmallestFit}
  devices:
    - {name: a100, vram: 80gb, perNode: 010, nodes: {matchLabels: {m: x}}, resource: gpu}
    - {name: a100, vram: 80gb, perNode: 8, nodes: {matchLabels: {m: no}}, resource: a.b/gpu}
    - {name: v100, vram: 16, perNode: 8, nodes: {matchLabels: {m: x}}, resource: a.b/gpu}
    - {name: A30, vram: 24gb, perNode: 8, nodes: {matchLabels: {m: x}}, resource: a.b/gpu}
    - {name: a100, vram: 80gb, perNode: 8, nodes: {matchLabels: {m: x}}, resource: a.b/gpu}
"""
    assert _problems(text) == [
        (
            f'4:19: spec.resourceDomain: resourceDomain "Preferred.jp" {_NO_DOMAIN}; '
            "write a DNS domain"
        ),
        (
            "6:7: spec.priorities[0]: a priority rule has neither classNames nor minValue; "
            "give exactly one of them"
        ),
        (
            '7:18: spec.priorities[1].minValue: minValue is the text "high" where a whole number '
            "is "
            "wanted"
        ),
        '9:41: spec.devices[0].perNode: 010 is read as 8; write "010" in quotes, or 8',
        (
            '9:86: spec.devices[0].resource: resource "gpu" is no extended resource (it has no '
            f"domain/); {_RESOURCE_HINT}"
        ),
        (
            '10:14: spec.devices[1].name: row "a100-80gb" is also spec.devices[0]; one row may '
            "match several labels with matchExpressions"
        ),
        (
            '10:69: spec.devices[1].nodes.matchLabels.m: no is read as false; write "no" in '
            "quotes, "
            "or false"
        ),
        "11:26: spec.devices[2].vram: vram 16 is no nominal memory; write 16gb",
        (
            '12:14: spec.devices[3].name: name "A30" is not lower-case letters and digits in parts '
            f"joined by single dashes; {_NAME_HINT}"
        ),
        (
            '13:14: spec.devices[4].name: row "a100-80gb" is also spec.devices[0]; one row may '
            "match "
            "several labels with matchExpressions"
        ),
    ]


@pytest.mark.rule("N5")
def test_an_item_of_wrong_shape_hides_nothing_beside_it() -> None:
    """Neither another item of the same list nor another field of the same row."""
    row = """\
    - name: A100
      aliases: [Ok, 5, ok-5gb]
      vram: 80G
      perNode: many
      nodes:
        matchLabels: {m: [x], "a b": y}
        matchExpressions: [{key: z, operator: Is}, {key: q, operator: In}]
      tolerations: [{key: k, effect: Foo}, {key: gpuspec.preferred.jp/unhealthy, operator: Exists}]
      resource: gpu
"""
    head = "apiVersion: gpuspec.preferred.jp/v1alpha1\nkind: SelectionTable\nspec:\n  devices:\n"
    fields = [
        problem.partition("devices[0].")[2].partition(": ")[0] for problem in _problems(head + row)
    ]
    assert fields == [
        "name",
        "aliases[0]",
        "aliases[1]",
        "aliases[2]",
        "vram",
        "perNode",
        "nodes.matchLabels.m",
        'nodes.matchLabels["a b"]',
        "nodes.matchExpressions[0].operator",
        "nodes.matchExpressions[1].values",
        "tolerations[0].effect",
        "tolerations[1].key",
        "resource",
    ]


def test_a_text_that_is_only_read_doubtfully_is_a_document_error() -> None:
    with pytest.raises(DocumentError) as caught:
        load_table(_with(_PER_NODE, "perNode: 0x8"))
    assert str(caught.value) == '0x8 is read as 8; write "0x8" in quotes, or 8'


@given(
    st.lists(
        st.tuples(st.sampled_from(["a100", "a10", "x" * 48]), st.integers(1, 999_999)),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_row_ids_are_dns_labels_and_label_values(rows: list[tuple[str, int]]) -> None:
    table = make_table(*(make_row(f"{name}-{vram}gb") for name, vram in rows))
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", row.id) for row in table.rows)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_no_text_raises_anything_but_our_own_errors(text: bytes | str) -> None:
    with pytest.raises(GpuspecError) as caught:
        load_table(text)
    assert caught.value.problems


def test_an_object_of_the_api_server_has_paths_and_no_lines() -> None:
    """In the order of the items, where a text would have the order of its lines."""
    good = make_row("a100-80gb")
    rows = [{**good, "name": f"a{number}"} for number in range(12)]
    rows[10]["vram"] = "80"
    rows[2]["colour"] = "red"
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "x", "uid": "1", "managedFields": [{}]},
        "spec": {"devices": rows},
        "status": {"rows": []},
    }
    with pytest.raises(TableError) as caught:
        table_of(document)
    assert [problem.located("t") for problem in caught.value.problems] == [
        (
            "t: spec.devices[2].colour: unknown key colour; known here: name, aliases, vram, "
            "perNode, cost, any, reserved, os, arch, nodes, tolerations, output, resource, claim"
        ),
        't: spec.devices[10].vram: vram "80" is no nominal memory; write 80gb',
    ]
    rows[10]["vram"], rows[2] = "80gb", {**good, "name": "a2"}
    assert table_of(document) == load_table(json.dumps(document))
    with pytest.raises(TableError):
        table_of("a text")


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        pytest.param(
            {"deviceClassName": "GPU"},
            ['claim.deviceClassName: deviceClassName "GPU"', "write the name of a DeviceClass"],
            id="class",
        ),
        pytest.param(
            {"driver": "gpu_nvidia"},
            ['claim.driver: driver "gpu_nvidia"', "write the driver as its ResourceSlices have it"],
            id="driver",
        ),
        pytest.param(
            {"products": ["A30", "x" * 65]},
            ["claim.products[1]: product", "has 65 bytes, a device's attribute has 1 to 64"],
            id="long product",
        ),
        pytest.param(
            {"products": [""]},
            ['claim.products[0]: product ""', "has 0 bytes"],
            id="empty product",
        ),
        pytest.param(
            {"product": ["A30"]},
            ["claim.product: unknown key product; did you mean products?"],
            id="unknown key",
        ),
    ],
)
def test_claims_that_no_driver_could_meet(claim: Json, told: list[str]) -> None:
    row = make_row("a30-24gb", claim={"deviceClassName": "gpu", "driver": "gpu", **claim})
    with pytest.raises(TableError) as error:
        make_table(row)
    (problem,) = error.value.problems
    text = f"{problem.path}: {problem.text()}"
    assert text.startswith(f"spec.devices[0].{told[0]}")
    assert all(part in text for part in told)


def test_a_claim_is_part_of_what_a_table_means_and_none_is_not() -> None:
    plain = make_table(make_row("a30-24gb"))
    claim = {"deviceClassName": "gpu", "driver": "gpu", "products": ["b", "a"]}
    claimed = make_table(make_row("a30-24gb", claim=claim))
    turned = make_table(make_row("a30-24gb", claim={**claim, "products": ["a", "b"]}))
    assert make_table(make_row("a30-24gb", claim=None)).digest == plain.digest
    assert claimed.digest == turned.digest != plain.digest
