"""The CEL of rows, as the real API server compiles it and the real scheduler evaluates it.

Each shape of expression has a node of its own with a device of every kind, and a claim on *all*
devices that fulfil it: so it is evaluated on every one, and what is allocated is what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from selection_spec.cel import any_of, selectors
from selection_spec.laws import MAX_EXPRESSION_BYTES
from selection_spec.rows import Row
from tests.builders import make_row, make_table
from tests.cluster.api import Api, ApiError, Json, path, wait_until
from tests.cluster.claims.devices import (
    A30,
    A100,
    AMD,
    DOCUMENTED,
    FLEX,
    FLEX_WITHOUT_MEMORY,
    INTEL,
    INTEL_WITHOUT_CAPACITY,
    MI300X,
    MIG,
    NVIDIA,
    NVIDIA_BARE,
    SLICES,
    V100,
    VFIO,
    Device,
    nvidia,
    slices,
)
from tests.cluster.claims.expressions import (
    BROKEN,
    COSTLY,
    DEAR,
    FUNCTIONS,
    GUARDED,
    MISTYPED,
    REFUSED,
    UNGUARDED,
)
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fake_node
from tests.cluster.namespaces import create_namespace, empty_namespace
from tests.cluster.nodes import NODES, create_nodes
from tests.cluster.pods import create_pod, events_about, node_of, pod, wait_decided

DRA = "resource.k8s.io/v1"
CLASSES = path(DRA, "deviceclasses")
EVERY_DEVICE = "cel-every-device"
NAMESPACE = "claims-cel"
HOST_LABEL = "kubernetes.io/hostname"

ODD_PRODUCT = 'Odd "\\" カード //\'${x}'
ODD = nvidia("gpu-6", ODD_PRODUCT, "8Gi", "Odd", "1.0.0")
PUBLISHED = (ODD, *DOCUMENTED)

EVERY_NVIDIA = (ODD, V100, A30, A100, MIG, VFIO, NVIDIA_BARE)

GUARD = f'device.driver == "{NVIDIA}"'
NOT_ODD = (f'device.attributes["{NVIDIA}"].?architecture.orValue("") != "Odd"',)
TYPE = f'device.attributes["{NVIDIA}"].?type.orValue("")'
COMMENTED = f'{TYPE} == "mig" // slices'


def row(row_id: str, driver: str = NVIDIA, **more: object) -> Row:
    """A row whose claim asks the class that leaves everything to the expression."""
    claim = {"deviceClassName": EVERY_DEVICE, "driver": driver, **more}
    return make_table(make_row(row_id, output="ResourceClaim", claim=claim)).rows[0]


def own(*expressions: str) -> list[Json]:
    return [{"cel": {"expression": one}} for one in expressions]


def many_products() -> list[str]:
    """As many products as a row may have, as long as an attribute may be, and long to quote."""
    products = ['"\\' * 28 + f"カ-{place:04d}" for place in range(64)]
    assert {len(product.encode()) for product in products} == {64}
    return products


def filled_up() -> tuple[Row, Row]:
    """Two rows whose common expression is exactly as long as Kubernetes allows."""
    first = row("one-1gb", products=many_products())
    for count in range(64):
        products = [f"card-{place:035d}" for place in range(count)]
        room = MAX_EXPRESSION_BYTES - length(first, row("two-1gb", products=[*products, "x"]))
        if room < 64:
            return first, row("two-1gb", products=[*products, "x" * (1 + room)])
    raise AssertionError("both rows together are too short")


def length(*rows: Row) -> int:
    return len(any_of(rows).encode())


@dataclass(frozen=True)
class Shape:
    """The expressions of one request, and the devices that fulfil all of them."""

    expressions: tuple[str, ...]
    devices: tuple[Device, ...] = ()


SHAPES: Mapping[str, Shape] = {
    "memory": Shape(selectors(row("some-24gb")), (A30, A100)),
    "products": Shape(
        selectors(row("v100-16gb", products=["Tesla V100-SXM2-16GB", "NVIDIA V100"])), (V100,)
    ),
    "odd-product": Shape(selectors(row("odd-8gb", products=[ODD_PRODUCT])), (ODD,)),
    "most-products": Shape(selectors(row("one-1gb", products=many_products()))),
    "own": Shape(selectors(row("all-1gb", selectors=own("true"))), EVERY_NVIDIA),
    "own-twice": Shape(
        selectors(row("mig-1gb", selectors=own(COMMENTED, f'{TYPE} != "gpu"'))), (MIG,)
    ),
    "products-and-own": Shape(
        selectors(row("a30-24gb", products=["NVIDIA A30"], selectors=own(f'{TYPE} == "gpu"'))),
        (A30,),
    ),
    "amd-memory": Shape(selectors(row("some-24gb", AMD)), (MI300X,)),
    "amd-products": Shape(
        selectors(row("mi300x-192gb", AMD, products=["AMD_Instinct_MI300X_OAM"])), (MI300X,)
    ),
    "intel-memory": Shape(selectors(row("some-12gb", INTEL)), (FLEX,)),
    "intel-products": Shape(
        selectors(row("flex140-12gb", INTEL, products=["Flex 140"])),
        (FLEX_WITHOUT_MEMORY, INTEL_WITHOUT_CAPACITY),
    ),
    "nobody": Shape(selectors(row("h200-141gb"))),
    "any-of-products": Shape(
        (
            any_of(
                [
                    row("a30-24gb", products=["NVIDIA A30"]),
                    row("v100-16gb", products=["Tesla V100-SXM2-16GB"]),
                ]
            ),
        ),
        (V100, A30),
    ),
    "any-of-sizes": Shape((any_of([row("some-80gb"), row("some-24gb")]),), (A30, A100)),
    "any-of-both": Shape(
        (any_of([row("some-80gb"), row("v100-16gb", products=["Tesla V100-SXM2-16GB"])]),),
        (V100, A100),
    ),
    "any-of-own": Shape(
        (
            any_of(
                [
                    row("some-80gb"),
                    row("mig-1gb", selectors=own(COMMENTED, f'{TYPE} != "gpu" || false')),
                    row("a30-24gb", products=["NVIDIA A30"], selectors=own("false || true")),
                    row("t4-16gb", products=["Tesla V100-SXM2-16GB"], selectors=own("false")),
                ]
            ),
        ),
        (A30, A100, MIG),
    ),
    "any-of-most": Shape((any_of(filled_up()),)),
    **{
        f"guarded-{name}": Shape((GUARD, *NOT_ODD, expression), devices)
        for name, (expression, devices) in GUARDED.items()
    },
    **{
        f"mended-{name}": Shape((GUARD, *NOT_ODD, one.mended), one.devices)
        for name, one in UNGUARDED.items()
    },
    **{
        f"form-{name}": Shape((GUARD, *NOT_ODD, one.form), one.devices)
        for name, one in MISTYPED.items()
    },
}

ABORTING: Mapping[str, tuple[str, ...]] = {
    f"unguarded-{name}": (GUARD, one.expression) for name, one in UNGUARDED.items()
} | {"unguarded-no-driver": (UNGUARDED["text"].expression,)}
MISTAKEN: Mapping[str, tuple[str, ...]] = {
    f"mistyped-{name}": (GUARD, one.expression)
    for name, one in MISTYPED.items()
    if not one.is_refused
}


@dataclass(frozen=True)
class Outcome:
    """What became of a Pod: the devices it was given, sorted, and what Kubernetes said about it."""

    bound: bool
    devices: list[str]
    said: str


@pytest.fixture(scope="module")
def outcomes(cluster: ControlPlane) -> Iterator[dict[str, Outcome]]:
    """What the scheduler made of a Pod for every shape, and for what is not guarded."""
    api = cluster.api
    asked = {name: shape.expressions for name, shape in SHAPES.items()}
    asked |= {**ABORTING, **MISTAKEN}
    nodes = {name: f"{NAMESPACE}-{name}" for name in asked}
    create_namespace(api, NAMESPACE)
    api.create(CLASSES, {"metadata": {"name": EVERY_DEVICE}, "spec": {}})
    create_nodes(api, [fake_node(node) for node in nodes.values()])
    published = [one for node in nodes.values() for one in slices(node, PUBLISHED)]
    for one in published:
        api.create(SLICES, one)
    try:
        for name, expressions in asked.items():
            create_template(api, NAMESPACE, name, expressions)
            create_pod(api, NAMESPACE, claiming(name, nodes[name]))
        wait_decided(api, NAMESPACE, list(asked))
        yield {name: outcome(api, name) for name in asked}
    finally:
        empty_namespace(api, NAMESPACE)
        for one in published:
            api.delete(f"{SLICES}/{one['metadata']['name']}")
        for node in nodes.values():
            api.delete(f"{NODES}/{node}")
        api.delete(f"{CLASSES}/{EVERY_DEVICE}")


def create_template(
    api: Api, namespace: str, name: str, expressions: Sequence[str], **params: str
) -> Json:
    request = {
        "deviceClassName": EVERY_DEVICE,
        "selectors": own(*expressions),
        "allocationMode": "All",
    }
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}
    body = {"metadata": {"name": name}, "spec": {"spec": spec}}
    return api.create(path(DRA, "resourceclaimtemplates", namespace=namespace), body, **params)


def try_template(api: Api, expression: str) -> Json:
    """Ask the API server what it thinks of an expression; nothing stays."""
    return create_template(api, "default", "tried", [expression], dryRun="All")


def claiming(name: str, node: str) -> Json:
    """A Pod for one node, with a claim from the template of its own name."""
    body = pod(
        name,
        nodeSelector={HOST_LABEL: node},
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": name}],
    )
    body["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpu"}]}
    return body


def outcome(api: Api, name: str) -> Outcome:
    found = api.get(path("v1", "pods", name, namespace=NAMESPACE))
    (status,) = found["status"]["resourceClaimStatuses"]
    claim = api.get(path(DRA, "resourceclaims", status["resourceClaimName"], namespace=NAMESPACE))
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    events = wait_until(lambda: events_about(api, NAMESPACE, name), timeout=10, what="an event")
    said = [condition.get("message", "") for condition in found["status"]["conditions"]]
    said += [event["message"] for event in events]
    devices = sorted(f"{one['driver']}/{one['device']}" for one in results)
    return Outcome(node_of(found) is not None, devices, "\n".join(said))


@pytest.mark.rule("C2", "C3")
@pytest.mark.parametrize("name", SHAPES)
def test_an_expression_means_its_devices_among_all_there_are(
    name: str, outcomes: Mapping[str, Outcome]
) -> None:
    found = outcomes[name]
    meant = sorted(f"{one.driver}/{one.name}" for one in SHAPES[name].devices)
    assert found.devices == meant, found.said
    assert found.bound == bool(meant), found.said
    assert "CEL" not in found.said
    assert "no such key" not in found.said


@pytest.mark.rule("C3")
@pytest.mark.parametrize("name", ABORTING)
def test_without_a_guard_nothing_is_scheduled(name: str, outcomes: Mapping[str, Outcome]) -> None:
    found = outcomes[name]
    assert not found.bound
    # Which device is looked at first, and so which error it is, is no matter.
    errors = r"CEL.*(no such (key|overload)|optional.none\(\) dereference)"
    assert re.search(errors, found.said), found.said


@pytest.mark.rule("C3")
@pytest.mark.parametrize("name", MISTAKEN)
def test_a_version_that_is_compared_like_a_number_aborts_too(
    name: str, outcomes: Mapping[str, Outcome]
) -> None:
    found = outcomes[name]
    assert not found.bound
    assert "CEL" in found.said
    assert "no such overload" in found.said


@pytest.mark.rule("C2")
def test_the_api_server_takes_the_longest_expression_and_none_longer(
    cluster: ControlPlane,
) -> None:
    assert length(*filled_up()) == MAX_EXPRESSION_BYTES
    longest = any_of(filled_up())
    try_template(cluster.api, longest)
    with pytest.raises(ApiError, match="may not be more than 10240 bytes"):
        try_template(cluster.api, f"{longest} ")


@pytest.mark.rule("C3")
@pytest.mark.parametrize("expression", BROKEN)
def test_what_is_no_cel_is_refused_for_its_syntax(expression: str, cluster: ControlPlane) -> None:
    with pytest.raises(ApiError, match="Syntax error"):
        try_template(cluster.api, expression)


@pytest.mark.rule("C3")
@pytest.mark.parametrize("expression", [*COSTLY.values(), *DEAR.values()], ids=[*COSTLY, *DEAR])
def test_texts_of_no_known_length_cost_too_much(expression: str, cluster: ControlPlane) -> None:
    with pytest.raises(ApiError, match="too complex, exceeds cost limit"):
        try_template(cluster.api, expression)


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    "expression", [*REFUSED, *(one.expression for one in MISTYPED.values() if one.is_refused)]
)
def test_what_makes_no_sense_is_refused(expression: str, cluster: ControlPlane) -> None:
    with pytest.raises(ApiError, match=r"compilation failed|must evaluate to bool"):
        try_template(cluster.api, expression)


@pytest.mark.rule("C3")
@pytest.mark.parametrize("expression", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_kubernetes_knows_is_taken(expression: str, cluster: ControlPlane) -> None:
    try_template(cluster.api, expression)
