"""Pods that Kueue admits get a claim on one row, for it takes no alternatives (C5)."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.builders import PodBuilder, asking
from tests.cluster.api import Json, path, wait_until
from tests.cluster.claims.allocated import row_of, wait_given
from tests.cluster.claims.fleet import DRA
from tests.cluster.claims.running import CONFIGURATIONS, Gpuspec
from tests.cluster.components import HOST
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import MANIFESTS
from webhook.terms import CLAIMS_ANNOTATION, KUEUE_LABEL

NAMESPACE_LABEL = "gpuspec.preferred.jp/kueue"
ENTRIES = ["gpu.gpuspec.preferred.jp", "gpu-kueue.gpuspec.preferred.jp"]


def kueue_component(plane: ControlPlane, folder: Path) -> Json:
    """The configuration for Pods as a user of the component gets it from kustomize."""
    shutil.copytree(MANIFESTS, folder / "manifests")
    overlay = folder / "manifests/overlays/with-kueue"
    overlay.mkdir()
    wanted = {"resources": ["../../base"], "components": ["../../components/kueue"]}
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(wanted))
    documents = yaml.safe_load_all(plane.kubectl("kustomize", str(overlay)))
    found: Json = next(one for one in documents if one["kind"] == "MutatingWebhookConfiguration")
    return found


@pytest.fixture(scope="module")
def with_kueue(
    gpuspec: Gpuspec, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """The shipped component installed instead of the plain configuration."""
    plane = gpuspec.plane
    configuration = kueue_component(plane, tmp_path_factory.mktemp("kueue"))
    assert [entry["name"] for entry in configuration["webhooks"]] == ENTRIES
    for entry in configuration["webhooks"]:
        at = entry["clientConfig"]["service"]["path"]
        entry["clientConfig"] = {
            "url": f"https://{HOST}:{gpuspec.replica.port}{at}",
            "caBundle": b64encode(gpuspec.replica.ca_bundle).decode(),
        }
    at = f"{CONFIGURATIONS}/{configuration['metadata']['name']}"
    former = plane.api.get(at)
    plane.api.patch(at, {"webhooks": configuration["webhooks"]})
    yield plane
    plane.api.patch(at, {"webhooks": former["webhooks"]})


@pytest.fixture
def kueues_namespace(with_kueue: ControlPlane, namespace: str) -> str:
    """A namespace with the label, once the API server asks the other entry about its Pods."""
    api = with_kueue.api
    api.patch(
        path("v1", "namespaces", namespace),
        {"metadata": {"labels": {NAMESPACE_LABEL: "true"}}},
    )
    at = path("v1", "pods", namespace=namespace)

    def is_asked() -> bool:
        annotations = api.create(at, asking(any=1).build(), dryRun="All")["metadata"]["annotations"]
        return "firstAvailable" not in annotations[CLAIMS_ANNOTATION]

    wait_until(is_asked, timeout=60, what="the entry for Kueue to be called")
    return namespace


QUEUED = {"labels": {KUEUE_LABEL: "team"}}
CASES = {
    "any-24gb": (asking(any_24gb=2), "v100-32gb"),
    "any-24gb of high priority": (asking(any_24gb=2).high(), "a30-24gb"),
    "any, and selectors of its own": (asking(any=1).selector(gpu_model="a30-24gb"), "a30-24gb"),
}


@pytest.mark.rule("C5")
@pytest.mark.parametrize("name", CASES)
def test_a_queue_label_means_one_row(gpuspec: Gpuspec, namespace: str, name: str) -> None:
    body, row = CASES[name]
    is_on_one_row(gpuspec, namespace, body.metadata(**QUEUED), row)


@pytest.mark.rule("C5")
@pytest.mark.parametrize("name", CASES)
def test_a_namespace_label_means_one_row(
    gpuspec: Gpuspec, kueues_namespace: str, name: str
) -> None:
    body, row = CASES[name]
    is_on_one_row(gpuspec, kueues_namespace, body, row)


def is_on_one_row(gpuspec: Gpuspec, namespace: str, body: PodBuilder, row: str) -> None:
    create_pod(gpuspec.api, namespace, body.build())
    assert row_of(wait_given(gpuspec.api, namespace, "train")) == row
    templates = path(DRA, "resourceclaimtemplates", namespace=namespace)
    (template,) = gpuspec.api.list(templates)
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request.keys() == {"name", "exactly"}


@pytest.mark.rule("C5", "R8")
def test_the_user_is_warned(gpuspec: Gpuspec, kueues_namespace: str) -> None:
    done = gpuspec.plane.kubectl.run(
        *("create", "-n", kueues_namespace, "-f", "-"),
        stdin=json.dumps(asking(any_24gb=1).build()),
    )
    assert done.returncode == 0
    assert done.stderr == (
        "Warning: using v100-32gb only: Kueue takes no claim with alternatives\n"
    )


@pytest.mark.rule("C5")
def test_other_namespaces_keep_their_alternatives(with_kueue: ControlPlane, namespace: str) -> None:
    stored = create_pod(with_kueue.api, namespace, asking(any_24gb=1).build())
    assert "firstAvailable" in stored["metadata"]["annotations"][CLAIMS_ANNOTATION]
