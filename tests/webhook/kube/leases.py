"""A Lease in memory, with the API server's optimistic concurrency, and a clock to turn."""

from __future__ import annotations

import copy
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

from webhook.kube.errors import ApiError, ClusterError

Json = dict[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)


class Leases:
    """Stands in for a ``Cluster`` that has one Lease."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.failing: ClusterError | None = None
        self._version = 0
        self._lock = threading.Lock()

    def get(self, path: str) -> Json:
        with self._lock:
            self._fail()
            if self.lease is None:
                raise ApiError(f"GET {path}", 404, "NotFound", "not found")
            return copy.deepcopy(self.lease)

    def create(self, path: str, body: Json) -> Json:
        with self._lock:
            self._fail()
            if self.lease is not None:
                raise ApiError(f"POST {path}", 409, "AlreadyExists", "exists")
            return self._store(body)

    def replace(self, path: str, body: Json) -> Json:
        with self._lock:
            self._fail()
            if self.lease is None:
                raise ApiError(f"PUT {path}", 404, "NotFound", "not found")
            stored = self.lease["metadata"]["resourceVersion"]
            if body["metadata"]["resourceVersion"] != stored:
                raise ApiError(f"PUT {path}", 409, "Conflict", "changed meanwhile")
            return self._store(body)

    @property
    def holder(self) -> str:
        return "" if self.lease is None else self.lease["spec"]["holderIdentity"]

    def _store(self, body: Json) -> Json:
        self._version += 1
        self.lease = copy.deepcopy(body)
        self.lease["metadata"]["resourceVersion"] = str(self._version)
        return copy.deepcopy(self.lease)

    def _fail(self) -> None:
        if self.failing is not None:
            raise self.failing


class Clock:
    """Two clocks that tests turn; the wall clock also by itself."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.wall_set_by = timedelta()

    def monotonic(self) -> float:
        return self.passed

    def now(self) -> datetime:
        return START + timedelta(seconds=self.passed) + self.wall_set_by
