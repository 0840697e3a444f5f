"""Our own documents: what is refused, in which words, and all of it at once."""

from __future__ import annotations

import pytest

from selection_spec.documents import load_strict
from selection_spec.documents.faults import MAX_DEPTH, MAX_LISTED
from selection_spec.documents.text import MAX_TABLE_BYTES
from selection_spec.errors import DocumentError, Level

TEXT_OR_NUMBER = "is a number to some YAML readers and text to others"
SPLIT_BY_KUBECTL = "leave the % line out: kubectl splits documents before it looks at it"
ESCAPE = "write it as an escape in double quotes, or leave it out"


def refusal(text: str | bytes) -> list[str]:
    """Return every problem of a text as ``line:column: path: message; hint``."""
    with pytest.raises(DocumentError) as caught:
        load_strict(text)
    assert all(problem.level is Level.ERROR for problem in caught.value.problems)
    return [problem.located("t").removeprefix("t:") for problem in caught.value.problems]


ACCEPTED = {
    "block": ("a: 1\nb:\n  - x\n  - c: 2\n", {"a": 1, "b": ["x", {"c": 2}]}),
    "flow": ("{a: [1, 2.5, -3], b: {c: d}}", {"a": [1, 2.5, -3], "b": {"c": "d"}}),
    "json": ('{"a": 1, "b": [true, null]}', {"a": 1, "b": [True, None]}),
    "constants": ("[true, True, FALSE, null, ~]", [True, True, False, None, None]),
    "numbers": (
        "[0, -0, +5, 10, 1.5, -.5, 1., 1.5e+3, 9223372036854775807]",
        [0, 0, 5, 10, 1.5, -0.5, 1, 1500, 9223372036854775807],
    ),
    "quoted surprises": (
        "['yes', \"0x10\", '12:30', '010', '']",
        ["yes", "0x10", "12:30", "010", ""],
    ),
    "texts that look like nothing": (
        "[16gb, v1, 1.2.3, 10.0.0.1, a:b, x=y, 0xg, =, <<]",
        ["16gb", "v1", "1.2.3", "10.0.0.1", "a:b", "x=y", "0xg", "=", "<<"],
    ),
    "block text": ("a: |\n  yes\n  no\n", {"a": "yes\nno\n"}),
    "anchors": (
        "a: &x [{k: v}]\nb: *x\nc: *x\n",
        {"a": [{"k": "v"}], "b": [{"k": "v"}], "c": [{"k": "v"}]},
    ),
    "one document between marks": ("# c\n---\na: 1\n---\n", {"a": 1}),
    "crlf": ("a: 1\r\nb: |\r\n  x\r\n", {"a": 1, "b": "x\n"}),
    "utf-8 with mark": (b"\xef\xbb\xbfa: \xc3\xa9\n", {"a": "é"}),
    "utf-16 little endian": (b"\xff\xfe" + "a: é\n".encode("utf-16-le"), {"a": "é"}),
    "utf-16 big endian": (b"\xfe\xff" + "a: é\n".encode("utf-16-be"), {"a": "é"}),
    "str with mark": ("\ufeffa: 1\n", {"a": 1}),
}


