"""Templates of Helm that were not rendered are no broken YAML; others' placeholders are values."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.judged import found, ids, judged, pod, told

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
def test_an_action_between_the_parts_makes_a_template_of_the_text(lines: str) -> None:
    text = f"{BAD}---\napiVersion: v1\nkind: Pod\n{lines}\n"
    (one,) = found(text)
    assert (one.rule.id, one.level) == ("GS002", "warning")
    assert one.message == (
        "this text is a template of Helm that was not rendered, so it is not judged"
    )
    assert one.hint == "judge what comes of it: helm template CHART | gpuspec validate -"
    assert one.source[one.place.column - 1 :].startswith("{{")
    assert (judged(text).documents, judged(text).pods) == (0, 0)


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
def test_an_action_in_a_value_makes_a_template_of_its_document(value: str) -> None:
    templated = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\na: {value}\n"
    text = f"{BAD}---\n{templated}---\n{BAD}---\n{templated}"
    assert [rule for rule, _, _ in told(text)] == ["GS101", "GS002", "GS101", "GS002"]
    assert [line for rule, line, _ in told(text) if rule == "GS002"] == [13, 27]
    assert judged(text).documents == 2


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


def test_a_value_in_a_broken_text_makes_a_template_of_all_of_it() -> None:
    assert ids(f'{BAD}---\nkind: Pod\na: "{{{{ .Values.x }}}}"\nb: [\n') == ["GS002"]


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
