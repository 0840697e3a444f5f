"""Manifests as nobody would write them: good ones, their texts or values changed by a seed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final

import yaml

from selection_spec.documents import survey_manifests

_MOST_CHANGES = 4
_DEPTHS = (3, 20, 40, 70, 130, 500, 3_000)

_ODD_VALUES = (
    *(
        "null",
        "~",
        "true",
        "no",
        "''",
        '"',
        "[]",
        "{}",
        "[[]]",
        "{a: b}",
        "0",
        "-1",
        "1e9",
        "1e99999",
    ),
    *(
        "9" * 400,
        "0x1F",
        "0o7",
        "1_000",
        ".inf",
        ".nan",
        "2001-01-01",
        "1:30",
        "*a",
        "&a b",
        "!!int a",
    ),
    *("|", ">-", "|\n  x", "? a", "- a", "$GPUS", "{{ .Values.x }}", "{{x}}", "%", "@", "`", "# a"),
    *(
        "日本",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x00",
        "\x07",
        "\ud7ff",
        "\U0001f600",
        "\t",
        "\r",
        "a: b: c",
    ),
    *("preferred.jp/gpu-A100: 1", "{preferred.jp/gpu-any: 1}", "# gpuspec: ignore GS101 -- x"),
    *("# gpuspec: ignore", "1" * 5_000, "a" * 20_000, "500m", "1Ei", "-0", "<<: *a", "<<: {a: b}"),
)
_SHARE_OF_VALUES = 0.5
_SHARE_OF_JSON = 0.3

_ODD_JSON: Final[tuple[Any, ...]] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        3,
        10**30,
        1.5,
        1e300,
        "",
        "1",
        "500m",
        "a",
        "\n",
        "\x00",
        "日本",
    ),
    *("$GPUS", "{{x}}", "{{ .Values.x }}", "preferred.jp/gpu-any\n", "1e99999", "9" * 400, [], {}),
    *([None], [[]], [{}], [{"name": "a"}], {"a": None}, {"limits": {"preferred.jp/gpu-any": 1}}),
    *({"": {"": ""}}, {"name": "preferred.jp/gpu-A100", "quantity": 1}, "Pod", "List", "DaemonSet"),
)
_ODD_KEYS = (
    *("", "a.b", 'q"', "[0]", "\\", "日本", "containers", "initContainers", "resources", "limits"),
    *("requests", "spec", "template", "items", "kind", "preferred.jp/gpu-any", "nvidia.com/gpu"),
    *("preferred.jp/gpu-A100", "preferred.jp/GPU-", "preferred.jp/gpu-any-24", "overhead"),
    *(
        "nodeSelector",
        "affinity",
        "tolerations",
        "priority",
        "gpuspec.preferred.jp/ignore",
        "~",
        "1",
    ),
)
_KEYS = re.compile(rb"(?<![\w./\"'-])[\w./\"'-]{1,80}(?=\s{0,3}:)")
_VALUES = re.compile(rb"(?<=: )[^\n,}\]]+")


def mutated(seed: int, texts: list[bytes]) -> bytes:
    """Return the document of a seed: half of them have changed values, the others changed texts."""
    random = Random(seed)  # noqa: S311
    raw = random.choice(texts)
    if random.random() < _SHARE_OF_VALUES:
        raw = _other_values(random, raw)
        changes = random.choice((0, 0, 0, 1))
    else:
        changes = random.randint(1, _MOST_CHANGES)
    for _ in range(changes):
        raw = random.choice(_MUTATIONS)(random, raw, texts)
    return raw


def _other_values(random: Random, raw: bytes) -> bytes:
    """Read a text, change what it says, and write it in some way that can be read."""
    documents = [deepcopy(one.value) for one in survey_manifests(raw).documents]
    for document in documents:
        for _ in range(random.randint(1, _MOST_CHANGES)):
            _change(random, document)
    if random.random() < _SHARE_OF_JSON:
        indent = random.choice((None, 2, "\t"))
        return "\n".join(json.dumps(one, indent=indent) for one in documents).encode()
    style = random.choice((None, True, False))
    text: str = yaml.safe_dump_all(
        documents, default_flow_style=style, allow_unicode=True, width=random.choice((20, 80, 9999))
    )
    return text.encode("utf-8", "replace")


def _change(random: Random, document: object) -> None:
    """Replace, drop, repeat, rename or wrap something anywhere in a document."""
    places = list(_places(document))
    if not places:
        return
    holder, step = random.choice(places)
    _, other = random.choice(places)
    match random.randrange(6):
        case 0:
            del holder[step]
        case 1:
            holder[step] = [holder[step]] * random.choice((1, 2, 9))
        case 2 if isinstance(holder, dict) and isinstance(other, str):
            holder[other] = holder.pop(step)
        case 3:
            for _ in range(random.choice((1, 3, 20, 35, 60))):
                holder[step] = random.choice(([holder[step]], {"spec": holder[step]}))
        case 4 if isinstance(holder, dict):
            holder[random.choice(_ODD_KEYS)] = deepcopy(holder[step])
        case _:
            holder[step] = deepcopy(random.choice(_ODD_JSON))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 -- any JSON
    """Yield every place of a value: what holds it, and by which key or number."""
    steps = list(node) if isinstance(node, dict) else range(len(node) * isinstance(node, list))
    for step in steps:
        yield node, step
        if isinstance(node[step], dict | list):
            yield from _places(node[step])


_Mutation = Callable[[Random, bytes, list[bytes]], bytes]


def _flip(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    changed = bytearray(raw or b"a")
    for _number in range(random.randint(1, 8)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _insert(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    at = random.randint(0, len(raw))
    some = random.choice(_ODD_VALUES).encode("utf-8", "surrogatepass")
    return raw[:at] + some + raw[at:]


def _truncate(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    return raw[: random.randint(0, len(raw))]


def _cut(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    start, end = sorted(random.randint(0, len(raw)) for _ in range(2))
    return raw[:start] + raw[min(end, start + 200) :]


def _lines(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    """Swap, drop or repeat lines."""
    lines = raw.split(b"\n")
    one, other = (random.randrange(len(lines)) for _ in range(2))
    match random.randrange(3):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            del lines[one]
        case _:
            lines.insert(other, lines[one])
    return b"\n".join(lines)


def _indent(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    lines = raw.split(b"\n")
    at = random.randrange(len(lines))
    many = random.choice((1, len(lines)))
    for number in range(at, min(at + many, len(lines))):
        line = lines[number]
        lines[number] = random.choice((b" " + line, b"\t" + line, line[1:], b"  " + line))
    return b"\n".join(lines)


def _rename(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    """Put another key of the same text in a key's place, or an odd one."""
    keys = [match.span() for match in _KEYS.finditer(raw)]
    if not keys:
        return raw
    (start, end), (other, behind) = random.choice(keys), random.choice(keys)
    odd = random.choice(_ODD_VALUES).encode("utf-8", "surrogatepass")
    return raw[:start] + random.choice((raw[other:behind], odd)) + raw[end:]


