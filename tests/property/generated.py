"""Pieces of tables, Pods and nodes, drawn with a ``Random``: the same seed, the same piece.

Their words meet: few label keys and values, many corners of what Kubernetes takes. Hypothesis picks
from pools of them (``strategies``), and the long runs draw them by the thousand (``wild``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from tests.builders import DOMAIN, GPU, Json
from webhook.selectors import PREFERRED, REQUIRED

_Piece = TypeVar("_Piece")

# Labels by which rows may know their nodes, with the values that nodes may have.
LABELS = {
    "model": ("a", "b", "c", "d"),
    "tier": ("x", "y"),
    "site.example/memory": ("16", "24", "80", "none"),
}
OTHER_LABELS = {
    "zone": ("east", "west"),
    "kubernetes.io/arch": ("amd64", "arm64"),
    "kubernetes.io/os": ("linux", "windows"),
}
ALL_LABELS = {**LABELS, **OTHER_LABELS}
NODE_NAMES = ("node-0", "node-1", "node-2")
ROW_NAMES = ("a", "ab", "b", "rtx-4090", "v100")
VRAMS = (16, 24, 32, 80)
TAINTS = {"gpu": ("a", "b", ""), "drain": ("",), "gpuspec.preferred.jp/reserved": ("a-16gb",)}
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
NUMBERS = ("17", "24", "50")

_COMPARING = ("Gt", "Lt")
_BARE = ("Exists", "DoesNotExist")

_POOL = 1000


def pool(make: Callable[[Random], _Piece]) -> list[_Piece]:
    """Return many pieces, simplest first."""
    random = Random(make.__name__)  # noqa: S311
    return sorted((make(random) for _ in range(_POOL)), key=lambda piece: len(json.dumps(piece)))


def _rarely(random: Random, share: float = 0.2) -> bool:
    return random.random() < share


# --- Tables


def row(random: Random) -> Json:
    """All of a row but its name and memory; the load-time laws hold."""
    found: Json = {
        "perNode": random.choice((8, 8, 4, 2, 1)),
        "cost": random.randint(0, 6),
        "resource": GPU if random.random() < 0.9 else "amd.com/gpu",
        "nodes": random.choice((_one_label, _one_label, _labels, _expressions))(random),
        "tolerations": [_row_toleration(random) for _ in range(random.choice((0, 1, 1, 2)))],
    }
    rare: Json = {"any": False, "reserved": True, "arch": "arm64", "os": "windows"}
    if _rarely(random):
        field = random.choice(list(rare))
        found[field] = rare[field]
    return found


def claim(number: int) -> Json:
    """The claim of the so-manyth row of a table: of two drivers, known by all that there is."""
    driver = ("gpu.nvidia.com", "gpu.nvidia.com", "gpu.amd.com")[number % 3]
    known: tuple[Json, ...] = (
        {"products": [f"Card {number}", f'Card {number} "x"']},
        {},
        {"selectors": [{"cel": {"expression": f"{number} == {number}"}}]},
        {"products": [f"Card {number}"], "selectors": [{"cel": {"expression": "true"}}] * 2},
    )
    return {"deviceClassName": driver, "driver": driver, **known[number % len(known)]}


def _one_label(random: Random) -> Json:
    return {"matchLabels": {"model": random.choice(LABELS["model"])}}


def _some_keys(random: Random) -> list[str]:
    return random.sample(list(LABELS), random.choice((1, 1, 2, 3)))


def _labels(random: Random) -> Json:
    return {"matchLabels": {key: random.choice(LABELS[key]) for key in _some_keys(random)}}


def _expressions(random: Random) -> Json:
    return {"matchExpressions": [expression(random, key) for key in _some_keys(random)]}


def _row_toleration(random: Random) -> Json:
    found: Json = {"key": random.choice(("gpu", "drain"))}
    found |= {"operator": "Exists"} if _rarely(random, 0.5) else {"value": random.choice("ab")}
    effect = random.choice((*EFFECTS, None, None))
    return found if effect is None else {**found, "effect": effect}


# --- Pods


def expression(random: Random, key: str | None = None) -> Json:
    """An expression that the API server takes."""
    key = key or random.choice((*LABELS, *LABELS, *OTHER_LABELS))
    operator = random.choice(("In", "In", "In", "NotIn", *_BARE, *_COMPARING))
    if operator in _BARE:
        return {"key": key, "operator": operator}
    if operator in _COMPARING:
        return {"key": key, "operator": operator, "values": [random.choice(NUMBERS)]}
    values = (*ALL_LABELS[key], "elsewhere")
    some = random.sample(values, random.randint(1, min(3, len(values))))
    return {"key": key, "operator": operator, "values": some}


def term(random: Random) -> Json:
    """A node selector term; one with nothing in it, nulls and matchFields now and then."""
    found: Json = {}
    shape = random.random()
    if shape < 0.8:
        found["matchExpressions"] = [
            expression(random) for _ in range(random.choice((0, 1, 1, 2, 3)))
        ]
    elif shape < 0.9:
        found["matchExpressions"] = None
    if _rarely(random):
        names = [random.choice(NODE_NAMES)]
        field = {
            "key": "metadata.name",
            "operator": random.choice(("In", "NotIn")),
            "values": names,
        }
        found["matchFields"] = random.choice((None, [], [field], [field]))
    return found


def required(random: Random) -> Any:  # noqa: ANN401
    """Required node affinity: terms, or now and then what the API server refuses."""
    if _rarely(random, 0.1):
        odd: list[Any] = [None, {}, {"nodeSelectorTerms": None}, {"nodeSelectorTerms": []}]
        return random.choice(odd)
    return {"nodeSelectorTerms": [term(random) for _ in range(random.choice((1, 1, 2, 2, 3, 4)))]}


def affinity(random: Random) -> Any:  # noqa: ANN401
    """Affinity of every shape."""
    found: Json = {"podAffinity": {}} if _rarely(random) else {}
    if _rarely(random, 0.1):
        return random.choice((None, {}, {"nodeAffinity": None}))
    node: Json = {}
    if not _rarely(random, 0.3):
        node[REQUIRED] = required(random)
    if _rarely(random, 0.4):
        node[PREFERRED] = [_preferred(random) for _ in range(random.choice((0, 1, 2)))]
    if _rarely(random, 0.1):
        node[PREFERRED] = None
    return {**found, "nodeAffinity": node}


def _preferred(random: Random) -> Json:
    preference = {"matchExpressions": [expression(random)]}
    return {"weight": random.choice((1, 10, 100)), "preference": preference}


def tolerations(random: Random) -> list[Json] | None:
    """None to three tolerations."""
    return (
        None
        if _rarely(random, 0.1)
        else [toleration(random) for _ in range(random.choice((0, 1, 1, 2, 3)))]
    )


def toleration(random: Random) -> Json:
    """A toleration that a user may write, of unknown operators too."""
    key = random.choice((*TAINTS, ""))
    found: Json = {"key": key} if key else {}
    operator = random.choice(("Equal", "Exists", None, "Gt")) if key else "Exists"
    if operator is not None:
        found["operator"] = operator
    if operator != "Exists":
        found["value"] = random.choice(("a", "b", ""))
    effect = random.choice((*EFFECTS, "", None, None))
    if effect is not None:
        found["effect"] = effect
    if _rarely(random):
        found["tolerationSeconds"] = random.choice((None, 0, 60))
    return found


def selector(random: Random) -> Json:
    """A nodeSelector of one or two labels."""
    keys = random.sample(list(ALL_LABELS), random.choice((1, 1, 2)))
    return {key: random.choice(ALL_LABELS[key]) for key in keys}


def resources(random: Random) -> Json:
    """A container's resources: a spec in most of them, zero or raw devices in some."""
    kind = random.choice(("spec",) * 9 + ("zero", "raw", "none"))
    amounts: Json = {"cpu": "1"} if _rarely(random) else {}
    if kind in ("spec", "zero"):
        name = random.choice(("any",) * 9 + ROW_NAMES)
        memory = random.choice(("",) * 5 + ("-16gb", "-20gb", "-24gb", "-80gb"))
        amount = "0" if kind == "zero" else random.choice(("1", "1", "1", "2", 3))
        amounts[f"{DOMAIN}/gpu-{name}{memory}"] = amount
    if kind == "raw":
        amounts[random.choice((GPU, GPU, "amd.com/gpu", "nvidia.com/mig-1g.5gb"))] = "1"
    sides = random.choice((("limits",), ("limits",), ("limits", "requests")))
    return {side: dict(amounts) for side in sides}


