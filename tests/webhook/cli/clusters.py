"""A cluster as the command line sees it, without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import pytest

from tests.builders import Json
from webhook.kube.errors import ApiError
from webhook.terms import TABLES_PATH


class SmallCluster:
    """Has a few SelectionTables and nodes, and nothing else."""

    def __init__(self, tables: Mapping[str, Json], nodes: Sequence[Json]) -> None:
        self._objects = {f"{TABLES_PATH}/{name}": raw for name, raw in tables.items()}
        self._lists = {"/api/v1/nodes": nodes}

    def with_patience(self, seconds: float) -> Self:
        """Return itself: it never keeps anybody waiting."""
        assert seconds > 0
        return self

    def get(self, path: str) -> Json:
        """Return an object; what is not there is not found."""
        if path not in self._objects:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        return self._objects[path]

    def items(self, path: str, **_query: str) -> Iterator[Json]:
        """Yield all objects of a kind."""
        yield from self._lists.get(path, ())


def use_cluster(
    monkeypatch: pytest.MonkeyPatch, nodes: Sequence[Json] = (), **tables: Json
) -> list[tuple[Any, Any]]:
    """Let every connection lead to a cluster that has these nodes, and these tables by name.

    Returns:
        The kubeconfig and context of every connection, as they are made.
    """
    cluster = SmallCluster(tables, nodes)
    asked: list[tuple[Any, Any]] = []

    def connect(kubeconfig: object, context: object) -> SmallCluster:
        asked.append((kubeconfig, context))
        return cluster

    monkeypatch.setattr("webhook.kube.cluster.connect", connect)
    return asked
