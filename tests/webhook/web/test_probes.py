"""``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

from datetime import datetime, timedelta

import orjson
import pytest

from certs.authority import create_authority, issue
from selection_spec.table import load_table
from tests.logbook import NOW
from tests.webhook.documents import BROKEN_TABLE, table_text
from tests.webhook.web.asgi import Web
from webhook.web.probes import readiness

DAY = timedelta(days=1)
AUTHORITY = create_authority("test authority", now=NOW, lifetime=9 * DAY)
PAIR = issue(AUTHORITY, ["localhost"], now=NOW, lifetime=DAY)


@pytest.fixture
def web() -> Web:
    found = Web()
    assert found.state.certificate.offer(PAIR.certificate, PAIR.key, "tls.crt and tls.key")
    return found


def judged(web: Web, now: datetime = NOW) -> tuple[bool, dict[str, dict[str, object]]]:
    found = readiness(web.state.table, web.state.certificate, web.state.draining, now)
    return found.ready, found.checks


def test_alive(web: Web) -> None:
    response = web.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"alive": True})


def test_alive_even_with_nothing_to_serve_with() -> None:
    assert Web(with_table=False).get("/healthz").status_code == 200


def test_ready(web: Web) -> None:
    response = web.get("/readyz")

    current = web.state.certificate.current
    assert current is not None
    assert response.status_code == 200
    assert response.json() == {
        "ready": True,
        "checks": {
            "table": {
                "ok": True,
                "name": "small",
                "digest": load_table(table_text()).digest,
                "rows": 2,
                "source": "table.yaml",
                "loadedAt": "2026-06-01T12:00:00+00:00",
                "problems": [],
            },
            "certificate": {
                "ok": True,
                "names": ["localhost"],
                "serial": current.serial,
                "notBefore": "2026-06-01T11:55:00+00:00",
                "notAfter": "2026-06-02T12:00:00+00:00",
                "warnings": [],
                "problems": [],
            },
            "lifecycle": {"ok": True, "problems": []},
        },
    }


def test_not_ready_without_a_table_and_a_certificate() -> None:
    response = Web(with_table=False).get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "ready": False,
        "checks": {
            "table": {"ok": False, "problems": ["no table was loaded yet"]},
            "certificate": {"ok": False, "problems": ["no certificate was loaded yet"]},
            "lifecycle": {"ok": True, "problems": []},
        },
    }


def test_a_refused_table_is_told_but_leaves_the_service_ready(web: Web) -> None:
    """A restart would help nobody, and the good table decides as before."""
    assert not web.state.table.offer(BROKEN_TABLE, "table.yaml")

    ready, checks = judged(web)

    assert ready
    assert checks["table"]["ok"] is True
    assert checks["table"]["digest"] == load_table(table_text()).digest
    assert checks["table"]["problems"] == (
        "table.yaml:12:7: spec.devices[1].vram: vram is missing",
        "table.yaml:12:7: spec.devices[1].perNode: perNode is missing",
        "table.yaml:13:7: spec.devices[1].perNodes: unknown key perNodes; did you mean perNode?",
    )


def test_a_refused_first_table_is_why_there_is_none() -> None:
    web = Web(with_table=False)
    assert not web.state.table.offer(b"kind: [", "table.yaml")

    ready, checks = judged(web)

    assert not ready
    assert checks["table"] == {"ok": False, "problems": web.state.table.problems}
    assert web.state.table.problems


def test_a_refused_certificate_is_told_but_leaves_the_service_ready(web: Web) -> None:
    assert not web.state.certificate.offer(b"", b"", "tls.crt and tls.key")

    ready, checks = judged(web)

    assert ready
    assert checks["certificate"]["problems"] == (
        (
            "tls.crt and tls.key: the certificate file holds no readable PEM certificate; "
            "it must begin with -----BEGIN CERTIFICATE-----"
        ),
    )


def test_a_certificate_that_expires_while_it_serves_ends_readiness(web: Web) -> None:
    ready, checks = judged(web, NOW + DAY)

    assert not ready
    assert checks["certificate"]["ok"] is False
    assert checks["certificate"]["problems"] == (
        "the certificate in use expired at 2026-06-02T12:00:00+00:00; renew it",
    )


def test_draining_ends_readiness(web: Web) -> None:
    web.state.draining.active = True

    ready, checks = judged(web)

    assert not ready
    assert checks["lifecycle"] == {
        "ok": False,
        "problems": ("this process is shutting down",),
    }
    assert web.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        (
            "application/openmetrics-text; version=1.0.0",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
    ],
)
def test_metrics_in_the_format_that_is_asked_for(web: Web, accept: str, content_type: str) -> None:
    response = web.request("GET", "/metrics", headers={"accept": accept})

    assert response.headers["content-type"].startswith(content_type.partition(";")[0])
    digest = load_table(table_text()).digest
    assert f'gpuspec_table_info{{digest="{digest}",name="small"}} 1.0' in response.text
    assert "process_resident_memory_bytes" in response.text


def test_a_bug_behind_a_probe_is_a_status_object(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("webhook.web.probes.readiness", fail)

    response = web.get("/readyz")

    assert response.status_code == 500
    assert orjson.loads(response.content)["message"] == (
        "gpuspec failed with ZeroDivisionError; its log has more"
    )