def containers(random: Random) -> list[Json]:
    """One to three main containers."""
    return [_container(random, f"c{place}") for place in range(random.choice((1, 1, 1, 2, 3)))]


def init_containers(random: Random) -> list[Json] | None:
    """None to three init containers, sidecars among them."""
    if _rarely(random, 0.1):
        return None
    found = [_container(random, f"i{place}") for place in range(random.choice((0, 1, 1, 2, 3)))]
    for container in found:
        if _rarely(random, 0.4):
            container["restartPolicy"] = random.choice(("Always", "Always", "Never", None))
    return found


def _container(random: Random, name: str) -> Json:
    return (
        {"name": name} if _rarely(random, 0.1) else {"name": name, "resources": resources(random)}
    )


# --- Nodes


def node(random: Random) -> Json:
    """A node with some of the labels, and up to two taints."""
    taints = [
        {"key": key, "value": random.choice(TAINTS[key]), "effect": random.choice(EFFECTS)}
        for key in random.sample(list(TAINTS), random.choice((0, 0, 1, 1, 2)))
    ]
    labels = {
        key: random.choice(values) for key, values in ALL_LABELS.items() if not _rarely(random, 0.3)
    }
    return {
        "metadata": {"name": random.choice(NODE_NAMES), "labels": labels},
        "spec": {"taints": taints},
    }


def node_of(row_nodes: Json, like: Json) -> Json:
    """Return a node that has what a row asks for, as far as a value can tell, and all else of
    another."""
    labels = {**like["metadata"]["labels"], **row_nodes.get("matchLabels", {})}
    for said in row_nodes.get("matchExpressions", ()):
        key, there = said["key"], labels.get(said["key"])
        match said["operator"]:
            case "In":
                labels[key] = there if there in said["values"] else said["values"][0]
            case "Exists" | "Gt" | "Lt":
                labels.setdefault(key, LABELS[key][-2])
            case _:
                labels.pop(key, None)
    return {**like, "metadata": {**like["metadata"], "labels": labels}}


# --- Any JSON


def places(value: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Every key and list place in a JSON value, with what holds it."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [(value, key) for key, _ in items] + [
        place for _, inner in items for place in places(inner)
    ]
