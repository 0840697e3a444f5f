"""The load-time laws of the health section: what is refused, where, in which words, all at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import GpuspecError, Problem, TableError
from selection_spec.table import load_table, table_of
from tests.builders import Json, make_row
from tests.selection_spec.health_tables import TWO_ROWS

_ANY_DURATION = "write whole days, hours, minutes and seconds such as 30s, 10m or 1h30m"
_NO_KEY = "is no label key (letters, digits, '-', '_' and '.', after an optional domain/)"
_NO_VALUE = "is no label value (letters, digits, '-', '_' and '.', beginning and ending with one)"
_AS_THE_NODE = "write it as the node has it"
_OURS = "of this project; remove it; what we placed ourselves is no evidence"


def _problems(health: str, table: str = TWO_ROWS) -> list[str]:
    """Return what is printed for a health section, from the path below it on.

    Args:
        health: The section as YAML in one line.
        table: The table that it is put under.
    """
    with pytest.raises(GpuspecError) as caught:
        load_table(f"{table}  health: {health}\n")
    line = table.count("\n") + 1
    for problem in caught.value.problems:
        assert problem.line == line or not problem.path.startswith("spec.health"), problem
        assert problem.column > 0
    return [problem.located("")[1:].split(": ", 1)[1] for problem in caught.value.problems]


def _rules(health: str) -> list[str]:
    with pytest.raises(TableError) as caught:
        load_table(f"{TWO_ROWS}  health: {health}\n")
    return [problem.rule for problem in caught.value.problems]


def test_problems_have_their_line_and_column() -> None:
    with pytest.raises(TableError) as caught:
        load_table(f"{TWO_ROWS}  health:\n    evictAfter: 2h\n")
    assert [one.located("t") for one in caught.value.problems] == [
        't:17:17: spec.health.evictAfter: evictAfter "2h" is more than 1h; write 0s to 1h'
    ]


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "[{id: a100-80, mode: Evict}]",
            ['[0].id: row "a100-80" is not in the table; did you mean a100-80gb?'],
        ),
        (
            "[{id: x, mode: Evict}]",
            ['[0].id: row "x" is not in the table; the rows are a100-80gb, t4-16gb'],
        ),
        (
            "[{id: t4-16gb, mode: Evict}, {id: t4-16gb, mode: Observe}]",
            ['[1].id: row "t4-16gb" is also spec.health.rows[0]; remove one of them'],
        ),
        (
            "[{id: A100-80GB, mode: Evict}]",
            ['[0].id: row "A100-80GB" is not in the table; did you mean a100-80gb?'],
        ),
        ("[{id: t4-16gb}]", ["[0].mode: mode is missing"]),
        ("[{mode: Evict}]", ["[0].id: id is missing"]),
        ("[{id: 7, mode: Evict}]", ['[0].id: id is 7 where text is wanted; write "7" in quotes']),
        (
            "[{id: t4, mode: evict}]",
            [
                '[0].id: row "t4" is not in the table; did you mean t4-16gb?',
                (
                    '[0].mode: mode is the text "evict" and should be '
                    "'Observe', 'Quarantine' or 'Evict'"
                ),
            ],
        ),
    ],
)
def test_modes_of_rows(rows: str, said: list[str]) -> None:
    assert _problems(f"{{rows: {rows}}}") == [f"spec.health.rows{one}" for one in said]


@pytest.mark.rule("H6")
def test_many_rows_are_not_all_named() -> None:
    rows = [make_row(f"m{number}-8gb") for number in range(7)]
    with pytest.raises(TableError) as caught:
        table_of(
            {
                "apiVersion": "gpuspec.preferred.jp/v1alpha1",
                "kind": "SelectionTable",
                "spec": {"devices": rows, "health": {"rows": [{"id": "x", "mode": "Evict"}]}},
            }
        )
    assert [one.text() for one in caught.value.problems] == [
        (
            'row "x" is not in the table; the rows are m0-8gb, m1-8gb, m2-8gb, m3-8gb, m4-8gb '
            "and 2 more"
        )
    ]


def test_only_the_first_of_many_unknown_rows_are_compared() -> None:
    """A large table without the rows that its health section names is told of in time."""
    unknown = ", ".join(f"{{id: a100-{number}, mode: Evict}}" for number in range(81, 93))
    found = _problems(f"{{rows: [{unknown}]}}")
    near = [one for one in found if one.endswith("did you mean a100-80gb?")]
    assert (len(found), near) == (12, found[:10])
    assert found[-1].endswith("the rows are a100-80gb, t4-16gb")


@pytest.mark.rule("H6")
def test_a_name_alone_means_all_its_rows() -> None:
    other = TWO_ROWS.replace("name: t4", "name: a100").replace("t4", "a100")
    assert _problems("{rows: [{id: a100, mode: Evict}]}", other) == [
        (
            'spec.health.rows[0].id: row "a100" is not in the table; did you mean a100-16gb or '
            "a100-80gb?"
        )
    ]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("vram: 80gb", "vram: 80", "spec.devices[0].vram"),
        ("vram: 80gb", "vram: '80'", "spec.devices[0].vram"),
        ("name: a100", "name: [a100]", "spec.devices[0].name"),
        ("- name: a100", "- nime: a100", "spec.devices[0].name"),
    ],
)
def test_a_row_whose_id_is_not_known_is_told_as_that_alone(old: str, new: str, path: str) -> None:
    found = _problems("{rows: [{id: a100-80gb, mode: Evict}]}", TWO_ROWS.replace(old, new))
    assert path in [one.split(": ")[0] for one in found]
    assert not [one for one in found if "spec.health" in one]


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            "type: Ready",
            (
                '.type: condition "Ready" is not listened to: the node\'s own Ready is left to '
                "Kubernetes; remove it"
            ),
        ),
        (
            "type: Gpu Broken",
            (
                '.type: condition "Gpu Broken" is no type of a condition; write it as the node '
                "has it, such as GpuBroken"
            ),
        ),
        (
            'type: ""',
            (
                '.type: condition "" is no type of a condition; write it as the node has it, such '
                "as GpuBroken"
            ),
        ),
        ("badStatus: 'True'", ".type: type is missing"),
        (
            "type: A, badStatus: True",
            '.badStatus: badStatus is no text without quotes; write "True" in quotes',
        ),
        (
            "type: A, badStatus: false",
            '.badStatus: badStatus is no text without quotes; write "False" in quotes',
        ),
        (
            "type: A, badStatus: Unknown",
            ".badStatus: badStatus is the text \"Unknown\" and should be 'True' or 'False'",
        ),
        (
            'type: A, reasonRegex: "Xid("',
            (
                '.reasonRegex: reasonRegex "Xid(" is no regular expression: missing ), '
                "unterminated subpattern at position 3; write one as Python has it; a backslash "
                "makes a special character a plain one"
            ),
        ),
        (
            'type: A, reasonRegex: "a{99999999999}"',
            (
                '.reasonRegex: reasonRegex "a{99999999999}" is no regular expression: the '
                "repetition number is too large; write one as Python has it; a backslash makes a "
                "special character a plain one"
            ),
        ),
        (
            f"type: A, reasonRegex: {'x' * 257}",
            (
                ".reasonRegex: reasonRegex has 257 characters, at most 256 are allowed; search "
                "for less, a part of the reason is enough"
            ),
        ),
        (
            "type: A, minDuration: 30",
            ".minDuration: minDuration 30 has no unit; write 30s",
        ),
        (
            "type: A, minDuration: soon",
            f'.minDuration: minDuration "soon" is no duration; {_ANY_DURATION}',
        ),
        (
            "type: A, severity: fatal",
            (
                '.severity: severity is the text "fatal" and should be '
                "'Fatal', 'Error' or 'Warning'"
            ),
        ),
        (
            "type: A, reason: x",
            ".reason: unknown key reason; did you mean reasonRegex?",
        ),
    ],
)
def test_conditions(condition: str, said: str) -> None:
    found = _problems(f"{{conditions: [{{{condition}}}]}}")
    assert found == [f"spec.health.conditions[0]{said}"]


@pytest.mark.rule("H2")
def test_a_condition_twice() -> None:
    assert _problems('{conditions: [{type: A}, {type: B}, {type: A, badStatus: "False"}]}') == [
        (
            'spec.health.conditions[2].type: condition "A" is also spec.health.conditions[0]; '
            "remove one of them"
        )
    ]


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (
            "taints: [{key: gpuspec.preferred.jp/unhealthy}]",
            f'taints[0].key: taint key "gpuspec.preferred.jp/unhealthy" is a taint {_OURS}',
        ),
        (
            "labels: [{key: gpuspec.preferred.jp/health, value: suspect}]",
            f'labels[0].key: label key "gpuspec.preferred.jp/health" is a label {_OURS}',
        ),
        ('taints: [{key: ""}]', f'taints[0].key: taint key "" {_NO_KEY}; {_AS_THE_NODE}'),
        (
            'labels: [{key: "a b", value: c}]',
            f'labels[0].key: label key "a b" {_NO_KEY}; {_AS_THE_NODE}',
        ),
        (
            "taints: [{key: a, value: b c}]",
            f'taints[0].value: taint value "b c" {_NO_VALUE}; {_AS_THE_NODE}',
        ),
        (
            "labels: [{key: a, value: -b}]",
            f'labels[0].value: label value "-b" {_NO_VALUE}; {_AS_THE_NODE}',
        ),
        (
            "labels: [{key: a, value: false}]",
            'labels[0].value: value is false where text is wanted; write "false" in quotes',
        ),
        ("labels: [{key: a}]", "labels[0].value: value is missing"),
        (
            "taints: [{key: a, effect: NoRun}]",
            (
                'taints[0].effect: effect is the text "NoRun" and should be '
                "'NoSchedule', 'PreferNoSchedule' or 'NoExecute'"
            ),
        ),
        (
            "ignore: [a b]",
            (
                'ignore[0]: ignore "a b" is neither the type of a condition nor the key of a '
                "taint or label; write one such as NTPProblem"
            ),
        ),
    ],
)
def test_taints_labels_and_what_is_ignored(mark: str, said: str) -> None:
    assert _problems(f"{{{mark}}}") == [f"spec.health.{said}"]


def test_a_domain_that_only_begins_like_ours_is_somebody_elses() -> None:
    text = "{taints: [{key: gpuspec.preferred.jp.example/x}, {key: x.gpuspec.preferred.jp/y}]}"
    assert len(load_table(f"{TWO_ROWS}  health: {text}\n").health.taints) == 2


@pytest.mark.rule("H2", "H3", "H4")
@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("observations.every", "0s", "is less than 1s; write 1s to 10m"),
        ("observations.every", "11m", "is more than 10m; write 1s to 10m"),
        ("observations.crashWindow", "59s", "is less than 1m; write 1m to 1d"),
        ("observations.crashWindow", "25h", "is more than 1d; write 1m to 1d"),
        ("recovery.after", "0s", "is less than 1s; write 1s to 7d"),
        ("budget.window", "59s", "is less than 1m; write 1m to 1d"),
        ("budget.window", "25h", "is more than 1d; write 1m to 1d"),
        ("evictAfter", "3601s", "is more than 1h; write 0s to 1h"),
        ("evictAfter", "-1s", "is negative; write a duration such as 30s"),
        ("evictAfter", '"3"', "has no unit; write 3s"),
        ("recovery.atMost", "366d", "is longer than 365 days; write at most 365d"),
    ],
)
def test_times(path: str, value: str, said: str) -> None:
    *part, name = path.split(".")
    section = f"{{{part[0]}: {{{name}: {value}}}}}" if part else f"{{{name}: {value}}}"
    shown = value.strip('"')
    assert _problems(section) == [f'spec.health.{path}: {name} "{shown}" {said}']


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("30", "every 30 has no unit; write 30s"),
        ("1.5", "every 1.5 has no unit; write a duration such as 30s"),
        ("-3", "every -3 has no unit; write a duration such as 30s"),
        ("true", 'every is true where text is wanted; write "true" in quotes'),
    ],
)
def test_a_number_is_no_duration(value: str, said: str) -> None:
    found = _problems(f"{{observations: {{every: {value}}}}}")
    assert found == [f"spec.health.observations.every: {said}"]


@pytest.mark.rule("H3", "H4")
@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("observations: {bad: 0}", "should be greater than or equal to 1"),
        ("observations: {bad: 101}", "should be less than or equal to 100"),
        ("observations: {good: 0}", "should be greater than or equal to 1"),
        ("observations: {good: 101}", "should be less than or equal to 100"),
        ("budget: {percent: 0}", "should be greater than or equal to 1"),
        ("budget: {percent: 101}", "should be less than or equal to 100"),
        ("budget: {evictions: -1}", "should be greater than or equal to 0"),
        ("budget: {evictions: 10001}", "should be less than or equal to 10000"),
        ("budget: {evictionsPerNamespace: -1}", "should be greater than or equal to 0"),
        ("budget: {evictionsPerNamespace: 10001}", "should be less than or equal to 10000"),
    ],
)
def test_counts(section: str, said: str) -> None:
    part, name, value = section.replace("{", "").replace("}", "").split(": ")
    found = _problems(f"{{{section}}}")
    assert found == [f"spec.health.{part}.{name}: {name} is {value} and {said}"]


@pytest.mark.rule("H4")
@pytest.mark.parametrize(
    ("budget", "most"),
    [("evictionsPerNamespace: 11", 10), ("evictions: 5, evictionsPerNamespace: 11", 5)],
)
def test_a_namespace_has_no_more_evictions_than_all(budget: str, most: int) -> None:
    assert _problems(f"{{budget: {{{budget}}}}}") == [
        (
            f"spec.health.budget.evictionsPerNamespace: evictionsPerNamespace 11 is more than "
            f"evictions {most}; write at most {most}, or more evictions"
        )
    ]


@pytest.mark.rule("H3")
@pytest.mark.parametrize(
    ("recovery", "at_most", "after"),
    [("atMost: 4m", "4m", "5m"), ("after: 1h, atMost: 59m", "59m", "1h")],
)
def test_recovery_is_bounded_by_no_less_than_it_begins_with(
    recovery: str, at_most: str, after: str
) -> None:
    assert _problems(f"{{recovery: {{{recovery}}}}}") == [
        (
            f'spec.health.recovery.atMost: atMost "{at_most}" is less than after, which is '
            f"{after}; write at least {after}, or a shorter after"
        )
    ]


@pytest.mark.parametrize("name", ["rows", "conditions", "taints", "labels", "ignore"])
def test_lists_are_bounded(name: str) -> None:
    one = {
        "rows": "{id: t4-16gb, mode: Evict}",
        "conditions": "{type: A}",
        "taints": "{key: a}",
        "labels": "{key: a, value: b}",
        "ignore": "a",
    }[name]
    (found, *_) = _problems(f"{{{name}: [{', '.join([one] * 201)}]}}")
    assert found.startswith(f"spec.health.{name}: {name} is a list: ")
    assert "at most 200 items" in found


def test_all_problems_at_once() -> None:
    """What has a wrong shape hides no broken law beside it, and is told once."""
    found = _problems(
        "{mode: Sometimes, mood: x, "
        "rows: [{id: t5, mode: 7}, 3, {mode: Evict}], "
        "conditions: [{type: Ready, badStatus: true}, {severity: Error}, {type: A, x: 1}, "
        "{type: A}], "
        "taints: [{key: 7, value: '?'}, {key: '?', effect: 7}], "
        "labels: [{key: '?', value: 7}], ignore: [7, '?'], "
        "observations: {every: 30, bad: 0, crashWindow: 1s}, "
        "recovery: {after: 5, atMost: 1s}, "
        "budget: {evictions: many, evictionsPerNamespace: 20, window: 1s}, "
        "evictAfter: 2h}"
    )
    assert [one.removeprefix("spec.health.").split(": ")[0] for one in found] == [
        "mode",
        "mood",
        "rows[0].id",
        "rows[0].mode",
        "rows[1]",
        "rows[2].id",
        "conditions[0].type",
        "conditions[0].badStatus",
        "conditions[1].type",
        "conditions[2].x",
        "conditions[3].type",
        "taints[0].key",
        "taints[0].value",
        "taints[1].key",
        "taints[1].effect",
        "labels[0].key",
        "labels[0].value",
        "ignore[0]",
        "ignore[1]",
        "observations.every",
        "observations.bad",
        "observations.crashWindow",
        "recovery.after",
        "budget.evictions",
        "budget.window",
        "evictAfter",
    ]


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("7", "health is 7 where a mapping is wanted"),
        ("[]", "health is a list where a mapping is wanted"),
        ("{rows: 7}", "rows is 7 where a list is wanted"),
        ("{budget: 7}", "budget is 7 where a mapping is wanted"),
        ("{ignore: {a: b}}", "ignore is a mapping where a list is wanted"),
    ],
)
def test_wrong_shapes(section: str, said: str) -> None:
    assert [one.split(": ", 1)[1] for one in _problems(section)] == [said]


def test_a_broken_row_hides_no_broken_health_and_the_other_way_round() -> None:
    found = _problems("{evictAfter: 2h}", TWO_ROWS.replace("perNode: 8", "perNode: many"))
    assert [one.split(": ")[0] for one in found] == [
        "spec.devices[0].perNode",
        "spec.health.evictAfter",
    ]


def test_every_law_names_its_rule() -> None:
    assert _rules(
        "{rows: [{id: x, mode: Evict}], conditions: [{type: Ready}], "
        "observations: {every: 0s, crashWindow: 1s}, recovery: {atMost: 1s}, "
        "budget: {evictionsPerNamespace: 11, window: 1s}, evictAfter: 2h}"
    ) == ["H6", "H2", "H3", "H2", "H3", "H4", "H4", "H8"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 300) | st.sampled_from(["", "A", "5m", "True"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
_FIELDS = (
    "id mode type badStatus reasonRegex minDuration severity key value effect every bad good after "
    "atMost evictions evictionsPerNamespace window percent crashWindow"
)
_PART = st.dictionaries(st.sampled_from(_FIELDS.split(" ")), _ANY, max_size=4)
_SECTIONS = "mode rows conditions taints labels ignore observations recovery budget evictAfter"
_SECTION = st.dictionaries(
    st.sampled_from(_SECTIONS.split(" ")),
    _ANY | _PART | st.lists(_ANY | _PART, max_size=3),
    max_size=5,
)


@given(_SECTION)
def test_any_section_loads_or_is_told_what_is_wrong(section: Json) -> None:
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "spec": {"devices": [make_row("a100-80gb")], "health": section},
    }
    found = _found(document)
    assert all(problem.path.startswith("spec.health") for problem in found)
    assert len({(one.path, one.message) for one in found}) == len(found)


def _found(document: Json) -> tuple[Problem, ...]:
    try:
        table_of(document)
    except TableError as error:
        return error.problems
    return ()
