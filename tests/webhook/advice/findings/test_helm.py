"""Templates of Helm that were not rendered are no broken YAML; others' placeholders are values."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.judged import found, ids, judged, pod, told
from webhook.advice.findings.helm import rests_on_actions

BAD = pod("limits: {preferred.jp/gpu-A100: 1}")

STRUCTURE = [
    "name: {{ .Values.name }}",
    'name: {{ include "a" . }}',
    "{{- if .Values.on }}\na: b\n{{- end }}",
    "{{- with .Values.x }}\na: b\n{{ end }}",
    "resources:\n  {{- toYaml .Values.resources | nindent 4 }}",
    "{{/* why */}}",
    "{{- /* why */ -}}",
    "{{ range $i, $e := .Values.list }}\n- a\n{{ end }}",
    '{{ define "a" }}',
    '{{ template "a" . }}',
    "a: {{ default 1 .Values.n }}",
    "a: {{ .Release.Name | quote }}",
    "a: {{ $.Values.n }}",
    "a: {{ tpl .x . }}",
    'a: {{ required "n is missing" .Values.n }}',
    "a: {{ if true }}b{{ else }}c{{ end }}",
]


@pytest.mark.parametrize("lines", STRUCTURE)
def test_an_action_between_the_parts_makes_a_template_of_its_document(lines: str) -> None:
    templated = f"---\napiVersion: v1\nkind: Pod\n{lines}\n"
    text = f"{BAD}{templated}{templated}---\n{BAD}"
    before, one, after = found(text)
    assert (before.rule.id, after.rule.id) == ("GS101", "GS101")
    assert (one.rule.id, one.level) == ("GS002", "warning")
    assert one.message == (
        "this is a template of Helm that was not rendered; documents of this text that are no YAML "
        "before that are not judged"
    )
    assert one.hint == (
        "judge what comes of it: helm template CHART | gpuspec validate -; and leave templates out "
        "by a line in .gpuspecignore"
    )
    assert one.source[one.place.column - 1 :].startswith("{{")
    assert (judged(text).documents, judged(text).pods) == (2, 2)


@pytest.mark.parametrize(
    "value",
    [
        '"{{ .Values.x }}"',
        "'{{ .Release.Name }}'",
        "a-{{ .Chart.Version }}",
        '"a-{{ include \\"b\\" . }}"',
        "a-{{ $.Values.x }}",
    ],
)
def test_an_action_in_a_value_is_told_once_a_document(value: str) -> None:
    templated = f"apiVersion: v1\nkind: Other\nmetadata: {{name: x}}\na: {value}\nb: {value}\n"
    text = f"{BAD}---\n{templated}---\n{BAD}---\n{templated}"
    assert [rule for rule, _, _ in told(text)] == ["GS101", "GS002", "GS101", "GS002"]
    assert [line for rule, line, _ in told(text) if rule == "GS002"] == [13, 28]
    assert found(text)[1].message == (
        "a value of this document is an action of Helm that was not rendered; Pods whose devices "
        "depend on such values are not judged"
    )
    assert judged(text).documents == 4


_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: "{name}"}}
spec:
  nodeSelector: {{zone: "{zone}"}}
  containers:
    - name: main
      image: "{image}"
      args: ["--format", "{{{{ .Template }}}}"]
      resources: {{limits: {{"preferred.jp/gpu-{device}": "{amount}"}}}}
"""
_FILLED = {"name": "a", "zone": "b", "image": "c", "device": "a10", "amount": "1"}


@pytest.mark.parametrize("field", ["name", "image"])
def test_a_pod_is_judged_where_nothing_of_it_depends_on_an_action(field: str) -> None:
    text = _POD.format(**_FILLED | {field: "{{ .Values.x }}"})
    assert ids(text) == ["GS002", "GS104"]
    assert judged(text).pods == 1


@pytest.mark.parametrize("field", ["zone", "device", "amount"])
def test_a_pod_is_not_judged_where_its_devices_depend_on_an_action(field: str) -> None:
    text = _POD.format(**_FILLED | {field: "{{ .Values.x }}"})
    assert ids(text) == ["GS002"]
    assert judged(text).pods == 0


