"""Doubtful CEL and doubtful claims in a table: whole texts, and no false alarms.

That an expression which is called unguarded does fail, that the guarded form works, and that what
is called no CEL is none, is shown with the same expressions on a real control plane.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import Level
from selection_spec.guards import Seen, doubts, environment
from selection_spec.guards.documented import ATTRIBUTES
from selection_spec.table import smells_in, smells_of
from tests.builders import Json, make_row
from tests.cluster.claims.devices import AMD, DOCUMENTED, FOREIGN, NVIDIA
from tests.cluster.claims.expressions import (
    BROKEN,
    COSTLY,
    DEAR,
    FUNCTIONS,
    GUARDED,
    MISTYPED,
    OF,
    REFUSED,
    UNGUARDED,
    Mistyped,
    Unguarded,
)

NO_CLAIM = "no claim can be made with it"
CAPACITY = f'device.capacity["{NVIDIA}"]'


def said(expression: str, seen: Seen | None = None) -> list[tuple[str, str]]:
    return [(found.message, found.hint) for found in doubts(expression, NVIDIA, seen)]


@pytest.mark.rule("C3")
@pytest.mark.parametrize("one", UNGUARDED.values(), ids=UNGUARDED)
def test_an_unguarded_attribute_is_told_with_the_guarded_form(one: Unguarded) -> None:
    (found,) = doubts(one.expression, NVIDIA)
    assert found.message.endswith(" is unguarded")
    assert found.hint == f"write {one.form}"
    assert found.level is Level.WARNING
    assert said(one.mended) == []


@pytest.mark.rule("C3")
@pytest.mark.parametrize("expression", [one for one, _ in GUARDED.values()], ids=GUARDED)
def test_what_is_guarded_is_left_alone(expression: str) -> None:
    assert said(expression) == []


@pytest.mark.rule("C3")
@pytest.mark.parametrize(("function", "expression"), COSTLY.items(), ids=COSTLY)
def test_what_the_api_server_would_refuse_for_its_cost(function: str, expression: str) -> None:
    assert said(expression) == [
        (f"orValue().{function}() is too costly", f"write has({OF}.productName) && …")
    ]


@pytest.mark.parametrize(("expression", "why"), BROKEN.items())
def test_what_is_no_cel(expression: str, why: str) -> None:
    assert said(expression) == [(f"the expression is no CEL: {why}", NO_CLAIM)]


@pytest.mark.rule("C3")
@pytest.mark.parametrize("expression", REFUSED)
def test_what_makes_no_sense_to_kubernetes_is_an_error(expression: str) -> None:
    found = [one for one in doubts(expression, NVIDIA) if one.level is Level.ERROR]
    message, hint = REFUSED[expression]
    assert [(one.message, one.hint) for one in found] == [(message, hint or NO_CLAIM)]


@pytest.mark.rule("C3")
@pytest.mark.parametrize("one", MISTYPED.values(), ids=MISTYPED)
def test_what_does_not_compare_so_is_told_with_what_does(one: Mistyped) -> None:
    (found,) = doubts(one.expression, NVIDIA)
    assert (found.message, found.hint) == (one.said, f"write {one.form}")
    assert (found.level is Level.ERROR) == one.is_refused
    assert said(one.form) == []


@pytest.mark.rule("C3")
@pytest.mark.parametrize("expression", [*FUNCTIONS.values(), *DEAR.values()])
def test_what_kubernetes_knows_is_known(expression: str) -> None:
    assert said(expression) == []


def test_every_function_that_is_known_is_tried_on_an_api_server() -> None:
    """But ``includes``, which needs a feature gate up to 1.37."""
    tried = " ".join((*FUNCTIONS.values(), *DEAR.values(), *COSTLY.values()))
    names = {name for _, name, _, _ in environment.FUNCTIONS}
    assert {name for name in names if f"{name}(" not in tried} == {"includes"}


def test_the_kinds_of_attributes_are_those_that_drivers_document() -> None:
    """The devices of the tests are written after the same documents."""
    published: dict[tuple[str, str], str] = {}
    for one in (one for one in DOCUMENTED if one.driver != FOREIGN):
        kinds = {bool: "bool", int: "int", str: "string"}
        for name, value in one.attributes.items():
            domain, _, plain = name.rpartition("/")
            published[domain or one.driver, plain] = kinds[type(value)]
        published |= {(one.driver, name): "version" for name in one.versions}
    assert published == ATTRIBUTES


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (
            f"{OF}.gpuModuleID",
            [
                ("it is an int, neither true nor false; gpuModuleID is an int", ""),
                ("gpuModuleID is unguarded", ""),
            ],
        ),
        (
            f"{OF}.?gpuModuleID.orValue(false)",
            [("orValue() does not go with optional int and bool; gpuModuleID is an int", "")],
        ),
        (
            f'{OF}.?gpuModuleID.orValue(0) == "1"',
            [("== does not go with int and string; gpuModuleID is an int", "")],
        ),
        (
            f'{OF}.?driverVersion.orValue(semver("0.0.0")).startsWith("580")',
            [
                (
                    "startsWith() does not go with version and string; driverVersion is a version",
                    "",
                )
            ],
        ),
        (
            f'{OF}.driverVersion >= "old"',
            [
                (">= does not go with version and string; driverVersion is a version", ""),
                ("driverVersion is unguarded", ""),
            ],
        ),
        (f"{OF}.unheardOf", [("unheardOf is unguarded", f"write has({OF}.unheardOf) && …")]),
    ],
)
def test_kinds_that_do_not_go_together(expression: str, wanted: list[tuple[str, str]]) -> None:
    """What fails on a device has no proposal where there is no telling what is meant."""
    assert said(expression) == wanted
    assert {one.level for one in doubts(expression, NVIDIA)} == {Level.WARNING}


SEEN: Seen = {
    ("attributes", NVIDIA, "gpuModuleID"): {"int"},
    ("attributes", NVIDIA, "odd"): {"int", "string"},
    ("attributes", "example.com", "slot"): {"int"},
    ("capacity", NVIDIA, "memory"): {"quantity"},
}
NO_DEVICE = f"no device of {NVIDIA} has"


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("expression", "level", "wanted"),
    [
        (
            f"{OF}.?gpuModulID.orValue(0) == 1",
            Level.ERROR,
            [(f"{NO_DEVICE} gpuModulID", "write gpuModuleID, an int")],
        ),
        (
            f"has({OF}.GPUModuleId)",
            Level.ERROR,
            [(f"{NO_DEVICE} GPUModuleId", "write gpuModuleID, an int")],
        ),
        (f"has({OF}.oddd)", Level.ERROR, [(f"{NO_DEVICE} oddd", "write odd")]),
        (
            f'{CAPACITY}.?memry.orValue(quantity("0")).isInteger()',
            Level.ERROR,
            [(f"{NO_DEVICE} memry", "write memory, a quantity")],
        ),
        (f"has({OF}.unheardOf)", Level.ERROR, [(f"{NO_DEVICE} unheardOf", "")]),
        (f"has({OF}.profile)", Level.WARNING, [(f"{NO_DEVICE} profile", "")]),
        (
            f'{OF}.?gpuModuleID.orValue(0) == "1"',
            Level.ERROR,
            [("== does not go with int and string; gpuModuleID is an int", "")],
        ),
        (f'{OF}.?odd.orValue("") == "1"', Level.ERROR, []),
    ],
)
def test_what_devices_of_a_cluster_have(
    expression: str, level: Level, wanted: list[tuple[str, str]]
) -> None:
    assert said(expression, SEEN) == wanted
    assert {one.level for one in doubts(expression, NVIDIA, SEEN)} <= {level}


def test_where_no_devices_are_known_none_is_missed() -> None:
    assert said(f"has({OF}.unheardOf)") == said(f"has({OF}.unheardOf)", {}) == []


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (
            f"{OF}.a == {OF}.b || {CAPACITY}.memory == {CAPACITY}.memory",
            [
                ("a is unguarded", f"write has({OF}.a) && …"),
                ("b is unguarded", f"write has({OF}.b) && …"),
                ("memory is unguarded", f'write {CAPACITY}.?memory.orValue(quantity("0"))'),
            ],
        ),
        (
            f'has({OF}.a) || {OF}.a == "x"',
            [("a is unguarded", f'write {OF}.?a.orValue("")')],
        ),
        (
            f'!has({OF}.a) && {OF}.a == "x"',
            [("a is unguarded", f'write {OF}.?a.orValue("")')],
        ),
        (
            f"has({OF}.a) ? {OF}.b : {OF}.a",
            [
                ("b is unguarded", f"write has({OF}.b) && …"),
                ("a is unguarded", f"write has({OF}.a) && …"),
            ],
        ),
        (
            f'(has({OF}.a) || has({OF}.b)) && {OF}.a == "x"',
            [("a is unguarded", f'write {OF}.?a.orValue("")')],
        ),
        (
            f'"x" in {OF}.list',
            [("list is unguarded", f"write has({OF}.list) && …")],
        ),
        (
            f'device.driver == "{AMD}" && device.attributes["{AMD}"].?family.orValue("") == "AI"',
            [
                (f'device.driver is never "{AMD}" there', f'write "{NVIDIA}"'),
                (
                    f"{NVIDIA} is asked for attributes of {AMD}",
                    f'write "{NVIDIA}" unless it has them',
                ),
            ],
        ),
        (
            f'"{AMD}" == device.driver',
            [(f'device.driver is never "{AMD}" there', f'write "{NVIDIA}"')],
        ),
        (
            f'device.capacity["{AMD}"].?memory.orValue(quantity("0")).isInteger()',
            [
                (
                    f"{NVIDIA} is asked for capacity of {AMD}",
                    f'write "{NVIDIA}" unless it has them',
                )
            ],
        ),
        (
            f'true && true && device.driver == "{AMD}"',
            [(f'device.driver is never "{AMD}" there', f'write "{NVIDIA}"')],
        ),
        (f'device.driver == "{AMD}" || true', []),
        ("device.driver == string(1)", []),
        ('{"a": "x"}[?"a"].orValue("").contains("x")', []),
        (f'device.driver != "{AMD}"', []),
        (f'{OF}.?vendor.orValue("") == "{AMD}"', []),
    ],
)
def test_what_else_is_doubtful(expression: str, wanted: list[tuple[str, str]]) -> None:
    assert said(expression) == wanted


@pytest.mark.parametrize("expression", ["(" * 5000 + "true" + ")" * 5000, "!" * 9000 + "true"])
def test_what_is_nested_beyond_reading_is_said_so(expression: str) -> None:
    wanted = ("the expression is nested too deeply to be judged", "split it")
    assert said(expression) == [wanted]


PIECES = [
    *(OF, CAPACITY, "device", "driver", "has", "cel", "bind", "value", "orValue", "true", "in"),
    *("&&", "||", "!", "?", ":", ".", ".?", ",", "(", ")", "[", "]", "{", "}", "==", "-", "+"),
    *('"x"', "'", '"', '"""', "r", "1", "0x", "1e", "//", "\n", "\\", "`", "é", " "),
]


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
    | st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)
)
def test_no_text_at_all_is_too_much_for_it(expression: str) -> None:
    for found in doubts(expression, NVIDIA):
        assert found.message