@pytest.mark.parametrize(("text", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_every_reader_understands_alike_is_read(text: str | bytes, value: object) -> None:
    document = load_strict(text)

    assert document.value == value
    assert document.findings == ()


REFUSED = {
    # Booleans of YAML 1.1.
    "yes": ("a: yes\n", ['1:4: a: yes is read as true; write "yes" in quotes, or true']),
    "Off": ("a: [Off]\n", ['1:5: a[0]: Off is read as false; write "Off" in quotes, or false']),
    "n": ("n\n", ['1:1: n is read as false; write "n" in quotes, or false']),
    # Numbers that are spelt in a way of their own.
    "0x10": ("a: 0x10\n", ['1:4: a: 0x10 is read as 16; write "0x10" in quotes, or 16']),
    "010": ("a: 010\n", ['1:4: a: 010 is read as 8; write "010" in quotes, or 8']),
    "08": ("a: 08\n", ['1:4: a: 08 is read as 8; write "08" in quotes, or 8']),
    "0o10": ("a: 0o10\n", ['1:4: a: 0o10 is read as 8; write "0o10" in quotes, or 8']),
    "0b1": ("a: 0b1\n", ['1:4: a: 0b1 is read as 1; write "0b1" in quotes, or 1']),
    "1_000": ("a: 1_000\n", ['1:4: a: 1_000 is read as 1000; write "1_000" in quotes, or 1000']),
    "1e3": ("a: 1e3\n", [f'1:4: a: 1e3 {TEXT_OR_NUMBER}; write "1e3" in quotes, or 1000']),
    "1.5e3": ("a: 1.5e3\n", [f'1:4: a: 1.5e3 {TEXT_OR_NUMBER}; write "1.5e3" in quotes, or 1500']),
    "12:30": (
        "a: 12:30\n",
        [
            (
                "1:4: a: 12:30 is a base 60 number to some YAML readers and text to others;"
                ' write "12:30" in quotes'
            )
        ],
    ),
    "2020-01-01": (
        "a: 2020-01-01\n",
        [
            (
                "1:4: a: 2020-01-01 is a date to some YAML readers and text to others;"
                ' write "2020-01-01" in quotes'
            )
        ],
    ),
    "2020-01-01T00:00:00Z": (
        "a: 2020-01-01T00:00:00Z\n",
        [
            (
                "1:4: a: 2020-01-01T00:00:00Z is a date to some YAML readers and text to others;"
                ' write "2020-01-01T00:00:00Z" in quotes'
            )
        ],
    ),
    ".inf": ("a: .inf\n", ['1:4: a: .inf is no number that JSON can hold; write ".inf" in quotes']),
    "2^63": (
        "a: 9223372036854775808\n",
        [
            (
                "1:4: a: 9223372036854775808 does not fit 64 bits and is rounded;"
                ' write "9223372036854775808" in quotes'
            )
        ],
    ),
    "1e999": (
        "a: 1e999\n",
        ['1:4: a: 1e999 is too large for a number; write "1e999" in quotes'],
    ),
    "a long number": (
        f"a: 0x{'1' * 100}\n",
        [f'1:4: a: 0x{"1" * 55}... is too large for a number; write "0x{"1" * 55}..." in quotes'],
    ),
    # Keys.
    "duplicate": (
        "a: 1\nb: 2\na: 3\n",
        [
            (
                "3:1: a: the key a stands on line 1 too, and only the last one counts;"
                " remove one of them"
            )
        ],
    ),
    "duplicate in JSON": (
        '{"a": {"b": 1, "b": 2}}',
        [
            (
                "1:16: a.b: the key b stands on line 1 too, and only the last one counts;"
                " remove one of them"
            )
        ],
    ),
    "duplicate by conversion": (
        '1: a\n"1": b\n',
        [
            '1:1: ["1"]: the key 1 is no text; write "1" in quotes',
            (
                '2:1: ["1"]: the key 1 stands on line 1 too, and only the last one counts;'
                " remove one of them"
            ),
        ],
    ),
    "number as key": ("1.5: a\n", ['1:1: ["1.5"]: the key 1.5 is no text; write "1.5" in quotes']),
    "boolean as key": ("true: a\n", ['1:1: true: the key true is no text; write "true" in quotes']),
    "on as key": ("on: a\n", ['1:1: true: on is read as true; write "on" in quotes, or true']),
    "no key": ("?\n: a\n", ["1:2: an empty key is no text; write it in quotes"]),
    "list as key": (
        "? [a]\n: b\n",
        [
            (
                "1:3: a key is a list or a mapping;"
                ' make it a text; if it is a template ("{{ }}"), render it first'
            )
        ],
    ),
    "merge": (
        "a: &x {b: 1}\nc: {<<: *x, d: 2}\n",
        ["2:5: c: YAML readers differ about the merge key <<; write the keys out instead"],
    ),
    "merge of a text": (
        "a: {<<: b}\n",
        [
            "1:5: a: YAML readers differ about the merge key <<; write the keys out instead",
            "1:9: a: << wants a mapping, or a list of mappings; write the keys out instead",
        ],
    ),
    # Tags.
    "python tag": (
        "a: !!python/object/apply:os.system [id]\n",
        ["1:4: a: YAML readers differ about the tag !!python/object/apply:os.system; leave it out"],
    ),
    "string tag": (
        "a: !!str 12\n",
        ["1:4: a: YAML readers differ about the tag !!str; leave it out"],
    ),
    "tag that does not fit": (
        "a: !!int x\n",
        ["1:4: a: x cannot be read as !!int; leave the tag out"],
    ),
    "tag without a value": (
        "a: !!int\n",
        ["1:4: a: an empty value cannot be read as !!int; leave the tag out"],
    ),
    "binary": (
        "a: !!binary '?'\n",
        ["1:4: a: ? is no base64 and cannot be read as !!binary; leave the tag out"],
    ),
    # Aliases.
    "unknown anchor": (
        "a: *b\nc: *d\n",
        ["1:4: *b has no anchor; define &b", "2:4: *d has no anchor; define &d"],
    ),
    "cycle": ("a: &x [1, *x]\n", ["1:11: a[1][1]: *x contains itself"]),
    # Documents.
    "nothing": ("", ["1:1: the text holds no document"]),
    "only a comment": ("# a: 1\n", ["1:1: the text holds no document"]),
    "null": ("---\n~\n", ["1:1: the text holds no document"]),
    "two": (
        "a: 1\n---\n# c\nb: 2\n",
        ["4:1: another document begins here, and only one is wanted; keep one"],
    ),
    "two in JSON": (
        '{"a": 1}\n{"b": 2}\n',
        ["2:1: another document begins here, and only one is wanted; keep one"],
    ),
    "end mark": (
        "a: 1\n...\nb: 2\n",
        ["3:1: what follows the end of the document is not read; begin another document with ---"],
    ),
    "text behind the separator": (
        "--- {a: 1}\n",
        ["1:4: {a: 1} stands behind the separator ---; begin the document on the next line"],
    ),
    # Syntax.
    "tab": ("a:\n\t- 1\n", ["2:1: a tab cannot indent YAML; indent with spaces"]),
    "colon": (
        "a: b: c\n",
        [
            (
                '1:5: a ": " stands where no key can be;'
                " put the value in quotes, or mend the indentation"
            )
        ],
    ),
    "at sign": ("a: @b\n", ["1:4: a value cannot begin with @; write it in quotes"]),
    "open list": (
        "a: [1, 2\nb: 3\n",
        ["2:2: did not find expected ',' or ']' while parsing a flow sequence"],
    ),
    "open quotes": (
        "a: 'b\n",
        ["2:1: found unexpected end of stream while scanning a quoted scalar"],
    ),
    "template": (
        "a: {{ x }} y\n",
        [
            (
                "1:12: did not find expected key while parsing a block mapping;"
                " this looks like a template: render it first"
            )
        ],
    ),
    "template that parses": (
        "a: {{ x }}\n",
        [
            (
                "1:5: a: a key is a list or a mapping;"
                ' make it a text; if it is a template ("{{ }}"), render it first'
            )
        ],
    ),
    "question mark between brackets": (
        "a: [http://b?c=d]\n",
        [
            (
                "1:5: kubectl does not read http://b?c=d: a ? stands between brackets;"
                ' write "http://b?c=d" in quotes'
            )
        ],
    ),
    "directive": (
        "%YAML 1.1\n---\na: 1\n",
        [f"2:1: did not find expected <document start>; {SPLIT_BY_KUBECTL}"],
    ),
    "open JSON": ('{"a": 1', ["1:8: a comma or a closing bracket is missing where the text ends"]),
    "JSON without a value": (
        '{"a": 1, "b": :}',
        ["1:15: a value is missing where : stands"],
    ),
    "JSON that goes on": (
        '{"a": 1}}',
        ["1:9: a value is missing where } stands"],
    ),
    "neither JSON nor YAML": (
        "{a: 1, b: ]}",
        ["1:11: did not find expected node content while parsing a flow node"],
    ),
    # Characters.
    "control characters": (
        "a: \x01\nb: \x7f\n",
        [
            f"1:4: the control character U+0001 is not allowed; {ESCAPE}",
            f"2:4: the control character U+007F is not allowed; {ESCAPE}",
        ],
    ),
    "byte order mark inside": (
        "a: 1\n\ufeffb: 2\n",
        ["2:1: a byte order mark (U+FEFF) begins this line; remove it"],
    ),
    "latin-1": (
        b"a: 1\nb: caf\xe9\n",
        ["2:7: the byte 0xe9 is no character; write the text as UTF-8"],
    ),
    "two bad bytes, one bad value": (
        b"a: \xff\nb: yes\nc: \xfe\n",
        [
            "1:4: the byte 0xff is no character; write the text as UTF-8",
            '2:4: b: yes is read as true; write "yes" in quotes, or true',
            "3:4: the byte 0xfe is no character; write the text as UTF-8",
        ],
    ),
    "half a pair": (
        "a: \ud83d\n",
        ["1:4: half a UTF-16 pair is no character; write the text as UTF-8"],
    ),
    "odd UTF-16": (
        b"\xff\xfe" + "a: b".encode("utf-16-le") + b"c",
        ["1:5: half a UTF-16 pair is no character; write the text as UTF-8"],
    ),
    "UTF-16 without a mark": (
        "ab".encode("utf-16-le"),
        [
            f"1:2: the control character U+0000 is not allowed; {ESCAPE}",
            f"1:4: the control character U+0000 is not allowed; {ESCAPE}",
        ],
    ),
}


@pytest.mark.parametrize(("text", "problems"), REFUSED.values(), ids=REFUSED)
def test_every_problem_has_place_path_words_and_hint(
    text: str | bytes, problems: list[str]
) -> None:
    assert refusal(text) == problems


def test_all_problems_of_a_text_come_at_once_in_the_order_of_the_text() -> None:
    text = """\
spec:
  devices:
    - name: on
      vram: 0x10
      vram: 16gb
    - name: [1_000, 12:30
---
kind: yes
---
b: *c
"""
    assert refusal(text) == [
        "7:1: did not find expected ',' or ']' while parsing a flow sequence",
        '8:7: kind: yes is read as true; write "yes" in quotes, or true',
        "10:4: *c has no anchor; define &c",
    ]


@pytest.mark.parametrize("begin", ["[", "- ", "{a: ", '{"a":'])
def test_depth_is_bounded(begin: str) -> None:
    deepest = load_strict("[" * MAX_DEPTH + "]" * MAX_DEPTH).value
    for _ in range(MAX_DEPTH - 1):
        assert isinstance(deepest, list)
        (deepest,) = deepest
    assert deepest == []

    (problem,) = refusal(begin * 100_000)
    assert problem.endswith(f"lists and mappings are nested more than {MAX_DEPTH} deep")


def test_depth_that_only_aliases_reach_is_bounded_too() -> None:
    chain = [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2 * MAX_DEPTH)]
    problems = refusal("\n".join(["a0: &a0 [x]", *chain]))

    assert problems == [
        (
            f"1:5: a{MAX_DEPTH - 1}{'[0]' * (MAX_DEPTH - 1)}:"
            f" lists and mappings are nested more than {MAX_DEPTH} deep"
        )
    ]


def test_a_chain_of_merge_keys_is_bounded_too() -> None:
    chain = [f"a{n}: &a{n} {{<<: *a{n - 1}}}" for n in range(1, 2000)]

    assert refusal("\n".join(["a0: &a0 {x: 1}", *chain]))[0] == (
        f"1:5: a{MAX_DEPTH - 1}: lists and mappings are nested more than {MAX_DEPTH} deep"
    )


def test_aliases_that_explode_are_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]

    (problem,) = refusal("\n".join(lines))

    assert problem == (
        "4:20: d[3][3][3]: aliases make 4,101 nodes of this document; write out what they stand for"
    )


