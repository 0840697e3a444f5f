"""An installation as the manifests make it, in which all is well until a test breaks something."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path

import yaml

from certs.authority import KeyPair, create_authority, issue
from selection_spec.table import load_table
from tests.builders import GPU, PFN_TABLE, Json
from tests.logbook import NOW
from tests.webhook.advice.pods import PRODUCTS, make_slice, moved_document, stored
from tests.webhook.web.asgi import Web
from webhook.advice.doctor.checkup import examine
from webhook.advice.doctor.claims import CLAIMS_HELD, CLASSES, PODS, SLICES
from webhook.advice.doctor.findings import Report
from webhook.advice.doctor.questions import first_questions, further_questions
from webhook.advice.doctor.seen import Answer, Place, Question, Refused, Seen, Topic
from webhook.advice.doctor.trial import DEVICE, SPEC

MANIFESTS = Path(__file__).parents[4] / "manifests"
VERSION = "0.1.0"
NAMESPACE = "gpuspec-system"
HOST = "gpuspec-webhook.gpuspec-system.svc"
REPLICAS = ("webhook-a", "webhook-b")
CLAIMED = "preferred.jp/gpu-any"

DAY = timedelta(days=1)
AUTHORITY = create_authority("test", now=NOW - DAY, lifetime=730 * DAY)
PAIR = issue(AUTHORITY, [HOST], now=NOW - DAY, lifetime=90 * DAY)

Change = Callable[["World"], object]


class World:
    """What the questions of ``doctor`` are answered with."""

    def __init__(self) -> None:
        self.place = Place(version=VERSION)
        self.table = _table()
        self.answers: dict[str, Answer] = {
            Topic.MUTATING: [_trusting("base/mutatingwebhook.yaml")],
            Topic.VALIDATING: [_trusting("base/validatingwebhook.yaml")],
            Topic.POLICIES: [_documents("components/guard/policy.yaml")[0]],
            Topic.BINDINGS: [_documents("components/guard/policy.yaml")[1]],
            Topic.TABLES: [self.table],
            Topic.NODES: [make_node("a30-0", "a30-24gb"), make_node("cpu-0", "")],
            Topic.DAEMON_SETS: [daemon_set("driver", {"operator": "Exists"})],
            Topic.LIMIT_RANGES: [],
            Topic.QUOTAS: [],
            Topic.PENDING: [],
            Topic.QUEUED: [],
            Topic.SERVICES: _documents("base/webhook/service.yaml"),
            Topic.ENDPOINTS: [_endpoints(2)],
            Topic.DEPLOYMENTS: [_deployment("webhook"), _deployment("controller")],
            Topic.REPLICAS: [_replica(name) for name in REPLICAS],
            Topic.SECRET: [_secret(PAIR)],
            Topic.LEASE: [_lease()],
        }
        self.denied: set[str] = set()
        self.spec: Answer = [stored(_asking(CLAIMED), load_table(PFN_TABLE.read_bytes()))]
        self.device: Answer = [_asking(GPU)]
        self.slices: Answer = []
        self.classes: Answer = []
        self.claims: Answer = []
        self.pods: Answer = []
        self.readyz: dict[str, Answer] = {name: [readyz()] for name in REPLICAS}

    def items(self, topic: Topic) -> list[Json]:
        """What there is of a kind, to be changed."""
        answer = self.answers[topic]
        assert isinstance(answer, list)
        return answer

    def only(self, topic: Topic) -> Json:
        """The one object of a kind, to be changed."""
        (one,) = self.items(topic)
        return one

    def entry(self, topic: Topic = Topic.MUTATING) -> Json:
        """Our webhook entry, to be changed."""
        found: Json = self.only(topic)["webhooks"][0]
        return found

    def take_by_claims(self, *ids: str) -> None:
        """Have rows taken by claims, all of them where none is named, and a driver for them."""
        document = moved_document(ids or tuple(PRODUCTS))
        self.table["spec"] = document["spec"]
        self.spec = [stored(_asking(CLAIMED), load_table(json.dumps(document)))]
        for node in self.items(Topic.NODES):
            if not ids or node["metadata"]["labels"].get("gpu-model") in ids:
                node["status"]["capacity"].pop(GPU, None)
        self.slices = [make_slice("a30-0", PRODUCTS["a30-24gb"], 8)]
        self.classes = [{"metadata": {"name": "gpu.nvidia.com"}, "spec": {}}]
        readyz_now = readyz(json.dumps(document).encode())
        self.readyz = {name: [deepcopy(readyz_now)] for name in REPLICAS}

    def examine(self) -> tuple[Report, ...]:
        """Ask everything and run every check."""
        assert self.answers.keys() == first_questions(self.place).keys()
        seen = Seen.begin(self.place, self.answers, ago)
        further = further_questions(seen)
        return examine(seen.learn({key: self._answer(key, one) for key, one in further.items()}))

    def _answer(self, key: str, question: Question) -> Answer:
        if key == SPEC:
            return self.spec
        if key == DEVICE:
            return self.device
        of_claims = {
            SLICES: self.slices,
            CLASSES: self.classes,
            CLAIMS_HELD: self.claims,
            PODS: self.pods,
        }
        if key in of_claims:
            return of_claims[key]
        kind, _, rest = key.partition("/")
        if kind == "readyz":
            return self.readyz[rest]
        assert (kind, question.permission) == ("may", "create subjectaccessreviews")
        return [{"status": {"allowed": rest not in self.denied}}]


def findings(world: World, check: str) -> list[str]:
    """What one check says: ``level: what -> todo``, a line each."""
    (report,) = (one for one in world.examine() if one.id == check)
    return [
        f"{one.level}: {one.what} -> {one.todo}" if one.todo else f"{one.level}: {one.what}"
        for one in report.findings
    ]


def ago(text: str) -> float | None:
    """How long before the fixed present a time was."""
    try:
        return (NOW - datetime.fromisoformat(text)).total_seconds()
    except ValueError:
        return None


def forbidden(permission: str) -> Refused:
    """An answer to somebody who may not ask."""
    return Refused(403, f'User "jane" cannot {permission}', permission)


def readyz(table: bytes | None = None, pair: KeyPair = PAIR) -> Json:
    """What a real replica says of itself."""
    web = Web(table=table or PFN_TABLE.read_bytes())
    web.state.certificate.load(pair.certificate, pair.key, "tls.crt")
    body: Json = web.get("/readyz").json()
    return body


def daemon_set(name: str, *tolerations: Json) -> Json:
    template = {"spec": {"tolerations": list(tolerations)}}
    return {
        "metadata": {"namespace": "kube-system", "name": name},
        "spec": {"template": template},
    }


def named(name: str, **fields: object) -> Json:
    """An object of namespace team-a."""
    return {"metadata": {"namespace": "team-a", "name": name}, **fields}


def set_certificate(world: World, pair: KeyPair) -> None:
    """Store another pair and have the replicas serve it."""
    world.answers[Topic.SECRET] = [_secret(pair)]
    world.readyz = {name: [readyz(pair=pair)] for name in REPLICAS}


def encoded(pem: bytes) -> str:
    return b64encode(pem).decode()


def _documents(file: str) -> list[Json]:
    return list(yaml.safe_load_all((MANIFESTS / file).read_text()))


def _trusting(file: str) -> Json:
    (configuration,) = _documents(file)
    for webhook in configuration["webhooks"]:
        webhook["clientConfig"]["caBundle"] = encoded(AUTHORITY.certificate)
    return configuration


def _deployment(component: str) -> Json:
    (deployment,) = _documents(f"base/{component}/deployment.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = f"registry.example/gpuspec:{VERSION}"
    return deployment


def _table() -> Json:
    (table,) = _documents("../selection_spec/data/pfn-table.yaml")
    table["metadata"] = {"name": "default", "generation": 3}
    table["status"] = {
        "renewTime": (NOW - timedelta(seconds=20)).isoformat(),
        "observedGeneration": 3,
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "AllFine", "message": "4 of 4 rows"},
            {"type": "ReserveBlocked", "status": "False", "message": "nothing waits"},
            {"type": "Following", "status": "True", "message": "every change is seen"},
            {"type": "CertificatesReady", "status": "True", "message": "nothing is wrong"},
        ],
    }
    return table


def make_node(name: str, model: str) -> Json:
    """A node with GPUs, labelled and tainted by their model; without either for ""."""
    taint = {"key": "gpu-model", "value": model, "effect": "NoSchedule"}
    return {
        "metadata": {"name": name, "labels": {"gpu-model": model} if model else {}},
        "spec": {"taints": [taint] if model else []},
        "status": {"capacity": {"cpu": "64", **({GPU: "8"} if model else {})}},
    }


def _endpoints(ready: int) -> Json:
    return {
        "metadata": {"labels": {"kubernetes.io/service-name": "gpuspec-webhook"}},
        "endpoints": [{"conditions": {"ready": number < ready}} for number in range(3)],
    }


def _replica(name: str) -> Json:
    ports = [{"name": "https", "containerPort": 8443}]
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"ports": ports}]},
        "status": {"phase": "Running"},
    }


def _secret(pair: KeyPair) -> Json:
    return {"data": {"tls.crt": encoded(pair.certificate)}}


def _lease() -> Json:
    renewed = (NOW - timedelta(seconds=2)).isoformat()
    spec = {"holderIdentity": "controller-a", "leaseDurationSeconds": 15, "renewTime": renewed}
    return {"spec": spec}


def _asking(key: str) -> Json:
    containers = [{"name": "main", "resources": {"limits": {key: "1"}, "requests": {key: "1"}}}]
    return deepcopy({"metadata": {"name": "x"}, "spec": {"containers": containers}})