def _retype(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    """Put a value of an odd type in a value's place."""
    values = [match.span() for match in _VALUES.finditer(raw)]
    if not values:
        return raw
    start, end = random.choice(values)
    return raw[:start] + random.choice(_ODD_VALUES).encode("utf-8", "surrogatepass") + raw[end:]


def _nest(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    values = [match.span() for match in _VALUES.finditer(raw)] or [(0, len(raw))]
    (start, end), depth = random.choice(values), random.choice(_DEPTHS)
    opening, closing = random.choice(((b"[", b"]"), (b"{a: ", b"}"), (b"{", b"}"), (b"- ", b"")))
    return raw[:start] + opening * depth + raw[start:end] + closing * depth + raw[end:]


def _join(random: Random, raw: bytes, texts: list[bytes]) -> bytes:
    between = random.choice((b"---\n", b"\n---\n", b"...\n", b"--- # a\n", b"", b"\r\n---\r\n"))
    return raw + between + random.choice(texts)


def _recode(random: Random, raw: bytes, _: list[bytes]) -> bytes:
    text = raw.decode("utf-8", "replace")
    ends = text.replace("\n", random.choice(("\r\n", "\r", "\n")))
    return ends.encode(
        random.choice(("utf-16", "utf-8-sig", "utf-8", "latin-1", "utf-32")), "replace"
    )


_MUTATIONS: Final[tuple[_Mutation, ...]] = (
    *(_flip, _insert, _truncate, _cut, _lines, _lines, _indent, _indent, _rename, _rename),
    *(_retype, _retype, _retype, _nest, _join, _recode),
)
