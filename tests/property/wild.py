"""Pods as nobody would write them, by the thousand: ``generated_pod(seed)``.

The same seed gives the same Pod on every machine. Most are nearly right, so that every rule has its
say; the rest hold wrong types, nulls, odd amounts and keys, many containers, big values.
"""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

from tests.builders import DOMAIN, GPU, Json
from tests.property import generated

_MODELS = ("v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb", "cpu")
_GOOD_SPECS = (
    *("gpu-any",) * 8, *("gpu-any-24gb",) * 4, "gpu-any-16gb", "gpu-any-40gb", "gpu-any-80gb",
    "gpu-v100", "gpu-a30", "gpu-a100-80gb", "gpu-a", "gpu-ab", "gpu-b-16gb", "gpu-rtx-4090",
)  # fmt: skip
_SPECS = (
    *_GOOD_SPECS,
    "gpu-any-999gb", "gpu-h100", "gpu-a10", "gpu-a1000", "gpu", "gpu-", "GPU-any", "gpu-ANY",
    "gpu-any-24", "gpu-any-24gib", "gpu-any-024gb", "gpu-24gb", "gpu-any-0gb", "gpu--any",
    "gpu-any-", "gpu-any-24.5gb", "gpu-any-٢٤gb", "gpu-ａ100", "gpu-a100-80", "gpu-" + "x" * 300,
    "gpu-" + "9" * 300 + "gb", "gpu-any-24gb ", "gpu_any", "gpudirect-nic", "network",
    "gpu-any/x", "gpu-any~1x",
)  # fmt: skip
_DOMAINS = (
    *(DOMAIN,) * 30,
    f"requests.{DOMAIN}",
    "Preferred.jp",
    "",
    "nvidia.com",
    "other.example",
)
_GOOD_AMOUNTS: tuple[Any, ...] = (*("1",) * 9, 1, "2", "2000m", "4", "0")
_AMOUNTS: tuple[Any, ...] = (
    *("1",) * 12, *(1,) * 4, "2", "4", "8", 8, "9", "0", 0, None, "0m", "-0", "-1", "1.5", 1.0, 0.5,
    "500m", "1k", "1Ki", "1e3", "1E", "1e400", "1e-400", "1e999999999999", "9" * 30, "9" * 5000,
    "", " 1", "one", "$N", "{{ n }}", "<n>", "0x10", "1_000", "٣", "NaN", "inf", True, False, [],
    {}, ["1"], {"n": 1}, 2**63, -(2**63), 1e308,
)  # fmt: skip
_RAW = (GPU, "amd.com/gpu", "nvidia.com/gpumem", "nvidia.com/mig-1g.5gb", "rdma/hca", "cpu")
_NAMES: tuple[Any, ...] = (
    "main", "main", "训练", "a" * 300, "", " ", "a\nb", "\u202e", "\x00", None, 5, "main",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, None, None, True, False, 0, 1, -1, 1.5, "", "x", "In", "Always", "é" * 200, [], [None],
    ["x"], {}, {"x": None}, [[[[]]]], {"x": {"x": {"x": {}}}}, 2**53, "y" * 20_000,
)  # fmt: skip
_FIELDS = (
    "spec", "metadata", "containers", "resources", "limits", "requests", "affinity", "tolerations",
    "nodeSelectorTerms", "matchExpressions", "key", "operator", "values", "weight", "unknownField",
)  # fmt: skip

_REQUEST = "gpuspec.preferred.jp/request"
_CLAIMS = "gpuspec.preferred.jp/claims"
_ANNOTATIONS: tuple[Json | None, ...] = (
    {"note": "é\n"},
    {_REQUEST: "{"},
    {_REQUEST: '{"containers":[{"name":"x","spec":"y","count":1}]}'},
    {"kubernetes.io/config.mirror": "x"},
    None,
    {_CLAIMS: "["},
    {_CLAIMS: '{"a":1,"b":{"devices":{}},"":{}}'},
    # The hash of an empty object is its name; what it holds is nothing that we write.
    {_CLAIMS: '{"gpuspec-44136fa355b3678a1146ad16f7e8649e":{}}'},
)

# Shares of Pods that have a thing at all.
_HAS = {
    "initContainers": 0.3,
    "nodeSelector": 0.3,
    "affinity": 0.4,
    "tolerations": 0.4,
    "priorityClassName": 0.3,
    "priority": 0.2,
    "nodeName": 0.05,
    "os": 0.1,
    "resources": 0.05,
    "volumes": 0.7,
    "resourceClaims": 0.1,
    "schedulerName": 0.1,
}


def generated_pod(seed: int) -> Json:
    """Return the Pod of a seed; its JSON is what a request to the webhook may hold."""
    random = _Dice(seed)
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(random),
        "spec": {"containers": _containers(random, "c", 1)},
    }
    for field, share in _HAS.items():
        if random.random() < share:
            pod["spec"][field] = _field(random, field)
    pod = deepcopy(pod)
    if random.is_wild and random.random() < 0.7:
        for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
            _break(random, pod)
    return pod


