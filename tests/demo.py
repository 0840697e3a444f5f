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
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from textwrap import fill
from typing import Any

from tests.builders import make_review

_WIDTH = 80
_SHOWN = 4


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
        own=(("nodeSelector", {"nvidia.com/gpu.product": "NVIDIA-L40S"}),),
    ),
    Story("A slip of the pen.", ({"preferred.jp/gpu-any-24gib": "1"},)),
    Story("More than there is.", ({"preferred.jp/gpu-a30-32gb": "1"},)),
)


def main() -> None:
    """Start the service, send it every story, print what came of it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder)) as url:
        context = ssl.create_default_context(cafile=str(Path(folder) / "ca.crt"))
        address = url.removeprefix("https://")
        ready = _ask(address, context, "/readyz")
        table = ready["checks"]["table"]
        print(f"gpuspec serves {url}/mutate over TLS with the {table['name']} table")
        print(
            f"({table['rows']} kinds of device), ready after {time.monotonic() - started:.1f} s.\n"
        )
        for number, story in enumerate(STORIES, start=1):
            review = make_review(story.pod(), uid=f"demo-{number}")
            answer = _ask(address, context, "/mutate", review)
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


def _ask(
    address: str, context: ssl.SSLContext, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send one request, a POST where there is a body, and return the JSON that comes back."""
    with closing(HTTPSConnection(address, context=context, timeout=10)) as connection:
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, content, headers)
        document: dict[str, Any] = json.load(connection.getresponse())
    return document


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
    text = json.dumps(operations)
    request = json.loads(_value(operations, "gpuspec.preferred.jp/request"))
    counts = ", ".join(f"{one['count']} in {one['name']}" for one in request["containers"])
    resource = next(
        one["path"].rpartition("/")[2].replace("~1", "/")
        for one in operations
        if one["op"] == "add" and "/resources/limits/" in one["path"]
    )
    yield f"{resource}: {counts}"
    kinds = request["candidates"]
    more = f" and {len(kinds) - _SHOWN} more kinds" if len(kinds) > _SHOWN else ""
    cheaper = ", the cheaper ones preferred" if "preferredDuring" in text else ""
    yield f"on {', '.join(kinds[:_SHOWN])}{more}{cheaper}"
    parts = (("nodeSelectorTerms", "required node affinity"), ("tolerations", "tolerations"))
    added = [words for field, words in parts if field in text]
    if added:
        yield f"by {' and '.join(added)}"


def _value(operations: list[dict[str, Any]], key: str) -> str:
    """Return the annotation that a patch sets, alone or with all others."""
    for operation in operations:
        value = operation.get("value")
        if isinstance(value, dict) and key in value:
            return str(value[key])
        if operation["path"].endswith(key.replace("/", "~1")):
            return str(value)
    raise SystemExit(f"the patch sets no annotation {key}")


if __name__ == "__main__":
    main()
