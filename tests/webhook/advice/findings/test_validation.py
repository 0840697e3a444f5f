"""From a text to its findings: what is judged, by what, and what is left alone."""

from __future__ import annotations

import pytest

from selection_spec.errors import Level
from tests.builders import claim_row, make_row, make_table, pfn_table
from tests.webhook.advice.findings.judged import found, ids, judge, judged, pod, told
from webhook.admission.translate import Context
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.validation import Source, validate
from webhook.inventory.priority_classes import PriorityClasses

GOOD = pod("limits: {preferred.jp/gpu-a100: 1}")
BROKEN = "kind: Pod\nspec: {a: [\n"

TABLE = """\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: default}
spec:
  devices:
    - name: a100
      vram: 80gb
      perNode: 8
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu
"""


def _of(text: str, known: Context, classes: PriorityClasses | None = None) -> tuple[Finding, ...]:
    table = pfn_table()
    found_ = validate(Source("f.yaml", text.encode()), judge(table, known, classes), table)
    return found_.findings


def test_good_manifests_have_no_findings() -> None:
    result = judged(f"{GOOD}---\napiVersion: v1\nkind: Service\nmetadata: {{name: s}}\n")
    assert (result.findings, result.documents, result.pods) == ((), 2, 1)


def test_a_broken_document_hides_none_of_the_others() -> None:
    bad = pod("limits: {preferred.jp/gpu-A100: 1}")
    text = f"{bad}---\n{BROKEN}---\n{bad}---\n- a\n---\n{GOOD}"
    assert told(text)[0] == ("GS101", 8, 18)
    assert told(text)[-1][:2] == ("GS101", 20)
    assert ids(text).count("GS001") == 1
    assert judged(text).documents == 3


def test_findings_come_in_the_order_of_the_text() -> None:
    text = pod("limits:\n  cpu: 0o7\n  preferred.jp/gpu-A100: 1\n  cpu: 1 # gpuspec: ignore")
    assert told(text) == [("GS003", 9, 16), ("GS101", 10, 11), ("GS003", 11, 11), ("GS005", 11, 18)]


@pytest.mark.parametrize(
    "text", ["- a\n", "a: b\n", "{{ .Values.x }}: b\n", BROKEN[10:], "\0\1", ""]
)
def test_what_is_no_manifest_is_nobodys_affair_unless_it_was_named(text: str) -> None:
    assert judged(text.encode(), is_named=False).findings == ()


@pytest.mark.parametrize(
    "head", ["", "---\n", "# a\n", "items:\n- ", '{"', "  ", "a: b\n---\n\ufeff"]
)
def test_what_looks_like_a_manifest_is_judged_wherever_it_was_found(head: str) -> None:
    text = f"{head}apiVersion: v1\n  kind: ]\n"
    assert judged(text.encode(), is_named=False).findings != ()


def test_a_text_that_is_too_large_is_told() -> None:
    (one,) = found(b"kind: Pod\n" + b"#" * (31 << 20))
    assert (one.rule.id, one.place.line) == ("GS001", 1)
    assert "at most 31,457,280 are read" in one.message


def test_a_table_is_linted_and_no_manifest() -> None:
    assert ids(TABLE) == []
    missing = TABLE.replace("      perNode: 8\n", "")
    (error,) = found(missing)
    assert (error.rule.id, error.level, error.message) == (
        "GS301",
        Level.ERROR,
        "perNode is missing",
    )
    assert (error.place.line, error.place.path) == (6, "spec.devices[0].perNode")
    smelly = TABLE.replace("vram: 80gb", "vram: 80gb\n      aliases: [v100]")
    (warning,) = found(smelly)
    assert (warning.rule.id, warning.level) == ("GS302", Level.WARNING)
    assert warning.message == "alias v100 has no part in common with a100-80gb"


def test_a_table_may_stand_among_manifests() -> None:
    text = f"{GOOD}---\n{TABLE.replace('perNode: 8', 'perNode: 0')}---\n{GOOD}"
    assert [(one.rule.id, one.place.line) for one in found(text)] == [("GS301", 17)]
    assert judged(text).pods == 2


@pytest.mark.parametrize(
    ("before", "after"), [("v1alpha1", "v9"), ("kind: SelectionTable", "kind: Selection")]
)
def test_what_only_resembles_a_table_is_none(before: str, after: str) -> None:
    assert ids(TABLE.replace("perNode: 8", "perNode: 0").replace(before, after)) == []


def test_a_tables_findings_can_be_let_be() -> None:
    text = TABLE.replace(
        "vram: 80gb", "vram: 80gb\n      aliases: [v100] # gpuspec: ignore GS302 -- as they say"
    )
    assert told(text) == []


