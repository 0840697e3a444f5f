"""The key: what parses, what is ours, what was meant by a near-miss (G1 to G4, G6)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import SpecError
from selection_spec.grammar import (
    MAX_NAME,
    Spec,
    correct,
    is_ours,
    looks_misspelt,
    misspelt,
    name_problem,
    parse_spec,
)

# The grammar of the semantics, word for word.
_G1 = re.compile(r"^gpu-([a-z0-9]+(?:-[a-z0-9]+)*?)(?:-([1-9][0-9]*)gb)?\Z", re.ASCII)

NAMES = frozenset({"a10", "a100", "a30", "h100", "k80", "rtx-4090", "v100"})

_NO_CORRECTION = "write preferred.jp/gpu-any, gpu-<name> or gpu-<name>-<N>gb"


def _knows(name: str) -> bool:
    return name in NAMES


def _is_misspelt(text: str) -> bool:
    """Tell whether G4 denies a key of ours for its spelling."""
    try:
        spec = parse_spec(text)
    except SpecError:
        return True
    return not spec.is_any and spec.name not in NAMES and looks_misspelt(spec)


@pytest.mark.rule("G1", "G3")
@pytest.mark.parametrize(
    ("text", "name", "min_gb"),
    [
        ("gpu-any", "any", None),
        ("gpu-any-24gb", "any", 24),
        ("gpu-any-1gb", "any", 1),
        ("gpu-any-999999999gb", "any", 999_999_999),
        ("gpu-a100", "a100", None),
        ("gpu-a100-80gb", "a100", 80),
        ("gpu-rtx-4090", "rtx-4090", None),
        ("gpu-rtx-4090-24gb", "rtx-4090", 24),
        ("gpu-a-b-c-24gb", "a-b-c", 24),
        ("gpu-4090", "4090", None),
        # Only the last part can be memory; what is no bound is a name.
        ("gpu-any-24gb-24gb", "any-24gb", 24),
        ("gpu-24gb-a100", "24gb-a100", None),
        ("gpu-gpu-24gb", "gpu", 24),
        ("gpu-24gb", "24gb", None),
        ("gpu-any-024gb", "any-024gb", None),
        ("gpu-any-0gb", "any-0gb", None),
        ("gpu-any-24gib", "any-24gib", None),
    ],
)
def test_parses(text: str, name: str, min_gb: int | None) -> None:
    spec = parse_spec(text)
    assert spec == Spec(name, min_gb)
    assert str(spec) == text
    assert spec.is_any == (name == "any")


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("gpu", True),
        ("gpu-", True),
        ("gpu-any", True),
        ("GPU", True),
        ("Gpu-any", True),
        ("gpu-\n", True),
        ("gpus", False),
        ("gpu_any", False),
        ("gpudirect-nic", False),
        ("network", False),
        ("", False),
        ("my-gpu-any", False),
        ("gpu\n", False),
        ("ｇｐｕ-any", False),
    ],
)
def test_is_ours(text: str, ours: bool) -> None:  # noqa: FBT001 - a table
    assert is_ours(text) == ours


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    ("text", "complaint", "correction"),
    [
        # Upper case.
        ("gpu-ANY", "has upper-case letters", "gpu-any"),
        ("GPU-any-24gb", "has upper-case letters", "gpu-any-24gb"),
        ("gpu-A100-80GB", "has upper-case letters", "gpu-a100-80gb"),
        ("gpu-any-24GiB", "has upper-case letters", "gpu-any-24gb"),
        ("gpu-RTX_4090", "has upper-case letters", "gpu-rtx-4090"),
        ("gpu-H900", "has upper-case letters", None),
        ("GPU", "has upper-case letters", None),
        # Units.
        (
            "gpu-any-24gib",
            "ends in 24gib, which is neither a name nor memory in whole gb",
            "gpu-any-24gb",
        ),
        (
            "gpu-any-24gi",
            "ends in 24gi, which is neither a name nor memory in whole gb",
            "gpu-any-24gb",
        ),
        (
            "gpu-a100-40g",
            "ends in 40g, which is neither a name nor memory in whole gb",
            "gpu-a100-40gb",
        ),
        (
            "gpu-any-24",
            "ends in 24, which is neither a name nor memory in whole gb",
            "gpu-any-24gb",
        ),
        (
            "gpu-rtx-4090-24",
            "ends in 24, which is neither a name nor memory in whole gb",
            "gpu-rtx-4090-24gb",
        ),
        ("gpu-h900-24g", "ends in 24g, which is neither a name nor memory in whole gb", None),
        # No name.
        ("gpu-24gb", "names no device before 24gb", "gpu-any-24gb"),
        ("gpu-24", "ends in 24, which is neither a name nor memory in whole gb", "gpu-any-24gb"),
        ("gpu", "names no device", None),
        ("gpu-", "names no device", None),
        ("gpu---", "names no device", None),
        # Nothing, leading zeros, fractions, too much.
        ("gpu-any-0gb", "asks for no memory at all (0gb)", "gpu-any"),
        ("gpu-0gb", "asks for no memory at all (0gb)", "gpu-any"),
        ("gpu-a100-00", "asks for no memory at all (00)", "gpu-a100"),
        ("gpu-any-024gb", "has leading zeros in 024gb", "gpu-any-24gb"),
        ("gpu-any-024", "has leading zeros in 024", "gpu-any-24gb"),
        ("gpu-024gb", "has leading zeros in 024gb", "gpu-any-24gb"),
        ("gpu-any-23.5gb", "asks for a fraction of memory (23.5gb)", "gpu-any-24gb"),
        ("gpu-any-24.0gb", "asks for a fraction of memory (24.0gb)", "gpu-any-24gb"),
        ("gpu-any-24.5", "asks for a fraction of memory (24.5)", "gpu-any-25gb"),
        ("gpu-any-0999999999", "has leading zeros in 0999999999", None),
        ("gpu-any-099999999", "has leading zeros in 099999999", "gpu-any-99999999gb"),
        ("gpu-any-1000000000gb", "asks for more memory than any device will have", None),
        # Empty parts, other separators.
        ("gpu--any", "has an empty part between its dashes", "gpu-any"),
        ("gpu-any-", "has an empty part between its dashes", "gpu-any"),
        ("gpu-any--24gb", "has an empty part between its dashes", "gpu-any-24gb"),
        ("gpu-any_24gb", "is not spelt gpu-<name>-<N>gb", "gpu-any-24gb"),
        ("gpu-any-24gb ", "is not spelt gpu-<name>-<N>gb", "gpu-any-24gb"),
        ("gpu-any-24gb\n", "is not spelt gpu-<name>-<N>gb", "gpu-any-24gb"),
        ("gpu-a100.80gb", "is not spelt gpu-<name>-<N>gb", None),
        ("gpu-any-24gb/x", "is not spelt gpu-<name>-<N>gb", None),
        # Other scripts; the second-last name begins with a Cyrillic letter.
        (
            "gpu-any-２４gb",
            "has the character U+FF12 (FULLWIDTH DIGIT TWO), which is not ASCII",
            "gpu-any-24gb",
        ),
        (
            "gpu-any-٢٤gb",
            "has the character U+0662 (ARABIC-INDIC DIGIT TWO), which is not ASCII",
            "gpu-any-24gb",
        ),
        ("gpu-any-²gb", "has the character U+00B2 (SUPERSCRIPT TWO), which is not ASCII", None),
        (
            "gpu-а100",
            "has the character U+0430 (CYRILLIC SMALL LETTER A), which is not ASCII",
            None,
        ),
        ("gpu-any-\udc80", "has the character U+DC80 (unnamed), which is not ASCII", None),
    ],
)
def test_near_misses(text: str, complaint: str, correction: str | None) -> None:
    assert is_ours(text)
    assert _is_misspelt(text)
    problem = misspelt(text, _knows, "preferred.jp")
    hint = f"write preferred.jp/{correction}" if correction else _NO_CORRECTION
    assert problem.text() == f"{complaint}; {hint}"
    assert problem.rule == "G4"


@pytest.mark.rule("G4", "G6")
@pytest.mark.parametrize("text", ["gpu-rtx-4090", "gpu-any-24mb", "gpu-any-1tb", "gpu-anything"])
def test_names_that_are_no_near_misses(text: str) -> None:
    """Some are names that nothing has, which G5 answers."""
    assert not _is_misspelt(text)


def test_a_hint_without_a_domain_names_the_spec_alone() -> None:
    assert misspelt("gpu-Any", _knows).hint == "write gpu-any"


@pytest.mark.rule("G4")
def test_parsing_alone_corrects_what_needs_no_table() -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec("gpu-H900-24GB")
    assert str(caught.value) == "has upper-case letters; write gpu-h900-24gb"


@pytest.mark.rule("G6")
@pytest.mark.parametrize("name", ["a100", "rtx-4090", "a-b-c", "4090", "l40s", "0", "x" * MAX_NAME])
def test_names_that_rows_may_have(name: str) -> None:
    assert name_problem(name) == ""


@pytest.mark.rule("G6")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("any", "means every device and cannot name one"),
        ("24gb", "ends in what reads as an amount of memory"),
        ("a100-80gb", "ends in what reads as an amount of memory"),
        ("a100-80g", "ends in what reads as an amount of memory"),
        ("a100-80gi", "ends in what reads as an amount of memory"),
        ("a100-80gib", "ends in what reads as an amount of memory"),
        ("a100-0gb", "ends in what reads as an amount of memory"),
        ("rtx-04090", "ends in what reads as an amount of memory"),
        ("00", "ends in what reads as an amount of memory"),
        *(
            (name, "is not lower-case letters and digits in parts joined by single dashes")
            for name in ("", "A100", "a_100", "-a", "a-", "a--b", "a.b", "a b", "a100\n", "１")
        ),
        ("x" * (MAX_NAME + 1), "has more than 48 characters"),
    ],
)
def test_names_that_rows_may_not_have(name: str, problem: str) -> None:
    assert name_problem(name) == problem


# Properties.

_parts = st.text("abcxyz0123456789", min_size=1, max_size=6)
names = st.lists(_parts, min_size=1, max_size=4).map("-".join)
specs = st.builds(Spec, names, st.none() | st.integers(1, 999_999_999))

# Texts that are nearly specs: pieces of them in any order, odd characters between.
_pieces = st.sampled_from(
    ["any", "a100", "rtx", "4090", "24", "24gb", "024gb", "0gb", "24gib", "23.5gb", "GB", "-", "_",
     ".", " ", "２４", "²", "K", "İ", "\n", "/", "\udc80"]
)  # fmt: skip
near_misses = st.lists(_pieces, max_size=6).map(lambda pieces: "gpu-" + "".join(pieces))
texts = st.text() | st.text("gpu-anyAB0124.gb_", max_size=24) | near_misses


@pytest.mark.rule("G1")
@given(specs)
def test_printing_and_parsing_are_inverse(spec: Spec) -> None:
    """Where the name does not itself end in a bound, as no row's may (G6)."""
    if spec.min_gb is None and re.search(r"-[1-9][0-9]*gb\Z", f"gpu-{spec.name}"):
        assert parse_spec(str(spec)) != spec
    else:
        assert parse_spec(str(spec)) == spec


