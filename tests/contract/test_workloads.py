"""Which workloads are looked at where they are applied, and that it never holds anybody up."""

from __future__ import annotations

import pytest

from tests.contract.kustomize import Document, built, entry, one, with_component

KIND = "ValidatingWebhookConfiguration"
LABEL = "gpuspec.preferred.jp/workloads"
SYSTEM = {
    "key": "kubernetes.io/metadata.name",
    "operator": "NotIn",
    "values": ["gpuspec-system", "kube-system", "kube-public", "kube-node-lease"],
}
WARNS = {"key": LABEL, "operator": "NotIn", "values": ["off", "deny"]}
DENIES = {"key": LABEL, "operator": "In", "values": ["deny"]}


def selector(found: Document) -> list[Document]:
    expressions: list[Document] = found["namespaceSelector"]["matchExpressions"]
    return expressions


@pytest.mark.parametrize("overlay", ["default", "cert-manager"])
def test_a_namespace_is_told_refused_or_left_alone(overlay: str) -> None:
    documents = built(overlay)
    assert selector(entry(documents, KIND, "warn")) == [SYSTEM, WARNS]
    assert selector(entry(documents, KIND, "deny")) == [SYSTEM, DENIES]


@pytest.mark.parametrize("name", ["warn", "deny", "warn-custom", "deny-custom"])
def test_while_the_service_is_down_nobody_waits_long_or_is_refused(name: str) -> None:
    found = entry(with_component("custom-workloads"), KIND, name)
    assert (found["failurePolicy"], found["sideEffects"]) == ("Ignore", "None")
    assert found["timeoutSeconds"] == 3
    assert found["clientConfig"]["service"]["path"] == (
        "/warn/deny" if name.startswith("deny") else "/warn"
    )


def test_both_entries_see_the_same_workloads() -> None:
    documents = with_component("custom-workloads")
    own = {"name", "namespaceSelector", "clientConfig"}
    for warning, denying in (("warn", "deny"), ("warn-custom", "deny-custom")):
        one_, other = (entry(documents, KIND, name) for name in (warning, denying))
        assert {k: v for k, v in one_.items() if k not in own} == {
            k: v for k, v in other.items() if k not in own
        }


def test_custom_workloads_are_chosen_as_others_are() -> None:
    documents = with_component("custom-workloads")
    for name in ("warn", "deny"):
        plain, custom = (entry(documents, KIND, one_) for one_ in (name, f"{name}-custom"))
        assert custom["namespaceSelector"] == plain["namespaceSelector"]
        assert custom["matchConditions"] == plain["matchConditions"][:1]


def test_nothing_else_is_another_with_the_component() -> None:
    plain, more = built("default"), with_component("custom-workloads")
    assert [one_ for one_ in more if one_["kind"] != KIND] == [
        one_ for one_ in plain if one_["kind"] != KIND
    ]
    names = {one_["name"] for one_ in one(plain, KIND)["webhooks"]}
    kept = [one_ for one_ in one(more, KIND)["webhooks"] if one_["name"] in names]
    assert kept == one(plain, KIND)["webhooks"]
