"""The controller's own little server."""

from __future__ import annotations

import httpx
import pytest

from webhook.controllers.loop_metrics import LoopMetrics
from webhook.controllers.observed import Observed
from webhook.settings import Address
from webhook.wiring import CannotStartError, listener


@pytest.mark.parametrize("host", ["127.0.0.1", "::"], ids=["one address", "every address"])
def test_it_serves_metrics_and_the_probe_and_nothing_else(host: str) -> None:
    metrics = LoopMetrics()
    metrics.leads(leading=True)
    opened = listener(Address(host, 0))
    with Observed(opened, metrics):
        url = f"http://127.0.0.1:{opened.getsockname()[1]}"
        assert httpx.get(f"{url}/healthz").text == "ok\n"
        assert "gpuspec_leader 1.0" in httpx.get(f"{url}/metrics").text
        elsewhere = httpx.get(f"{url}/secrets")
        assert (elsewhere.status_code, elsewhere.text) == (404, "there are /metrics and /healthz\n")


def test_an_address_that_is_taken_is_told_with_what_to_do() -> None:
    with listener(Address("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(CannotStartError) as taken:
            listener(Address("127.0.0.1", port))
    told = f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another --listen"
    assert taken.value.problems == [told]
