"""What ``validate`` says of the corpus, and what a cluster with nothing but our webhook does."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from selection_spec.documents import survey_manifests
from tests.builders import Json
from tests.cluster.api import Api, ApiError, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import EXAMPLE_TABLE, WEBHOOK
from webhook.advice.findings.views import View, objects, views
from webhook.cli.validate.files import inputs
from webhook.inventory.facts import mapping

pytestmark = pytest.mark.usefixtures("webhook")

MANIFESTS: Final = Path(__file__).parents[2] / "corpus/manifests"
BUILT_IN: Final = frozenset(
    [
        "Pod",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CronJob",
    ]
)

# What a Pod of these has beside its template.
_OWNED = {"DaemonSet": "apps/v1"}


def findings() -> list[Json]:
    """What validate finds in the corpus by the table that serves in the cluster."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "webhook", "validate", ".", "--format", "json"),
            *("--table", str(EXAMPLE_TABLE)),
        ],
        cwd=MANIFESTS,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found: list[Json] = json.loads(done.stdout)["findings"]
    return found


def denied(found: list[Json]) -> dict[str, set[str]]:
    """By file the objects of which validate says that their Pods are denied."""
    objects_: dict[str, set[str]] = defaultdict(set)
    for one in found:
        # A finding of admission's own has its rule's number, suppressed or not.
        if one["level"] == "error" and one["semantics"] and one["object"]:
            objects_[one["file"]].add(one["object"])
    return objects_


def built_in_pods() -> Iterator[tuple[str, View]]:
    """Every Pod of a built-in kind in the corpus, with its file."""
    for one in inputs([str(MANIFESTS)]):
        file = Path(one.file).relative_to(MANIFESTS).as_posix()
        for document in survey_manifests(Path(one.file).read_bytes()).documents:
            kinds = {found.path: found.kind for found in objects(document.value)}
            for view in views(document.value):
                if kinds[view.object] in BUILT_IN:
                    yield file, view


def as_created(view: View) -> Json:
    """A Pod as its controller creates it."""
    body = copy.deepcopy(view.pod)
    metadata = mapping(body.get("metadata"))
    kept: Json = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    kept["generateName"] = "corpus-"
    if view.kind in _OWNED:
        owner = {"kind": view.kind, "name": view.owner.partition("/")[2], "uid": "1"}
        kept["ownerReferences"] = [{**owner, "apiVersion": _OWNED[view.kind], "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": body.get("spec")}


def refusal(api: Api, namespace: str, view: View) -> str:
    """Why a Pod is refused; "" where it is created."""
    try:
        api.create(path("v1", "pods", namespace=namespace), as_created(view), dryRun="All")
    except ApiError as error:
        return error.message or str(error)
    return ""


@pytest.mark.rule("R4")
def test_what_validate_denies_is_refused_and_all_else_is_let_in_by_us(
    cluster: ControlPlane, namespace: str
) -> None:
    found = findings()
    told = denied(found)
    unrendered = {one["file"] for one in found if one["rule"] == "GS002"}
    judged = 0
    wrong = []
    by_object: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, view in built_in_pods():
        if file in unrendered:
            continue
        by_object[file, view.owner].append(refusal(cluster.api, namespace, view))
        judged += 1
    for (file, owner), refusals in by_object.items():
        is_refused_by_us = any(WEBHOOK in one for one in refusals)
        is_refused = any(refusals)
        if owner in told[file] and not is_refused:
            wrong.append(f"{file} {owner}: validate denies it, the cluster does not")
        if owner not in told[file] and is_refused_by_us:
            wrong.append(f"{file} {owner}: validate lets it pass, the cluster says {refusals}")
    assert wrong == []
    assert judged >= 20
    assert sum(owner in told[file] for file, owner in by_object) >= 8
