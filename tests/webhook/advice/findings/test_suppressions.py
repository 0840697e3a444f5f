"""What somebody does not want to be told, and how he says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.advice.findings.judged import found, ids, pod, told
from webhook.advice.findings import suppressions
from webhook.advice.findings.catalogue import BY_ID, RULES
from webhook.advice.findings.finding import Place
from webhook.advice.findings.rules_of_objects import FLEET
from webhook.advice.findings.suppressions import Suppression, suppressed_by
from webhook.jsonpatch import Path

BAD = "preferred.jp/gpu-A100: 1"
SAID = "# gpuspec: ignore GS101 -- shows a mistake"


def _reasons(text: str) -> list[str]:
    return [one.suppressed for one in found(text) if one.rule.id == "GS101"]


@pytest.mark.parametrize(
    "resources",
    [
        f"limits:\n  {BAD}  {SAID}",
        f"limits:\n  {SAID}\n  {BAD}",
        f"limits:\n{SAID}\n  {BAD}",
        f"limits: {{{BAD}}} {SAID}",
        f"limits: {{\n  cpu: 1,\n  {BAD}}} {SAID}",
        f"limits:\n  {SAID}\n  # and another comment\n  #\n  {BAD}",
        f"limits:\n  {BAD} #gpuspec:ignore GS101: shows a mistake",
        f"limits:\n  {BAD}\t{SAID}",
        f"limits:\n  {BAD} # gpuspec: ignore GS104,GS101 -- shows a mistake",
        f"limits:\n  {BAD} # gpuspec: ignore GS104 GS101 -- shows a mistake",
        f"limits:\n  {BAD} # as it was # gpuspec: ignore GS101 -- shows a mistake",
    ],
)
def test_a_comment_is_for_its_line_or_the_one_below(resources: str) -> None:
    assert _reasons(pod(resources)) == ["shows a mistake"]


def test_comments_above_each_other_are_for_the_same_line() -> None:
    text = pod(
        f"limits:\n  {SAID}\n  # gpuspec: ignore\n  # gpuspec: ignore GS104 -- gone\n  {BAD}\n"
        f"requests:\n  # gpuspec: ignore GS101 -- another line\n  {BAD}"
    )
    assert _reasons(text) == ["shows a mistake", "another line"]
    assert told(text) == [("GS005", 10, 11), ("GS004", 11, 11)]


def test_a_byte_order_mark_may_stand_before_a_comment_that_stands_alone() -> None:
    inner = f"{{name: a, resources: {{limits: {{{BAD}}}}}}}"
    bad = f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{inner}]}}}}\n"
    assert _reasons(f"a: 1\n---\n\ufeff{SAID}\n{bad}") == ["shows a mistake"]
    assert _reasons(f"a: 1\n---\n{SAID}\n\ufeff# b\n") == []


@pytest.mark.parametrize(
    "resources",
    [
        f"{SAID}\nlimits:\n  {BAD}",
        f"limits:\n  {BAD}\n  {SAID}",
        f"limits:  {SAID}\n  {BAD}",
        f"limits:\n  {SAID}\n\n  {BAD}",
        f"limits:\n  {BAD} # gpuspec: ignore GS104 -- another",
    ],
    ids=["above another", "below", "behind another", "a line between", "another rule"],
)
def test_a_comment_elsewhere_suppresses_nothing_and_is_told(resources: str) -> None:
    assert sorted(ids(pod(resources))) == ["GS004", "GS101"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("# gpuspec: ignore GS101", "it needs a rule and a reason"),
        ("# gpuspec: ignore", "it needs a rule and a reason"),
        ("# gpuspec: ignore all -- I am right", "it needs a rule and a reason"),
        ("# gpuspec: ignore GS101 --", "it needs a rule and a reason"),
        ("# gpuspec: ignore GS101 -- ", "it needs a rule and a reason"),
        ("# gpuspec: ignore GS101 because", "it needs a rule and a reason"),
        ("# gpuspec: ignore GS1011 -- why", "it needs a rule and a reason"),
        ("# gpuspec: ignore GS101,GS999,GS998 -- why", "there is no rule GS998, GS999"),
    ],
)
def test_what_names_no_rule_or_no_reason_is_told(said: str, line: str) -> None:
    text = pod(f"limits:\n  {BAD}  {said}")
    wrong = next(one for one in found(text) if one.rule.id == "GS005")
    assert ids(text) == ["GS101", "GS005"]
    assert wrong.message.startswith(line)
    column, end = wrong.place.column, wrong.place.end_column
    assert wrong.source[column - 1 : end - 1] == said.rstrip()


@pytest.mark.parametrize("style", ["|", ">-", "|2", "| # a comment"])
def test_what_stands_in_a_text_is_no_comment(style: str) -> None:
    inner = "\n".join(f"            {line}" for line in ("echo", SAID, "", SAID))
    text = pod(f"limits:\n  {BAD}").replace(
        "      resources:", f"      args:\n        - {style}\n{inner}\n      resources:"
    )
    # Not even an unused one.
    assert ids(text) == ["GS101"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_what_stands_in_quotes_is_no_comment(quote: str) -> None:
    text = pod(f"limits: {{{BAD}}}").replace("name: main", f"name: {quote}a {SAID}{quote}")
    assert ids(text) == ["GS101"]
    lines = pod(f"limits: {{{BAD}}}").replace(
        "name: main", f"name: {quote}a\n        {SAID}\n        b{quote}"
    )
    assert ids(lines) == ["GS101"]


def test_a_comment_behind_the_head_of_a_text_is_one() -> None:
    text = pod("limits: {cpu: 1}").replace(
        "      resources:",
        "      args:\n        - | # gpuspec: ignore GS101 -- a\n          x\n      resources:",
    )
    assert ids(text) == ["GS004"]


def test_json_has_no_comments() -> None:
    text = f'{{"kind": "Pod", "apiVersion": "v1", "a": "x {SAID}"}}'
    assert ids(text) == ["GS121"]


def test_where_a_text_cannot_be_read_any_further_comments_are_comments() -> None:
    text = (
        f"apiVersion: v1\nkind: Pod\nspec: {{containers: [\n---\n{pod(f'limits: {{{BAD}}} {SAID}')}"
    )
    assert ids(text) == ["GS001"]


def _annotated(said: str, resources: str, name: str = "p") -> str:
    lines = "".join(f"      {line}\n" for line in said.splitlines())
    return pod(resources).replace(
        "{name: p}",
        f"\n  name: {name}\n  annotations:\n    gpuspec.preferred.jp/ignore: |\n{lines}".rstrip(),
    )


def test_an_annotation_is_for_its_whole_object() -> None:
    text = _annotated("GS101: shows a mistake", f"limits:\n  {BAD}\nrequests:\n  {BAD}")
    assert _reasons(text) == ["shows a mistake"] * 2
    assert told(text) == []


def test_an_annotation_is_for_its_object_only() -> None:
    text = _annotated("GS101: shows a mistake", f"limits: {{{BAD}}}") + "---\n"
    assert _reasons(text + pod(f"limits: {{{BAD}}}")) == ["shows a mistake", ""]
    items = """\
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Pod
    metadata: {name: a, annotations: {gpuspec.preferred.jp/ignore: "GS101 -- shows a mistake"}}
    spec: {containers: [{name: a, resources: {limits: {preferred.jp/gpu-A100: 1}}}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: b}
    spec: {containers: [{name: a, resources: {limits: {preferred.jp/gpu-A100: 1}}}]}
"""
    assert _reasons(items) == ["shows a mistake", ""]


def test_an_annotation_is_for_how_its_object_is_written_as_well() -> None:
    odd = _annotated("GS003: as the vendor ships it", "limits:\n  cpu: 0o7\n  cpu: 1")
    assert [one.suppressed for one in found(odd)] == ["as the vendor ships it"] * 2
    table = """\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: t, annotations: {gpuspec.preferred.jp/ignore: "GS301: written later"}}
