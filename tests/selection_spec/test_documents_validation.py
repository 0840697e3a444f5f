"""What a model refuses becomes problems that name the field, the value and the nearest key."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

from selection_spec.documents import load_strict, problems_from_validation


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class Selector(Part):
    match_labels: dict[str, str] = {}


class Claim(Part):
    driver: str


class Row(Part):
    name: str
    vram: str
    per_node: Annotated[int, Field(ge=1)] = 1
    any: bool = True
    effect: Literal["NoSchedule", "NoExecute"] = "NoSchedule"
    arch: Annotated[str, Field(pattern="^[a-z0-9]+$")] = "amd64"
    nodes: Selector | None = None
    resource: Claim | str = "gpu"
    zones: Annotated[list[str], Field(min_length=1)] = ["a"]

    @field_validator("vram")
    @classmethod
    def _known_unit(cls, value: str) -> str:
        if not value.endswith("gb"):
            raise ValueError(f'vram "{value}" has no unit')
        return value


class Sheet(Part):
    kind: Literal["Sheet"] = "Sheet"
    weights: dict[str, float] = {}
    devices: list[Row]

    @model_validator(mode="after")
    def _one_row(self) -> Sheet:
        if not self.devices:
            raise AssertionError("devices is empty")  # pydantic takes both
        return self


def problems(text: str) -> list[str]:
    document = load_strict(text)
    with pytest.raises(ValidationError) as caught:
        Sheet.model_validate(document.value)
    found = problems_from_validation(caught.value, document, Sheet)
    return [problem.located("t").removeprefix("t:") for problem in found]


ROW = "devices:\n  - name: a\n    vram: 1gb\n"

CASES = {
    "unknown key, nearly right": (
        "devices:\n  - name: a\n    vram: 1gb\n    vramm: 2gb\n",
        ["4:5: devices[0].vramm: unknown key vramm; did you mean vram?"],
    ),
    "unknown key, wrong case": (
        f"{ROW}    PERNODE: 2\n",
        ["4:5: devices[0].PERNODE: unknown key PERNODE; did you mean perNode?"],
    ),
    "unknown key, snake case": (
        f"{ROW}    per_node: 2\n",
        ["4:5: devices[0].per_node: unknown key per_node; did you mean perNode?"],
    ),
    "unknown key, like nothing": (
        f"{ROW}    colour: red\n",
        [
            (
                "4:5: devices[0].colour: unknown key colour;"
                " known here: name, vram, perNode, any, effect, arch, nodes, resource, zones"
            )
        ],
    ),
    "unknown key at the root": (
        f"{ROW}device: []\n",
        ["4:1: device: unknown key device; did you mean devices?"],
    ),
    "unknown key below an optional part": (
        f"{ROW}    nodes:\n      matchLabel: {{}}\n",
        ["5:7: devices[0].nodes.matchLabel: unknown key matchLabel; did you mean matchLabels?"],
    ),
    "missing": (
        "devices:\n  - perNode: 2\n",
        [
            "2:5: devices[0].name: name is missing",
            "2:5: devices[0].vram: vram is missing",
        ],
    ),
    "missing at the root": ("kind: Sheet\n", ["1:1: devices: devices is missing"]),
    "number for text": (
        "devices:\n  - name: 4090\n    vram: 16\n",
        [
            '2:11: devices[0].name: name is 4090 where text is wanted; write "4090" in quotes',
            '3:11: devices[0].vram: vram is 16 where text is wanted; write "16" in quotes',
        ],
    ),
    "boolean for text": (
        "devices:\n  - name: true\n    vram: 1gb\n",
        ['2:11: devices[0].name: name is true where text is wanted; write "true" in quotes'],
    ),
    "text for number": (
        f'{ROW}    perNode: "8"\n',
        [
            (
                '4:14: devices[0].perNode: perNode is the text "8" where a whole number is wanted;'
                " write 8 without quotes"
            )
        ],
    ),
    "words for number": (
        f"{ROW}    perNode: eight\n",
        ['4:14: devices[0].perNode: perNode is the text "eight" where a whole number is wanted'],
    ),
    "text for boolean": (
        f'{ROW}    any: "false"\n',
        [
            (
                '4:10: devices[0].any: any is the text "false" where true or false is wanted;'
                " write false without quotes"
            )
        ],
    ),
    "quoted text for boolean": (
        f"{ROW}    any: '\"no\"'\n",
        ['4:10: devices[0].any: any is the text ""no"" where true or false is wanted'],
    ),
    "null for text": (
        "devices:\n  - name:\n    vram: 1gb\n",
        ["2:10: devices[0].name: name is empty where text is wanted"],
    ),
    "list for mapping": (
        f"{ROW}    nodes: [a]\n",
        ["4:12: devices[0].nodes: nodes is a list where a mapping is wanted"],
    ),
    "mapping for list": (
        "devices: {name: a}\n",
        ["1:10: devices: devices is a mapping where a list is wanted"],
    ),
    "text for a row": (
        "devices:\n  - a\n",
        ['2:5: devices[0]: devices is the text "a" where a mapping is wanted'],
    ),
    "the whole document": (
        "- devices\n",
        ["1:1: the document is a list where a mapping is wanted"],
    ),
    "empty list": (
        f"{ROW}    zones: []\n",
        ["4:12: devices[0].zones: zones is empty; write one or more"],
    ),
    "bound": (
        f"{ROW}    perNode: 0\n",
        ["4:14: devices[0].perNode: perNode is 0 and should be greater than or equal to 1"],
    ),
    "choice": (
        f"{ROW}    effect: noSchedule\n",
        [
            (
                '4:13: devices[0].effect: effect is the text "noSchedule"'
                " and should be 'NoSchedule' or 'NoExecute'"
            )
        ],
    ),
    "pattern": (
        f"{ROW}    arch: AMD64\n",
        [
            (
                '4:11: devices[0].arch: arch is the text "AMD64":'
                " String should match pattern '^[a-z0-9]+$'"
            )
        ],
    ),
    "a validator's own words": (
        "devices:\n  - name: a\n    vram: '16'\n",
        ['3:11: devices[0].vram: vram "16" has no unit'],
    ),
    "an assertion's own words": (
        "devices: []\n",
        ["1:1: devices is empty"],
    ),
    "a value of a mapping with free keys": (
        f"weights: {{a.b/c: heavy}}\n{ROW}",
        ['1:18: weights["a.b/c"]: a.b/c is the text "heavy" where a number is wanted'],
    ),
    "branches of a union are no fields": (
        f"{ROW}    resource: 5\n",
        [
            "4:15: devices[0].resource: resource is 5 where a mapping is wanted",
            '4:15: devices[0].resource: resource is 5 where text is wanted; write "5" in quotes',
        ],
    ),
    "a missing key in a branch of a union": (
        f"{ROW}    resource: {{driverr: x}}\n",
        [
            "4:15: devices[0].resource.driver: driver is missing",
            "4:15: devices[0].resource: resource is a mapping where text is wanted",
            "4:16: devices[0].resource.driverr: unknown key driverr; did you mean driver?",
        ],
    ),
}


@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=CASES)
def test_an_error_of_the_model_has_place_path_words_and_hint(text: str, wanted: list[str]) -> None:
    assert problems(text) == wanted


def test_problems_come_in_the_order_of_the_text() -> None:
    assert problems("devices:\n  - vram: 5\n    perNod: 1\nkind: Table\n") == [
        "2:5: devices[0].name: name is missing",
        '2:11: devices[0].vram: vram is 5 where text is wanted; write "5" in quotes',
        "3:5: devices[0].perNod: unknown key perNod; did you mean perNode?",
        "4:7: kind: kind is the text \"Table\" and should be 'Sheet'",
    ]