def test_what_an_initial_container_restarts_by_is_judged() -> None:
    spec = {"initContainers": [{"name": "a", "restartPolicy": "{{ .Values.x }}"}]}
    assert rests_on_actions({"spec": spec})
    assert not rests_on_actions({"spec": {"initContainers": [{"name": "{{ .Values.x }}"}]}})


def test_what_is_broken_beside_a_template_is_told() -> None:
    text = "kind: Pod\n{{ if .Values.x }}\n---\nkind: Pod\na: [\n---\n" + BAD
    assert ids(text) == ["GS002", "GS001", "GS101"]


@pytest.mark.parametrize(
    "line",
    [
        'args: ["{{inputs.parameters.x}}", "{{ workflow.name }}"]',
        'a: "{{ $labels.node }} {{ if true }}has none{{ end }}"',
        'a: "{{ range .Alerts }}{{ end }}"',
        'a: "{{ .Name }}"',
        "a: ${{ github.ref }}",
        'a: "{{ values.x }}"',
        "a: $(params.x)",
        "a: '{{`{{ x }}`}}'",
        "# {{ .Values.x }}",
        "a: b # {{ .Values.x }} {{ .Values.y }}",
        "a: |\n  {{ .Values.x }}\n  {{ if .Values.y }}",
        'a: >-\n  {{ include "x" . }}',
        "a: {b: {c: d}}",
    ],
)
def test_what_others_leave_in_manifests_is_judged(line: str) -> None:
    text = f"apiVersion: v1\nkind: Other\n{line}\n---\n{BAD}"
    assert "GS002" not in ids(text)
    assert "GS101" in ids(text)


def test_a_value_in_a_broken_document_makes_a_template_of_it() -> None:
    broken = 'kind: Pod\na: "{{ .Values.x }}"\nb: [\n'
    assert ids(f"{BAD}---\n{broken}") == ["GS101", "GS002"]
    assert found(f"---\n{broken}")[0].message.startswith("this is a template of Helm")


def test_a_template_can_be_let_be() -> None:
    text = "kind: Pod # gpuspec: ignore GS002 -- a\nname: {{ .Values.x }}\n"
    assert ids(text) == ["GS004", "GS002"]
    quiet = "kind: Pod\nname: {{ .Values.x }} # gpuspec: ignore GS002 -- rendered elsewhere\n"
    assert told(quiet) == []


def test_a_part_of_a_file_is_placed_in_the_file() -> None:
    assert told("kind: Pod\nname: {{ .Values.x }}\n", before=10) == [("GS002", 12, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        "a: " + "{{ .Values" * 30_000,
        "# " + "{{ .Values.x }} " * 30_000,
        "a: '" + "{{ include " * 30_000 + "'",
        "{{-" + " " * 100_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    """Within the time of a test: what grows with the square would take minutes."""
    assert {*ids(text)} <= {"GS001", "GS002"}


def test_what_helm_has_rendered_is_known_by_its_comment() -> None:
    text = f"---\n# Source: a/templates/x.yaml\n# one more\n{BAD}---\n# Other: y\n{BAD}---\n{BAD}"
    assert [one.template for one in found(text)] == ["a/templates/x.yaml", "", ""]
    assert [one.origin for one in found(text)] == [
        "in Pod/p, from a/templates/x.yaml",
        "in Pod/p",
        "in Pod/p",
    ]
    assert [one.template for one in found(BAD)] == [""]


_IN_A_TEMPLATE = "kind: Other\na: '{{ .Values.x }}'\n---\n"


@pytest.mark.parametrize("value", ["{{ $n }}", "{{ .count }}", "{{ if $b }}1{{ else }}2{{ end }}"])
def test_in_a_template_every_action_is_helms(value: str) -> None:
    """A range over documents gives them variables that other tools write alike."""
    text = pod(f"limits: {{preferred.jp/gpu-a100: '{value}'}}")
    assert ids(_IN_A_TEMPLATE + text) == ["GS002", "GS002"]
    assert ids(text) == ["GS102"]


def test_what_stands_in_a_range_is_no_broken_yaml() -> None:
    text = "{{- range .Values.jobs }}\n---\nkind: Job\nmetadata: {name: {{ .name }} }\n---\n" + BAD
    assert ids(text) == ["GS002", "GS101"]
