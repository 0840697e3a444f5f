"""``make demo``: the real service over TLS, real AdmissionReviews, what became of each Pod.

Needs nothing but what the service itself needs.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any
from urllib.request import Request, urlopen

_WIDTH = 80
_SHOWN_VALUES = 3


@dataclass(frozen=True)
class Story:
    """One Pod and what it is to show."""

    title: str
    limits: tuple[dict[str, str], ...]
    priority_class: str = ""
    own: tuple[tuple[str, Any], ...] = ()

    def pod(self) -> dict[str, Any]:
        containers = [
            {
                "name": name,
                "image": "train:1",
                "resources": {"limits": dict(limits), "requests": dict(limits)},
            }
            for name, limits in zip(("main", "eval"), self.limits, strict=False)
        ]
        spec: dict[str, Any] = {"containers": containers, **dict(self.own)}
        if self.priority_class:
            spec["priorityClassName"] = self.priority_class
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "demo-", "namespace": "default"},
            "spec": spec,
        }


STORIES = (
    Story("Any GPU with at least 24 GB.", ({"preferred.jp/gpu-any-24gb": "1"},)),
    Story(
        "The same for an important, long-lived Pod: the smallest that fits.",
        ({"preferred.jp/gpu-any-24gb": "1"},),
        priority_class="gpuspec-high",
    ),
    Story(
        "Two containers, one Pod, one node: four A100 and four of at least 80 GB.",
        ({"preferred.jp/gpu-a100": "4"}, {"preferred.jp/gpu-any-80gb": "4"}),
    ),
    Story(
        "What the user selects is kept, and narrows the choice.",
        ({"preferred.jp/gpu-any-40gb": "1"},),
        own=(("nodeSelector", {"topology.kubernetes.io/zone": "tokyo-1"}),),
    ),
    Story("A slip of the pen.", ({"preferred.jp/gpu-any-24gib": "1"},)),
    Story("More than there is.", ({"preferred.jp/gpu-a30-32gb": "1"},)),
)


def main() -> None:
    """Start the service, send it every story, print what came of it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder)) as url:
        context = ssl.create_default_context(cafile=str(Path(folder) / "ca.crt"))
        ready = _get(f"{url}/readyz", context)
        table = ready["checks"]["table"]
        print(f"gpuspec serves {url}/mutate over TLS with the {table['name']} table")
        print(
            f"({table['rows']} kinds of device), ready after {time.monotonic() - started:.1f} s.\n"
        )
        for number, story in enumerate(STORIES, start=1):
            answer = _post(f"{url}/mutate", _review(story.pod(), f"demo-{number}"), context)
            _show(number, story, answer["response"])
    print("Your own: .venv/bin/gpuspec explain any-24gb     (and --help)")


@contextmanager
def _service(folder: Path) -> Iterator[str]:
    """Run ``gpuspec serve`` and yield its URL; it ends with the block."""
    command = [sys.executable, "-m", "webhook", "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--tls-self-signed", str(folder), "--drain-seconds", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield _url_of(process)
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()


def _url_of(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        for word in line.replace('"', " ").split():
            if word.startswith("https://"):
                return word.rstrip("/.")
    raise SystemExit("gpuspec serve ended before it listened; run it by hand to see why")


def _get(url: str, context: ssl.SSLContext) -> dict[str, Any]:
    with urlopen(url, context=context, timeout=10) as response:
        document: dict[str, Any] = json.load(response)
    return document


def _post(url: str, body: dict[str, Any], context: ssl.SSLContext) -> dict[str, Any]:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, context=context, timeout=10) as response:
        document: dict[str, Any] = json.load(response)
    return document


def _review(pod: dict[str, Any], uid: str) -> dict[str, Any]:
    """Return the review that an API server sends when somebody creates this Pod."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": "default",
            "object": pod,
            "dryRun": False,
        },
    }


def _show(number: int, story: Story, response: dict[str, Any]) -> None:
    print(f"{number}. {story.title}")
    for limits in story.limits:
        for key, amount in limits.items():
            print(f"   {key}: {amount}")
    if story.priority_class:
        print(f"   priorityClassName: {story.priority_class}")
    for key, value in story.own:
        print(f"   {key}: {json.dumps(value)}")
    if response["allowed"]:
        operations = json.loads(b64decode(response["patch"]))
        for line in _summary(operations):
            print(fill(line, _WIDTH, initial_indent="   -> ", subsequent_indent="        "))
    else:
        text = f"denied: {response['status']['message']}"
        print(fill(text, _WIDTH, initial_indent="   -> ", subsequent_indent="      "))
    print()


def _summary(operations: list[dict[str, Any]]) -> Iterator[str]:
    """Say what a patch does, in the order in which people ask."""
    for operation in operations:
        path, value = operation["path"], operation.get("value")
        if operation["op"] == "add" and "/resources/limits/" in path:
            resource = path.rpartition("/")[2].replace("~1", "/")
            yield f"{resource}: {value} in container {path.split('/')[3]}"
    for operation in operations:
        path, value = operation["path"], operation.get("value")
        if "nodeSelectorTerms" in json.dumps(value) or "odeSelector" in path:
            yield "only on nodes with " + " or ".join(_terms(value, path))
        elif path.endswith("preferredDuringSchedulingIgnoredDuringExecution"):
            cheapest = value[0]["preference"]["matchExpressions"]
            yield f"cheapest preferred: {_expression(cheapest[0])}"


def _terms(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, str):
        yield f"{path.rpartition('/')[2].replace('~1', '/')} = {value}"
    elif isinstance(value, list):
        for term in value:
            yield " and ".join(_expression(one) for one in term["matchExpressions"])
    else:
        for key, inner in value.items():
            if isinstance(inner, str):
                yield f"{key} = {inner}"
            else:
                yield from _terms(inner, path)


def _expression(one: dict[str, Any]) -> str:
    values = one.get("values", [])
    more = f" and {len(values) - _SHOWN_VALUES} more" if len(values) > _SHOWN_VALUES else ""
    return f"{one['key']} in {', '.join(values[:_SHOWN_VALUES])}{more}"


if __name__ == "__main__":
    main()