spec: {devices: [{name: a100}]}
"""
    assert {one.suppressed for one in found(table)} == {"written later"}


def test_what_an_annotation_says_in_vain_is_told_at_it() -> None:
    text = _annotated("GS101: shows a mistake\nGS104, GS105: gone\nGS102\n\n", f"limits: {{{BAD}}}")
    wrong = [one for one in found(text) if not one.suppressed]
    assert [(one.rule.id, one.place.line) for one in wrong] == [("GS004", 6), ("GS005", 6)]
    assert wrong[0].message == "nothing here is GS104, GS105: it suppresses nothing"
    column, end = wrong[0].place.column, wrong[0].place.end_column
    assert wrong[0].source[column - 1 : end - 1] == "gpuspec.preferred.jp/ignore"


def test_half_of_what_a_comment_names_may_be_gone() -> None:
    text = pod(f"limits:\n  {BAD} # gpuspec: ignore GS101, GS102 -- two at once")
    (first, second) = found(text)
    assert (first.suppressed, second.rule.id) == ("two at once", "GS004")
    assert second.message == "nothing here is GS102: it suppresses nothing"


def test_nobody_suppresses_what_is_wrong_with_suppressions() -> None:
    text = pod(
        f"limits:\n  # gpuspec: ignore GS005, GS004 -- quiet\n  {BAD} # gpuspec: ignore GS101"
    )
    assert ids(text) == ["GS004", "GS101", "GS005"]


def test_what_cannot_be_read_can_be_suppressed() -> None:
    text = "# gpuspec: ignore GS001 -- a test of a parser\nx: a: b\n"
    assert told(text) == []


def test_places_in_a_part_of_a_file_are_those_of_the_file() -> None:
    text = pod(f"limits:\n  {BAD}  # gpuspec: ignore GS104 -- gone\n  cpu: 1 # gpuspec: ignore")
    assert [line for _, line, _ in told(text, before=10)] == [19, 19, 20]
    suppressed = found(pod(f"limits:\n  {BAD}  {SAID}"), before=10)
    assert [one.suppressed for one in suppressed] == ["shows a mistake"]
    annotated = _annotated("GS104: gone", "limits: {cpu: 1}")
    assert [line for _, line, _ in told(annotated, before=10)] == [16]


_HERE = Place("f.yaml")
_IDS = st.sets(st.sampled_from(["GS101", "GS102", "GS104"]), min_size=1).map(frozenset)
_OBJECTS = st.tuples(
    st.integers(0, 2), st.sampled_from([(), ("items", 0), ("items", 1), ("items", 10)])
)


@given(
    st.lists(st.tuples(_IDS, st.integers(1, 4)), max_size=8),
    st.lists(st.tuples(_IDS, _OBJECTS), max_size=8),
    st.lists(st.tuples(st.sampled_from(["GS101", "GS104"]), st.integers(0, 5), _OBJECTS)),
)
def test_the_first_that_is_meant_suppresses(
    comments: list[tuple[frozenset[str], int]],
    annotations: list[tuple[frozenset[str], tuple[int, Path]]],
    findings: list[tuple[str, int, tuple[int, Path]]],
) -> None:
    comments.sort(key=lambda one: one[1])
    annotations.sort(key=lambda one: one[1])
    among = [
        *(Suppression(rules, f"line {at}", _HERE, at) for rules, at in comments),
        *(Suppression(rules, f"object {of}", _HERE, object=of) for rules, of in annotations),
    ]
    used: list[set[str]] = [set() for _ in among]
    for rule, line, of in findings:
        meant = [
            number
            for number, one in enumerate(among)
            if rule in one.rules and (one.object == of if one.object else one.line == line)
        ]
        for number in meant[:1]:
            used[number].add(rule)
        said = suppressed_by(BY_ID[rule], line, of, among)
        assert said == (among[meant[0]].reason if meant else "")
    assert [one.used for one in among] == used


def test_few_of_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    among = [Suppression(frozenset({"GS101"}), "why", _HERE, line) for line in range(1, 5001)]
    among += [
        Suppression(frozenset({"GS101"}), "why", _HERE, object=(0, ("items", number)))
        for number in range(5000)
    ]
    looked_at: list[Suppression] = []
    meant_by = suppressions._meant_by

    def noted(one: Suppression) -> tuple[int, int, Path]:
        looked_at.append(one)
        return meant_by(one)

    monkeypatch.setattr(suppressions, "_meant_by", noted)
    assert suppressed_by(BY_ID["GS101"], 2500, (0, ()), among) == "why"
    assert suppressed_by(BY_ID["GS101"], 6000, (0, ("items", 2500)), among) == "why"
    assert suppressed_by(BY_ID["GS101"], 6000, (1, ()), among) == ""
    assert len(looked_at) < 200


@pytest.mark.parametrize("rule", [one.id for one in RULES])
def test_every_rule_can_be_named(rule: str) -> None:
    if rule == FLEET.id:
        # How much there is nobody has said: whether it suppresses anything is not known.
        assert found(pod(f"limits: {{cpu: 1}} # gpuspec: ignore {rule} -- why")) == ()
        return
    (one,) = found(pod(f"limits: {{cpu: 1}} # gpuspec: ignore {rule} -- why"))
    assert one.message == f"nothing here is {rule}: it suppresses nothing"


def test_what_an_anchor_shares_is_suppressed_for_its_own_object_only() -> None:
    text = """\
kind: List
apiVersion: v1
items:
  - kind: Pod
    metadata: {name: a, annotations: {gpuspec.preferred.jp/ignore: "GS104: it comes in March"}}
    spec: &s {containers: [{name: m, resources: {limits: {preferred.jp/gpu-b1: 1}}}]}
  - kind: Pod
    metadata: {name: b}
    spec: *s
"""
    assert [(one.place.object, bool(one.suppressed)) for one in found(text)] == [
        ("Pod/a", True),
        ("Pod/b", False),
    ]


def test_an_annotation_of_two_bad_lines_is_told_of_once() -> None:
    text = """\
kind: Pod
metadata: {annotations: {gpuspec.preferred.jp/ignore: "x\\ny"}}
spec: {containers: [{name: m}]}
"""
    assert ids(text) == ["GS005"]
