"""``POST /warn`` and ``/warn/deny`` in process: workloads never keep Pods waiting."""

from __future__ import annotations

import asyncio
from threading import Event

import httpx
import orjson
import pytest

from tests.webhook.advice.test_workload_review import review, workload
from tests.webhook.documents import review_bytes
from tests.webhook.web.asgi import JSON, Web
from webhook.admission.decide import Decision
from webhook.advice.workload_review import decide_workload
from webhook.snapshot import Snapshot
from webhook.web import app

_PATIENCE_S = 30


@pytest.mark.rule("R4", "R8")
def test_one_path_warns_and_the_other_refuses() -> None:
    web, body = Web(), orjson.dumps(review(workload("preferred.jp/gpu-A100")))

    warned = orjson.loads(web.post(body, "/warn").content)["response"]
    refused = orjson.loads(web.post(body, "/warn/deny").content)["response"]

    said = 'its Pods will be refused: container "main": preferred.jp/gpu-A100 has upper-case'
    assert warned["allowed"] is True
    assert warned["warnings"][0].startswith(said)
    assert refused["allowed"] is False
    assert refused["status"]["message"].startswith(said)


def test_pods_do_not_wait_for_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workload's review ends only once a Pod's, which came later, was answered."""
    answered = Event()

    def decide_once_answered(document: object, snapshot: Snapshot) -> Decision:
        assert answered.wait(_PATIENCE_S)
        return decide_workload(document, snapshot)

    monkeypatch.setattr(app, "decide_workload", decide_once_answered)
    web = Web()

    async def send() -> tuple[httpx.Response, httpx.Response]:
        transport = httpx.ASGITransport(web.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="https://gpuspec") as client:
            body = orjson.dumps(review(workload()))
            first = asyncio.create_task(client.post("/warn", content=body, headers=JSON))
            await asyncio.sleep(0)
            second = await client.post("/mutate", content=review_bytes(), headers=JSON)
            answered.set()
            return await first, second

    of_workload, of_pod = asyncio.run(send())
    assert (of_workload.status_code, of_pod.status_code) == (200, 200)
    assert orjson.loads(of_pod.content)["response"]["patchType"] == "JSONPatch"
