"""Tables and reviews for tests of the service, as small as they can be."""

from __future__ import annotations

from typing import Any

import orjson

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
KEY = "preferred.jp/gpu-any-24gb"


def table_text(name: str = "small", per_node: int = 8) -> bytes:
    """A table of two rows; another ``per_node`` gives it another digest."""
    return f"""\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {{name: {name}}}
spec:
  resourceDomain: preferred.jp
  devices:
    - name: v100
      vram: 32gb
      perNode: {per_node}
      nodes: {{matchLabels: {{gpu-model: v100-32gb}}}}
      resource: nvidia.com/gpu
    - name: a30
      vram: 24gb
      perNode: 6
      cost: 1
      nodes: {{matchLabels: {{gpu-model: a30-24gb}}}}
      resource: nvidia.com/gpu
""".encode()


# Two problems on two lines: a misspelt field and a row without memory.
BROKEN_TABLE = (
    table_text().replace(b"perNode: 6", b"perNodes: 6").replace(b"      vram: 24gb\n", b"")
)


def pod(key: str = KEY, amount: str = "1") -> dict[str, Any]:
    """A Pod with one container that asks for devices, and a secret in its environment."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "train-", "namespace": "ml"},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/train:1",
                    "env": [{"name": "PASSWORD", "value": "never-in-a-log"}],
                    "resources": {"limits": {key: amount}, "requests": {key: amount}},
                }
            ]
        },
    }


def review(obj: object = None, **changes: object) -> dict[str, Any]:
    """An AdmissionReview of a Pod's creation; ``changes`` replace fields of its request."""
    request: dict[str, Any] = {
        "uid": UID,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "ml",
        "operation": "CREATE",
        "object": pod() if obj is None else obj,
        "oldObject": None,
        "dryRun": False,
    }
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request | changes,
    }


def review_bytes(obj: object = None, **changes: object) -> bytes:
    """The same as it is sent."""
    return orjson.dumps(review(obj, **changes))
