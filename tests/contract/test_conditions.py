"""The CEL of the webhook's condition and of the guard, on real API servers and odd Pods.

An error in either would refuse the Pod, so both are tried on everything that decodes as a Pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.cluster.api import Api, ApiError, Json, path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.versions import wanted_minors
from tests.contract.kustomize import built, one

pytestmark = pytest.mark.cluster

PODS = path("v1", "pods", namespace="default")
CONFIGURATIONS = "admissionregistration.k8s.io/v1"
KEY = "preferred.jp/gpu-any-24gb"


@dataclass(frozen=True)
class Case:
    """A Pod, and how the guard names what is left in it."""

    name: str
    pod: Json
    left: str | None = None


def container(name: str = "main", **resources: object) -> Json:
    return {"name": name, "image": "x", "resources": resources}


def pod(*containers: object, annotations: Json | None = None, **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "odd-", "annotations": annotations},
        "spec": {"containers": list(containers), **spec},
    }


def crowd(number: int) -> list[Json]:
    """As many containers as fit, each with more keys than anybody needs."""
    others = {f"example.com/quite-a-long-name-of-a-resource-{n}": "1" for n in range(4)}
    return [
        container(f"c{n}", limits={"cpu": "1", "memory": "1Mi"} | others) for n in range(number)
    ]


PLAIN = container()
BARE: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "odd-"}}
ASKS = pod(container(limits={KEY: "1"}))
MIRROR = {"kubernetes.io/config.mirror": "x"}
CASES = (
    Case("plain", pod(PLAIN)),
    Case("no-spec", BARE),
    Case("spec-null", BARE | {"spec": None}),
    Case("no-containers", BARE | {"spec": {}}),
    Case("containers-null", BARE | {"spec": {"containers": None}}),
    Case("containers-empty", pod()),
    Case("container-null", pod(None)),
    Case("container-empty", pod({})),
    Case("init-containers-null", pod(PLAIN, initContainers=None)),
    Case("init-containers-empty", pod(PLAIN, initContainers=[])),
    Case("ephemeral-containers-null", pod(PLAIN, ephemeralContainers=None)),
    Case("resources-null", pod({"name": "main", "image": "x", "resources": None})),
    Case("no-resources", pod({"name": "main", "image": "x"})),
    Case("limits-null", pod(container(limits=None))),
    Case("requests-null", pod(container(requests=None))),
    Case("limits-empty", pod(container(limits={}))),
    Case("pod-resources-null", pod(PLAIN, resources=None)),
    Case("pod-resources-empty", pod(PLAIN, resources={})),
    Case("pod-resources-cpu", pod(PLAIN, resources={"limits": {"cpu": "1"}})),
    Case("device", pod(container(limits={"nvidia.com/gpu": "1"}))),
    Case("other-key-of-the-domain", pod(container(limits={"preferred.jp/network": "1"}))),
    Case("many-containers", pod(*crowd(2000))),
)
CALLED = (
    Case("limits", ASKS, left=f'container "main" still asks for {KEY}'),
    Case(
        "zero",
        pod(container(limits={KEY: "0"})),
        left=f'container "main" still asks for {KEY}',
    ),
    Case(
        "upper-case",
        pod(container(limits={"preferred.jp/GPU-any": "1"})),
        left='container "main" still asks for preferred.jp/GPU-any',
    ),
    Case(
        "no-name",
        pod(container(limits={"preferred.jp/gpu": "1"})),
        left='container "main" still asks for preferred.jp/gpu',
    ),
    Case(
        "init-container",
        pod(PLAIN, initContainers=[container("first", limits={KEY: "1"})]),
        left=f'container "first" still asks for {KEY}',
    ),
    Case(
        "last-of-many",
        pod(*crowd(100), container("last", limits={KEY: "1"})),
        left=f'container "last" still asks for {KEY}',
    ),
    # These the API server refuses by itself when nobody translates them, before the guard's turn.
    Case("requests-only", pod(container(requests={KEY: "1"}))),
    Case("pod-level", pod(PLAIN, resources={"limits": {KEY: "1"}})),
    # And these are none of the guard's business.
    Case("other-key-like-ours", pod(container(limits={"preferred.jp/gpudirect": "1"}))),
    Case("mirror", pod(*ASKS["spec"]["containers"], annotations=MIRROR, nodeName="none")),
)


def answer(api: Api, case: Case) -> str:
    """What becomes of the Pod: ``created``, or the API server's words without the Pod's name."""
    try:
        created = api.create(PODS, case.pod, dryRun="All")
    except ApiError as error:
        return error.message.replace(error.status.get("details", {}).get("name", ""), "")
    assert created["kind"] == "Pod"
    return "created"


def wait_refused(api: Api, *, refused: bool) -> None:
    """Wait until a stored configuration, or its end, takes effect, which is about a second."""
    wait_until(
        lambda: (answer(api, CALLED[0]) != "created") is refused,
        timeout=30,
        what="the API server to see a changed configuration",
    )


@dataclass(frozen=True)
class Answers:
    """What each Pod met: with nothing installed, with the guard, and with the webhook (down)."""

    nothing: dict[str, str]
    guard: dict[str, str]
    webhook: dict[str, str]


@pytest.fixture(scope="module", params=wanted_minors())
def answers(request: pytest.FixtureRequest) -> Answers:
    installation = built("default")
    with ControlPlane.start(request.param) as control_plane:
        api = control_plane.api
        nothing = ask_all(api)
        for kind, plural in (
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
            ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
        ):
            api.create(path(CONFIGURATIONS, plural), one(installation, kind))
        wait_refused(api, refused=True)
        guard = ask_all(api)
        bindings = path(CONFIGURATIONS, "validatingadmissionpolicybindings", "gpuspec-guard")
        api.delete(bindings)
        wait_refused(api, refused=False)
        configuration = one(installation, "MutatingWebhookConfiguration")
        api.create(path(CONFIGURATIONS, "mutatingwebhookconfigurations"), configuration)
        wait_refused(api, refused=True)
        return Answers(nothing, guard, ask_all(api))


def ask_all(api: Api) -> dict[str, str]:
    return {case.name: answer(api, case) for case in CASES + CALLED}


def names(cases: Sequence[Case]) -> list[str]:
    return [case.name for case in cases]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_while_the_webhook_is_down_pods_without_our_prefix_are_as_ever(
    answers: Answers, case: Case
) -> None:
    assert answers.webhook[case.name] == answers.nothing[case.name]


@pytest.mark.parametrize("case", CALLED, ids=names(CALLED))
def test_pods_with_our_prefix_reach_the_webhook(answers: Answers, case: Case) -> None:
    said = answers.webhook[case.name]
    assert 'failed calling webhook "gpu.gpuspec.preferred.jp"' in said


@pytest.mark.rule("G4")
@pytest.mark.parametrize("case", CASES + CALLED, ids=names(CASES + CALLED))
def test_the_guard_refuses_what_is_left_untranslated_and_nothing_else(
    answers: Answers, case: Case
) -> None:
    said = answers.guard[case.name]
    if case.left is None:
        assert said == answers.nothing[case.name]
    else:
        assert answers.nothing[case.name] == "created"
        assert said.endswith(
            f"'gpuspec-guard' denied request: {case.left}, which no node has: the Pod would pend "
            "for ever. If you wrote it, write the real resource instead, which "
            '"gpuspec mutate --cluster -f FILE" prints: gpuspec, which turns such keys into real '
            "resources, is switched off in this cluster. If you did not, tell your admins: a "
            "webhook whose configuration sorts after zz-gpuspec adds it, and needs an earlier "
            "name."
        )
