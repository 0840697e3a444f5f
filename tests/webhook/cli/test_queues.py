"""With ``--cluster``, Pods are judged by the entry of the webhook that they would come by (C5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import Json, asking
from tests.cluster.product.installation import MANIFESTS
from tests.webhook.cli.claim_tables import claim_document
from tests.webhook.cli.clusters import CLASSES, SmallCluster
from tests.webhook.cli.running import answer, run
from webhook.cli.queues import namespace_at
from webhook.kube.errors import ApiError

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
ALL = ["v100-32gb", "a30-24gb", "a100-80gb"]
ONE = ["v100-32gb"]
KUEUE = {"gpuspec.preferred.jp/kueue": "true"}

pytestmark = pytest.mark.rule("C5")


def forbidden(what: str) -> ApiError:
    return ApiError(f"GET {what}", 403, "Forbidden", f'{what} is forbidden: User "u" cannot')


class KueueCluster(SmallCluster):
    """Has namespaces, too, and the shipped configuration with the component for Kueue."""

    def __init__(self, table: Json, **namespaces: Json | ApiError) -> None:
        super().__init__({"default": table}, (), CLASSES)
        path = MANIFESTS / "components/kueue/entries.yaml"
        self.configurations: list[Json] | ApiError = [yaml.safe_load(path.read_text())]
        self.namespaces = namespaces
        self.asked: list[str] = []

    def get(self, path: str) -> Json:
        """Return an object; what is not there is not found."""
        at, _, name = path.rpartition("/")
        if at != "/api/v1/namespaces":
            return super().get(path)
        self.asked.append(path)
        if isinstance(found := self.namespaces.get(name, {}), ApiError):
            raise found
        if not found:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        return found

    def items(self, path: str, **query: str) -> Iterator[Json]:
        """Yield all objects of a kind."""
        if path != CONFIGURATIONS:
            yield from super().items(path, **query)
            return
        self.asked.append(path)
        if isinstance(self.configurations, ApiError):
            raise self.configurations
        yield from self.configurations


def labelled(**labels: str) -> Json:
    return {
        "metadata": {"labels": {f"gpuspec.preferred.jp/{key}": at for key, at in labels.items()}}
    }


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KueueCluster:
    """One with claims, where namespace ``queued`` is Kueue's and the kubeconfig is in it."""
    made = KueueCluster(claim_document(), queued=labelled(kueue="true"), other=labelled(kueue="no"))
    monkeypatch.setattr("webhook.kube.cluster.connect", lambda _kubeconfig, _context: made)
    contexts = {
        name: {"name": name, "context": {"cluster": "c", "user": "u", "namespace": name}}
        for name in ("queued", "other", "")
    }
    file = tmp_path / "kubeconfig"
    config = {
        "current-context": "queued",
        "contexts": list(contexts.values()),
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
    }
    file.write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    return made


def pod(namespace: str = "", **labels: str) -> Json:
    place = {"namespace": namespace} if namespace else {}
    return asking(any_24gb=1).metadata(**place, labels=labels).build()


def kept(*documents: Json, more: tuple[str, ...] = ()) -> tuple[list[list[str]], str]:
    """The candidates of each Pod template, and what was said beside."""
    arguments = ("--cluster", "--priority", "0", *more)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    done = run("explain", "-f", "-", *arguments, "-o", "json", stdin=text)
    return [one["candidates"] for one in answer(done)], done.stderr


@pytest.mark.parametrize(
    ("document", "candidates"),
    [
        (pod("queued"), ONE),
        (pod("other"), ALL),
        (pod("made-later"), ALL),
        (pod(), ONE),
    ],
    ids=["of Kueue's", "another", "none yet", "that of the context"],
)
def test_the_namespace_decides(
    cluster: KueueCluster, document: Json, candidates: list[str]
) -> None:
    assert kept(document) == ([candidates], "")
    assert cluster.asked[0] == CONFIGURATIONS


