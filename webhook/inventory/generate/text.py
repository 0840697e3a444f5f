"""A drafted table as a document for people: YAML with comments, the same bytes every time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

from selection_spec.labels import Operator, Requirement, Toleration
from selection_spec.rows import Output
from webhook.inventory.generate.claims import DraftClaim
from webhook.inventory.generate.drafting import HIGH_CLASS, Draft
from webhook.inventory.generate.rows import DraftRow

_WIDTH = 78

# Longer than this a flow mapping is written as a block.
_LONG = 88

# What no YAML reader takes for anything but a text; all else is quoted.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})

_HEAD = """\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata:
  name: default
spec:
  resourceDomain: preferred.jp
  output: ExtendedResource
  # Pods of this PriorityClass are held to the smallest devices that fit; all
  # others may use any that fit. See which classes the cluster has and wants.
"""

_TAIL = f"""\
  priorities:
    - {{classNames: [{HIGH_CLASS}], policy: SmallestFit}}
  defaultPolicy: EveryFit
  preferCheaper: true
  devices:
"""


def draft_text(draft: Draft) -> str:
    """Return a drafted table of at least one row as YAML."""
    rows = "\n".join("".join(f"{line}\n" for line in _row(row)) for row in draft.rows)
    doubts = (line for doubt in draft.doubts for line in _comment(f"finish: {doubt}", "  "))
    return "".join((*_introduction(draft), _HEAD, *doubts, _TAIL, rows))


def _introduction(draft: Draft) -> Iterator[str]:
    gpu_nodes = f"{draft.gpu_nodes} of {draft.nodes} nodes"
    yield from _comment(
        f"A selection table for the {gpu_nodes} that have GPUs, by their labels.", ""
    )
    yield "#\n"
    yield from _comment(
        "vram is what the box says. perNode is the largest node there is now. cost is a rank by "
        "the market for such cards, not a price: put what you pay or want to keep free. any says "
        "whether gpu-any includes a row.",
        "",
    )
    if any(row.claim for row in draft.rows):
        yield "#\n"
        yield from _comment(
            "claim says which devices of a DRA driver a row means. A row that has a resource too "
            "is taken by it; with output: ResourceClaim it is taken by claims, once the device "
            "plugin has left its nodes.",
            "",
        )
    if draft.unfinished:
        yield "#\n"
        yield from _comment(f'{_parts(draft)} something to finish by hand: look for "finish:".', "")
    for text in draft.left_out:
        yield "#\n"
        yield from _comment(f"Left out: {text}.", "")


def _parts(draft: Draft) -> str:
    """Name the parts that are unfinished: ``2 rows and the priorities have``."""
    rows = draft.unfinished - len(draft.doubts)
    named = [f"{rows} row{'' if rows == 1 else 's'}"] if rows else []
    if draft.doubts:
        named.append("the priorities")
    has = "has" if (rows == 1 and not draft.doubts) else "have"
    said = " and ".join(named)
    return f"{said[0].upper()}{said[1:]} {has}"


def _row(row: DraftRow) -> Iterator[str]:
    pad = "    "
    nodes = "1 node:" if row.count == 1 else f"{row.count} nodes such as"
    yield from _comments(f"{nodes} {row.first}", pad)
    for note in row.notes:
        yield from _comments(f"note: {note}", pad)
    for doubt in row.doubts:
        yield from _comments(f"finish: {doubt}", pad)
    yield f"    - name: {_scalar(row.name)}"
    if row.aliases:
        yield f"      aliases: [{', '.join(map(_scalar, row.aliases))}]"
    yield f"      vram: {row.vram_gb}gb"
    yield f"      perNode: {row.per_node}"
    yield f"      cost: {row.cost}"
    if not row.any:
        yield "      any: false"
    system, arch = row.platform
    if system != "linux":
        yield f"      os: {_scalar(system)}"
    if arch != "amd64":
        yield f"      arch: {_scalar(arch)}"
    yield from _nodes(row.nodes)
    if row.tolerations:
        yield from _list("      tolerations:", [_toleration(one) for one in row.tolerations])
    if row.resource:
        yield f"      resource: {row.resource}"
    else:
        yield f"      output: {Output.RESOURCE_CLAIM}"
    if row.claim is not None:
        yield from _claim(row.claim)


def _claim(claim: DraftClaim) -> Iterator[str]:
    yield "      claim:"
    yield f"        deviceClassName: {_scalar(claim.device_class)}"
    yield f"        driver: {_scalar(claim.driver)}"
    if claim.products:
        products = list(map(_scalar, claim.products))
        yield from _list("        products:", products)


def _nodes(nodes: tuple[Requirement, ...]) -> Iterator[str]:
    if all(one.is_plain for one in nodes):
        labels = [f"{one.key}: {_scalar(one.values[0])}" for one in nodes]
        line = f"      nodes: {{matchLabels: {{{', '.join(labels)}}}}}"
        if len(line) <= _LONG:
            yield line
            return
        yield "      nodes:"
        yield "        matchLabels:"
        yield from (f"          {label}" for label in labels)
        return
    yield "      nodes:"
    yield "        matchExpressions:"
    for one in nodes:
        yield from _expression(one)


def _expression(one: Requirement) -> Iterator[str]:
    values = [_scalar(value) for value in one.values]
    line = f"          - {{key: {one.key}, operator: {one.operator}"
    if one.operator is Operator.DOES_NOT_EXIST:
        yield f"{line}}}"
        return
    line = f"{line}, values: [{', '.join(values)}]}}"
    if len(line) <= _LONG:
        yield line
        return
    yield f"          - key: {one.key}"
    yield f"            operator: {one.operator}"
    yield "            values:"
    yield from (f"              - {value}" for value in values)


def _toleration(one: Toleration) -> str:
    parts = [f"key: {_scalar(one.key)}"]
    if one.value is None:
        parts.append("operator: Exists")
    else:
        parts.append(f"value: {_scalar(one.value)}")
    return f"{{{', '.join([*parts, f'effect: {one.effect}'])}}}"


def _list(name: str, items: list[str]) -> Iterator[str]:
    line = f"{name} [{', '.join(items)}]"
    if len(line) <= _LONG:
        yield line
        return
    yield name
    pad = " " * (len(name) - len(name.lstrip()) + 2)
    yield from (f"{pad}- {item}" for item in items)


def _scalar(text: str) -> str:
    """Return a text so that every YAML reader reads it as that text."""
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT
    return text if is_plain else json.dumps(text)


def _comments(text: str, pad: str) -> Iterable[str]:
    return (line.removesuffix("\n") for line in _comment(text, pad))


def _comment(text: str, pad: str) -> Iterator[str]:
    """Wrap a sentence as comment lines; what came from a cluster cannot end one early."""
    printable = "".join(char if char.isprintable() else "?" for char in text)
    width = _WIDTH - len(pad) - 2
    for line in wrap(printable, width, break_long_words=False, break_on_hyphens=False):
        yield f"{pad}# {line}\n"
