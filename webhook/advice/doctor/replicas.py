"""The webhook's replicas: whether there are any, and whether they decide alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from webhook.advice.doctor.entries import TRANSLATING, Entry, our_entries
from webhook.advice.doctor.findings import Finding, error, fine, unknown, warning
from webhook.advice.doctor.seen import Question, Refused, Seen, Topic
from webhook.advice.words import counted
from webhook.inventory.facts import Json, mapping, mappings

_PORT = 8443
_UNAVAILABLE = 503
_WAY = (
    "replicas are asked through the API server (get pods/proxy), which has to reach Pods itself "
    "for that; where a Pod is translated, see above, they do their work all the same"
)

WEBHOOK_LABELS = {"app.kubernetes.io/name": "gpuspec", "app.kubernetes.io/component": "webhook"}
"""What the replicas are known by."""


def readiness_questions(seen: Seen) -> dict[str, Question]:
    """Ask every replica itself, through the API server."""
    answer = seen.answers[Topic.REPLICAS]
    if isinstance(answer, Refused):
        return {}
    namespace = seen.place.namespace
    return {
        _key(pod): Question(
            f"/api/v1/namespaces/{namespace}/pods/https:{_name(pod)}:{_port(pod)}/proxy/readyz",
            f"get pods/proxy in namespace {namespace}",
            single=True,
        )
        for pod in _running(answer)
    }


def endpoints(seen: Seen) -> Iterator[Finding]:
    """Check that what the API server calls has somebody behind it."""
    ours = our_entries(seen, Topic.MUTATING)
    if not ours:
        yield error(
            "no MutatingWebhookConfiguration is gpuspec's: no Pod with a spec is translated",
            "apply gpuspec's manifests",
        )
        return
    for called in dict.fromkeys(entry.service for entry in ours):
        if called is None:
            yield fine("the configuration calls a URL, not a Service")
        elif called[0] != seen.place.namespace:
            yield warning(
                f"the configuration calls namespace {called[0]}, not {seen.place.namespace}",
                f"look there: --namespace {called[0]}",
            )
        else:
            yield _of_service(seen, called[1])
    for entry in ours:
        yield from _way_to(seen, entry)


def agreement(seen: Seen) -> Iterator[Finding]:
    """Check that the replicas are ready and decide by the table that the cluster has."""
    pods = _running(seen.items(Topic.REPLICAS))
    if not pods:
        labels = ",".join(f"{key}={value}" for key, value in WEBHOOK_LABELS.items())
        yield unknown(f"no Pod runs in namespace {seen.place.namespace} with labels {labels}")
        return
    digests: dict[str, list[str]] = defaultdict(list)
    refusals: dict[str, Refused] = {}
    for pod in pods:
        name, answer = _name(pod), seen.answers[_key(pod)]
        if isinstance(answer, Refused):
            refusals[name] = answer
            continue
        if not answer:
            yield unknown(f"could not ask {name}: it has gone meanwhile")
            continue
        table = mapping(mapping(answer[0].get("checks")).get("table"))
        digests[str(table.get("digest"))].append(name)
        for part in mapping(answer[0].get("checks")).values():
            for problem in mapping(part).get("problems") or ():
                yield warning(f"{name} says: {problem}", "the last good one goes on serving")
    yield from _silent(refusals, seen.place.namespace)
    yield from _digests(seen, digests)


def serials(seen: Seen) -> dict[str, str]:
    """Return the serial number of the certificate that each replica serves, as far as they say."""
    answer = seen.answers[Topic.REPLICAS]
    found = {}
    for pod in () if isinstance(answer, Refused) else _running(answer):
        said = seen.answers.get(_key(pod))
        if isinstance(said, list) and said:
            checks = mapping(said[0].get("checks"))
            serial = mapping(checks.get("certificate")).get("serial")
            if isinstance(serial, str):
                found[_name(pod)] = serial
    return found


def _of_service(seen: Seen, service: str) -> Finding:
    ready = sum(
        mapping(endpoint.get("conditions")).get("ready") is not False
        for one in seen.items(Topic.ENDPOINTS)
        if mapping(one["metadata"].get("labels")).get("kubernetes.io/service-name") == service
        for endpoint in mappings(one.get("endpoints"))
    )
    namespace = seen.place.namespace
    if not ready and not _exists(seen, service):
        return error(
            f"there is no Service {namespace}/{service}, which the configuration calls: Pods with "
            "a spec are refused",
            "apply gpuspec's manifests",
        )
    if not ready:
        return error(
            f"Service {namespace}/{service} has no ready endpoint: Pods with a spec are refused",
            f"see why: kubectl -n {namespace} get pods,events",
        )
    if ready == 1:
        return warning(
            f"Service {namespace}/{service} has one ready endpoint: while it restarts, Pods with a "
            "spec are refused",
            f"run two replicas: kubectl -n {namespace} get deployments",
        )
    return fine(f"Service {namespace}/{service} has {ready} ready endpoints")


def _way_to(seen: Seen, entry: Entry) -> Iterator[Finding]:
    """Check that what an entry calls is there: a path that is served, and the Service's port."""
    if entry.path not in TRANSLATING:
        yield error(
            f"webhook {entry.name} calls {entry.path or '/'}, where nothing is served: Pods that "
            "it is called for are refused",
            f"set its path to {' or '.join(TRANSLATING)}, as gpuspec's manifests do",
        )
    answer = seen.answers[Topic.SERVICES]
    for one in () if isinstance(answer, Refused) else answer:
        if entry.service == (seen.place.namespace, one["metadata"]["name"]):
            listed = mappings(mapping(one.get("spec")).get("ports"))
            ports = sorted(str(port.get("port")) for port in listed)
            if str(entry.port) not in ports:
                yield error(
                    f"webhook {entry.name} calls port {entry.port} of Service "
                    f"{'/'.join(entry.service)}, which has {', '.join(ports) or 'none'}: Pods that "
                    "it is called for are refused",
                    "set clientConfig.service.port of the webhook to a port of the Service",
                )


