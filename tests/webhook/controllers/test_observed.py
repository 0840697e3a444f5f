"""The controller's own little server."""

from __future__ import annotations

import httpx
import pytest

from webhook.controllers.loop_metrics import LoopMetrics
from webhook.controllers.observed import Observed
from webhook.settings import Address


def test_it_serves_metrics_and_the_probe_and_nothing_else() -> None:
    metrics = LoopMetrics()
    metrics.leads(leading=True)
    with Observed(Address("127.0.0.1", 0), metrics) as observed:
        url = f"http://127.0.0.1:{observed.port}"
        assert httpx.get(f"{url}/healthz").text == "ok\n"
        assert "gpuspec_leader 1.0" in httpx.get(f"{url}/metrics").text
        elsewhere = httpx.get(f"{url}/secrets")
        assert (elsewhere.status_code, elsewhere.text) == (404, "there are /metrics and /healthz\n")


def test_an_address_that_is_taken_is_an_error_at_the_start() -> None:
    with (
        Observed(Address("127.0.0.1", 0), LoopMetrics()) as first,
        pytest.raises(OSError, match="in use"),
    ):
        Observed(Address("127.0.0.1", first.port), LoopMetrics())
