"""A text is changed where a value stands; all else stays as it was written."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import event, given
from hypothesis import strategies as st

from selection_spec.documents import Change, Document, EditError, Path, changed, load_manifests

GONE = object()

BLOCK = """\
# head
spec:
  # about the selector
  nodeSelector:  # why
    model: a  # the big one
    "zone": 'east'
  tolerations:
    # first
    - key: a
      value: b
    # second
    - key: c
  script: |
    # no comment
    end

  limits: {a: 1, "b": 2,  c: 3} # flow
  terms:
  - x: 1
    y: 2
# tail
"""


def only(text: str) -> Document:
    (document,) = load_manifests(text)
    return document


def put(value: Any, path: Path, new: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a copy with something else at a path; ``GONE`` takes it away."""
    whole = deepcopy(value)
    node = whole
    for step in path[:-1]:
        node = node[step]
    if new is GONE:
        del node[path[-1]]
    else:
        node[path[-1]] = new
    return whole


def edited(text: str, path: Path, new: object) -> str:
    document = only(text)
    wanted = put(document.value, path, new)
    after = changed(text, document.changes_to(wanted))
    assert only(after).value == wanted
    return after


EDITS: dict[str, tuple[Path, object, str, str]] = {
    "an entry goes with its line": (
        ("spec", "nodeSelector", "model"),
        GONE,
        "    model: a  # the big one\n",
        "",
    ),
    "a mapping goes with its key, comments about it stay": (
        ("spec", "nodeSelector"),
        GONE,
        "  nodeSelector:  # why\n    model: a  # the big one\n    \"zone\": 'east'\n",
        "",
    ),
    "an item goes with its lines": (
        ("spec", "tolerations", 0),
        GONE,
        "    - key: a\n      value: b\n",
        "",
    ),
    "a list goes with its key": (
        ("spec", "tolerations"),
        GONE,
        "  tolerations:\n    # first\n    - key: a\n      value: b\n    # second\n    - key: c\n",
        "",
    ),
    "the first entry behind a dash": (
        ("spec", "terms", 0, "x"),
        GONE,
        "  - x: 1\n    y: 2\n",
        "  - y: 2\n",
    ),
    "an entry between brackets, the first": (("spec", "limits", "a"), GONE, "{a: 1, ", "{"),
    "an entry between brackets, the last": (("spec", "limits", "c"), GONE, ",  c: 3}", "}"),
    "a block of text": (
        ("spec", "script"),
        GONE,
        "  script: |\n    # no comment\n    end\n\n",
        "",
    ),
    "an entry comes behind the last one": (
        ("spec", "nodeSelector", "x/y"),
        "1",
        "    \"zone\": 'east'\n",
        '    "zone": \'east\'\n    x/y: "1"\n',
    ),
    "an entry comes between brackets": (
        ("spec", "limits", "d"),
        [1, {"e": "f"}],
        "c: 3}",
        "c: 3, d: [1, {e: f}]}",
    ),
    "a mapping comes": (
        ("spec", "affinity"),
        {"a": [{"c": ["d"]}], "f": [], "g": None},
        "    y: 2\n",
        "    y: 2\n  affinity:\n    a:\n    - c:\n      - d\n    f: []\n    g: null\n",
    ),
    "another text": (("spec", "nodeSelector", "zone"), "west", "'east'", '"west"'),
    "another number": (("spec", "limits", "b"), 5, '"b": 2', '"b": 5'),
    "nothing is left of a mapping": (
        ("spec", "nodeSelector"),
        {},
        "    model: a  # the big one\n    \"zone\": 'east'\n",
        "    {}\n",
    ),
    "nothing is left of a list": (
        ("spec", "terms"),
        [],
        "terms:\n  - x: 1\n    y: 2",
        "terms: []",
    ),
}


@pytest.mark.parametrize(("path", "new", "was", "becomes"), EDITS.values(), ids=EDITS)
def test_an_edit_touches_its_place_alone(path: Path, new: object, was: str, becomes: str) -> None:
    assert BLOCK.count(was) == 1
    assert edited(BLOCK, path, new) == BLOCK.replace(was, becomes)


def test_windows_lines_stay() -> None:
    text = BLOCK.replace("\n", "\r\n")

    after = edited(text, ("spec", "nodeSelector", "x"), "v")

    assert after == text.replace("'east'\r\n", "'east'\r\n    x: v\r\n")


