"""The FastAPI application: routes, and errors as ``Status`` objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from webhook.admission.decide import Decision
from webhook.admission.decide import decide as decide_pod
from webhook.admission.tables import decide_table
from webhook.admission.translate import KUEUE
from webhook.advice.workload_review import decide_workload
from webhook.snapshot import Snapshot
from webhook.web.admit import Admit, Decide
from webhook.web.fast_lane import FastLane
from webhook.web.probes import router
from webhook.web.state import WebState
from webhook.web.status import Refusal, RefusedError, status_body

_PATHS = "/mutate, /validate or /warn"

DecidePod = Callable[[object, Snapshot], Decision]

# Reviews carry no labels of namespaces, so those of Kueue come by a path of their own (C5).
_decide_queued: DecidePod = partial(decide_pod, context=KUEUE)

# Nor do they say which namespaces want workloads to be refused.
_decide_workload_strictly: DecidePod = partial(decide_workload, denies=True)


def create_app(
    state: WebState, *, decide: DecidePod = decide_pod, table_in_use: str = "default"
) -> FastAPI:
    """Put the web layer together.

    Args:
        state: The live values behind the routes.
        decide: What answers the reviews that are sent to ``/mutate``.
        table_in_use: The name of the SelectionTable that ``/validate`` protects from deletion.
    """
    app = FastAPI(
        title="gpuspec",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a client that is redirected sends its review twice
    )
    # A workload of a hundred templates and a table of a thousand rows take long enough for Pods to
    # notice; and neither kind is to wait for the other.
    workloads = ThreadPoolExecutor(1, thread_name_prefix="workloads")
    tables = ThreadPoolExecutor(1, thread_name_prefix="tables")
    strictly = _by_live_table(_decide_workload_strictly, state)
    lanes = {
        "/mutate": Admit(_by_live_table(decide, state), state),
        "/mutate/kueue": Admit(_by_live_table(_decide_queued, state), state),
        "/warn": Admit(_by_live_table(decide_workload, state), state, aside=workloads),
        "/warn/deny": Admit(strictly, state, aside=workloads),
        "/validate": Admit(partial(decide_table, in_use=table_in_use), state, aside=tables),
    }
    for path, lane in lanes.items():
        app.router.routes.append(Route(path, lane, methods=["POST"]))
    app.include_router(router(state))
    app.add_middleware(FastLane, lanes=lanes)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _bug)
    return app


def _by_live_table(decide: DecidePod, state: WebState) -> Decide:
    """Return what decides by the table of the moment."""

    def decide_now(review: object) -> Decision:
        snapshot = state.table.snapshot
        if snapshot is None:
            raise RefusedError(
                503, Refusal.NO_TABLE, "there is no selection table yet; /readyz says why"
            )
        return decide(review, snapshot)

    return decide_now


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer what routing refuses: unknown paths and methods."""
    if not isinstance(error, HTTPException):
        raise error
    text = {
        404: f"there is nothing at {request.url.path[:100]}; reviews go to {_PATHS}",
        405: f"{request.method} is not served at {request.url.path}",
    }.get(error.status_code, str(error.detail))
    return _status(error.status_code, text, error.headers)


async def _bug(_request: Request, error: Exception) -> Response:
    """Answer a bug outside decisions; whoever runs the application logs its traceback."""
    return _status(500, f"gpuspec failed with {type(error).__name__}; its log has more")


def _status(code: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        status_body(code, message),
        status_code=code,
        headers=headers,
        media_type="application/json",
    )