@pytest.mark.rule("G1")
@given(texts)
def test_parses_what_the_grammar_says_and_prints_it_back(text: str) -> None:
    match = _G1.match(text)
    try:
        spec = parse_spec(text)
    except SpecError as error:
        refused = error.problems
        assert match is None or len(match[2]) > 9
    else:
        refused = ()
        assert match is not None
        assert (spec.name, str(spec)) == (match[1], text)
    assert all(problem.rule == "G4" and problem.hint for problem in refused)


@pytest.mark.rule("G4")
@given(texts)
def test_a_correction_parses_and_is_known(text: str) -> None:
    corrected = correct(text, _knows)
    if corrected is not None:
        spec = parse_spec(corrected)
        assert spec.is_any or spec.name in NAMES
        assert corrected != text
        assert correct(corrected, _knows) is None


@pytest.mark.rule("G4")
@given(texts)
def test_every_near_miss_has_words(text: str) -> None:
    problem = misspelt(text, _knows, "preferred.jp")
    assert problem.message
    assert problem.hint.startswith("write preferred.jp/gpu-")


@pytest.mark.rule("G2")
@given(st.sampled_from(sorted(NAMES)), st.none() | st.integers(1, 200))
def test_a_right_spelling_is_never_corrected(name: str, min_gb: int | None) -> None:
    assert correct(str(Spec(name, min_gb)), _knows) is None


@pytest.mark.rule("G2", "G4")
@pytest.mark.parametrize("suffix", ["", "-24gb", "-24gib", "-24", "-024gb", "-0gb", "-23.5gb"])
@given(case=st.lists(st.booleans(), min_size=3, max_size=3))
def test_a10_never_means_a100(suffix: str, case: list[bool]) -> None:
    letters = (
        letter.upper() if upper else letter for letter, upper in zip("a10", case, strict=True)
    )
    text = f"gpu-{''.join(letters)}{suffix}"
    corrected = correct(text, _knows) or text
    assert parse_spec(corrected).name == "a10"
