"""Each check: what it says of an installation in which one thing is wrong, as whole texts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from selection_spec.table import load_table
from tests.builders import GPU, Json
from tests.logbook import NOW
from tests.webhook.advice.doctor.world import (
    REPLICAS,
    Change,
    World,
    daemon_set,
    findings,
    forbidden,
    make_node,
    named,
    readyz,
)
from tests.webhook.documents import table_text
from webhook.advice.doctor.findings import Level
from webhook.advice.doctor.seen import Refused, Topic

MEND = (
    "kubectl get selectiontable default -o yaml | gpuspec table lint -; where no replica is ready, "
    "nothing can judge a mended one: delete validatingwebhookconfiguration zz-gpuspec, apply the "
    "table, and then the manifests again"
)
DRY_RUN = "create pods in namespace default"
WHAT = "a Pod with preferred.jp/gpu-any in namespace default"


def test_of_a_right_installation_nothing_is_said_but_that_it_is() -> None:
    reports = World().examine()
    assert {report.level for report in reports} == {Level.FINE}
    assert all(report.findings for report in reports)


def case(name: str, check: str, change: Change, *wanted: str) -> object:
    return pytest.param(check, change, list(wanted), id=name)


def answer(topic: Topic, *items: Json) -> Change:
    return lambda world: world.answers.update({topic: list(items)})


def refuse(topic: Topic, refusal: Refused) -> Change:
    return lambda world: world.answers.update({topic: refusal})


def dry_run(code: int, message: str) -> Change:
    return lambda world: setattr(world, "spec", Refused(code, message, DRY_RUN))


def stored_as_written(world: World) -> None:
    world.spec = [
        {"spec": {"containers": [{"resources": {"limits": {"preferred.jp/gpu-any": 1}}}]}}
    ]


def endpoints(ready: int) -> Change:
    def change(world: World) -> None:
        (slice_,) = world.items(Topic.ENDPOINTS)
        slice_["endpoints"] = [{"conditions": {"ready": number < ready}} for number in range(3)]

    return change


def replica(*, body: Json | None = None, refused: Refused | None = None) -> Change:
    def change(world: World) -> None:
        world.readyz[REPLICAS[0]] = refused if refused is not None else [body or {}]

    return change


def other_table(world: World) -> None:
    world.readyz = {name: [readyz(table_text())] for name in REPLICAS}


def with_problem() -> Json:
    body = readyz()
    body["checks"]["table"]["problems"] = ["SelectionTable default: spec.devices is empty"]
    return body


INSTALL = "apply gpuspec's manifests, or say with --namespace where it is installed"
NO_WAY = Refused(503, "error trying to reach service: timed out", "get pods/proxy")
WAY = (
    "replicas are asked through the API server (get pods/proxy), which has to reach Pods itself "
    "for that; where a Pod is translated, see above, they do their work all the same"
)


@pytest.mark.parametrize(
    ("check", "change", "wanted"),
    [
        case(
            "no-configuration",
            "endpoints",
            answer(Topic.MUTATING),
            "error: no MutatingWebhookConfiguration is gpuspec's: no Pod with a spec is "
            "translated -> apply gpuspec's manifests",
        ),
        case(
            "no-service",
            "endpoints",
            lambda world: world.answers.update({Topic.SERVICES: [], Topic.ENDPOINTS: []}),
            "error: there is no Service gpuspec-system/gpuspec-webhook, which the configuration "
            "calls: Pods with a spec are refused -> apply gpuspec's manifests",
        ),
        case(
            "services-not-seen",
            "endpoints",
            lambda world: world.answers.update(
                {Topic.SERVICES: forbidden("list services"), Topic.ENDPOINTS: []}
            ),
            "error: Service gpuspec-system/gpuspec-webhook has no ready endpoint: Pods with a spec "
            "are refused -> see why: kubectl -n gpuspec-system get pods,events",
        ),
        case(
            "no-endpoint",
            "endpoints",
            endpoints(0),
            "error: Service gpuspec-system/gpuspec-webhook has no ready endpoint: Pods with a spec "
            "are refused -> see why: kubectl -n gpuspec-system get pods,events",
        ),
        case(
            "one-endpoint",
            "endpoints",
            endpoints(1),
            "warning: Service gpuspec-system/gpuspec-webhook has one ready endpoint: while it "
            "restarts, Pods with a spec are refused -> run two replicas: kubectl -n gpuspec-system "
            "get deployments",
        ),
        case(
            "another-namespace",
            "endpoints",
            lambda world: world.entry()["clientConfig"]["service"].update(namespace="gpu"),
            "warning: the configuration calls namespace gpu, not gpuspec-system -> look there: "
            "--namespace gpu",
        ),
        case(
            "a-url",
            "endpoints",
            lambda world: world.entry().update(clientConfig={"url": "https://10.0.0.1/mutate"}),
            "fine: the configuration calls a URL, not a Service",
        ),
        case(
            "may-not-list",
            "endpoints",
            refuse(Topic.MUTATING, forbidden("list mutatingwebhookconfigurations")),
            "unknown: could not look: permission to list mutatingwebhookconfigurations is missing",
        ),
        case(
            "not-translated",
            "translation",
            stored_as_written,
            f"error: {WHAT} is stored as it was written -> see whether the webhook's configuration "
            "leaves this namespace out (namespaceSelector), has other matchConditions, or "
            "failurePolicy Ignore",
        ),
        case(
            "not-called",
            "translation",
            dry_run(500, 'failed calling webhook "gpu.gpuspec.preferred.jp": connection refused'),
            f"error: {WHAT} cannot be created: failed calling webhook "
            '"gpu.gpuspec.preferred.jp": connection refused -> look at the replicas: kubectl -n '
            "gpuspec-system get pods -o wide; after that at the certificate, and at whether the "
            "API server's network reaches them",
        ),
        case(
            "denied",
            "translation",
            dry_run(403, 'admission webhook "gpu.gpuspec.preferred.jp" denied the request: no'),
            f"warning: the webhook answers, and denies {WHAT}: admission webhook "
            '"gpu.gpuspec.preferred.jp" denied the request: no',
        ),
        case(
            "guarded",
            "translation",
            dry_run(422, "ValidatingAdmissionPolicy 'gpuspec-guard' denied request: still asks"),
            f"error: {WHAT} is not translated, so the guard refuses it: ValidatingAdmissionPolicy "
            "'gpuspec-guard' denied request: still asks -> see whether the webhook's configuration "
            "is there, leaves this namespace out (namespaceSelector), or has other matchConditions "
            "than the guard",
        ),
        case(
            "refused-by-others",
            "translation",
            dry_run(403, "exceeded quota: x"),
            "unknown: could not look: create pods in namespace default: exceeded quota: x -> name "
            "a namespace where Pods are allowed with --try-in",
        ),
        case(
            "no-answer-in-time",
            "translation",
            dry_run(0, "timed out"),
            "unknown: could not look: timed out -> name a namespace where Pods are allowed with "
            "--try-in",
        ),
        case(
            "ignored",
            "outage",
            lambda world: world.entry().update(failurePolicy="Ignore"),
            "warning: zz-gpuspec has failurePolicy Ignore: while no replica answers, Pods with a "
            "spec are stored as they are written -> set it to Fail; its matchConditions keep all "
            "other Pods out of it",
        ),
        case(
            "every-pod",
            "outage",
            lambda world: world.entry().update(matchConditions=[]),
            "warning: zz-gpuspec has no matchConditions: while no replica answers, no Pod at all "
            "can be created -> take matchConditions from gpuspec's manifests",
        ),
        case(
            "no-replica",
            "replicas",
            answer(Topic.REPLICAS),
            "unknown: no Pod runs in namespace gpuspec-system with labels "
            "app.kubernetes.io/name=gpuspec,app.kubernetes.io/component=webhook",
        ),
        case(
            "two-tables",
            "replicas",
            replica(body=readyz(table_text())),
            "error: the replicas decide by different tables: "
            f"{load_table(table_text()).digest} on webhook-a; e714847787031e18 on webhook-b -> ask "
            "again in some seconds; if they still differ, see their logs",
        ),
        case(
            "not-the-cluster's-table",
            "replicas",
            other_table,
            f"error: 2 replicas decide by table {load_table(table_text()).digest}; the cluster's "
            "is SelectionTable default with digest e714847787031e18 -> see /readyz of one, and "
            "whether they are told --table-name default rather than a file",
        ),
        case(
            "a-replica-has-a-problem",
            "replicas",
            replica(body=with_problem()),
            "warning: webhook-a says: SelectionTable default: spec.devices is empty -> the last "
            "good one goes on serving",
            "fine: 2 replicas, table e714847787031e18",
        ),
        case(
            "not-ready",
            "replicas",
            replica(refused=Refused(503, "", "get pods/proxy in namespace gpuspec-system")),
            "error: webhook-a is not ready, as it says itself -> see why: kubectl -n "
            "gpuspec-system logs webhook-a",
            "fine: 1 replica, table e714847787031e18",
        ),
        case(
            "may-not-ask-a-replica",
            "replicas",
            replica(refused=forbidden("get pods/proxy in namespace gpuspec-system")),
            "unknown: could not ask webhook-a: permission to get pods/proxy in namespace "
            f"gpuspec-system is missing -> {WAY}",
            "fine: 1 replica, table e714847787031e18",
        ),
        case(
            "no-way-to-any-replica",
            "replicas",
            lambda world: world.readyz.update(dict.fromkeys(REPLICAS, NO_WAY)),
            f"unknown: could not ask webhook-a: {NO_WAY.why}",
            f"unknown: could not ask webhook-b: {NO_WAY.why} -> {WAY}",
        ),
        case(
            "a-replica-has-gone",
            "replicas",
            lambda world: world.readyz.update({REPLICAS[0]: []}),
            "unknown: could not ask webhook-a: it has gone meanwhile",
            "fine: 1 replica, table e714847787031e18",
        ),
        case(
            "versions-differ",
            "versions",
            lambda world: image(world, 1, "registry.example/gpuspec:v0.2.0@sha256:12"),
            "warning: this is gpuspec 0.1.0, the cluster runs 0.1.0 (gpuspec-webhook), 0.2.0 "
            "(gpuspec-controller) -> use one version: what this program explains is what its own "
            "version would do",
        ),
        case(
            "no-version",
            "versions",
            lambda world: image(world, 0, "registry.example:5000/gpuspec@sha256:12"),
            "unknown: the tag of image registry.example:5000/gpuspec@sha256:12 of Deployment "
            "gpuspec-webhook is no version",
            "fine: all of them 0.1.0",
        ),
        case(
            "no-deployment",
            "versions",
            answer(Topic.DEPLOYMENTS),
            "unknown: there is no Deployment of gpuspec in namespace gpuspec-system",
        ),
        case(
            "no-deployment",
            "deployments",
            answer(Topic.DEPLOYMENTS),
            "error: there is no Deployment of gpuspec's webhook in namespace gpuspec-system: Pods "
            f"with a spec are refused -> {INSTALL}",
            "error: there is no Deployment of gpuspec's controller in namespace gpuspec-system: "
            f"nobody keeps status, reserve taints and certificates -> {INSTALL}",
        ),
        case(
            "no-controller",
            "deployments",
            lambda world: world.items(Topic.DEPLOYMENTS).pop(),
            "error: there is no Deployment of gpuspec's controller in namespace gpuspec-system: "
            f"nobody keeps status, reserve taints and certificates -> {INSTALL}",
            "fine: gpuspec-webhook",
        ),
        case(
            "may-not-list-deployments",
            "deployments",
            refuse(Topic.DEPLOYMENTS, forbidden("list deployments")),
            "unknown: could not look: permission to list deployments is missing",
        ),
        case(
            "nobody-validates",
            "validation",
            answer(Topic.VALIDATING),
            "error: no ValidatingWebhookConfiguration is gpuspec's: nothing checks tables before "
            "they are stored, and nothing keeps the one in use from being deleted -> apply "
            "gpuspec's manifests",
        ),
    ],
)
def test_the_service(check: str, change: Change, wanted: list[str]) -> None:
    world = World()
    change(world)
    assert findings(world, check) == wanted


def image(world: World, number: int, name: str) -> None:
    deployment = world.items(Topic.DEPLOYMENTS)[number]
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = name


def status(**fields: object) -> Change:
    return lambda world: world.table["status"].update(fields)


def condition(kind: str, **fields: object) -> Change:
    def change(world: World) -> None:
        (one,) = (one for one in world.table["status"]["conditions"] if one["type"] == kind)
        one.update(fields)

    return change


def before(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


def lease(**fields: object) -> Change:
    return lambda world: world.only(Topic.LEASE)["spec"].update(fields)


def gpu_nodes(*models: str) -> Change:
    return answer(Topic.NODES, *(make_node(f"node-{n}", one) for n, one in enumerate(models)))


GENERATE = "have one written for the nodes that are there: gpuspec table generate --cluster"
NO_CRD = Refused(404, "404 page not found", "list selectiontables")


@pytest.mark.parametrize(
    ("check", "change", "wanted"),
    [
        case(
            "no-crd",
            "table",
            refuse(Topic.TABLES, NO_CRD),
            "error: the cluster knows no SelectionTables: the CRD is missing, and the built-in "
            "table serves -> apply gpuspec's manifests",
        ),
        case("no-crd", "status", refuse(Topic.TABLES, NO_CRD), "fine: the built-in table has none"),
        case(
            "none",
            "table",
            answer(Topic.TABLES),
            "fine: there is no SelectionTable default: the built-in table serves",
        ),
        case(
            "bad",
            "table",
            lambda world: world.table["spec"]["devices"][0].update(vram="16gib", perNode=0),
            "error: SelectionTable default is not accepted, the last good one goes on serving -> "
            f"{MEND}",
            "error: spec.devices[0].perNode: perNode is 0 and should be greater than or equal to 1",
            'error: spec.devices[0].vram: vram "16gib" is no nominal memory; write 16gb',
        ),
        case(
            "worse",
            "table",
            lambda world: world.table["spec"].update(devices=[{"name": name} for name in "abc"]),
            "error: SelectionTable default is not accepted, the last good one goes on serving -> "
            f"{MEND}",
            "error: spec.devices[0].nodes: nodes is missing",
            "error: spec.devices[0].perNode: perNode is missing",
            "error: spec.devices[0].resource: resource is missing, output is ExtendedResource; "
            "write the resource of the device plugin, such as nvidia.com/gpu",
            "error: spec.devices[0].vram: vram is missing",
            "error: spec.devices[1].nodes: nodes is missing",
            "error: and 7 more problems",
        ),
        case(
            "bad-table-hides-rows",
            "limitRanges",
            lambda world: world.table["spec"].update(devices=[]),
            "unknown: could not look: the table is not accepted, see above",
        ),
        case(
            "may-not-read",
            "status",
            refuse(Topic.TABLES, forbidden("list selectiontables")),
            "unknown: could not look: permission to list selectiontables is missing",
        ),
        case(
            "no-node-matches",
            "nodes",
            gpu_nodes("h100", "h100", "b200"),
            "error: 0 of 3 GPU nodes match a row of SelectionTable default: no Pod with a spec can "
            f"start -> {GENERATE}",
        ),
        case(
            "no-node-matches-the-built-in-table",
            "nodes",
            answer(Topic.TABLES),
            "warning: 0 of 1 GPU nodes match a row of the built-in table: no Pod with a spec can "
            f"start -> {GENERATE}",
        ),
        case(
            "some-nodes-match",
            "nodes",
            gpu_nodes("a30-24gb", "h100", "a100-80gb", "b200"),
            "warning: 2 of 4 GPU nodes match no row of SelectionTable default, so no Pod with a "
            "spec is placed there: node-1, node-3 -> add rows for them; these would do: gpuspec "
            "table generate --cluster",
        ),
        case(
            "no-gpus",
            "nodes",
            gpu_nodes(""),
            "warning: no node has GPUs in its capacity, so Pods with a spec wait -> see that a "
            "device plugin runs, unless an autoscaler brings the nodes",
        ),
        case(
            "never-written",
            "status",
            lambda world: world.table.pop("status"),
            "error: the table has no status: no controller has ever written one, so admission does "
            "not know which devices are usable (D7) -> see that a controller runs and leads",
        ),
        case(
            "stale",
            "status",
            status(renewTime=before(181)),
            "error: the table's status was renewed 3 min ago; every 60 s is right, and admission "
            "goes by it for 180 s (D7) -> see that a controller leads",
        ),
        case(
            "of-the-future",
            "status",
            status(renewTime=before(-7200)),
            "error: the table's status was renewed 2 h in the future: the controller's clock or "
            "this machine's is wrong, and admission does not go by such a status (D7) -> set the "
            "clocks right",
        ),
        case(
            "that-the-controller-cannot-follow",
            "status",
            condition("Following", status="False", message="counts are of earlier: cannot list"),
            "error: Following: counts are of earlier: cannot list -> give the controller what it "
            "lacks",
        ),
        case(
            "with-problems-of-certificates",
            "status",
            condition("CertificatesReady", status="False", message="team-kueue may not be updated"),
            "warning: CertificatesReady: team-kueue may not be updated",
        ),
        case(
            "of-another-generation",
            "status",
            status(observedGeneration=2),
            "warning: the status is of generation 2, the table of 3 -> ask again in some seconds",
            "fine: renewed 20 s ago",
        ),
        case(
            "rows-with-problems",
            "status",
            condition("Ready", reason="ProblemsFound", message="2 rows have problems: a, b"),
            "warning: 2 rows have problems: a, b -> see each row: gpuspec table show --cluster",
        ),
        case(
            "reserve-blocked",
            "status",
            condition("ReserveBlocked", status="True", message="not tainted yet: a for b"),
            "warning: ReserveBlocked: not tainted yet: a for b",
        ),
        case(
            "never-led",
            "controller",
            answer(Topic.LEASE),
            "error: no controller has ever led in namespace gpuspec-system: nobody keeps status, "
            "reserve taints and certificates -> see: kubectl -n gpuspec-system get "
            "deployments,pods",
        ),
        case(
            "handed-over",
            "controller",
            lease(holderIdentity="", renewTime=before(7200)),
            "error: nobody leads: the lease was handed over 2 h ago -> see: kubectl -n "
            "gpuspec-system get deployments,pods",
        ),
        case(
            "gone",
            "controller",
            lease(renewTime=before(16)),
            "error: nobody leads: controller-a renewed the lease last 16 s ago -> see: kubectl -n "
            "gpuspec-system get deployments,pods",
        ),
        case(
            "odd-lease",
            "controller",
            lease(renewTime=None),
            "unknown: could not look: the lease has no times",
        ),
    ],
)
@pytest.mark.rule("D7")
def test_table_and_controller(check: str, change: Change, wanted: list[str]) -> None:
    world = World()
    change(world)
    assert findings(world, check) == wanted


def late_webhook(rule: Json, name: str = "zzz-late") -> Json:
    base = {"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods"]}
    return {
        "metadata": {"name": name},
        "webhooks": [{"name": "late.example.com", "rules": [base | rule]}],
    }


def also(topic: Topic, item: Json) -> Change:
    return lambda world: world.items(topic).append(item)


def domain(world: World) -> None:
    world.table["spec"]["resourceDomain"] = "gpu.example"


def other_conditions(world: World) -> None:
    world.entry()["matchConditions"] = [{"name": "all", "expression": "true"}]


def added_toleration(world: World) -> None:
    toleration = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    world.device = [{"spec": {"tolerations": [toleration]}}]


def tolerated_anyway(world: World) -> None:
    added_toleration(world)
    for row in world.table["spec"]["devices"]:
        row["tolerations"].append({"key": GPU, "operator": "Exists", "effect": "NoSchedule"})


def limits(**fields: Json) -> Change:
    return also(
        Topic.LIMIT_RANGES, named("each", spec={"limits": [{"type": "Container"} | fields]})
    )


def reserved_under(*daemons: Json) -> Change:
    def change(world: World) -> None:
        (row,) = (one for one in world.table["spec"]["devices"] if one["name"] == "a30")
        row["reserved"] = True
        world.answers[Topic.DAEMON_SETS] = list(daemons)

    return change


def judged_by(health: Json, *daemons: Json) -> Change:
    def change(world: World) -> None:
        world.table["spec"]["health"] = health
        world.answers[Topic.DAEMON_SETS] = list(daemons)

    return change


LOCKED_OUT = (
    "warning: 1 DaemonSet of reserved nodes would not come back to one with our taint "
    "gpuspec.preferred.jp/reserved: kube-system/driver -> give their templates the toleration key: "
    "gpuspec.preferred.jp/reserved, operator: Exists, effect: NoSchedule"
)
SICK_LOCKED_OUT = (
    "warning: 1 DaemonSet of nodes that health may taint would not come back to one with our taint "
    "gpuspec.preferred.jp/unhealthy: kube-system/driver -> give their templates the toleration "
    "key: gpuspec.preferred.jp/unhealthy, operator: Exists, effect: NoSchedule"
)
OBSERVED_LOCKED_OUT = (
    "fine: note: 1 DaemonSet of nodes that health only observes would not come back to one with "
    "our taint gpuspec.preferred.jp/unhealthy: kube-system/driver; before another mode than "
    "Observe give their templates the toleration key: gpuspec.preferred.jp/unhealthy, operator: "
    "Exists, effect: NoSchedule"
)
NONE_RESERVED = "fine: no node is reserved"
REMOVE = "remove it from default, defaultRequest and max (a max without a default is one)"
NO_ADDED = "fine: none adds devices"
LATE = (
    "warning: called after zz-gpuspec, so what they add to a Pod is not translated: zzz-late -> if "
    "they add containers with a spec, rename them to sort before zz-gpuspec"
)
LAST = "fine: zz-gpuspec is the last that sees new Pods"


@pytest.mark.rule("A5", "G1", "H7")
@pytest.mark.parametrize(
    ("check", "change", "wanted"),
    [
        case(
            "another-domain",
            "prefix",
            domain,
            "error: zz-gpuspec looks for keys that begin with preferred.jp/gpu; the table's "
            "resourceDomain is gpu.example -> write gpu.example/gpu in its expressions",
            "error: gpuspec-guard looks for keys that begin with preferred.jp/gpu; the table's "
            "resourceDomain is gpu.example -> write gpu.example/gpu in its expressions",
        ),
        case(
            "other-conditions",
            "prefix",
            other_conditions,
            "unknown: zz-gpuspec has no expression in which a prefix such as x/gpu can be seen",
            "fine: gpuspec-guard looks for preferred.jp/gpu",
        ),
        case(
            "guard-deleted",
            "guard",
            answer(Topic.POLICIES),
            "error: there is no ValidatingAdmissionPolicy gpuspec-guard: a Pod whose key is not "
            "translated pends for ever, and nothing says so -> apply gpuspec's manifests with the "
            "component guard",
        ),
        case(
            "guard-left-out",
            "guard",
            lambda world: world.answers.update({Topic.POLICIES: [], Topic.BINDINGS: []}),
            "warning: there is no ValidatingAdmissionPolicy gpuspec-guard: a Pod whose key is not "
            "translated pends for ever, and nothing says so -> apply gpuspec's manifests with the "
            "component guard",
        ),
        case(
            "unbound",
            "guard",
            answer(Topic.BINDINGS),
            "error: ValidatingAdmissionPolicy gpuspec-guard has no binding, so it does nothing -> "
            "apply gpuspec's manifests",
        ),
        case("late", "order", also(Topic.MUTATING, late_webhook({})), LATE),
        case(
            "late-for-everything",
            "order",
            also(
                Topic.MUTATING,
                late_webhook({"operations": ["*"], "apiGroups": ["*"], "resources": ["*/*"]}),
            ),
            LATE,
        ),
        case(
            "late-for-updates",
            "order",
            also(Topic.MUTATING, late_webhook({"operations": ["UPDATE"]})),
            LAST,
        ),
        case(
            "late-for-others",
            "order",
            also(Topic.MUTATING, late_webhook({"apiGroups": ["apps"]})),
            LAST,
        ),
        case("early", "order", also(Topic.MUTATING, late_webhook({}, "istio")), LAST),
        case(
            "no-webhook",
            "order",
            answer(Topic.MUTATING),
            "unknown: could not look: no webhook configuration sends Pods to gpuspec",
        ),
        case(
            "extended-resource-toleration",
            "tolerations",
            added_toleration,
            "warning: the admission plugin ExtendedResourceToleration is on: every Pod with "
            "nvidia.com/gpu tolerates the taint nvidia.com/gpu:NoSchedule, though 4 rows of the "
            "table would not -> keep Pods off nodes by another taint key than nvidia.com/gpu",
        ),
        case(
            "extended-resource-toleration-without-effect",
            "tolerations",
            tolerated_anyway,
            "fine: the admission plugin ExtendedResourceToleration is on; every row tolerates its "
            "resource's taint anyway",
        ),
        case(
            "dry-run-refused",
            "tolerations",
            lambda world: setattr(world, "device", Refused(403, "exceeded quota: x", DRY_RUN)),
            "unknown: could not look: create pods in namespace default: exceeded quota: x",
        ),
        case(
            "default-device",
            "limitRanges",
            limits(default={GPU: "1", "cpu": "1"}),
            "error: LimitRange team-a/each adds nvidia.com/gpu to every container that does not "
            f"ask for it, so Pods with a spec are refused there (A5) -> {REMOVE}",
        ),
        case(
            "default-sibling",
            "limitRanges",
            limits(defaultRequest={"nvidia.com/mig-1g.5gb": "1"}),
            "error: LimitRange team-a/each adds nvidia.com/mig-1g.5gb to every container that does "
            f"not ask for it, so Pods with a spec are refused there (A5) -> {REMOVE}",
        ),
        case("default-zero", "limitRanges", limits(default={GPU: "0"}), NO_ADDED),
        case("only-max", "limitRanges", limits(max={GPU: "4"}), NO_ADDED),
        case(
            "default-key",
            "limitRanges",
            limits(default={"preferred.jp/gpu-any": "1"}),
            "error: LimitRange team-a/each adds preferred.jp/gpu-any to every container that does "
            "not ask for it, also after admission, so every Pod is refused there (A5) -> "
            f"{REMOVE}",
        ),
        case(
            "min-key",
            "limitRanges",
            limits(min={"preferred.jp/gpu-any": "1"}),
            "error: LimitRange team-a/each has a min of preferred.jp/gpu-any, which no container "
            "has after admission: none can be created there -> remove it",
        ),
        case(
            "quota",
            "quotas",
            also(
                Topic.QUOTAS,
                named("gpus", spec={"hard": {"requests.preferred.jp/gpu-any-24gb": 1, "pods": 1}}),
            ),
            "warning: ResourceQuota team-a/gpus limits nothing with "
            "requests.preferred.jp/gpu-any-24gb: admission removes the key before Pods are counted "
            "-> limit requests.nvidia.com/gpu",
        ),
        case(
            "quota-on-another-key",
            "quotas",
            also(
                Topic.QUOTAS,
                named("gpus", spec={"hard": {"requests.preferred.jp/gpudirect-nic": 1}}),
            ),
            "fine: none is on a key that admission removes",
        ),
        case(
            "no-node-is-reserved",
            "daemonSets",
            answer(
                Topic.DAEMON_SETS, daemon_set("driver", {"key": "gpu-model", "operator": "Exists"})
            ),
            NONE_RESERVED,
            OBSERVED_LOCKED_OUT,
        ),
        case(
            "daemon-set",
            "daemonSets",
            reserved_under(daemon_set("driver", {"key": "gpu-model", "operator": "Exists"})),
            LOCKED_OUT,
            OBSERVED_LOCKED_OUT,
        ),
        case(
            "daemon-set-that-tolerates",
            "daemonSets",
            reserved_under(daemon_set("driver", {"operator": "Exists"}), daemon_set("logs")),
            "fine: 1 DaemonSet of reserved nodes, none would be locked out",
        ),
        case(
            "daemon-set-and-quarantine",
            "daemonSets",
            judged_by(
                {"mode": "Quarantine"},
                daemon_set("driver", {"key": "gpu-model", "operator": "Exists"}),
                daemon_set("logs"),  # which the model's own taint keeps away already
            ),
            NONE_RESERVED,
            SICK_LOCKED_OUT,
        ),
        case(
            "daemon-set-and-one-row's-evictions",
            "daemonSets",
            judged_by(
                {"rows": [{"id": "a30-24gb", "mode": "Evict"}]},
                daemon_set("driver", {"key": "gpu-model", "operator": "Exists"}),
            ),
            NONE_RESERVED,
            SICK_LOCKED_OUT,
        ),
        case(
            "daemon-set-and-another-row's-evictions",
            "daemonSets",
            judged_by(
                {"rows": [{"id": "a100-80gb", "mode": "Evict"}]},
                daemon_set("driver", {"key": "gpu-model", "operator": "Exists"}),
            ),
            NONE_RESERVED,
            OBSERVED_LOCKED_OUT,
        ),
        case(
            "daemon-set-and-a-row-that-is-only-observed",
            "daemonSets",
            judged_by(
                {"mode": "Evict", "rows": [{"id": "a30-24gb", "mode": "Observe"}]},
                daemon_set("driver", {"key": "gpu-model", "operator": "Exists"}),
            ),
            NONE_RESERVED,
            OBSERVED_LOCKED_OUT,
        ),
        case(
            "daemon-set-that-tolerates-quarantine",
            "daemonSets",
            judged_by(
                {"mode": "Evict"},
                daemon_set(
                    "driver",
                    {"key": "gpu-model", "operator": "Exists"},
                    {"key": "gpuspec.preferred.jp/unhealthy", "operator": "Exists"},
                ),
            ),
            NONE_RESERVED,
            "fine: 1 DaemonSet of nodes that health may taint, none would be locked out",
        ),
        case(
            "untranslated",
            "pending",
            also(
                Topic.PENDING,
                named(
                    "lost",
                    spec={"containers": [{"resources": {"limits": {"preferred.jp/GPU-any": "1"}}}]},
                ),
            ),
            "error: 1 Pod waits for a key that no node has, stored while nobody translated it: "
            "team-a/lost (preferred.jp/GPU-any) -> delete them; what controls them makes new ones, "
            "which are translated",
        ),
        case(
            "waits-for-a-device",
            "pending",
            also(
                Topic.PENDING,
                named("waits", spec={"containers": [{"resources": {"limits": {GPU: "1"}}}]}),
            ),
            "fine: none waits for a key that was not translated",
        ),
    ],
)
def test_neighbours(check: str, change: Change, wanted: list[str]) -> None:
    world = World()
    change(world)
    assert findings(world, check) == wanted


@pytest.mark.rule("H7")
def test_a_daemon_set_that_a_reserved_row_locks_out_already_is_named() -> None:
    """Its Pods are gone from the node by then, or will not come back: the taint is looked past."""
    world = World()
    key = "gpuspec.preferred.jp/reserved"
    taint = {"key": key, "value": "a30-24gb", "effect": "NoSchedule"}
    world.items(Topic.NODES)[0]["spec"]["taints"].append(taint)
    reserved_under(daemon_set("driver", {"key": "gpu-model", "operator": "Exists"}))(world)
    assert findings(world, "daemonSets") == [LOCKED_OUT, OBSERVED_LOCKED_OUT]


@pytest.mark.rule("H7")
def test_a_daemon_set_that_a_quarantine_locks_out_already_is_named() -> None:
    world = World()
    taint = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
    world.items(Topic.NODES)[0]["spec"]["taints"].append(taint)
    driver = daemon_set("driver", {"key": "gpu-model", "operator": "Exists"})
    judged_by({"mode": "Evict"}, driver)(world)
    assert findings(world, "daemonSets") == [NONE_RESERVED, SICK_LOCKED_OUT]


def health(failed: int = 0, **conditions: Json) -> Change:
    """What the controller says of health in the table's status."""

    def change(world: World) -> None:
        said = world.table["status"]
        said["health"] = {"mode": "Evict", "failed": failed}
        said["conditions"] += [{"type": kind, **one} for kind, one in conditions.items()]

    return change


