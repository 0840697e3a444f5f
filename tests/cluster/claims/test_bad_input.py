"""Odd and wrong Pods with claims: a clear denial, or a correct result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.builders import (
    DOMAIN,
    Json,
    PodBuilder,
    asking,
    expression,
    make_pod,
    make_row,
    term,
    tolerate,
)
from tests.cluster.api import Api, ApiError, path
from tests.cluster.claims.allocated import row_of, wait_given
from tests.cluster.claims.devices import NVIDIA
from tests.cluster.claims.fleet import (
    CLASSES,
    DRA,
    PRODUCTS,
    claim_of,
    device_class,
    fleets_table,
)
from tests.cluster.claims.running import Gpuspec
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import WEBHOOK
from tests.cluster.versions import ON_NEWEST

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("gpuspec")]

V100 = "v100-16gb"
LONG = "c" * 62
MANY = 9


def denial(gpuspec: Gpuspec, namespace: str, body: PodBuilder) -> str:
    with pytest.raises(ApiError) as refused:
        create_pod(gpuspec.api, namespace, body.build())
    before, _, text = refused.value.message.partition(" denied the request: ")
    assert before == f'admission webhook "{WEBHOOK}"'
    return text


@pytest.fixture(scope="module")
def many_classes(cluster: ControlPlane) -> Iterator[list[str]]:
    """More DeviceClasses than a claim may have alternatives."""
    names = [f"class-{number}.example" for number in range(MANY)]
    for name in names:
        cluster.api.create(CLASSES, device_class(name))
    yield names
    for name in names:
        cluster.api.delete(f"{CLASSES}/{name}")


def rows_of(classes: list[str]) -> list[Json]:
    """A row for each class; all of them mean the V100 of 16 GB."""
    return [
        make_row(
            f"kind{number}-16gb",
            nodes={"matchLabels": {"gpu-model": V100}},
            tolerations=[tolerate("gpu-model", V100)],
            claim=claim_of(PRODUCTS[V100][0]) | {"deviceClassName": name},
        )
        for number, name in enumerate(classes)
    ]


@pytest.mark.rule("C2")
def test_eight_classes_are_alternatives_and_nine_too_many(
    gpuspec: Gpuspec, namespace: str, many_classes: list[str]
) -> None:
    with gpuspec.serving(fleets_table(devices=rows_of(many_classes))):
        text = denial(gpuspec, namespace, asking(any=1))
    assert text == (
        'container "main": preferred.jp/gpu-any: the devices that fit are of 9 kinds, a claim '
        "names at most 8; name a device, or ask for more memory"
    )
    with gpuspec.serving(fleets_table(devices=rows_of(many_classes[1:]))):
        create_pod(gpuspec.api, namespace, asking(any=1).build())
        (given,) = wait_given(gpuspec.api, namespace, "train")
    assert given.row == "kind0-16gb"


@pytest.mark.rule("C6")
def test_more_devices_than_a_claim_may_hold(gpuspec: Gpuspec, namespace: str) -> None:
    """Kubernetes would take it and never find a place."""
    row = make_row("big-16gb", perNode=64, claim=claim_of("Big"))
    with gpuspec.serving(fleets_table(devices=[row])):
        text = denial(gpuspec, namespace, asking(big=33))
        create_pod(gpuspec.api, namespace, asking(big=32).build())
    assert text == (
        'container "main": preferred.jp/gpu-big: 33: a claim holds at most 32 devices; ask for 32 '
        "or less in one container"
    )


@pytest.mark.rule("N7")
def test_a_node_of_its_own_choice(gpuspec: Gpuspec, namespace: str) -> None:
    assert denial(gpuspec, namespace, asking(any=1).spec(nodeName="mn2a-v100-16-000")) == (
        "the Pod is bound by spec.nodeName, and a claim gets its devices from the scheduler; "
        "remove nodeName; a nodeSelector on kubernetes.io/hostname chooses a node, too"
    )


@pytest.mark.rule("N7")
def test_a_foreign_scheduler_is_warned_of(gpuspec: Gpuspec, namespace: str) -> None:
    body = asking(any=1).spec(schedulerName="volcano").build()
    done = gpuspec.plane.kubectl.run("create", "-n", namespace, "-f", "-", stdin=json.dumps(body))
    assert done.returncode == 0
    assert done.stderr == (
        "Warning: the Pod's devices are claims (DRA): scheduler volcano must be able to allocate\n"
    )


def own_claim(api: Api, namespace: str, model: str) -> None:
    """A template of the user's own for one device of a model."""
    cel = f'device.attributes["{NVIDIA}"].?productName.orValue("") == "{PRODUCTS[model][0]}"'
    asked = {"deviceClassName": NVIDIA, "selectors": [{"cel": {"expression": cel}}]}
    spec = {"devices": {"requests": [{"name": "own", "exactly": asked}]}}
    at = path(DRA, "resourceclaimtemplates", namespace=namespace)
    api.create(at, {"metadata": {"name": "own"}, "spec": {"spec": spec}})


