"""SelectionTables in a cluster: their definition, and the webhook that validates them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import yaml

from tests.cluster.api import Api, ApiError, Json, path, wait_until
from tests.cluster.configuration import table_webhook_configuration
from tests.cluster.product.installation import ADMISSION, MANIFESTS
from tests.cluster.product.service import Service
from webhook.terms import ALLOW_DELETE_ANNOTATION, TABLES_PATH

_DEFINITIONS = path("apiextensions.k8s.io/v1", "customresourcedefinitions")
_CONFIGURATIONS = path(ADMISSION, "validatingwebhookconfigurations")
_SEEN_SECONDS = 60.0


@contextmanager
def defined(api: Api) -> Iterator[None]:
    """A time in which the API server knows SelectionTables."""
    definition: Json = yaml.safe_load((MANIFESTS / "base/crd.yaml").read_text())
    name = definition["metadata"]["name"]
    api.create(_DEFINITIONS, definition)
    try:
        wait_until(
            lambda: _is_served(api), timeout=_SEEN_SECONDS, what="SelectionTables to be served"
        )
        yield
    finally:
        api.delete(f"{_DEFINITIONS}/{name}")
        wait_until(
            lambda: api.find(f"{_DEFINITIONS}/{name}") is None,
            timeout=_SEEN_SECONDS,
            what="the definition to be gone",
        )


def _is_served(api: Api) -> bool:
    """Whether they can be listed; at first they are unknown, then their storage is being made."""
    try:
        api.list(TABLES_PATH)
    except ApiError as error:
        if error.code in (404, 429):
            return False
        raise
    return True


@contextmanager
def validated(
    api: Api,
    service: Service,
    make: Callable[[int, bytes], Json] = table_webhook_configuration,
) -> Iterator[None]:
    """A time in which the shipped configuration has the service validate them, and workloads."""
    configuration = make(service.port, service.ca_bundle)
    api.create(_CONFIGURATIONS, configuration)
    try:
        _wait_validated(api, wanted=True)
        yield
    finally:
        api.delete(f"{_CONFIGURATIONS}/{configuration['metadata']['name']}")


@contextmanager
def unvalidated(api: Api) -> Iterator[None]:
    """A time in which nobody looks at tables that are stored."""
    at = f"{_CONFIGURATIONS}/zz-gpuspec"
    before = api.get(at)["webhooks"][0]["rules"][0]["operations"]
    _set_operations(api, at, ["DELETE"])
    try:
        _wait_validated(api, wanted=False)
        yield
    finally:
        _set_operations(api, at, before)
        _wait_validated(api, wanted=True)


def _set_operations(api: Api, at: str, operations: list[str]) -> None:
    change = {"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": operations}
    api.patch(at, [change], kind="json")


def _wait_validated(api: Api, *, wanted: bool) -> None:
    wait_until(
        lambda: _is_refused(api) is wanted,
        timeout=_SEEN_SECONDS,
        what=f"a bad table to be {'refused' if wanted else 'stored'}",
    )


def _is_refused(api: Api) -> bool:
    body = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "probe"},
    }
    try:
        api.create(TABLES_PATH, body, dryRun="All")
    except ApiError as error:
        return "spec is missing" in error.message
    return False


def delete_table(api: Api, name: str) -> None:
    """Delete a table, in use or not."""
    at = f"{TABLES_PATH}/{name}"
    api.patch(at, {"metadata": {"annotations": {ALLOW_DELETE_ANNOTATION: "true"}}})
    api.delete(at)
