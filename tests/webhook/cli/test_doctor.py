"""``gpuspec doctor``: what it asks, how it answers, and when it gives up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Self

import pytest
from click.testing import Result

from tests.builders import GPU, Json
from tests.logbook import NOW
from tests.webhook.advice.doctor.world import VERSION, World, forbidden, named
from tests.webhook.cli.running import answer, run
from webhook.advice.doctor.findings import Report
from webhook.advice.doctor.questions import first_questions
from webhook.advice.doctor.seen import Place, Refused, Seen, Topic
from webhook.cli import doctor as verb
from webhook.kube.errors import ApiError, UnreachableError


class Answering:
    """An API server that has the objects of a world, and remembers what it was asked."""

    server = "https://cluster.example"

    def __init__(self, here: World) -> None:
        self.here = here
        self.asked: list[str] = []
        self._topics = {one.path: topic for topic, one in first_questions(here.place).items()}

    def with_patience(self, seconds: float) -> Self:
        assert 0 < seconds <= 10
        return self

    def get(self, path: str, **query: str) -> Json:
        self._note("GET", path, query)
        if path == "/version":
            return {"gitVersion": "v1.37.2"}
        if path.endswith("/proxy/readyz"):
            name = path.split("/")[6].split(":")[1]
            return self._given(path, self.here.readyz[name])[0]
        found = self._given(path, self.here.answers[self._topics[path]])
        if not found:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        return found[0]

    def items(self, path: str, **query: str) -> Iterator[Json]:
        self._note("GET", path, query)
        topic = self._topics.get(path)
        yield from self._given(path, self.here.answers[topic] if topic else [])

    def create(self, path: str, body: Json, **query: str) -> Json:
        self._note("POST", path, query)
        if path.endswith("/subjectaccessreviews"):
            return {"status": {"allowed": True}}
        (container,) = body["spec"]["containers"]
        is_spec = GPU not in container["resources"]["limits"]
        given = self.here.spec if is_spec else self.here.device
        return self._given(path, given)[0]

    def _note(self, method: str, path: str, query: dict[str, str]) -> None:
        said = "&".join(f"{key}={value}" for key, value in sorted(query.items()))
        self.asked.append(f"{method} {path}{'?' if said else ''}{said}")

    def _given(self, path: str, found: Any) -> list[Json]:  # noqa: ANN401 - an answer
        if isinstance(found, Refused) and not found.code:
            raise UnreachableError(f"{self.server}: GET {path}: {found.message}")
        if isinstance(found, Refused):
            raise ApiError(f"GET {path}", found.code, "", found.message)
        listed: list[Json] = found
        return listed


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which all is well at the fixed present."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]  # noqa: ANN401
            assert tz is UTC
            return NOW

    monkeypatch.setattr(verb, "datetime", Clock)
    monkeypatch.setattr(verb, "__version__", VERSION)
    return World()


def look(monkeypatch: pytest.MonkeyPatch, here: World, *arguments: str) -> tuple[Result, list[str]]:
    """Run it, and return what was asked as well."""
    cluster = Answering(here)
    monkeypatch.setattr("webhook.kube.cluster.connect", lambda *_: cluster)
    return run("doctor", *arguments), cluster.asked


def test_a_right_installation(monkeypatch: pytest.MonkeyPatch, here: World) -> None:
    result, _ = look(monkeypatch, here)
    head, _, checks = result.stdout.partition("\n\n")
    assert result.exit_code == 0
    assert head == "gpuspec 0.1.0 in gpuspec-system, https://cluster.example, v1.37.2"
    assert [line[:4] for line in checks.splitlines() if line[0] != " "] == ["ok  "] * 24
    assert all(len(line) <= 80 for line in checks.splitlines())
    assert result.stderr == "\n24 checks: 24 ok, 0 warnings, 0 failed, 0 unknown\n"


def test_nothing_is_changed(monkeypatch: pytest.MonkeyPatch, here: World) -> None:
    """What is created is a dry run, or a question that the API server does not keep."""
    _, asked = look(monkeypatch, here)
    created = {one for one in asked if one.startswith("POST")}
    assert created == {
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
        "POST /api/v1/namespaces/default/pods?dryRun=All",
    }


def test_where_it_looks(monkeypatch: pytest.MonkeyPatch, here: World) -> None:
    here.place = Place("gpu", "mine", "team-a", VERSION)
    here.table["metadata"]["name"] = "mine"
    result, asked = look(
        monkeypatch, here, "--namespace=gpu", "--table-name=mine", "--try-in=team-a"
    )
    assert "POST /api/v1/namespaces/team-a/pods?dryRun=All" in asked
    assert "GET /api/v1/namespaces/gpu/pods/https:webhook-a:8443/proxy/readyz" in asked
    assert "GET /api/v1/namespaces/gpu/secrets/gpuspec-webhook-tls" in asked
    assert "table accepted: mine e714847787031e18, 4 rows" in result.stdout


@pytest.mark.parametrize(
    ("breaks", "status", "status_of_warnings"),
    [
        pytest.param((), 0, 0, id="fine"),
        pytest.param(("unknown",), 0, 0, id="unknown"),
        pytest.param(("warning",), 0, 1, id="warning"),
        pytest.param(("error",), 1, 1, id="error"),
        pytest.param(("unknown", "warning", "error"), 1, 1, id="all"),
    ],
)
def test_exit_status(
    monkeypatch: pytest.MonkeyPatch,
    here: World,
    breaks: tuple[str, ...],
    status: int,
    status_of_warnings: int,
) -> None:
    changes: dict[str, dict[str, Any]] = {
        "unknown": {Topic.NODES: forbidden("list nodes")},
        "warning": {Topic.QUOTAS: [named("q", spec={"hard": {"requests.preferred.jp/gpu-x": 1}})]},
        "error": {Topic.LEASE: []},
    }
    for one in breaks:
        here.answers |= changes[one]
    plain, _ = look(monkeypatch, here)
    strict, _ = look(monkeypatch, here, "--fail-on=warning")
    assert (plain.exit_code, strict.exit_code) == (status, status_of_warnings)


def test_json(monkeypatch: pytest.MonkeyPatch, here: World) -> None:
    here.answers[Topic.LEASE] = []
    result, _ = look(monkeypatch, here, "-o", "json")
    found = answer(result, 1)
    checks = {one["id"]: one for one in found.pop("checks")}
    assert found == {
        "server": "https://cluster.example",
        "kubernetes": "v1.37.2",
        "namespace": "gpuspec-system",
        "version": "0.1.0",
        "level": "error",
    }
    assert len(checks) == 24
    assert checks["guard"] == {
        "id": "guard",
        "title": "guard",
        "level": "fine",
        "findings": [{"level": "fine", "what": "gpuspec-guard is bound", "todo": ""}],
    }
    assert checks["controller"]["level"] == "error"
    assert result.stderr == ""


def test_a_key_is_never_kept(monkeypatch: pytest.MonkeyPatch, here: World) -> None:
    here.only(Topic.SECRET)["data"]["tls.key"] = "c2VjcmV0"
    kept: list[str] = []

    def examine(seen: Seen) -> tuple[Report, ...]:
        kept.append(str(seen.answers))
        return ()

    monkeypatch.setattr(verb, "examine", examine)
    look(monkeypatch, here)
    assert "tls.crt" in kept[0]
    assert "c2VjcmV0" not in kept[0]


def test_a_cluster_that_does_not_answer_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> Answering:
        raise UnreachableError("https://cluster.example: GET /version: connection refused")

    monkeypatch.setattr("webhook.kube.cluster.connect", gone)
    result = run("doctor")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "https://cluster.example: GET /version: connection refused\n"


def test_a_cluster_that_stops_answering_is_one_message(
    monkeypatch: pytest.MonkeyPatch, here: World
) -> None:
    """Its version is known without its storage."""
    here.answers = {topic: Refused(0, "timed out", "list") for topic in here.answers}
    result, _ = look(monkeypatch, here)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "https://cluster.example: GET /apis/admissionregistration.k8s.io/v1/"
        "mutatingwebhookconfigurations: timed out\n"
    )


def test_one_replica_that_does_not_answer_is_one_finding(
    monkeypatch: pytest.MonkeyPatch, here: World
) -> None:
    here.readyz["webhook-a"] = Refused(0, "timed out", "get pods/proxy")
    result, _ = look(monkeypatch, here)
    assert result.exit_code == 0
    assert (
        "?     replicas agree: 1 replica, table e714847787031e18\n"
        "      could not ask webhook-a: https://cluster.example: GET\n"
        "      /api/v1/namespaces/gpuspec-system/pods/https:webhook-a:8443/proxy/readyz:\n"
        "      timed out\n"
        "      -> replicas are asked through the API server (get pods/proxy), which has\n"
        "         to reach Pods itself for that; where a Pod is translated, see above,\n"
        "         they do their work all the same\n"
    ) in result.stdout
