"""Certificates with the shipped rights, beside somebody else's configuration that calls us."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator

import pytest
import yaml

from certs.authority import KeyPair
from certs.policy import certificates_in, is_signed
from tests.cluster.api import Api, Json, path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import ADMISSION, EXAMPLE_TABLE, KEY
from tests.cluster.product.shipped import CONFIGURATIONS, NAMESPACE, SECRETS, Shipped
from tests.cluster.versions import ON_NEWEST
from webhook.terms import TABLES_PATH

pytestmark = ON_NEWEST

SECONDS = 150.0  # a new authority is published for a minute before it is used
PLURAL = path(ADMISSION, "mutatingwebhookconfigurations")
ANOTHERS = f"{PLURAL}/team-kueue"
AUTHORITY, SERVER = SECRETS["gpuspec-ca"], SECRETS["gpuspec-webhook-tls"]
TABLE = f"{TABLES_PATH}/default"

FINE = ("True", "the certificates are valid, and whoever calls our Service trusts them")
MAY_NOT = (
    "MutatingWebhookConfiguration team-kueue calls our Service and may not be updated; grant "
    "update on it or give it the caBundle of Secret gpuspec-ca (ca.crt) yourself"
)
IMMUTABLE = (
    "Secret gpuspec-webhook-tls is immutable and has to change; delete it, and it is made anew"
)


@pytest.fixture
def shipped(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shipped]:
    """Everything as it is shipped, in a cluster of its own, running, with a table."""
    workdir = tmp_path_factory.mktemp(f"beside-{kubernetes}-")
    with ControlPlane.start(kubernetes, workdir=workdir) as plane:
        installed = Shipped(plane, tmp_path_factory.mktemp("shipped-"))
        installed.apply("--server-side")
        with installed.running():
            table: Json = yaml.safe_load(EXAMPLE_TABLE.read_text())
            table["metadata"]["name"] = "default"
            plane.api.create(TABLES_PATH, table)
            yield installed


def test_anothers_configuration_and_an_immutable_secret_delay_nothing(shipped: Shipped) -> None:
    api = shipped.plane.api
    wait_for_condition(api, *FINE)
    api.create(PLURAL, anothers())
    wait_for_condition(api, "False", MAY_NOT)

    api.delete(SERVER)
    wait(lambda: api.find(SERVER) is not None, "the server's Secret to be made anew", api)
    api.delete(AUTHORITY)
    wait(lambda: is_served_by_new_authority(api), "a certificate of the new authority", api)
    assert "caBundle" not in api.get(ANOTHERS)["webhooks"][0]["clientConfig"]
    assert shipped.what_becomes_of(KEY) == "translated"

    fixed = {"immutable": True, "data": {"ca.crt": ""}}
    api.patch(SERVER, fixed)
    wait(lambda: IMMUTABLE in condition(api)[1], "the immutable Secret to be told", api)
    assert shipped.what_becomes_of(KEY) == "translated"
    api.delete(SERVER)
    wait_for_condition(api, "False", MAY_NOT)

    api.patch(ANOTHERS, by_hand(api), kind="json")
    wait_for_condition(api, *FINE)
    assert shipped.what_becomes_of(KEY) == "translated"


def anothers() -> Json:
    """A configuration of a user's own, which the shipped roles do not let the controller update."""
    return {
        "apiVersion": ADMISSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "team-kueue"},
        "webhooks": [
            {
                "name": "kueue.team.example",
                "clientConfig": {
                    "service": {
                        "namespace": NAMESPACE,
                        "name": "gpuspec-webhook",
                        "path": "/mutate/kueue",
                    }
                },
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                        "operations": ["CREATE"],
                    }
                ],
                "namespaceSelector": {"matchLabels": {"team": "kueue"}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
            }
        ],
    }


def by_hand(api: Api) -> list[Json]:
    """What the message says to do."""
    bundle = api.get(AUTHORITY)["data"]["ca.crt"]
    return [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]


def is_served_by_new_authority(api: Api) -> bool:
    """Whether both Secrets are there again and fit, and every entry of ours trusts them."""
    authority, server = api.find(AUTHORITY), api.find(SERVER)
    if authority is None or server is None:
        return False
    (root,), (leaf,) = (certificates_in(pair(one).certificate) for one in (authority, server))
    bundles = [api.get(one)["webhooks"][0]["clientConfig"]["caBundle"] for one in CONFIGURATIONS]
    return is_signed(leaf, by=root) and all(
        root in certificates_in(b64decode(one)) for one in bundles
    )


def pair(secret: Json) -> KeyPair:
    return KeyPair(*(b64decode(secret["data"][part]) for part in ("tls.crt", "tls.key")))


def condition(api: Api) -> tuple[str, str]:
    """Status and message of CertificatesReady in the table's status."""
    found = api.get(TABLE).get("status", {}).get("conditions", [])
    told = ((one["status"], one["message"]) for one in found if one["type"] == "CertificatesReady")
    return next(told, ("", ""))


def wait_for_condition(api: Api, status: str, message: str) -> None:
    wait(lambda: condition(api) == (status, message), f"{status}: {message}", api)


def wait(probe: Callable[[], bool], what: str, api: Api) -> None:
    wait_until(probe, timeout=SECONDS, what=what, state=lambda: str(condition(api)), poll=0.2)