def test_a_table_may_repeat_an_anchor_on_every_row() -> None:
    rows = "".join("- {tolerations: *t}\n" for _ in range(1000))
    value = load_strict(f"- tolerations: &t [{{key: nvidia.com/gpu}}]\n{rows}").value

    assert value == [{"tolerations": [{"key": "nvidia.com/gpu"}]}] * 1001


def test_values_of_one_anchor_are_not_one_object() -> None:
    value = load_strict("a: &x {b: [1]}\nc: *x\n").value

    assert isinstance(value, dict)
    assert value["a"] == value["c"]
    assert value["a"] is not value["c"]
    assert value["a"]["b"] is not value["c"]["b"]


@pytest.mark.parametrize(("raw", "unit"), [(b"a", "bytes"), ("a", "characters")], ids=["b", "s"])
def test_size_is_bounded(raw: str | bytes, unit: str) -> None:
    assert load_strict(raw * MAX_TABLE_BYTES).value == "a" * MAX_TABLE_BYTES

    assert refusal(raw * (MAX_TABLE_BYTES + 1)) == [
        f"1:1: the text has 3,145,729 {unit}, and at most 3,145,728 are read; split it"
    ]


@pytest.mark.parametrize(
    "text",
    ["- yes\n" * 3000, "\x01" * 3000, b"\xff" * 3000, "\ud800" * 3000],
    ids=["values", "controls", "bytes", "halves"],
)
def test_a_bad_habit_is_reported_a_thousand_times_at_most(text: str | bytes) -> None:
    assert len(refusal(text)) == MAX_LISTED
