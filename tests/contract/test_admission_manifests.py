"""Which Pods the API server sends us, which it refuses, and whose certificate it believes."""

from __future__ import annotations

import re

import pytest

from certs.authority import for_service
from selection_spec.grammar import is_ours
from selection_spec.table import builtin_table
from tests.contract.kustomize import (
    NAMESPACE,
    SERVICE,
    Document,
    built,
    one,
    pod_spec,
    validating_webhook,
    webhook,
)
from webhook.terms import TABLE_GROUP, TABLE_PLURAL

Installation = tuple[Document, ...]


def test_the_webhook_is_called_for_new_pods_outside_the_system_and_for_nothing_else(
    installation: Installation,
) -> None:
    configuration = one(installation, "MutatingWebhookConfiguration")
    assert configuration["metadata"]["name"] == "zz-gpuspec"
    entry = {k: v for k, v in webhook(installation).items() if k != "clientConfig"}
    conditions = entry.pop("matchConditions")
    assert [condition["name"] for condition in conditions] == ["asks-for-a-gpu-by-spec"]
    assert entry == {
        "name": "gpu.gpuspec.preferred.jp",
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods"],
                "operations": ["CREATE"],
                "scope": "Namespaced",
            }
        ],
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": [NAMESPACE, "kube-system", "kube-public", "kube-node-lease"],
                }
            ]
        },
        "admissionReviewVersions": ["v1"],
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "reinvocationPolicy": "IfNeeded",
        "failurePolicy": "Fail",
        "timeoutSeconds": 3,
    }


def test_the_webhook_for_tables_is_called_for_tables_and_for_nothing_else(
    installation: Installation,
) -> None:
    configuration = one(installation, "ValidatingWebhookConfiguration")
    assert configuration["metadata"]["name"] == "zz-gpuspec"
    entry = {k: v for k, v in validating_webhook(installation).items() if k != "clientConfig"}
    assert entry == {
        "name": "table.gpuspec.preferred.jp",
        "rules": [
            {
                "apiGroups": [TABLE_GROUP],
                "apiVersions": ["*"],
                "resources": [TABLE_PLURAL],
                "operations": ["CREATE", "UPDATE", "DELETE"],
                "scope": "Cluster",
            }
        ],
        "admissionReviewVersions": ["v1"],
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
    }


def test_the_guard_looks_at_the_same_pods_as_the_webhook(installation: Installation) -> None:
    guard = one(installation, "ValidatingAdmissionPolicy")["spec"]
    entry = webhook(installation)
    assert guard["matchConstraints"] == {
        "matchPolicy": entry["matchPolicy"],
        "namespaceSelector": entry["namespaceSelector"],
        "resourceRules": entry["rules"],
    }
    first, mirror = guard["matchConditions"]
    assert first == entry["matchConditions"][0]
    assert mirror["expression"] == (
        "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))"
    )
    assert one(installation, "ValidatingAdmissionPolicyBinding")["spec"] == {
        "policyName": "gpuspec-guard",
        "validationActions": ["Deny"],
    }


def test_cert_manager_signs_with_an_authority_of_its_own_and_injects_it() -> None:
    """Never a serving certificate that signed itself: its renewal would be an outage."""
    installation = built("cert-manager")
    serving = one(installation, "Certificate", "gpuspec-webhook")
    assert serving["apiVersion"] == "cert-manager.io/v1"
    assert (
        serving["spec"]["secretName"]
        == pod_spec(installation)["volumes"][0]["secret"]["secretName"]
    )
    assert set(serving["spec"]["dnsNames"]) == set(for_service(SERVICE, NAMESPACE))
    assert "server auth" in serving["spec"]["usages"]
    assert not serving["spec"].get("isCA", False)

    issuer = one(installation, "Issuer", serving["spec"]["issuerRef"]["name"])
    authority = one(installation, "Certificate", "gpuspec-ca")
    assert issuer["spec"] == {"ca": {"secretName": authority["spec"]["secretName"]}}
    assert authority["spec"]["isCA"] is True
    assert authority["spec"]["privateKey"]["rotationPolicy"] == "Never"
    root = one(installation, "Issuer", authority["spec"]["issuerRef"]["name"])
    assert root["spec"] == {"selfSigned": {}}

    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        configuration = one(installation, kind)
        assert configuration["metadata"]["annotations"] == {
            "cert-manager.io/inject-ca-from": f"{NAMESPACE}/{serving['metadata']['name']}"
        }


def test_who_is_trusted_is_left_to_whoever_makes_the_certificate(
    installation: Installation,
) -> None:
    """A field that no manifest has is left as it is by the next apply, of either kind."""
    for entry in (webhook(installation), validating_webhook(installation)):
        assert entry["clientConfig"].keys() == {"service"}


def test_the_conditions_look_for_the_tables_domain(installation: Installation) -> None:
    """With another domain in the table, or here, our own Pods would never reach the webhook."""
    table = builtin_table()
    (condition,) = webhook(installation)["matchConditions"]
    prefixes = re.findall(r"startsWith\((.*?)\)", condition["expression"])
    assert prefixes == [f"'{table.domain}/gpu'"] * 6
    for prefix in table.domain, f"{table.domain}/gpu":
        assert prefix == prefix.lower()


@pytest.mark.rule("G1", "G4")
@pytest.mark.parametrize(
    "name",
    [
        "gpu",
        "GPU",
        "gpu-",
        "gpu-any",
        "gPu-any-24gb",
        "gpu-any-24GiB",
        "gpu-\uff12\uff14gb",
        "gpudirect-nic",
        "gpus",
        "gpu_any",
        "gpu.shared",
        "network",
        "x-gpu",
        "agpu-any",
    ],
)
def test_the_guards_pattern_knows_the_keys_that_the_grammar_calls_ours(name: str) -> None:
    (left,) = (
        variable["expression"]
        for variable in one(built("default"), "ValidatingAdmissionPolicy")["spec"]["variables"]
        if variable["name"] == "left"
    )
    patterns = set(re.findall(r"matches\('(.*?)'\)", left))
    assert patterns == {f"^{builtin_table().domain.replace('.', '[.]')}/(?i:gpu)(-|$)"}
    (pattern,) = patterns
    for domain, ours in ((builtin_table().domain, True), ("requests.preferred.jp", False)):
        found = re.search(pattern, f"{domain}/{name}") is not None
        assert found is (ours and is_ours(name))
