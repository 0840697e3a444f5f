"""The claim loop with a world, an API server and a clock of plain objects."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar, cast

from prometheus_client import CollectorRegistry

from tests.logbook import NOW, Logbook
from tests.webhook.controllers.memory import Memory
from tests.webhook.controllers.worlds import PlainWorld, pfn_table
from webhook.controllers.board import Board
from webhook.controllers.claim_jobs import Jobs
from webhook.controllers.claim_metrics import ClaimTemplateMetrics
from webhook.controllers.claim_templates import ClaimTemplateLoop
from webhook.controllers.world import _template
from webhook.inventory.pod_facts import pod_facts
from webhook.kube.cluster import Cluster
from webhook.placement.templates import canonical, template_name
from webhook.terms import TEMPLATE_LABEL

Json = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")

CLASS = "gpu.example.com"
GRACE_S = 600.0


def spec_of(count: int = 1, device_class: str = CLASS, product: str = "", **more: object) -> Json:
    """What admission would write for one candidate."""
    expression = 'device.driver == "gpu.example.com"'
    if product:
        expression += f' && "{product}" != ""'
    asked = {
        "deviceClassName": device_class,
        "selectors": [{"cel": {"expression": expression}}],
        "allocationMode": "ExactCount",
        "count": count,
    }
    return {"devices": {"requests": [{"name": "gpu", "exactly": asked | more}]}}


OURS = {TEMPLATE_LABEL: "gpu"}
SPEC = spec_of()
NAME = template_name(SPEC)


def raw_pod(
    name: str, *specs: Json, namespace: str = "team", annotation: str | None = None
) -> Json:
    """A Pod as admission leaves it; another annotation forges it."""
    written = {template_name(spec): spec for spec in specs or (SPEC,)}
    claims = [
        {"name": f"gpuspec-{number}", "resourceClaimTemplateName": one}
        for number, one in enumerate(written)
    ]
    text = canonical(written) if annotation is None else annotation
    return {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": f"uid-{name}",
            "annotations": {"gpuspec.preferred.jp/claims": text},
        },
        "spec": {"containers": [], "resourceClaims": claims},
    }


class Inline(Executor):
    """Does what it is given at once; what is told to hang ends only when it is let go."""

    def __init__(self) -> None:
        self.hangs: set[str] = set()
        self._held: list[Callable[[], None]] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            future.set_result(fn(*args, **kwargs))

        if cast("Any", args[1]).namespace in self.hangs:
            self._held.append(run)
        else:
            run()
        return future

    def let_go(self) -> None:
        self.hangs.clear()
        while self._held:
            self._held.pop()()


class _Refusing(Memory):
    """Refuses what it is told to.

    Attributes:
        refusals: A verb, a part of the object's path, and the answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[tuple[str, str, Exception]] = []
        self.before_write = self._answer

    def create(self, path: str, body: Json, **query: str) -> Json:
        self._answer("create", f"{path}/{body['metadata']['name']}")
        return super().create(path, body, **query)

    def _answer(self, verb: str, path: str) -> None:
        for refused, part, error in self.refusals:
            if verb == refused and part in path:
                raise error


class Claims:
    """The loop, what it looks at and what it has done.

    Attributes:
        seconds: The steady clock.
        woken: How many jobs have ended.
    """

    def __init__(self, minor: str = "37") -> None:
        self.world = PlainWorld()
        claim = {"deviceClassName": CLASS, "driver": CLASS}
        self.world.put_table(pfn_table(claim=claim))
        self.memory = _Refusing()
        self.memory.objects["/version"] = {"major": "1", "minor": minor}
        self.board = Board(lambda: None)
        self.book = Logbook()
        self.registry = CollectorRegistry()
        self.metrics = ClaimTemplateMetrics(self.registry)
        self.pool = Inline()
        self.slow_pool = Inline()
        self.seconds = 1000.0
        self.woken = 0
        self.loop = self.another()

    def another(self) -> ClaimTemplateLoop:
        """The loop of another process."""
        cluster = cast("Cluster", self.memory)
        return ClaimTemplateLoop(
            cluster,
            self.world,
            Jobs(cluster, self.pool, self.slow_pool, self._ended),
            in_use="default",
            board=self.board,
            log=self.book.log,
            metrics=self.metrics,
            monotonic=lambda: self.seconds,
            grace_s=GRACE_S,
        )

    def put(self, *pods: Json) -> None:
        """Store Pods, and show them."""
        for pod in pods:
            metadata = pod["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            self.memory.put(path, pod)
            self.world.put_pod(pod_facts(pod))

    def put_template(
        self, name: str = NAME, spec: Json | None = None, labels: dict[str, str] | None = None
    ) -> None:
        """Store a template of somebody's."""
        at = f"/apis/resource.k8s.io/v1/namespaces/team/resourceclaimtemplates/{name}"
        body = {"metadata": {"name": name, "labels": labels or {}}, "spec": {"spec": spec or SPEC}}
        self.memory.put(at, body)
        self.show()

    def delete_template(self, name: str = NAME) -> None:
        """Delete one by hand."""
        kept = {at: one for at, one in self.memory.objects.items() if name not in at}
        self.memory.objects = kept
        self.show()

    def show(self) -> None:
        """Show the templates that are there, as the mirror does a moment later."""
        seen = {
            path: _template(one | {"metadata": one["metadata"] | {"namespace": path.split("/")[5]}})
            for path, one in self.memory.objects.items()
            if "resourceclaimtemplates" in path
        }
        self.world.plain["templates"].objects = {
            path: one for path, one in seen.items() if one is not None
        }

    def look(self, seconds: float = 0.0) -> float:
        """Let time pass, run, and run again for each job that has ended, as it wakes the loop."""
        self.seconds += seconds
        while True:
            before = self.woken
            wait = self.loop.run(NOW)
            self.show()
            if self.woken == before:
                return wait

    def refuse(self, verb: str, part: str, error: Exception) -> None:
        """Answer writes of a verb, to objects with this part in their path, with an error."""
        self.memory.refusals.append((verb, part, error))

    @property
    def templates(self) -> list[str]:
        """``namespace/name`` of what is there."""
        return [
            f"{path.split('/')[5]}/{path.rpartition('/')[2]}"
            for path in self.memory.objects
            if "resourceclaimtemplates" in path
        ]

    @property
    def events(self) -> list[tuple[str, str]]:
        """Which Pod was told what."""
        return [
            (body["involvedObject"]["name"], body["message"])
            for verb, path, body in self.memory.writes
            if "/events/" in path
        ]

    @property
    def nudged(self) -> list[str]:
        """The Pods whose status was touched."""
        return [body["metadata"]["name"] for verb, _, body in self.memory.writes if verb == "patch"]

    @property
    def condition(self) -> tuple[str, str]:
        (one,) = self.board.conditions()
        assert one.type == "ClaimTemplates"
        return one.status, one.message

    def count(self, write: str) -> float | None:
        return self.registry.get_sample_value(
            "gpuspec_claim_template_writes_total", {"write": write}
        )

    def waiting(self, why: str) -> float | None:
        return self.registry.get_sample_value("gpuspec_claim_template_waiting_pods", {"why": why})

    def _ended(self) -> None:
        self.woken += 1
