"""The manifests against the API of every Kubernetes version that is supported."""

from __future__ import annotations

import copy

import pytest
from kubernetes_validate import ValidationError, validate  # type: ignore[import-untyped]

from tests.contract.kustomize import Document, built, deployment

VERSIONS = ("1.35", "1.36", "1.37")

# cert-manager's API is not Kubernetes' own; test_manifests checks these by hand.
FOREIGN = "cert-manager.io/v1"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid(installation: tuple[Document, ...], version: str) -> None:
    for document in installation:
        if document["apiVersion"] != FOREIGN:
            assert validate(document, version, strict=True) == version, document["kind"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_field_that_the_api_does_not_know_is_found(version: str) -> None:
    misspelt = copy.deepcopy(deployment(built("default")))
    misspelt["spec"]["template"]["spec"]["containers"][0]["livenessprobe"] = {}
    with pytest.raises(ValidationError, match="livenessprobe"):
        validate(misspelt, version, strict=True)