def test_a_text_that_ends_without_a_line_end_still_does() -> None:
    assert edited("a: 1\nb: 2", ("c",), "d") == "a: 1\nb: 2\nc: d"
    assert edited("a: 1\nb: 2", ("b",), GONE) == "a: 1\n"


def test_several_items_at_once() -> None:
    document = only(BLOCK)
    wanted = put(
        put(document.value, ("spec", "tolerations", 1), GONE), ("spec", "limits"), {"b": 2}
    )

    after = changed(BLOCK, document.changes_to(wanted))

    assert "    # first\n    - key: a\n      value: b\n    # second\n  script" in after
    assert '  limits: {"b": 2} # flow\n' in after


def test_of_several_items_those_that_grew_stay_in_their_place() -> None:
    text = "a:\n- k: [1]  # one\n- k: [2]  # two\n- k: [3]  # three\n"
    document = only(text)

    after = changed(text, document.changes_to({"a": [{"k": [2, 9]}, {"k": [3], "l": 0}]}))

    assert after == "a:\n- k: [2, 9]  # two\n- k: [3]  # three\n  l: 0\n"


KINDS = {
    "a list for a text": ("a: b # c\n", ["d"], "a: [d] # c\n"),
    "a mapping for nothing": ("a: # c\n", {"d": "1"}, 'a: {d: "1"} # c\n'),
    "nothing for a list": ("a:\n  - b\n  - c\n", None, "a: null\n"),
    "a text for a mapping between brackets": ("a: {b: c}\n", "d", "a: d\n"),
    "a list in JSON": ('{"a": null}', [{"b": "c"}], '{"a": [{"b": "c"}]}'),
}


@pytest.mark.parametrize(("text", "new", "becomes"), KINDS.values(), ids=KINDS)
def test_a_value_of_another_kind_comes_on_one_line(text: str, new: object, becomes: str) -> None:
    assert edited(text, ("a",), new) == becomes


RENAMES = {
    "plain": ("a: {old: 1, c: 2}", "a: {new/x: 1, c: 2}"),
    "in double quotes": ('a: {"old": 1, c: 2}', 'a: {"new/x": 1, c: 2}'),
    "in single quotes": ("a: {'old': 1, c: 2}", "a: {'new/x': 1, c: 2}"),
    "on a line": ("a:\n  old:   1 # one\n  c: 2\n", "a:\n  new/x:   1 # one\n  c: 2\n"),
}


@pytest.mark.parametrize(("text", "becomes"), RENAMES.values(), ids=RENAMES)
def test_a_key_is_renamed_in_its_place(text: str, becomes: str) -> None:
    document = only(text)

    assert changed(text, document.changes_to({"a": {"new/x": 1, "c": 2}})) == becomes


def test_json_stays_json() -> None:
    value = {"a": {"b": 1, "c": [1, 2]}, "d": {}}
    text = json.dumps(value, indent=2)
    wanted = {"a": {"c": [1, 2, {"x": "y"}], "e": "f"}, "d": {"g": "1"}}
    document = only(text)

    after = changed(text, document.changes_to(wanted))

    assert json.loads(after) == wanted
    assert '\n    ],\n    "e": "f"\n  },\n' in after


SHARED = {
    "below an alias": ("a: &x {b: 1}\nc: *x\n", ("c", "b"), 2),
    "below an anchor": ("a: &x {b: 1}\nc: *x\n", ("a", "b"), 2),
    "an anchor goes": ("a: {b: &x 1}\nc: *x\n", ("a",), GONE),
    "an anchor goes with all there is": ("a: {d: {b: &x 1}}\nc: *x\n", ("a", "d"), GONE),
    "of a merge key": ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", ("c", "b"), GONE),
    "another value of a merge key": ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", ("c", "b"), 2),
    "an alias for a key": ("a: &x b\nc: {*x : 1, d: 2}\n", ("c", "b"), GONE),
}


@pytest.mark.parametrize(("text", "path", "new"), SHARED.values(), ids=SHARED)
def test_what_an_anchor_shares_is_left_alone(text: str, path: Path, new: object) -> None:
    document = only(text)

    with pytest.raises(EditError, match="anchor"):
        document.changes_to(put(document.value, path, new))


def test_what_only_refers_to_an_anchor_may_go() -> None:
    assert edited("a: &x [1]\nc:\n  t: *x\n  d: 1\n", ("c", "t"), GONE) == "a: &x [1]\nc:\n  d: 1\n"