def _exists(seen: Seen, service: str) -> bool:
    answer = seen.answers[Topic.SERVICES]
    return isinstance(answer, Refused) or any(one["metadata"]["name"] == service for one in answer)


def _silent(refusals: Mapping[str, Refused], namespace: str) -> Iterator[Finding]:
    unasked = []
    for name, answer in refusals.items():
        if answer.code == _UNAVAILABLE and not answer.message:
            yield error(
                f"{name} is not ready, as it says itself",
                f"see why: kubectl -n {namespace} logs {name}",
            )
        else:
            unasked.append((name, answer.why))
    for number, (name, why) in enumerate(unasked, start=1):
        # Once is enough for all of them.
        yield unknown(f"could not ask {name}: {why}", _WAY if number == len(unasked) else "")


def _digests(seen: Seen, digests: dict[str, list[str]]) -> Iterator[Finding]:
    if len(digests) > 1:
        each = "; ".join(f"{digest} on {', '.join(names)}" for digest, names in digests.items())
        yield error(
            f"the replicas decide by different tables: {each}",
            "ask again in some seconds; if they still differ, see their logs",
        )
        return
    wanted = seen.served.table
    for digest, names in digests.items():
        many = counted(len(names), "replica")
        if wanted is None or digest == wanted.digest:
            yield fine(f"{many}, table {digest}")
            continue
        yield error(
            f"{many} {'decides' if len(names) == 1 else 'decide'} by table {digest}; the cluster's "
            f"is {seen.served.called} with digest {wanted.digest}",
            "see /readyz of one, and whether they are told --table-name "
            f"{seen.place.table_name} rather than a file",
        )


def _running(pods: list[Json]) -> list[Json]:
    return sorted(
        (
            pod
            for pod in pods
            if mapping(pod.get("status")).get("phase") == "Running"
            and not pod["metadata"].get("deletionTimestamp")
        ),
        key=_name,
    )


def _port(pod: Json) -> int:
    ports = (
        port.get("containerPort")
        for container in mappings(mapping(pod.get("spec")).get("containers"))
        for port in mappings(container.get("ports"))
        if port.get("name") == "https"
    )
    return next((port for port in ports if type(port) is int), _PORT)


def _name(pod: Json) -> str:
    return str(pod["metadata"]["name"])


def _key(pod: Json) -> str:
    return f"readyz/{_name(pod)}"