@pytest.mark.rule("H11")
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (health(), ["fine: mode Evict, nothing has failed"]),
        (
            health(1),
            ["warning: 1 node or device has failed, mode Evict -> see: gpuspec health"],
        ),
        (
            health(
                3,
                HealthBreaker={"status": "True", "message": "a row is stopped"},
                HealthBudget={"status": "False", "message": "these wait"},
                Health={"status": "True", "reason": "EvictionsRefused", "message": "refused"},
            ),
            [
                "warning: HealthBreaker: a row is stopped",
                "warning: Health: refused -> see: gpuspec health",
                "warning: HealthBudget: these wait -> see: gpuspec health",
                "warning: 3 nodes or devices have failed, mode Evict -> see: gpuspec health",
            ],
        ),
        (
            health(
                HealthBreaker={"status": "False", "message": "no row is stopped"},
                HealthBudget={"status": "True", "message": "nothing waits"},
                Health={"status": "False", "reason": "CannotFollow", "message": "blind"},
            ),
            [
                "warning: Health: blind -> see: gpuspec health",
                "fine: mode Evict, nothing has failed",
            ],
        ),
        (
            refuse(Topic.TABLES, forbidden("list selectiontables")),
            ["unknown: could not look: permission to list selectiontables is missing"],
        ),
    ],
    ids=["well", "failed", "all of it", "blind", "unseen"],
)
def test_what_health_has_found_is_pointed_to(change: Change, wanted: list[str]) -> None:
    world = World()
    change(world)
    assert findings(world, "health") == wanted
