"""``gpuspec mutate`` of what becomes a claim: templates beside the objects that need them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.builders import Json, asking, expression, term
from tests.webhook.cli.claim_tables import claim_table
from tests.webhook.cli.running import run
from webhook.placement.templates import template_name

_LOW = ("--priority", "0")


def _workload(kind: str, spec: Json, name: str = "train", **metadata: object) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def _template(spec: str = "any-24gb") -> Json:
    limits = {f"preferred.jp/gpu-{spec}": 1}
    container = {"name": "main", "image": "app", "resources": {"limits": limits}}
    return {"spec": {"containers": [container]}}


def _deployment(name: str, spec: str = "any-24gb", **metadata: object) -> Json:
    return _workload("Deployment", {"template": _template(spec)}, name, **metadata)


def _mutated(table: str, *documents: Json, output: str = "yaml") -> list[Any]:
    """Return the documents that come out of others."""
    text = "\n---\n".join(map(json.dumps, documents))
    result = run("mutate", "-f", "-", *_LOW, "--table", table, "-o", output, stdin=text)
    assert (result.exit_code, result.stderr) == (0, "")
    return list(yaml.safe_load_all(result.stdout))


def _named(documents: list[Json]) -> list[tuple[str, object]]:
    """Return kind and namespace of objects; of templates that their name is their content's."""
    for one in documents:
        if one["kind"] == "ResourceClaimTemplate":
            assert one["metadata"]["name"] == template_name(one["spec"]["spec"])
            assert one["metadata"]["labels"] == {"gpuspec.preferred.jp/template": "gpu"}
    return [(one["kind"], one.get("metadata", {}).get("namespace")) for one in documents]


@pytest.mark.rule("C2")
def test_templates_stand_before_what_names_them_once_a_namespace(tmp_path: Path) -> None:
    table = claim_table(tmp_path)
    pod = asking(any_24gb=1).metadata(namespace="a").build()
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [_deployment("d", namespace="b"), _deployment("e", "a30", namespace="a")],
    }
    documents = (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
        pod,
        _deployment("alike", namespace="a"),
        _deployment("elsewhere"),
        listed,
    )
    mutated = _mutated(table, *documents)
    assert _named(mutated) == [
        ("ConfigMap", None),
        ("ResourceClaimTemplate", "a"),
        ("Pod", "a"),
        ("Deployment", "a"),
        ("ResourceClaimTemplate", None),
        ("Deployment", None),
        ("ResourceClaimTemplate", "b"),
        ("ResourceClaimTemplate", "a"),
        ("List", None),
    ]
    every, a30 = mutated[1], mutated[7]
    (asked,) = every["spec"]["spec"]["devices"]["requests"]
    assert [one["name"] for one in asked["firstAvailable"]] == [
        "v100-32gb",
        "a30-24gb",
        "a100-80gb",
    ]
    assert mutated[2]["spec"]["resourceClaims"] == [
        {"name": "gpuspec-main", "resourceClaimTemplateName": every["metadata"]["name"]}
    ]
    assert "exactly" in a30["spec"]["spec"]["devices"]["requests"][0]
    # Again: nothing is left to do.
    assert _mutated(table, *mutated) == mutated
    pods = {"apiVersion": "v1", "kind": "PodList", "items": [mutated[2]]}
    assert _named(_mutated(table, pods)) == [("ResourceClaimTemplate", "a"), ("PodList", None)]


def test_json_is_a_list_as_kubectl_writes_them(tmp_path: Path) -> None:
    table = claim_table(tmp_path)
    (found,) = _mutated(table, _deployment("d"), output="json")
    assert list(found) == ["apiVersion", "kind", "items"]
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert found["items"] == _mutated(table, _deployment("d"))
    # kubectl reads no List within a List.
    (several,) = _mutated(table, found, _deployment("e"), output="json")
    assert [one["kind"] for one in several["items"]] == [
        "ResourceClaimTemplate",
        "Deployment",
        "Deployment",
    ]
    assert _mutated(table, found, output="json") == [found]


def test_a_patch_says_what_it_needs(tmp_path: Path) -> None:
    table = claim_table(tmp_path)
    one = _deployment("d", namespace="a")
    template, mutated = _mutated(table, one)
    arguments = ("mutate", "-f", "-", *_LOW, "--table", table, "-o", "patch")
    result = run(*arguments, stdin=json.dumps(one))
    assert jsonpatch.apply_patch(one, json.loads(result.stdout)) == mutated
    assert result.stderr == (
        f"note: the patched Pods need ResourceClaimTemplate {template['metadata']['name']}, "
        "which the controller makes; -o yaml prints it\n"
    )
    nothing = run(*arguments, stdin=json.dumps({"kind": "ConfigMap", "apiVersion": "v1"}))
    assert (nothing.stdout, nothing.stderr) == ("[]\n", "")


