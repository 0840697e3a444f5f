"""The FastAPI application: routes, and errors as ``Status`` objects."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from webhook.admission.decide import decide as decide_pod
from webhook.web.admit import Admit, Decide
from webhook.web.fast_lane import FastLane
from webhook.web.probes import router
from webhook.web.state import WebState
from webhook.web.status import status_body


def create_app(state: WebState, *, decide: Decide = decide_pod) -> FastAPI:
    """Put the web layer together.

    Args:
        state: The live values behind the routes.
        decide: What answers the reviews that are sent to ``/mutate``.
    """
    app = FastAPI(
        title="gpuspec",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a client that is redirected sends its review twice
    )
    lanes = {"/mutate": Admit(decide, state)}
    for path, lane in lanes.items():
        app.router.routes.append(Route(path, lane, methods=["POST"]))
    app.include_router(router(state))
    app.add_middleware(FastLane, lanes=lanes)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _bug)
    return app


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer what routing refuses: unknown paths and methods."""
    if not isinstance(error, HTTPException):
        raise error
    text = {
        404: f"there is nothing at {request.url.path[:100]}; reviews go to /mutate",
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
