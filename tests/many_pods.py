"""``python -m tests.many_pods``: generated Pods through ``/mutate`` of a real service over TLS.

Every answer is held against the laws of ``tests.property.laws``: HTTP 200, the patch applies and
its inverse gives back the Pod, only known paths change, denials and warnings keep their bounds, and
the Pod as it would be stored is left alone when it comes again. The suite runs some hundred.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.builders import PFN_TABLE, Json, make_review
from tests.property.laws import check_answer
from tests.property.wild import generated_pod
from tests.service import running_service

_REPORT_EVERY_S = 10


def main() -> int:
    """Send as many Pods as asked for; the exit code tells whether every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.many_pods", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many Pods")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        seen, broken = run(Path(folder), range(arguments.first, arguments.first + arguments.count))
    for reason, number in seen.most_common():
        print(f"{number:8}  {reason}")
    for text in broken:
        print(f"BROKEN {text}")
    print(f"{sum(seen.values())} Pods in {time.monotonic() - started:.0f} s, {len(broken)} broken")
    return 1 if broken else 0


def run(folder: Path, seeds: range) -> tuple[Counter[str], list[str]]:
    """Send the Pods of these seeds; return the outcomes, and what broke a law."""
    seen: Counter[str] = Counter()
    broken: list[str] = []
    told = time.monotonic()
    with running_service(folder, "--table", str(PFN_TABLE)) as service, service.client() as client:
        for seed in seeds:
            pod = _received(seed)
            try:
                seen[_judge(client, pod)] += 1
            except AssertionError as error:
                broken.append(f"seed {seed}: {error}")
            if time.monotonic() - told > _REPORT_EVERY_S:
                told = time.monotonic()
                print(f"... {seed - seeds.start} Pods, {len(broken)} broken", file=sys.stderr)
        broken += (f"log: {line}" for line in service.log() if "Traceback" in json.dumps(line))
    return seen, broken


def _received(seed: int) -> Json:
    """The Pod as it is once it has come over the wire."""
    pod: Json = orjson.loads(json.dumps(generated_pod(seed)))
    return pod


def _judge(client: httpx.Client, pod: Json) -> str:
    """Hold the answer to one Pod against the laws; return what became of it."""
    response = _answer(client, pod)
    after = check_answer(pod, response)
    if not response["allowed"]:
        return "denied"
    if "patch" not in response:
        return "unchanged"
    assert "patch" not in _answer(client, after), "a second pass changes the Pod again"
    return "patched"


def _answer(client: httpx.Client, pod: Json) -> dict[str, Any]:
    answer = client.post(
        "/mutate",
        content=orjson.dumps(make_review(pod)),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == httpx.codes.OK, f"HTTP {answer.status_code}: {answer.text[:300]}"
    response: dict[str, Any] = answer.json()["response"]
    return response


if __name__ == "__main__":
    sys.exit(main())