OTHERS = {
    "an explicit key": ("a:\n  ? b\n  : 1\n  c: 2\n", ("a", "b"), GONE),
    "a list in a list": ("a:\n- - 1\n  - 2\n", ("a", 0, 0), GONE),
    "a tag": ("a: !!str 5\n", ("a",), "6"),
}


@pytest.mark.parametrize(("text", "path", "new"), OTHERS.values(), ids=OTHERS)
def test_other_forms_are_left_alone(text: str, path: Path, new: object) -> None:
    document = only(text)

    with pytest.raises(EditError, match="form"):
        document.changes_to(put(document.value, path, new))


def test_a_document_that_is_no_text_cannot_be_edited() -> None:
    with pytest.raises(EditError, match="no text"):
        Document.of_value({"a": 1}).changes_to({"a": 2})


def test_changes_that_meet_are_refused() -> None:
    with pytest.raises(EditError, match="meet"):
        changed("abc", [Change(0, 2, "x"), Change(1, 3, "y")])


COMMENTED = {
    "a neighbour's comment between brackets": (
        "s: {\n  a: 1, # of a\n  b: 2, # of b\n  c: 3 # of c\n}\n",
        ("s", "b"),
        "s: {\n  a: 1, # of a\n  c: 3 # of c\n}\n",
    ),
    "the next one's comment between brackets": (
        "s: {\n  a: 1, # of a\n  # of b\n  b: 2\n}\n",
        ("s", "a"),
        "s: {\n  # of b\n  b: 2\n}\n",
    ),
    "the last one between brackets": (
        "s: [\n  a, # of a\n  # above b\n  b # of b\n]\n",
        ("s", 1),
        "s: [\n  a # of a\n  # above b\n]\n",
    ),
    "a comment below what goes between brackets": (
        "s: {a: 1, b: 2,\n  # of c\n  c: 3}\n",
        ("s", "b"),
        "s: {a: 1,\n  # of c\n  c: 3}\n",
    ),
    "the first of an item": (
        "- a: 1 # of a\n  # of b\n  b: 2\n",
        (0, "a"),
        "- # of b\n  b: 2\n",
    ),
    "the first of an item that is long": (
        "- a: # of a\n    x: 1\n    # in a\n    y: 2\n\n  # of b\n  # too\n  b: 2\n",
        (0, "a"),
        "- # of b\n  # too\n  b: 2\n",
    ),
}


@pytest.mark.parametrize(("text", "path", "becomes"), COMMENTED.values(), ids=COMMENTED)
def test_comments_of_others_stay(text: str, path: Path, becomes: str) -> None:
    assert edited(text, path, GONE) == becomes


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("- a: 1\n  b: 2\n  c: 3\n", "- c: 3\n"),
        ("- a: 1\n  # of b\n  b: 2\n  # of c\n  c: 3\n", "- # of b\n  # of c\n  c: 3\n"),
        ("- a: 1\n  b: 2\n  # of c\n  c: 3\n", "- # of c\n  c: 3\n"),
        ("- {\n  a: 1, b: 2, # of both\n  # of c\n  c: 3}\n", "- {\n  # of c\n  c: 3}\n"),
    ],
)
def test_several_entries_at_once_keep_the_comments_of_others(text: str, becomes: str) -> None:
    document = only(text)

    assert changed(text, document.changes_to([{"c": 3}])) == becomes


@pytest.mark.parametrize(
    ("text", "path", "new"),
    [
        ("s: {a: 1, b: 2, # of b\n  c: 3}\n", ("s", "b"), GONE),
        ("s: {a: 1, # of a\n  b: 2}\n", ("s", "a"), GONE),
        ("s: {a: 1, b: 2 # of b\n  }\n", ("s", "b"), GONE),
        ("s: {\n  a: 1 # of a\n  }\n", ("s", "b"), 2),
    ],
)
def test_nothing_goes_where_a_comment_would_go_or_belong_to_another(
    text: str, path: Path, new: object
) -> None:
    with pytest.raises(EditError, match="form"):
        edited(text, path, new)


def test_all_places_that_cannot_be_changed_are_told() -> None:
    document = only("a: &x {b: 1, c: 2}\nd: *x\ne: [!!str 1, 2]\nf: 3\n")
    with pytest.raises(EditError) as error:
        document.changes_to({"a": {"b": 1}, "d": {"c": 2}, "e": ["3", 2], "f": 4})

    assert list(error.value.failures) == [("a",), ("d",), ("e", 0)]