def document(*rows: Json, **spec: object) -> Json:
    return {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "test"},
        "spec": {"output": "ResourceClaim", "devices": list(rows), **spec},
    }


def smells(*rows: Json, **spec: object) -> list[str]:
    return [f"{one.path}: {one.text()}" for one in smells_of(document(*rows, **spec))]


def claiming(row_id: str, *expressions: str, **more: object) -> Json:
    claim: Json = {"deviceClassName": NVIDIA, "driver": NVIDIA, **more}
    if expressions:
        claim["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    return make_row(row_id, claim=claim)


@pytest.mark.rule("C3")
def test_each_selector_is_told_by_row_and_place() -> None:
    row = claiming("a30-24gb", "true", f'{OF}.productName == "A30"', '"')
    wanted = [
        (
            "spec.devices[0].claim.selectors[1].cel.expression: a30-24gb: productName is "
            'unguarded; write device.attributes["gpu.nvidia.com"].?productName.orValue("")'
        ),
        (
            "spec.devices[0].claim.selectors[2].cel.expression: a30-24gb: the expression is no "
            'CEL: " at character 1 is never closed; no claim can be made with it'
        ),
    ]
    assert smells(row) == wanted
    assert smells(row, output="ExtendedResource") == wanted


@pytest.mark.rule("C2")
def test_a_row_known_by_its_memory_alone_takes_larger_cards_too() -> None:
    v100, l4, a30, a100 = (
        *(claiming("v100-16gb"), claiming("l4-24gb", products=["NVIDIA L4"])),
        *(claiming("a30-24gb", "true"), claiming("a100-80gb")),
    )
    assert smells(a100, v100) == [
        "spec.devices[1].claim: v100-16gb also takes every device of a100-80gb; give products"
    ]
    assert smells(v100, a100, a30, l4) == [
        (
            "spec.devices[0].claim: v100-16gb also takes every device of a30-24gb and 2 more; "
            "give products"
        )
    ]
    assert smells(l4, claiming("a10-24gb")) == [
        "spec.devices[1].claim: a10-24gb also takes every device of l4-24gb; give products"
    ]


@pytest.mark.rule("C2")
def test_where_nobody_takes_anothers_devices() -> None:
    v100, a100 = claiming("v100-16gb"), claiming("a100-80gb")
    assert smells(claiming("v100-16gb", products=["V100"]), a100) == []
    assert smells(claiming("v100-16gb", "true"), a100) == []
    assert smells(v100, claiming("a100-80gb", driver=AMD)) == []
    assert smells(v100, claiming("a100-80gb", deviceClassName="large")) == []
    assert smells({**v100, "output": "ExtendedResource", "any": False}, a100) == []


def kinds(count: int, **more: object) -> list[Json]:
    """As many rows as that of one size, each of a class of its own unless said otherwise."""
    return [
        claiming(f"card{number}x-16gb", **{"deviceClassName": f"class-{number}", **more})
        for number in range(count)
    ]


@pytest.mark.rule("C2")
def test_a_name_that_stands_for_more_kinds_than_a_claim_can_name() -> None:
    assert smells(*kinds(9)) == [
        (
            "spec.devices[0].any: gpu-any means 9 kinds of devices, a claim names at most 8, and "
            "more are denied; set any: false in some"
        )
    ]
    aliased = [{**row, "any": False, "aliases": ["sixteen"]} for row in kinds(10)]
    assert smells(*aliased) == [
        (
            "spec.devices[0].aliases[0]: gpu-sixteen means 10 kinds of devices, a claim names at "
            "most 8, and more are denied; use another name for some"
        )
    ]
    costly = [
        {**row, "cost": cost}
        for cost, row in enumerate(kinds(9, deviceClassName=NVIDIA, products=["one"]))
    ]
    assert smells(*costly) == [
        (
            "spec.devices[0].any: gpu-any means 9 kinds of devices, a claim names at most 8, and "
            "more are denied; give rows of one DeviceClass the same cost"
        )
    ]


@pytest.mark.rule("C2")
def test_where_a_claim_can_name_all_there_is() -> None:
    assert smells(*kinds(8)) == []
    assert smells(*kinds(20, deviceClassName=NVIDIA, products=["one"])) == []
    assert smells(*kinds(9), defaultPolicy="SmallestFit") == []
    *eight, ninth = kinds(9)
    assert smells(*eight, {**ninth, "any": False}) == []
    resource = make_row("t4-16gb", output="ExtendedResource", cost=0)
    claims = [{**row, "cost": 1} for row in kinds(9)]
    assert [one for one in smells(resource, *claims) if "kinds" in one] == []


@pytest.mark.rule("C7")
def test_what_is_so_by_design_is_a_note() -> None:
    rules = [{"minValue": 10, "policy": "SmallestFit"}]
    (found,) = smells_in(json.dumps(document(claiming("a30-24gb"), priorities=rules)))
    assert (found.level, found.rule) == (Level.NOTE, "C7")


@pytest.mark.rule("C7")
def test_that_claims_are_not_preempted_for_is_told_once() -> None:
    rules = [
        {"minValue": 1000, "policy": "EveryFit"},
        {"minValue": 10, "policy": "SmallestFit"},
        {"minValue": 0, "policy": "SmallestFit"},
    ]
    row = claiming("a30-24gb")
    assert smells(row, priorities=rules) == [
        (
            "spec.priorities[1].policy: Kubernetes does not preempt Pods for devices of claims; "
            "count on priority to steer there, not to make room"
        )
    ]
    assert smells(row, priorities=rules[:1]) == []
    assert smells(row, priorities=rules, output="ExtendedResource") == []
    assert (
        len(smells({**row, "output": "ResourceClaim"}, priorities=rules, output="ExtendedResource"))
        == 1
    )


def test_in_a_text_each_has_its_place_and_is_a_warning() -> None:
    row = claiming("a30-24gb", f'{OF}.productName == "A30"')
    (found,) = smells_in(json.dumps(document(row), indent=1))
    assert (found.line, found.column) == (26, 23)
    assert (found.level, found.rule) == (Level.WARNING, "C3")


def test_each_fits_a_warning_of_the_api_server() -> None:
    """With names of usual length; a longer one is cut, its path is told elsewhere."""
    rows = [
        claiming("rtx-pro-6000-96gb", f'{OF}.productName == "x"', '"'),
        claiming("rtx-6000-48gb", f"{OF}.gpuModuleID == 1", 'device.driver == "x.example.com"'),
        claiming("rtx-5000-24gb", "true"),
        claiming("rtx-5000-16gb", f'device.attributes["{AMD}"].?type.orValue("") == "x"'),
        claiming("rtx-5000-12gb", COSTLY["lowerAscii"]),
        claiming("rtx-5000-8gb"),
        *kinds(9),
    ]
    found = smells(*rows, priorities=[{"minValue": 1, "policy": "SmallestFit"}])
    assert len(found) == 9
    assert [text for text in found if len(text.partition(": ")[2]) > 120] == []
