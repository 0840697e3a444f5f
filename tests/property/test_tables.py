"""Laws of loading a table, whatever it holds (design §3)."""

from __future__ import annotations

import json
from copy import deepcopy

from hypothesis import example, given

from selection_spec.errors import GpuspecError, Problem
from selection_spec.table import load_table
from tests.builders import Json, make_row
from tests.property.strategies import broken_tables, table_documents

_WRONG_TWICE = {
    "apiVersion": "gpuspec.preferred.jp/v1alpha1",
    "kind": "SelectionTable",
    "spec": {
        "devices": [
            make_row(
                "a-16gb",
                nodes={"matchLabels": 5, "matchExpressions": [{"key": "z", "operator": "Is"}]},
            )
        ]
    },
}


def problems_of(document: Json) -> tuple[Problem, ...]:
    """What is wrong with a table; only our own errors may come, none without a problem."""
    try:
        load_table(json.dumps(document, indent=1))
    except GpuspecError as error:
        found = error.problems
    else:
        return ()
    assert found
    return found


@given(broken_tables())
@example(_WRONG_TWICE)
def test_whatever_it_holds_every_problem_has_a_place_and_words(document: Json) -> None:
    """A stand-in for one wrong part once took the place of the holder of another: a KeyError."""
    for problem in problems_of(document):
        assert problem.line
        assert problem.column
        assert problem.message


@given(broken_tables(), table_documents())
def test_what_is_wrong_with_one_row_hides_nothing_about_the_next(
    document: Json, other: Json
) -> None:
    """A row that is wrong by itself is wrong beside any other."""
    bad = {**deepcopy(other["spec"]["devices"][0]), "name": "Bad", "vram": "1"}
    spec = document.get("spec")
    rows = spec.get("devices") if isinstance(spec, dict) else None
    if not isinstance(rows, list):
        return
    rows.append(bad)
    place = f"spec.devices[{len(rows) - 1}]"
    paths = {problem.path for problem in problems_of(document)}
    assert {f"{place}.name", f"{place}.vram"} <= paths
