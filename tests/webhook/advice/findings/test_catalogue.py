"""The rules: ids for ever, a page each, and examples that are what they say."""

from __future__ import annotations

import re

import pytest

from selection_spec.errors import Level
from tests.webhook.advice.findings.judged import BUILTIN, judge, manifest_of
from tests.webhook.cli.running import run
from webhook.admission.reasons import _BY_RULE
from webhook.admission.translate import Context
from webhook.advice.findings.catalogue import BY_ID, RULES, of_denial
from webhook.advice.findings.rule import Rule
from webhook.advice.findings.validation import Source, validate

EXAMPLES = [one for one in RULES if one.wrong]


def _ids(example: str) -> list[str]:
    """The rules that an example's manifest breaks by the built-in table."""
    source = Source("f.yaml", manifest_of(example).encode())
    findings = validate(source, judge(BUILTIN, Context()), BUILTIN).findings
    return [one.rule.id for one in findings]


def test_ids_are_unique_and_in_order() -> None:
    ids = [one.id for one in RULES]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"GS\d{3}", one) for one in ids)
    assert {*BY_ID} == {*ids}
    names = [one.name for one in RULES]
    assert len({*names}) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", one) for one in names)


@pytest.mark.parametrize("rule", RULES, ids=lambda one: one.id)
def test_every_rule_says_what_and_why(rule: Rule) -> None:
    assert rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert "\n" not in rule.title + rule.why


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda one: one.id)
def test_a_wrong_example_is_wrong(rule: Rule) -> None:
    assert rule.id in _ids(rule.wrong)


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda one: one.id)
def test_a_right_example_is_right(rule: Rule) -> None:
    assert rule.id not in _ids(rule.right)


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda one: one.id)
def test_a_right_example_has_no_other_error(rule: Rule) -> None:
    """But for what a suppression there is about."""
    source = Source("f.yaml", manifest_of(rule.right).encode())
    findings = validate(source, judge(BUILTIN, Context()), BUILTIN).findings
    assert [one.text for one in findings if one.level is Level.ERROR and not one.suppressed] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda one: one.id)
def test_a_page_reads_well_on_a_terminal(rule: Rule) -> None:
    result = run("validate", "--explain", rule.id.lower())
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"# {rule.id} {rule.name} ({rule.level})"
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line != line.rstrip()] == []
    words = " ".join(result.stdout.split())
    assert " ".join(rule.title.split()) in words
    assert " ".join(rule.why.split()) in words
    for example in filter(None, (rule.wrong, rule.right)):
        assert f"```yaml\n{example}\n```" in result.stdout


def test_all_rules_are_listed() -> None:
    result = run("validate", "--explain", "all")
    lines = result.stdout.splitlines()
    assert [line.split() for line in lines] == [[one.id, one.level, one.name] for one in RULES]


def test_a_rule_that_is_none_is_refused() -> None:
    result = run("validate", "--explain", "GS999")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no rule GS999; --explain all lists them" in result.stderr


@pytest.mark.parametrize("number", _BY_RULE)
def test_every_denial_has_a_rule(number: str) -> None:
    assert number in of_denial(number).semantics
    assert of_denial(number).level is Level.ERROR