class _Dice(Random):
    """The choices of one Pod, and whether it is one of the wild ones."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.is_wild = self.random() < 0.6


def _metadata(random: _Dice) -> Json:
    found: Json = random.choice(({"name": "p"}, {"generateName": "p-"}, {}))
    found = dict(found)
    if random.random() < 0.3:
        found["labels"] = random.choice(
            (
                *({"app": "x"}, {}, None, {"gpuspec.preferred.jp/spec": "gpu-any"}),
                {"kueue.x-k8s.io/queue-name": "q"},
            )
        )
    if random.random() < 0.3:
        found["annotations"] = random.choice(_ANNOTATIONS)
    if random.random() < 0.2:
        kind = random.choice(("ReplicaSet", "Job", "DaemonSet"))
        found["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": kind, "name": "o", "controller": True}
        ]
    return found


def _containers(random: _Dice, prefix: str, least: int) -> list[Json]:
    count = max(least, random.choice((0, 1, 1, 1, 1, 2, 2, 3, 5)))
    if random.random() < 0.01:
        count = 200
    return [_container(random, f"{prefix}{place}") for place in range(count)]


def _container(random: _Dice, name: str) -> Json:
    found: Json = {"name": name, "image": "app", "env": [{"name": "A", "value": "é"}]}
    if random.is_wild and random.random() < 0.03:
        found["name"] = random.choice(_NAMES)
    if random.random() < 0.85:
        found["resources"] = _resources(random)
    if random.random() < 0.2:
        found["restartPolicy"] = random.choice(("Always", "Always", "Never", None, 5))
    return found


def _resources(random: _Dice) -> Json:
    limits: Json = {"cpu": "1"} if random.random() < 0.5 else {}
    if random.is_wild:
        for _ in range(random.choice((0, 1, 1, 1, 1, 1, 1, 2))):
            key = f"{random.choice(_DOMAINS)}/{random.choice(_SPECS)}"
            limits[key] = random.choice(_AMOUNTS)
    else:
        limits[f"{DOMAIN}/{random.choice(_GOOD_SPECS)}"] = random.choice(_GOOD_AMOUNTS)
    if random.random() < 0.05:
        limits[random.choice(_RAW)] = random.choice(_AMOUNTS)
    found: Json = {"limits": limits}
    if random.random() < 0.5:
        found["requests"] = dict(limits)
    if random.is_wild:
        for key in [key for key in found.get("requests", ()) if random.random() < 0.05]:
            found["requests"][key] = random.choice(_AMOUNTS)
        if random.random() < 0.05:
            found = {"requests": limits}
    if random.random() < 0.05:
        found["claims"] = [{"name": "net"}]
    return found


def _field(random: _Dice, field: str) -> Any:  # noqa: ANN401
    match field:
        case "initContainers":
            return _containers(random, "i", 0)
        case "nodeSelector":
            return _selector(random)
        case "affinity":
            return _affinity(random)
        case "tolerations":
            return generated.tolerations(random)
        case "resources":
            return _resources(random)
        case _:
            return random.choice(_SCALAR_FIELDS[field])


_SCALAR_FIELDS: dict[str, tuple[Any, ...]] = {
    "priorityClassName": ("high", "high", "low", "", None, "system-node-critical"),
    "priority": (0, 1_000_000, 2_000_001_000, -5, None, 1e6, "high", True),
    "nodeName": ("node-0", "", None),
    "os": (
        {"name": "linux"},
        {"name": "linux"},
        {"name": "windows"},
        {},
        None,
        "linux",
        {"name": 5},
    ),
    "resourceClaims": (
        [],
        None,
        [{"name": "gpuspec-c0", "resourceClaimName": "x"}],
        [{"name": "gpuspec-c0"}, {"name": "gpuspec-c0-2"}, {"name": None}],
        [{"name": "a", "resourceClaimTemplateName": "gpuspec-44136fa355b3678a1146ad16f7e8649e"}],
        ["x"],
        {"name": "x"},
    ),
    "schedulerName": ("default-scheduler", "other", "", None, 5, {}),
    "volumes": ([{"name": "data", "emptyDir": {}}], [], None),
}


def _selector(random: _Dice) -> Json | None:
    if random.random() < 0.5:
        return {"gpu-model": random.choice(_MODELS)}
    return random.choice((None, {}, generated.selector(random), {"zone": None}, {"a/b~c": "é"}))


def _affinity(random: _Dice) -> Any:  # noqa: ANN401
    """Affinity by the labels of both kinds of table."""
    text = json.dumps(generated.affinity(random))
    if random.random() < 0.5:
        text = text.replace('"model"', '"gpu-model"')
        for value, model in zip("abcd", _MODELS, strict=False):
            text = text.replace(f'"{value}"', f'"{model}"')
    return json.loads(text)


def _break(random: _Dice, pod: Json) -> None:
    """Put something wrong in some place."""
    holder, key = random.choice(generated.places(pod))
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = None
        case 2 if isinstance(holder, dict):
            holder[random.choice(_FIELDS)] = deepcopy(random.choice(_VALUES))
        case 3 if isinstance(holder, list):
            holder.append(deepcopy(holder[key]))
        case 4:
            holder[key] = [holder[key]] if random.random() < 0.5 else {"x": holder[key]}
        case _:
            holder[key] = deepcopy(random.choice(_VALUES))
    if not pod:
        pod["spec"] = None