def _entry(key: str, form: str, random: Random) -> list[str]:
    """Return an entry in lines, with comments above it, in it and behind it, or without."""

    def perhaps(comment: str) -> str:
        return f" # {comment} {key}" if random.random() < 0.6 else ""

    if form == "flow":
        lines = [f"{key}: 1,{perhaps('own')}"]
    elif random.random() < 0.5:
        lines = [f"{key}: 1{perhaps('own')}"]
    else:
        lines = [f"{key}:{perhaps('own')}", f"  x: 1{perhaps('own')}"]
    above = perhaps("above").strip()
    return [above, *lines] if above else lines


@given(
    st.lists(st.sampled_from("abcdef"), min_size=2, max_size=5, unique=True),
    st.sampled_from(["block", "flow", "item"]),
    st.data(),
)
def test_every_comment_stays_that_is_not_what_goes_s_own(
    keys: list[str], form: str, data: st.DataObject
) -> None:
    random = data.draw(st.randoms(use_true_random=False))
    gone = data.draw(st.sets(st.sampled_from(keys), min_size=1, max_size=len(keys) - 1))
    lines = [line for key in keys for line in _entry(key, form, random)]
    match form:
        case "flow":
            lines = ["s: {", *(f"  {line}" for line in lines), "}", "# tail"]
        case "block":
            lines = ["s:", *(f"  {line}" for line in lines), "# tail"]
        case _:
            lines = ["s:", f"- {lines[0]}", *(f"  {line}" for line in lines[1:]), "# tail"]
    text = "\n".join([*lines, ""])
    document = only(text)
    (value,) = _mappings(document.value)
    wanted = {key: one for key, one in value.items() if key not in gone}
    after = changed(text, document.changes_to({"s": [wanted] if form == "item" else wanted}))

    assert list(_mappings(only(after).value)) == [wanted]
    left = after.replace(",", "")
    for line in (line.removeprefix("- ").replace(",", "") for line in lines if "#" in line):
        goes = "# own" in line and line[-1] in gone
        # An entry that stays has its comment behind it still.
        assert (line[line.index("# ") :] not in left) if goes else (line.strip() in left)


def _mappings(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
    inside = value["s"]
    return inside if isinstance(inside, list) else [inside]


_WORDS = st.sampled_from(("a", "b c", "no", "1", "x/y", "é", "", "#", "- a", "a: b", "1e3", "~"))
_VALUES = st.recursive(
    st.one_of(_WORDS, st.integers(-2, 2), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_WORDS.filter(bool), inner, max_size=3)
    ),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(_WORDS.filter(bool), _VALUES, min_size=1, max_size=4)


def _changed_somewhere(value: Any, random: Random) -> Any:  # noqa: ANN401 - any JSON
    """Return a value with entries gone, renamed, or new, at random places."""
    if isinstance(value, dict):
        found = {}
        for key, inner in value.items():
            fate = random.random()
            if fate > 0.2:
                name = f"new-{key}" if fate < 0.3 else key
                found[name] = inner if fate < 0.6 else _changed_somewhere(inner, random)
        if random.random() < 0.3:
            found["added"] = random.choice(("x", 1, None, [1, {"y": "z"}], {"u": {"v": "2"}}))
        return found
    if isinstance(value, list):
        kept = [_changed_somewhere(one, random) for one in value if random.random() > 0.1]
        return [*kept, {"k": "v"}] if random.random() < 0.3 else kept
    return random.choice((value, value, "new", 7))


def _written(value: object, style: int) -> str:
    match style:
        case 0:
            return json.dumps(value, indent=1)
        case 1:
            return json.dumps(value)
        case 2:
            return yaml.safe_dump(value, default_flow_style=True, width=20, allow_unicode=True)
        case 3:
            return "# above\n" + yaml.safe_dump(value, allow_unicode=True) + "# below\n"
        case _:
            return yaml.safe_dump(value, indent=4, sort_keys=False)


@given(_DOCUMENTS, st.integers(0, 4), st.randoms(use_true_random=False))
def test_an_edited_text_has_the_wanted_value_or_is_refused(
    value: Any,  # noqa: ANN401 - any JSON
    style: int,
    random: Random,
) -> None:
    text = _written(value, style)
    document = only(text)
    wanted = _changed_somewhere(document.value, random)
    try:
        after = changed(text, document.changes_to(wanted))
    except EditError:
        event("refused")
        return
    event("edited" if wanted != value else "the same")
    if style == 3:
        assert after.startswith("# above\n")
        assert after.endswith("# below\n")
    assert json.dumps(only(after).value, sort_keys=True) == json.dumps(wanted, sort_keys=True)
