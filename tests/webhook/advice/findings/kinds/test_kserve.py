"""KServe: a server, what runs beside it, and its workers on other nodes."""

from __future__ import annotations

from tests.webhook.advice.findings.kinds.sight import limits, views_of

_API = "serving.kserve.io/v1beta1"
_GPU = "resources: {limits: {gpu: 1}}"


def test_what_runs_beside_a_server_is_in_its_pod_and_workers_have_their_own() -> None:
    server, workers = views_of(
        _API,
        "InferenceService",
        f"{{predictor: {{nodeSelector: {{a: b}}, model: {{{_GPU}}}, "
        f"containers: [{{name: s, {_GPU}}}, {{{_GPU}}}], initContainers: [{{name: i, {_GPU}}}], "
        f"workerSpec: {{tolerations: [], containers: [{{{_GPU}}}]}}}}}}",
    )
    assert limits(server) == {
        "i": {"gpu": "spec.predictor.initContainers[0].resources.limits.gpu"},
        "kserve-container": {"gpu": "spec.predictor.model.resources.limits.gpu"},
        "s": {"gpu": "spec.predictor.containers[0].resources.limits.gpu"},
        "container-1": {"gpu": "spec.predictor.containers[1].resources.limits.gpu"},
    }
    assert server.pod["spec"]["nodeSelector"] == {"a": "b"}
    at = "spec.predictor.workerSpec.containers[0].resources.limits.gpu"
    assert limits(workers) == {"worker-0": {"gpu": at}}
    assert workers.pod["spec"]["tolerations"] == []
    assert "nodeSelector" not in workers.pod["spec"]


def test_workers_are_seen_beside_a_predictor_of_containers_alone() -> None:
    worker, own = views_of(
        _API,
        "InferenceService",
        f"{{predictor: {{containers: [{{name: s, {_GPU}}}], "
        f"workerSpec: {{containers: [{{name: w, {_GPU}}}]}}}}}}",
    )
    assert [*limits(own), *limits(worker)] == ["s", "w"]


def test_a_runtime_has_workers_as_well() -> None:
    for kind in ("ServingRuntime", "ClusterServingRuntime"):
        worker, own = views_of(
            "serving.kserve.io/v1alpha1",
            kind,
            f"{{containers: [{{name: s, {_GPU}}}], "
            f"workerSpec: {{containers: [{{name: w, {_GPU}}}]}}}}",
        )
        assert [*limits(own), *limits(worker)] == ["s", "w"]


def test_of_a_role_with_many_servers_one_pod_is_made() -> None:
    servers = ", ".join(f"s{number}: {{{_GPU}}}" for number in range(300))
    (view,) = views_of(_API, "InferenceService", f"{{predictor: {{{servers}}}}}")
    assert len(limits(view)) == 300
