"""A cluster as the command line sees it, without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import pytest

from tests.builders import Json
from webhook.kube.errors import ApiError
from webhook.terms import PRIORITY_CLASSES_PATH, TABLES_PATH


class SmallCluster:
    """Has a few SelectionTables, nodes and PriorityClasses, and nothing else."""

    def __init__(
        self,
        tables: Mapping[str, Json],
        nodes: Sequence[Json],
        classes: Sequence[Json] | ApiError,
    ) -> None:
        self._objects = {f"{TABLES_PATH}/{name}": raw for name, raw in tables.items()}
        self._lists = {"/api/v1/nodes": nodes, PRIORITY_CLASSES_PATH: classes}

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
        found = self._lists.get(path, ())
        if isinstance(found, ApiError):
            raise found
        yield from found


def priority_class(name: str, value: int, *, is_default: bool = False) -> Json:
    """A PriorityClass as the API server has it."""
    return {"metadata": {"name": name}, "value": value, "globalDefault": is_default}


CLASSES = (priority_class("high", 1000), priority_class("gpuspec-high", 1000))
"""Those that the tables name."""


def use_cluster(
    monkeypatch: pytest.MonkeyPatch,
    nodes: Sequence[Json] = (),
    classes: Sequence[Json] | ApiError = CLASSES,
    **tables: Json,
) -> list[tuple[Any, Any]]:
    """Let every connection lead to a cluster that has these objects, tables by name.

    Returns:
        The kubeconfig and context of every connection, as they are made.
    """
    cluster = SmallCluster(tables, nodes, classes)
    asked: list[tuple[Any, Any]] = []

    def connect(kubeconfig: object, context: object) -> SmallCluster:
        asked.append((kubeconfig, context))
        return cluster

    monkeypatch.setattr("webhook.kube.cluster.connect", connect)
    return asked
