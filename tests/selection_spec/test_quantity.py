"""Quantities: what Kubernetes reads, exactly; and how many devices they are (A1, A2)."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import QuantityError
from selection_spec.quantity import Quantity, parse_quantity

_FIXTURE = Path(__file__).parents[1] / "fixtures" / "quantity_wire_table.txt"
_LINE = re.compile(
    r"(?P<input>\S+|\".*?\")\s+(?:ERROR .*|wire=\"(?P<wire>[^\"]*)\""
    r"\s+integerCheck=(?P<whole>\w+)\s+negative=(?P<negative>\w+)\s+value=(?P<value>-?\d+))"
)

# Where the API server hands on another amount than was written: defaulting rounds up to the milli,
# and binary suffixes are cut at int64.
_CHANGED_ON_THE_WIRE = {'"1n"', '"16Ei"'}
# Where Kubernetes' own integer arithmetic overflows; ours stays exact.
_OVERFLOWS = {
    "100000000000000000000",
    '"100000000000000000000"',
    "10000000000000000",
    "9223372036854775808",
    '"16Ei"',
    '"1e20"',
    '"1e400"',
}


class Line(NamedTuple):
    """A measured line: the JSON text of an amount, and what a webhook receives of it."""

    text: str
    wire: str | None
    whole: bool
    negative: bool
    value: int


def _lines() -> list[Line]:
    lines = []
    for text in _FIXTURE.read_text(encoding="utf-8").splitlines():
        if text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        assert match is not None, text
        lines.append(
            Line(
                match["input"],
                match["wire"],
                match["whole"] == "true",
                match["negative"] == "true",
                int(match["value"] or 0),
            )
        )
    return lines


LINES = _lines()
ACCEPTED = [line for line in LINES if line.wire is not None]
REFUSED = [line for line in LINES if line.wire is None]


def _fraction(quantity: Quantity) -> Fraction:
    return quantity.mantissa * Fraction(10) ** quantity.exponent


def _problem(value: object) -> str:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(value)
    return str(caught.value)


def _count_problem(value: object) -> str:
    quantity = parse_quantity(value)
    with pytest.raises(QuantityError) as caught:
        quantity.count()
    return str(caught.value)


def test_the_whole_table_is_used() -> None:
    texts = {line.text for line in LINES}
    assert len(LINES) == len(texts) == 44
    assert texts >= _CHANGED_ON_THE_WIRE | _OVERFLOWS


@pytest.mark.rule("A1")
@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line.text)
def test_refuses_what_kubernetes_refuses(line: Line) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(json.loads(line.text))


@pytest.mark.rule("A1")
@pytest.mark.parametrize("line", ACCEPTED, ids=lambda line: line.text)
def test_reads_what_kubernetes_reads(line: Line) -> None:
    written = parse_quantity(json.loads(line.text))
    on_the_wire = parse_quantity(line.wire)
    assert (written == on_the_wire) == (line.text not in _CHANGED_ON_THE_WIRE)
    if line.text not in _OVERFLOWS:
        assert written.is_whole == line.whole
        assert (written.mantissa < 0) == line.negative
        # Kubernetes' Value() rounds up.
        assert -(-_fraction(written) // 1) == line.value


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("100000000000000000000", 10**20),
        ("10000000000000000", 10**16),
        ("9223372036854775808", 2**63),
        ("16Ei", 2**64),
        ("1e20", 10**20),
        ("1e400", 10**400),
        ("1e4294967296", None),
        ("1e2147483648", None),
    ],
)
def test_stays_exact_where_kubernetes_overflows(text: str, exact: int | None) -> None:
    """Kubernetes reads ``1e4294967296`` as 1: its exponents have 32 bits."""
    quantity = parse_quantity(text)
    if exact is None:
        assert quantity.exponent > 400
    else:
        assert _fraction(quantity) == exact


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("1m", Fraction(1, 1000)),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1E-3", Fraction(1, 1000)),
        ("1e00003", 1000),
        ("-1.5", Fraction(-3, 2)),
        ("0.5Ki", 512),
        ("1.1Ki", Fraction(11264, 10)),
        ("2000m", 2),
        # More generous than the documentation, as Kubernetes itself is.
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("1.k", 1000),
        (".", 0),
        ("+", 0),
        ("-", 0),
        ("k", 0),
        ("Ti", 0),
        ("e-9", 0),
        # Below nano, away from zero.
        ("0.0000000001", Fraction(1, 10**9)),
        ("-0.0000000001", Fraction(-1, 10**9)),
        ("1.0000000001", Fraction(10**9 + 1, 10**9)),
        ("9e-10", Fraction(1, 10**9)),
        ("10e-10", Fraction(1, 10**9)),
        ("11e-10", Fraction(2, 10**9)),
        ("-19e-10", Fraction(-2, 10**9)),
        ("20e-10", Fraction(2, 10**9)),
        ("1e-1000000000", Fraction(1, 10**9)),
        ("0." + "0" * 399 + "1", Fraction(1, 10**9)),
        # White space around it that JSON needs no escape for.
        (" 1 ", 1),
        ("\u00a01\u3000", 1),
    ],
)
def test_amounts(text: str, exact: Fraction | int) -> None:
    assert _fraction(parse_quantity(text)) == exact


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    "text",
    [
        "1 000", "1,5", "1.2.3", "1kk", "1ki", "1K", "1mi", "1Ki1", "1m1", "1e", "1e1.5", "1ee1",
        "--1", "+-1", "1-", "one", "0x1", "1_000", "１", "²", "Infinity", "NaN", "null",
        # No digit, and a suffix that takes Kubernetes' long way.
        "Pi", "Ei", ".Ei", "e-10", "e-30",
        # Exponents beyond 64 bits.
        "1e9223372036854775808", "1e-99999999999999999999",
        # White space that JSON escapes.
        "\n1", "1\t", "1\x1c",
    ],
)  # fmt: skip
def test_texts_that_are_no_quantities(text: str) -> None:
    assert _problem(text) == "is not a Kubernetes quantity; write a whole number such as 1"


@pytest.mark.rule("A1", "A2")
@pytest.mark.parametrize(
    "value", [True, False, [], [1], {}, {"a": 1}, b"1", float("nan"), float("inf"), float("-inf")]
)
def test_values_that_are_no_quantities(value: object) -> None:
    assert _problem(value) == "is not a Kubernetes quantity; write a whole number such as 1"


@pytest.mark.rule("A2")
@pytest.mark.parametrize(
    "text", ["$N", "${N}", "{{ .Values.gpus }}", "{{gpus}}", "%(gpus)d", "<gpus>", "1$"]
)
def test_unexpanded_variables(text: str) -> None:
    assert _problem(text) == (
        "looks like a variable that nothing has filled in; render the template before it is applied"
    )


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0, 0),
        (1, 1),
        (-3, -3),
        (1000, 1000),
        (10**20, 10**20),
        (1.0, 1),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(1, 10)),
        (1e16, 10**16),
        (1e22, 10**22),
        (1e-10, Fraction(1, 10**9)),
        (5e-324, Fraction(1, 10**9)),
        (-0.0, 0),
        (None, 0),
    ],
)
def test_numbers_and_null(value: object, exact: Fraction | int) -> None:
    """A float is the shortest decimal that reads back as it, as in the JSON that it came from."""
    assert _fraction(parse_quantity(value)) == exact


@pytest.mark.rule("A1", "A2")
@pytest.mark.parametrize(
    "value",
    ["1" * 401, "0." + "1" * 401, "1" * 10**6, 10**400, -(10**5000)],
    ids=["401 digits", "401 decimals", "a million digits", "an integer", "a negative integer"],
)
def test_absurdly_long_amounts(value: object) -> None:
    assert _problem(value) == "has more than 400 digits; write 1 or more"


@pytest.mark.rule("A1")
def test_digits_that_say_nothing_are_not_counted() -> None:
    assert parse_quantity("0" * 10**6 + "2." + "0" * 10**6) == Quantity(2)


@pytest.mark.rule("A2")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("-1", "is negative; ask for 1 or more"),
        ("-0.5", "is negative; ask for 1 or more"),
        ("0.5", "is not a whole number; devices come whole: 1 or more"),
        ("1500m", "is not a whole number; devices come whole: 1 or more"),
        ("1n", "is not a whole number; devices come whole: 1 or more"),
        ("1e-400", "is not a whole number; devices come whole: 1 or more"),
        ("0", "is zero; ask for 1 or more"),
        ("-0m", "is zero; ask for 1 or more"),
        ("8Ei", "is more than Kubernetes can count; ask for fewer"),
        ("9223372036854775808", "is more than Kubernetes can count; ask for fewer"),
        ("1e19", "is more than Kubernetes can count; ask for fewer"),
        ("1e1000000000", "is more than Kubernetes can count; ask for fewer"),
        ("1e9223372036854775807", "is more than Kubernetes can count; ask for fewer"),
    ],
)
def test_amounts_that_are_no_count(value: str, text: str) -> None:
    assert _count_problem(value) == text


@pytest.mark.rule("A2")
@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("1", 1),
        ("8000m", 8),
        ("1e0", 1),
        ("1k", 1000),
        ("1Ki", 1024),
        ("9223372036854775807", 2**63 - 1),
        ("9e18", 9 * 10**18),
        (4, 4),
        (4.0, 4),
    ],
)
def test_counts(value: object, count: int) -> None:
    assert parse_quantity(value).count() == count


def test_zero() -> None:
    assert all(parse_quantity(zero).is_zero for zero in (None, 0, 0.0, "0", "-0", "0m", "0Ki", "."))
    assert not parse_quantity("1n").is_zero


# Properties.

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_exponents = st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 60))


@st.composite
def written_quantities(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity as somebody may write it, and the number that it is, below nano included."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    whole = draw(st.text("0123456789", min_size=1, max_size=25))
    decimals = draw(st.none() | st.text("0123456789", max_size=25))
    number = Fraction(f"{whole}.{decimals or '0'}")
    kind = draw(st.sampled_from(["decimal", "binary", "exponent"]))
    if kind == "decimal":
        suffix = draw(st.sampled_from(sorted(_DECIMAL)))
        number *= Fraction(10) ** _DECIMAL[suffix]
    elif kind == "binary":
        suffix = draw(st.sampled_from(sorted(_BINARY)))
        number *= 2 ** _BINARY[suffix]
    else:
        letter, exponent_sign, power = draw(_exponents)
        suffix = f"{letter}{exponent_sign}{power}"
        number *= Fraction(10) ** (-power if exponent_sign == "-" else power)
    dot = "" if decimals is None else f".{decimals}"
    return f"{sign}{whole}{dot}{suffix}", -number if sign == "-" else number


def _up_to_nano(number: Fraction) -> Fraction:
    """Round away from zero to whole nanos."""
    nanos = -(-abs(number) * 10**9 // 1)
    return Fraction(nanos if number >= 0 else -nanos, 10**9)


@pytest.mark.rule("A1")
@given(written_quantities())
def test_is_the_number_that_fractions_say(written: tuple[str, Fraction]) -> None:
    text, number = written
    assert _fraction(parse_quantity(text)) == _up_to_nano(number)


@pytest.mark.rule("A1")
@given(st.integers(-(10**40), 10**40), st.integers(-9, 40))
def test_reads_back_what_it_is(mantissa: int, exponent: int) -> None:
    quantity = parse_quantity(f"{mantissa}e{exponent}")
    assert parse_quantity(f"{quantity.mantissa}e{quantity.exponent}") == quantity
    assert quantity.mantissa == 0 or quantity.mantissa % 10 != 0
    assert quantity.exponent >= -9


@pytest.mark.rule("A1")
@given(
    st.text()
    | st.text("0123456789.+-eEinumkKMGTP \n", max_size=30)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.none()
    | st.lists(st.integers())
    | st.dictionaries(st.text(), st.integers())
)
def test_raises_nothing_but_its_own_error(value: object) -> None:
    try:
        quantity = parse_quantity(value)
        count = quantity.count()
    except QuantityError as error:
        problems = error.problems
    else:
        problems = ()
        assert 1 <= count < 2**63
        assert _fraction(quantity) == count
    assert all(problem.hint and problem.rule in ("A1", "A2") for problem in problems)


@pytest.mark.rule("A2")
@given(st.integers(1, 2**63 - 1))
def test_every_count_is_read_in_every_spelling(count: int) -> None:
    spellings: list[object] = [count, str(count), f"+{count}", f"{count}.0", f"{count}000m"]
    assert {parse_quantity(spelling).count() for spelling in spellings} == {count}