@pytest.mark.rule("N8", "C4")
def test_daemon_sets_pick_nodes_by_their_labels_for_claims_too(tmp_path: Path) -> None:
    table = claim_table(tmp_path)
    ours = expression("gpu-model", "In", "v100-32gb", "a30-24gb", "a100-80gb")
    for kind, wanted in (("DaemonSet", {"nodeSelectorTerms": [term(ours)]}), ("StatefulSet", None)):
        template, workload = _mutated(table, _workload(kind, {"template": _template()}))
        spec = workload["spec"]["template"]["spec"]
        assert (
            template["metadata"]["name"] == spec["resourceClaims"][0]["resourceClaimTemplateName"]
        )
        node = spec["affinity"]["nodeAffinity"]
        assert node.get("requiredDuringSchedulingIgnoredDuringExecution") == wanted
        assert [
            one["weight"] for one in node["preferredDuringSchedulingIgnoredDuringExecution"]
        ] == [
            100,
            10,
        ]
        assert len(spec["tolerations"]) == 3
    # One manifest with both.
    *_, other = _mutated(table, _workload("DaemonSet", {"template": _template()}), _deployment("d"))
    node = other["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert list(node) == ["preferredDuringSchedulingIgnoredDuringExecution"]
    (_, named) = _mutated(table, _workload("DaemonSet", {"template": _template("a30")}))
    assert named["spec"]["template"]["spec"]["nodeSelector"] == {"gpu-model": "a30-24gb"}


@pytest.mark.rule("N8", "N3")
def test_a_daemon_set_with_too_many_terms_of_its_own(tmp_path: Path) -> None:
    rows = [
        {
            "name": f"card{number}",
            "vram": "16gb",
            "perNode": 1,
            "nodes": {"matchLabels": {f"card{number}": "yes"}},
            "claim": {"deviceClassName": "gpu", "driver": "gpu.example.com"},
        }
        for number in range(8)
    ]
    table = claim_table(tmp_path, output="ResourceClaim", devices=rows)
    template = _template("any")
    terms = [term(expression(f"own{number}", "Exists")) for number in range(9)]
    template["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }
    text = json.dumps(_workload("DaemonSet", {"template": template}))
    result = run("mutate", "-f", "-", *_LOW, "--table", table, stdin=text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: DaemonSet/train spec.affinity.nodeAffinity."
        "requiredDuringSchedulingIgnoredDuringExecution: the Pod's own node affinity has 9 terms "
        "and the devices that fit need 8 alternatives: more than 64 terms together; write fewer "
        "terms, or name a device\n"
    )


@pytest.mark.rule("C5")
def test_a_namespace_of_kueues_is_said(tmp_path: Path) -> None:
    arguments = ("mutate", "-f", "-", "--kueue", *_LOW, "--table", claim_table(tmp_path))
    result = run(*arguments, stdin=json.dumps(_deployment("d")))
    assert result.stderr == (
        "warning: Deployment/d: using v100-32gb only: Kueue takes no claim with alternatives\n"
    )
    template, _ = yaml.safe_load_all(result.stdout)
    assert template["spec"]["spec"]["devices"]["requests"][0].keys() == {"name", "exactly"}


@pytest.mark.rule("C3", "R2")
def test_nothing_is_asked_for_in_anothers_name(tmp_path: Path) -> None:
    """What a stored Pod brings along is printed, unless we would not have written it."""
    table = claim_table(tmp_path)
    template, pod = _mutated(table, asking(any_24gb=1).build())
    assert _mutated(table, pod) == [template, pod]
    spec = json.loads(json.dumps(template["spec"]["spec"]))
    spec["devices"]["requests"][0]["firstAvailable"][0]["adminAccess"] = True
    pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = template_name(spec)
    pod["metadata"]["annotations"]["gpuspec.preferred.jp/claims"] = json.dumps(
        {template_name(spec): spec}
    )
    assert _mutated(table, pod) == [pod]
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": "odd", "spec": {"containers": []}}
    result = run("mutate", "-f", "-", *_LOW, "--table", table, stdin=json.dumps(broken))
    assert list(yaml.safe_load_all(result.stdout)) == [broken]
