"""The product in front of a control plane: the service, and what makes the API server call it.

The objects are the shipped ones. Only the address of the service is another, since it runs beside
the control plane and not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cluster.api import Api, ApiError, Json, path, wait_until
from tests.cluster.configuration import webhook_configuration
from tests.cluster.product.service import Service

MANIFESTS = Path(__file__).parents[3] / "manifests"
EXAMPLE_TABLE = Path(__file__).parents[3] / "selection_spec/data/pfn-table.yaml"

KEY = "preferred.jp/gpu-any"
WEBHOOK = "gpu.gpuspec.preferred.jp"

ADMISSION = "admissionregistration.k8s.io/v1"
_PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
# How long the API server takes to see a changed configuration: about a second, on an idle machine.
_SEEN_SECONDS = 60.0

_TRANSLATED = "translated"
_GUARDED = "refused by the guard"
_UNTOUCHED = "untouched"


class Installation:
    """Our webhook in one cluster, called as the shipped configuration says, and the guard."""

    def __init__(self, api: Api, service: Service) -> None:
        self.service = service
        self._api = api
        self._configuration = webhook_configuration(service.port, service.ca_bundle)
        self._guard = list(
            yaml.safe_load_all((MANIFESTS / "components/guard/policy.yaml").read_text())
        )

    def switch_on(self) -> None:
        """Create what an installation creates, in its order, and wait until all of it acts."""
        for document in self._guard:
            _create(self._api, document)
        self._wait_for(_GUARDED)
        _create(self._api, self._configuration)
        self._wait_for(_TRANSLATED)

    def switch_off(self) -> None:
        """Delete all of it again and wait until nothing of it acts."""
        _delete(self._api, self._configuration)
        for document in reversed(self._guard):
            _delete(self._api, document)
        self._wait_for(_UNTOUCHED)

    @contextmanager
    def removed(self) -> Iterator[None]:
        """A time without the webhook's configuration and without the guard."""
        self.switch_off()
        try:
            yield
        finally:
            self.switch_on()

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """A time without the webhook's configuration."""
        _delete(self._api, self._configuration)
        self._wait_for(_GUARDED)
        try:
            yield
        finally:
            _create(self._api, self._configuration)
            self._wait_for(_TRANSLATED)

    def _wait_for(self, fate: str) -> None:
        wait_until(
            lambda: self._fate() == fate,
            timeout=_SEEN_SECONDS,
            what=f"a Pod with our key to be {fate}",
            state=self._fate,
        )

    def _fate(self) -> str:
        """What becomes of a Pod with our key now."""
        container = {"name": "main", "image": "x", "resources": {"limits": {KEY: "1"}}}
        body = {"metadata": {"name": "probe"}, "spec": {"containers": [container]}}
        try:
            created = self._api.create(path("v1", "pods", namespace="default"), body, dryRun="All")
        except ApiError as error:
            return _GUARDED if "'gpuspec-guard' denied" in error.message else str(error)
        (container,) = created["spec"]["containers"]
        return _UNTOUCHED if KEY in container["resources"]["limits"] else _TRANSLATED


@contextmanager
def installed(api: Api, folder: Path) -> Iterator[Installation]:
    """Start the service with the fleet's table and put it in front of an API server.

    The service ends afterwards; what was created in the cluster stays.
    """
    service = Service(folder, EXAMPLE_TABLE.read_bytes())
    try:
        service.start()
        installation = Installation(api, service)
        installation.switch_on()
        yield installation
    finally:
        service.close()


def _create(api: Api, document: Json) -> None:
    api.create(path(ADMISSION, _PLURALS[document["kind"]]), document)


def _delete(api: Api, document: Json) -> None:
    api.delete(path(ADMISSION, _PLURALS[document["kind"]], document["metadata"]["name"]))
