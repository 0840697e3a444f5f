"""What roles grant to our ServiceAccounts, and what the audit log says that they asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.cluster.api import Json
from tests.cluster.product.shipped import NAMESPACE

_ACCOUNTS = f"system:serviceaccount:{NAMESPACE}:"

AUDIT_POLICY: Json = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{NAMESPACE}"]},
        {"level": "None"},
    ],
}
"""Has the API server write down who asked for what, for our accounts alone."""


@dataclass(frozen=True, order=True)
class Right:
    """One thing that an account may do or did; no namespace or name is any of them."""

    account: str
    verb: str
    group: str
    resource: str
    """With its subresource: ``selectiontables/status``."""
    namespace: str = ""
    name: str = ""

    def covers(self, other: Right) -> bool:
        """Whether who has this right may do the other thing."""
        return (
            (self.account, self.verb, self.group, self.resource)
            == (other.account, other.verb, other.group, other.resource)
            and self.namespace in ("", other.namespace)
            and self.name in ("", other.name)
        )


@dataclass(frozen=True)
class Request:
    """What an account asked for, and whether it was allowed to."""

    asked: Right
    forbidden: bool


def granted(documents: Sequence[Json]) -> set[Right]:
    """What manifests grant to the ServiceAccounts among them."""
    roles = {(d["kind"], d["metadata"]["name"]): d for d in documents if d["kind"].endswith("Role")}
    rights = set()
    for binding in documents:
        if binding["kind"].endswith("RoleBinding"):
            role = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
            namespace = binding["metadata"].get("namespace", "")
            for subject, rule in product(binding["subjects"], role["rules"]):
                if subject["kind"] == "ServiceAccount":
                    assert subject["namespace"] == NAMESPACE
                    rights |= set(_of_rule(subject["name"], rule, namespace))
    return rights


def _of_rule(account: str, rule: Json, namespace: str) -> Iterator[Right]:
    names = rule.get("resourceNames", [""])
    for verb, group, resource, name in product(
        rule["verbs"], rule["apiGroups"], rule["resources"], names
    ):
        yield Right(account, verb, group, resource, namespace, name)


def requests(log: Path) -> set[Request]:
    """What our accounts asked for, as an API server with the policy above wrote it down."""
    found = set()
    # the last line may be half written
    for line in log.read_text().rpartition("\n")[0].splitlines():
        event = json.loads(line)
        decision = event.get("annotations", {}).get("authorization.k8s.io/decision")
        found.add(Request(_asked(event), decision == "forbid"))
    return found


def _asked(event: Json) -> Right:
    account = event["user"]["username"].removeprefix(_ACCOUNTS)
    at = event.get("objectRef")
    if at is None:  # nothing of the API's resources: /version
        return Right(account, event["verb"], "", event["requestURI"])
    parts = [at["resource"], *([at["subresource"]] if "subresource" in at else [])]
    return Right(
        account,
        event["verb"],
        at.get("apiGroup", ""),
        "/".join(parts),
        at.get("namespace", ""),
        at.get("name", ""),
    )