@pytest.mark.rule("C1")
@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("own", "gpuspec-main"),
        ("gpuspec-main", "gpuspec-main-2"),
        ("gpuspec-main-2", "gpuspec-main"),
        ("gpu", "gpuspec-main"),
    ],
)
def test_a_claim_of_the_users_own_stays_beside_ours(
    gpuspec: Gpuspec, namespace: str, name: str, ours: str
) -> None:
    """Of the same class, and under the very name that we would take."""
    own_claim(gpuspec.api, namespace, "a30-24gb")
    body = asking(any_24gb=2).build()
    body["spec"]["resourceClaims"] = [{"name": name, "resourceClaimTemplateName": "own"}]
    body["spec"]["containers"][0]["resources"]["claims"] = [{"name": name}]
    stored = create_pod(gpuspec.api, namespace, body)
    assert stored["spec"]["resourceClaims"][0] == body["spec"]["resourceClaims"][0]
    (main,) = stored["spec"]["containers"]
    assert main["resources"]["claims"] == [{"name": name}, {"name": ours}]
    found = {one.name: one for one in wait_given(gpuspec.api, namespace, "train")}
    assert {one: len(given.devices) for one, given in found.items()} == {name: 1, ours: 2}
    assert row_of(tuple(found.values())) == "a30-24gb"


@pytest.mark.rule("C1")
def test_names_at_the_limit(gpuspec: Gpuspec, namespace: str) -> None:
    containers = [f"{LONG}{letter}" for letter in "ab"]
    body = make_pod("p" * 253)
    for name in containers:
        body.container(name, any_24gb=1)
    stored = create_pod(gpuspec.api, namespace, body.build())
    names = [one["name"] for one in stored["spec"]["resourceClaims"]]
    assert [len(name) for name in names] == [63, 63]
    assert len(set(names)) == len(containers)
    assert len(wait_given(gpuspec.api, namespace, "p" * 253)) == len(containers)


@pytest.mark.rule("C4", "N5")
def test_a_toleration_of_everything_is_left_alone(gpuspec: Gpuspec, namespace: str) -> None:
    everything = {"operator": "Exists"}
    stored = create_pod(gpuspec.api, namespace, asking(any_40gb=1).tolerates(everything).build())
    of_users = [one for one in stored["spec"]["tolerations"] if "tolerationSeconds" not in one]
    assert of_users == [everything]
    assert row_of(wait_given(gpuspec.api, namespace, "train")) == "a100-80gb"


OWN_TERMS = {
    "a selector on the model": (asking(any=1).selector(gpu_model="a30-24gb"), {"a30-24gb"}),
    "a selector on a node": (
        asking(any=1).spec(nodeSelector={"kubernetes.io/hostname": "mn2b-a30-007"}),
        {"a30-24gb"},
    ),
    "terms on models": (
        asking(any=1).terms(term(expression("gpu-model", "In", "a30-24gb", "a100-80gb"))),
        {"a30-24gb", "a100-80gb"},
    ),
    "not the cheapest": (
        asking(any=1).terms(term(expression("gpu-model", "NotIn", V100))),
        {"v100-32gb", "a30-24gb", "a100-80gb"},
    ),
    "high, and not the smallest": (
        asking(any=1).terms(term(expression("gpu-model", "NotIn", V100))).high(),
        {"a30-24gb"},
    ),
    "a preference": (
        asking(any=1).prefers(
            {"weight": 1, "preference": term(expression("gpu-model", "In", "a100-80gb"))}
        ),
        {V100},
    ),
}


