"""Random nodes and Pods that the API server accepts, rich in corners of selectors and taints.

Same seed, same objects. The vocabulary is small on purpose: what is drawn on one side must often
occur on the other.
"""

from __future__ import annotations

from random import Random

from tests.cluster.api import Json
from tests.cluster.fleet import fake_node
from tests.cluster.pods import pod

# as Kubernetes allows them: empty, numbers out of order as text, no number, beyond 64 bits
LABELS = {
    "model": ("a30", "a100", "v100"),
    "zone": ("east", "west"),
    "example.com/generation": ("7", "10", "007", "x7", "9223372036854775808"),
    "spot": ("", "true"),
}
_TAINTS = {"gpu": ("", "a30", "v100"), "example.com/team": ("red", "blue"), "drain": ("",)}
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_NUMBERS = ("7", "7", "10", "many")  # the API server lets a bound be no number
# a preference whose bound is no number would keep the Pod from being scheduled at all
_PREFERRED = {
    "weight": 1,
    "preference": {"matchExpressions": [{"key": "spot", "operator": "Exists"}]},
}
_MANY_PODS = "5000"


def generated_nodes(random: Random, count: int) -> list[Json]:
    """Nodes with room for any number of Pods."""
    return [
        fake_node(
            f"node-{number:02d}",
            labels={k: random.choice(v) for k, v in LABELS.items() if random.random() < 0.8},
            taints=_taints(random),
            capacity={"pods": _MANY_PODS},
        )
        for number in range(count)
    ]


def generated_pod(random: Random, name: str, node_names: list[str]) -> Json:
    """A Pod with any mixture of node selector, node affinity and tolerations.

    Many have only one of them that decides, since in a mixture the others hide its corners.
    """
    decisive = random.choice(("labels", "taints", "all"))
    spec: Json = {}
    if decisive == "all" and random.random() < 0.3:
        key = random.choice(list(LABELS))
        spec["nodeSelector"] = {key: random.choice(LABELS[key])}
    if decisive == "labels" or (decisive == "all" and random.random() < 0.8):
        spec["affinity"] = {"nodeAffinity": _node_affinity(random, node_names)}
    tolerations = [_toleration(random) for _ in range(random.randint(0, 4))]
    if decisive == "labels":
        tolerations = [{"operator": "Exists"}]
    return pod(name, tolerations=tolerations, **spec)


def _taints(random: Random) -> list[Json]:
    """Up to two; Kubernetes wants each pair of key and effect once."""
    keys = random.sample(list(_TAINTS), random.choice((0, 0, 1, 1, 2)))
    return [
        {"key": key, "value": random.choice(_TAINTS[key]), "effect": random.choice(_EFFECTS)}
        for key in keys
    ]


def _toleration(random: Random) -> Json:
    if random.random() < 0.1:
        return {"operator": "Exists"} | _effect(random)
    key = random.choice(list(_TAINTS))
    if random.random() < 0.4:
        return {"key": key, "operator": "Exists"} | _effect(random)
    operator = random.choice(({}, {"operator": "Equal"}))
    return {"key": key, "value": random.choice(_TAINTS[key])} | operator | _effect(random)


def _effect(random: Random) -> Json:
    effect = random.choice((*_EFFECTS, None, None, None))
    if effect is None:
        return {}
    seconds = {"tolerationSeconds": 3600} if effect == "NoExecute" and random.random() < 0.5 else {}
    return {"effect": effect, **seconds}


def _node_affinity(random: Random, node_names: list[str]) -> Json:
    if random.random() < 0.1:
        return {"preferredDuringSchedulingIgnoredDuringExecution": [_PREFERRED]}
    terms = [_term(random, node_names) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def _term(random: Random, node_names: list[str]) -> Json:
    """A term; one with nothing in it, which matches no node, now and then."""
    term: Json = {}
    expressions = [_expression(random) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    if expressions or random.random() < 0.5:
        term["matchExpressions"] = expressions
    if random.random() < 0.25:
        term["matchFields"] = [_field(random, node_names) for _ in range(random.choice((1, 1, 2)))]
    return term


def _expression(random: Random) -> Json:
    operator = random.choice(
        ("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Gt", "Lt", "Lt")
    )
    if operator in ("Gt", "Lt"):
        key = random.choice(("example.com/generation", "example.com/generation", "model"))
        return {"key": key, "operator": operator, "values": [random.choice(_NUMBERS)]}
    key = random.choice((*LABELS, "absent"))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    known = LABELS.get(key, ("any",))
    values = random.sample(known, random.randint(1, len(known)))
    return {"key": key, "operator": operator, "values": values}


def _field(random: Random, node_names: list[str]) -> Json:
    operator = random.choice(("In", "NotIn", "NotIn"))
    return {"key": "metadata.name", "operator": operator, "values": [random.choice(node_names)]}
