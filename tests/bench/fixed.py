"""A webhook that gives every review the same answer: the least that a FastAPI service can do.

``python -m tests.bench.fixed ANSWER CERTIFICATE KEY`` prints its port and serves ``/mutate`` until
it is told to stop. ANSWER is a file with the ``response`` to give, to which each review's uid is
added. It is run by uvicorn as ``gpuspec serve`` is.
"""

from __future__ import annotations

import gc
import socket
import sys
from pathlib import Path

import orjson
import uvicorn
from fastapi import FastAPI, Request, Response


def main(answer: str, certificate: str, key: str) -> None:
    """Serve."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    config = uvicorn.Config(
        _app(orjson.loads(Path(answer).read_bytes())),
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        ssl_certfile=certificate,
        ssl_keyfile=key,
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=120,
    )
    print(listener.getsockname()[1], flush=True)
    gc.collect()
    gc.freeze()
    uvicorn.Server(config).run([listener])


def _app(response: dict[str, object]) -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.post("/mutate")
    async def mutate(request: Request) -> Response:
        review = orjson.loads(await request.body())
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], **response},
        }
        return Response(orjson.dumps(answer), media_type="application/json")

    return app


if __name__ == "__main__":
    main(*sys.argv[1:])