@pytest.mark.rule("N4", "C4")
@pytest.mark.parametrize("name", OWN_TERMS)
def test_what_the_user_says_of_nodes_holds(gpuspec: Gpuspec, namespace: str, name: str) -> None:
    body, rows = OWN_TERMS[name]
    asked = body.build()
    stored = create_pod(gpuspec.api, namespace, asked)
    own = asked["spec"].get("affinity", {}).get("nodeAffinity", {})
    kept = stored["spec"].get("affinity", {}).get("nodeAffinity", {})
    assert stored["spec"].get("nodeSelector") == asked["spec"].get("nodeSelector")
    for kind, value in own.items():
        found = kept[kind]
        assert (found[: len(value)] if isinstance(value, list) else found) == value
    assert row_of(wait_given(gpuspec.api, namespace, "train")) in rows


def _container(body: Json) -> Json:
    found: Json = body["spec"]["containers"][0]
    return found


BREAKS: dict[str, Callable[[Json], object]] = {
    "the name of a container": lambda body: _container(body).update(name="Not_A_Label"),
    "two containers of one name": lambda body: body["spec"]["containers"].append(
        {"name": "main", "image": "app"}
    ),
    "no image": lambda body: _container(body).pop("image"),
    "a claim that is not there": lambda body: _container(body)["resources"].update(
        claims=[{"name": "nowhere"}]
    ),
    "our claim, which the user's Pod does not have": lambda body: _container(body)[
        "resources"
    ].update(claims=[{"name": "gpuspec-other"}]),
    "the very claim that we would make": lambda body: _container(body)["resources"].update(
        claims=[{"name": "gpuspec-main"}]
    ),
    "a claim twice in a container": lambda body: (
        body["spec"].update(resourceClaims=[{"name": "a", "resourceClaimName": "a"}]),
        _container(body)["resources"].update(claims=[{"name": "a"}, {"name": "a"}]),
    ),
    "two claims of one name": lambda body: body["spec"].update(
        resourceClaims=[{"name": "a", "resourceClaimName": "a"}] * 2
    ),
    "a claim from nowhere": lambda body: body["spec"].update(resourceClaims=[{"name": "a"}]),
    "a claim under our name from nowhere": lambda body: body["spec"].update(
        resourceClaims=[{"name": "gpuspec-main"}]
    ),
    "a claim whose name is none": lambda body: body["spec"].update(
        resourceClaims=[{"name": "Gpuspec_main", "resourceClaimName": "a"}]
    ),
    "a restart policy": lambda body: body["spec"].update(restartPolicy="Perhaps"),
    "a toleration": lambda body: body["spec"].update(tolerations=[{"operator": "Like"}]),
    "a term": lambda body: body["spec"].update(
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [term(expression("gpu-model", "Like", "a30"))]
                }
            }
        }
    ),
    "a mount": lambda body: _container(body).update(
        volumeMounts=[{"name": "nowhere", "mountPath": "/x"}]
    ),
    "a label": lambda body: body["metadata"].update(labels={"a b": "c"}),
}


@pytest.mark.rule("R6", "C1")
@pytest.mark.parametrize("name", BREAKS)
def test_the_api_server_says_of_a_wrong_pod_what_it_says_without_a_spec(
    gpuspec: Gpuspec, namespace: str, name: str
) -> None:
    """Nothing about a field that the user did not write, and nothing less; texts may list ours."""
    body = asking(any_24gb=1).build()
    BREAKS[name](body)
    without = json.loads(json.dumps(body))
    del _container(without)["resources"]["limits"]
    assert causes(gpuspec, namespace, body) == causes(gpuspec, namespace, without) != []


def causes(gpuspec: Gpuspec, namespace: str, body: Json) -> list[tuple[str, str]]:
    """What the API server has against a Pod: fields and the kinds of their faults."""
    with pytest.raises(ApiError) as refused:
        create_pod(gpuspec.api, namespace, body)
    assert DOMAIN not in refused.value.message
    found = refused.value.status["details"]["causes"]
    return sorted((one["field"], one["reason"]) for one in found)
