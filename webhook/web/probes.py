"""``/healthz``, ``/readyz`` and ``/metrics``: what kubelet, people and Prometheus look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import orjson
from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import choose_encoder

from webhook.serving.live_certificate import LiveCertificate
from webhook.serving.live_table import LiveTable
from webhook.web.state import Draining, WebState


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether reviews should be sent here.

    Attributes:
        ready: Whether every check is fine.
        checks: For each check ``ok``, what is in use, and ``problems``: why something newer is not.
    """

    ready: bool
    checks: dict[str, dict[str, object]]


def readiness(
    table: LiveTable, certificate: LiveCertificate, draining: Draining, now: datetime
) -> Readiness:
    """Judge whether reviews should be sent here.

    A table or certificate that was refused leaves the service ready: the good one goes on serving,
    and a restart would help nobody. The problems are told all the same.
    """
    checks = {
        "table": _table(table),
        "certificate": _certificate(certificate, now),
        "lifecycle": _lifecycle(draining),
    }
    return Readiness(all(check["ok"] is True for check in checks.values()), checks)


def router(state: WebState) -> APIRouter:
    """Return the routes for probes and metrics."""
    routes = APIRouter()

    @routes.get("/healthz")
    async def healthz() -> Response:
        return _json(200, {"alive": True})

    @routes.get("/readyz")
    async def readyz() -> Response:
        found = readiness(state.table, state.certificate, state.draining, state.clock())
        body = {"ready": found.ready, "checks": found.checks}
        return _json(200 if found.ready else 503, body)

    @routes.get("/metrics")
    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(state.metrics.registry), headers={"content-type": content_type})

    return routes


def _table(table: LiveTable) -> dict[str, object]:
    snapshot = table.snapshot
    problems = (*table.problems, *filter(None, (table.unreached,)))
    if snapshot is None:
        return {"ok": False, "problems": problems or ("no table was loaded yet",)}
    return {
        "ok": True,
        "name": snapshot.table.name,
        "digest": snapshot.digest,
        "rows": len(snapshot.table.rows),
        "source": table.source,
        "loadedAt": table.loaded_at,
        "problems": problems,
    }


def _certificate(certificate: LiveCertificate, now: datetime) -> dict[str, object]:
    current = certificate.current
    if current is None:
        problems = certificate.problems or ("no certificate was loaded yet",)
        return {"ok": False, "problems": problems}
    problems = certificate.problems
    expired = now >= current.not_after
    if expired:
        problems = (
            f"the certificate in use expired at {current.not_after.isoformat()}; renew it",
            *problems,
        )
    return {
        "ok": not expired,
        "names": current.names,
        "serial": current.serial,
        "notBefore": current.not_before,
        "notAfter": current.not_after,
        "warnings": current.warnings,
        "problems": problems,
    }


def _lifecycle(draining: Draining) -> dict[str, object]:
    if draining.active:
        return {"ok": False, "problems": ("this process is shutting down",)}
    return {"ok": True, "problems": ()}


def _json(status: int, body: dict[str, object]) -> Response:
    return Response(
        orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE),
        status_code=status,
        media_type="application/json",
    )