@pytest.mark.rule("D3")
def test_an_unknown_priority_is_judged_by_both_policies() -> None:
    (note,) = _of(pod("limits: {preferred.jp/gpu-any-24gb: 1}"), Context())
    assert (note.rule.id, note.level, note.semantics) == ("GS122", Level.NOTE, "D3")
    assert note.message == (
        "its priority is not known; under SmallestFit it would be a30-24gb "
        "(say --priority-class or --priority)"
    )
    assert note.source[note.place.column - 1 : note.place.end_column - 1] == (
        "preferred.jp/gpu-any-24gb"
    )
    # Both come to the same.
    assert _of(GOOD, Context()) == ()


@pytest.mark.rule("D3")
@pytest.mark.parametrize(
    "known",
    [Context(priority=0), Context(priority=2_000_000), Context(priority_class="high")],
)
def test_a_priority_that_was_said_is_known(known: Context) -> None:
    assert _of(pod("limits: {preferred.jp/gpu-any-24gb: 1}"), known) == ()


@pytest.mark.rule("D3")
def test_a_priority_of_the_manifest_is_known() -> None:
    text = pod("limits: {preferred.jp/gpu-any-24gb: 1}")
    for line in ("priority: 5", "priorityClassName: high"):
        assert _of(text.replace("spec:\n", f"spec:\n  {line}\n"), Context()) == ()


@pytest.mark.rule("D3")
def test_the_number_of_a_class_is_known_from_the_files() -> None:
    text = pod("limits: {preferred.jp/gpu-any-24gb: 1}").replace(
        "spec:\n", "spec:\n  priorityClassName: nightly\n"
    )
    (note,) = _of(text, Context())
    assert note.message.startswith("the number of priority class nightly is not known")
    assert _of(text, Context(), PriorityClasses({"nightly": -10})) == ()
    by_default = pod("limits: {preferred.jp/gpu-any-24gb: 1}")
    assert _of(by_default, Context(), PriorityClasses({"nightly": -10})) != ()
    assert _of(by_default, Context(), PriorityClasses({"nightly": -10}, "nightly")) == ()


@pytest.mark.rule("D3")
def test_what_only_one_policy_refuses_is_told_with_the_other() -> None:
    """By both policies it is refused, or by one, in which case the note says what else."""
    labels = [{"matchLabels": {f"gpu-{number}": "yes"}} for number in range(65)]
    table = make_table(
        *(make_row(f"c{n}-{16 + n}gb", nodes=one) for n, one in enumerate(labels)),
        priorities=[{"minValue": 1, "policy": "SmallestFit"}],
    )
    text = pod("limits: {preferred.jp/gpu-any: 1}").replace(
        "spec:\n",
        "spec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, "
        "{matchExpressions: [{key: b, operator: Exists}]}]}}}\n",
    )
    result = validate(Source("f", text.encode()), judge(table, Context()), table)
    assert [one.rule.id for one in result.findings] == ["GS106", "GS122"]
    assert "under SmallestFit it would be c0-16gb" in result.findings[1].message


@pytest.mark.rule("C5")
def test_a_queue_label_of_the_workload_is_that_of_its_pods() -> None:
    table = make_table(claim_row("a30-24gb"), claim_row("a100-80gb"), output="ResourceClaim")
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  template:
    spec:
      containers: [{name: a, resources: {limits: {preferred.jp/gpu-any: 1}}}]
"""
    (one,) = found(text, table=table)
    assert (one.rule.id, one.semantics) == ("GS120", "C5")
    assert ids(text.replace("queue-name", "other"), table=table) == []


@pytest.mark.rule("N8")
def test_a_daemon_sets_template_is_judged_as_its_pods() -> None:
    text = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      containers: [{name: a, resources: {limits: {preferred.jp/gpu-any: 1}}}]
"""
    (one,) = found(text)
    assert (one.rule.id, one.semantics) == ("GS111", "N8")
    assert 'DaemonSet "agent"' in one.message
    assert ids(text.replace(": 1}", ": 0}")) == []


def test_words_and_level_are_those_of_admission() -> None:
    (one,) = found(pod("limits: {preferred.jp/gpu-a30-32gb: 1}"))
    assert one.text == (
        'container "main": preferred.jp/gpu-a30-32gb: the largest a30 has 24 GB; '
        "write preferred.jp/gpu-a30-24gb or less"
    )
    assert (one.level, one.semantics) == (Level.ERROR, "G5")


def test_a_pod_of_thousands_of_containers_does_not_take_long() -> None:
    """Within the time of a test: what grows with the square would take minutes."""
    lines = "".join(
        f"    - {{name: c{number}, resources: {{limits: {{preferred.jp/gpu-A100: 1}}}}}}\n"
        for number in range(5_000)
    )
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n{lines}"
    assert ids(text) == ["GS101"] * 5_000


def test_a_container_of_a_thousand_keys_does_not_take_long() -> None:
    keys = ", ".join(f"preferred.jp/gpu-A{number}: 1" for number in range(1_000))
    assert set(ids(pod(f"limits: {{{keys}}}"))) == {"GS101"}