@pytest.mark.usefixtures("cluster")
def test_so_it_does_for_specs_and_for_mutate() -> None:
    told = "using v100-32gb only: Kueue takes no claim with alternatives"
    assert told in run("explain", "any-24gb", "--cluster", "--priority", "0").stdout
    elsewhere = run("explain", "any-24gb", "--cluster", "--priority", "0", "--context", "other")
    assert told not in elsewhere.stdout
    arguments = ("mutate", "-f", "-", "--cluster", "--priority", "0")
    for namespace, number in (("queued", 1), ("other", 3)):
        done = run(*arguments, stdin=json.dumps(pod(namespace)))
        template, _ = yaml.safe_load_all(done.stdout)
        (request,) = template["spec"]["spec"]["devices"]["requests"]
        assert len(request.get("firstAvailable", [""])) == number
        assert (told in done.stderr) == (number == 1)


@pytest.mark.usefixtures("cluster")
def test_a_namespace_that_is_applied_together_has_the_labels_that_it_will_have() -> None:
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": KUEUE}}
    changed = {**made, "metadata": {"name": "other", "labels": KUEUE}}
    kept_there, said = kept(made, pod("new"), pod("other"))
    assert (kept_there, said) == ([ONE, ALL], "")
    assert kept(pod("other"), changed) == ([ONE], "")


def test_what_is_no_matter_is_not_asked_for(cluster: KueueCluster) -> None:
    kept(pod("queued", **{"kueue.x-k8s.io/queue-name": "team"}))
    kept(pod("queued"), more=("--kueue",))
    kept(asking(a100=1).metadata(namespace="queued").build())
    kept({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    assert cluster.asked == []
    kept(pod("queued"), pod("queued"))
    assert cluster.asked == [CONFIGURATIONS, "/api/v1/namespaces/queued"]


def test_where_the_cluster_has_no_entry_for_kueue_its_label_means_nothing(
    cluster: KueueCluster,
) -> None:
    assert isinstance(cluster.configurations, list)
    del cluster.configurations[0]["webhooks"][1]
    assert kept(pod("queued")) == ([ALL], "")
    assert cluster.asked == [CONFIGURATIONS]


def test_without_the_right_to_read_a_namespace_it_is_said(cluster: KueueCluster) -> None:
    cluster.namespaces["queued"] = forbidden("namespaces")
    assert kept(pod("queued"), pod("queued")) == (
        [ALL, ALL],
        "note: whether namespace queued is Kueue's may not be read; --kueue says so\n",
    )
    assert kept(pod("queued"), more=("--kueue",)) == ([ONE], "")


def test_without_the_right_to_read_entries_the_label_is_believed(cluster: KueueCluster) -> None:
    cluster.configurations = forbidden("configurations")
    assert kept(pod("queued"), pod("other")) == (
        [ONE, ALL],
        (
            "note: namespace queued is taken for one of Kueue's by its label: configurations is "
            'forbidden: User "u" cannot\n'
        ),
    )


@pytest.mark.parametrize("what", ["namespaces", "entries"])
def test_a_cluster_that_fails_ends_the_command(cluster: KueueCluster, what: str) -> None:
    error = ApiError("GET x", 500, "", "etcd is gone")
    if what == "entries":
        cluster.configurations = error
    else:
        cluster.namespaces["queued"] = error
    done = run("explain", "any-24gb", "--cluster", "--priority", "0")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "etcd is gone" in done.stderr


def test_the_innermost_object_says_its_namespace() -> None:
    template: Json = {"metadata": {"namespace": "ignored"}, "spec": {}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": "a"},
        "spec": {"template": template},
    }
    items: Any = {"apiVersion": "v1", "kind": "List", "items": [job, pod("b"), pod()]}
    assert namespace_at(job, ("spec", "template")) == "a"
    assert namespace_at(items, ("items", 0, "spec", "template")) == "a"
    assert namespace_at(items, ("items", 1)) == "b"
    assert namespace_at(items, ("items", 2)) == ""
