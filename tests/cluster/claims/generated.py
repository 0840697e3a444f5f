"""Random Pods with claims, and what each needs told in claims of the test's own.

Pure. Same seed, same Pods. What a Pod could be given is worked out without the product, so that the
product's answer may be held against the scheduler's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from tests.builders import DOMAIN, Json, PodBuilder, expression, make_pod, term
from tests.cluster.claims.devices import NVIDIA
from tests.cluster.claims.fleet import PRODUCTS
from tests.cluster.claims.mix import Model, matching, models
from tests.cluster.fleet import MODEL_LABEL
from tests.cluster.product.places import nodes_of

SPECS = (
    *("any", "any-16gb", "any-24gb", "any-32gb", "any-40gb"),
    *("v100", "v100-24gb", "a30", "a30-32gb", "a100"),
)
_COUNTS = (*(1,) * 12, *(2,) * 4, 3, 4, 6, 8, 9)
_SPEC_SHARE = 0.85

Claim = tuple[str, int]
"""A spec without ``gpu-``, and how many devices."""


@dataclass(frozen=True)
class Generated:
    """A Pod.

    Attributes:
        claims: One for each claim that it must have.
        models: Those that its own terms allow.
        host: The node that it asks for by name, if it does.
    """

    name: str
    body: Json
    claims: tuple[Claim, ...]
    models: frozenset[str]
    host: str
    high: bool

    @property
    def fitting(self) -> tuple[Model, ...]:
        """The models of which one node can hold all its claims, its own terms considered."""
        whole = sum(count for _, count in self.claims)
        return tuple(
            model
            for model in models()
            if model.row in self.models
            and model.per_node >= whole
            and all(model in matching(spec) for spec, _ in self.claims)
        )

    @property
    def rows(self) -> frozenset[str]:
        """The rows that it may have."""
        smallest = min((model.vram for model in self.fitting), default=0)
        return frozenset(one.row for one in self.fitting if not self.high or one.vram == smallest)

    def by_hand(self) -> Json:
        """The Pod as somebody writes it who knows claims: every device that fits is as good."""
        spec: Json = {
            "containers": [
                {
                    "name": "main",
                    "image": "app",
                    "resources": {"claims": [{"name": f"c{n}"} for n in range(len(self.claims))]},
                }
            ],
            "resourceClaims": [
                {"name": f"c{number}", "resourceClaimTemplateName": template_name(claim)}
                for number, claim in enumerate(self.claims)
            ],
            "tolerations": [{"operator": "Exists"}],
        }
        spec |= {key: self.body["spec"][key] for key in _OWN if key in self.body["spec"]}
        return {"metadata": {"name": self.name}, "spec": spec}


_OWN = ("nodeSelector", "affinity")


def template_name(claim: Claim) -> str:
    return f"{claim[0]}-{claim[1]}"


def template(claim: Claim) -> Json:
    """The template of a claim: devices of any model that its spec means."""
    spec, count = claim
    products = ", ".join(f'"{PRODUCTS[model.row][0]}"' for model in matching(spec))
    cel = f'device.attributes["{NVIDIA}"].?productName.orValue("") in [{products}]'
    asked = {
        "deviceClassName": NVIDIA,
        "count": count,
        "selectors": [{"cel": {"expression": cel}}],
    }
    requests = [{"name": "gpu", "exactly": asked}]
    return {
        "metadata": {"name": template_name(claim)},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def generated(seed: int, number: int) -> list[Generated]:
    """So many Pods."""
    random = Random(seed)  # noqa: S311
    return [_generated(random, f"p{place:03d}") for place in range(number)]


def _generated(random: Random, name: str) -> Generated:
    built = make_pod(name)
    mains = [_claim(random) for _ in range(random.choice((1, 1, 2, 3)))]
    mains = mains if any(mains) else [("any", 1)]
    inits = [_like(random, mains) for _ in range(random.choice((0, 0, 1, 2)))]
    sidecars = [_like(random, mains) for _ in range(random.choice((0, 0, 0, 1)))]
    for kind, add, asked in (
        ("sidecar", built.sidecar, sidecars),
        ("init", built.init, inits),
        ("main", built.container, mains),
    ):
        for place, claim in enumerate(asked):
            add(f"{kind}-{place}", _limits(claim))
    own = [one for one in (*mains, *sidecars) if one]
    own += [one for one in inits if one and one not in mains]
    high = random.random() < 1 / 3
    if high:
        built.high()
    allowed, host = _place(random, built)
    return Generated(name, built.build(), tuple(own), allowed, host, high)


def _claim(random: Random) -> Claim | None:
    if random.random() > _SPEC_SHARE:
        return None
    spec = random.choice(SPECS) if random.random() < 1 / 2 else "any"
    return spec, random.choice(_COUNTS)


def _like(random: Random, mains: list[Claim | None]) -> Claim | None:
    """One like that of a main container as often as not: an init container then shares it."""
    return random.choice(mains) if random.random() < 1 / 2 else _claim(random)


def _limits(claim: Claim | None) -> dict[str, object]:
    return {} if claim is None else {f"{DOMAIN}/gpu-{claim[0]}": str(claim[1])}


def _place(random: Random, built: PodBuilder) -> tuple[frozenset[str], str]:
    """Say something about nodes, or nothing; which models that leaves, and which node."""
    every = _every_model()
    some = random.sample(every, random.randint(1, 3))
    match random.choice(("", "", "", "selector", "in", "not in", "host", "tolerates")):
        case "selector":
            built.selector(gpu_model=some[0])
            return frozenset(some[:1]), ""
        case "in":
            built.terms(*(term(expression(MODEL_LABEL, "In", one)) for one in some))
            return frozenset(some), ""
        case "not in":
            built.terms(term(expression(MODEL_LABEL, "NotIn", *some)))
            return frozenset(every) - frozenset(some), ""
        case "host":
            node = random.choice(nodes_of(some[0]))
            built.spec(nodeSelector={"kubernetes.io/hostname": node})
            return frozenset(every), node
        case "tolerates":
            built.tolerates({"operator": "Exists"})
    return frozenset(every), ""


@cache
def _every_model() -> list[str]:
    return [model.row for model in models()]
