"""The ledger where all controllers see it: a ConfigMap, written only over its latest state (H4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from webhook.health.ledger import Ledger
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.inventory.facts import Json, mapping
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError
from webhook.kube.reflector import Collection, Reflector
from webhook.terms import CONTROLLER_NAME, HEALTH_OBJECT, LEDGER_FIELD

# Versions of ours that the mirror may still show.
_OURS = 16


class ConflictError(Exception):
    """Somebody else has written the ledger meanwhile; it was read anew."""


class LedgerBook:
    """The ledger as this process knows it.

    Args:
        cluster: Where it is kept.
        namespace: Ours.
        changed: Called when somebody has written it, so that a person's change is seen at once.

    Attributes:
        mirror: Follows its versions.
    """

    def __init__(self, cluster: Cluster, namespace: str, changed: Callable[[], None]) -> None:
        self._cluster = cluster
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._path = f"{self._collection}/{HEALTH_OBJECT}"
        query = {"fieldSelector": f"metadata.name={HEALTH_OBJECT}"}
        self.mirror: Reflector[str] = Reflector(
            cluster, Collection(self._collection, query), _version, changed=changed
        )
        self._ledger: Ledger | None = None
        self._version = ""
        self._was_there = False
        self._is_spoilt = False
        self._ours: deque[str] = deque(maxlen=_OURS)

    def read(self) -> Ledger:
        """Return the ledger; it is read again where somebody else has written it.

        Raises:
            ClusterError: It cannot be read.
        """
        held = self.mirror.held()
        if self._ledger is None or not {*self._ours}.issuperset(held.values()):
            self._load()
        elif self._was_there and not held:
            self._version = ""  # somebody has deleted it: it is written again, as it was
        self._was_there = bool(held)
        if self._ledger is None:
            raise AssertionError(self._path)
        return self._ledger

    def write(self, ledger: Ledger) -> None:
        """Write the ledger if it differs.

        Raises:
            ConflictError: Somebody else was faster.
            ClusterError: It cannot be written.
        """
        is_there = self._version and not self._is_spoilt
        if ledger == self._ledger and (is_there or ledger == Ledger()):
            return
        try:
            found = self._put(ledger_text(ledger))
        except ApiError as error:
            if error.is_conflict or error.is_not_found:
                self._load()
                raise ConflictError(str(error)) from error
            raise
        self._keep(found, ledger)

    def _load(self) -> None:
        try:
            found = self._cluster.get(self._path)
        except ApiError as error:
            if not error.is_not_found:
                raise
            self._ledger, self._version = self._ledger or Ledger(), ""
            return
        text = mapping(found.get("data")).get(LEDGER_FIELD)
        read = ledger_of(text) if isinstance(text, str) else None
        # What nobody can read is no reason to forget what is known: it is written over.
        self._keep(found, read or self._ledger or Ledger())
        self._is_spoilt = read is None

    def _put(self, text: str) -> Json:
        body: Json = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": HEALTH_OBJECT,
                "labels": {"app.kubernetes.io/managed-by": CONTROLLER_NAME},
            },
            "data": {LEDGER_FIELD: text},
        }
        if not self._version:
            return self._cluster.create(self._collection, body)
        body["metadata"]["resourceVersion"] = self._version
        return self._cluster.replace(self._path, body)

    def _keep(self, found: Json, ledger: Ledger) -> None:
        self._version = str(found["metadata"]["resourceVersion"])
        self._ours.append(self._version)
        self._is_spoilt = False
        self._ledger = ledger


def _version(config_map: Json) -> str | None:
    metadata = mapping(config_map.get("metadata"))
    is_it = metadata.get("name") == HEALTH_OBJECT
    return str(metadata.get("resourceVersion") or "") if is_it else None
