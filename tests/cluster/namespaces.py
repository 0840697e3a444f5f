"""Namespaces that tests create and leave without Pods."""

from __future__ import annotations

from tests.cluster.api import Api, path, wait_until


def create_namespace(api: Api, name: str) -> None:
    """Create a namespace and wait until Pods can be created in it."""
    api.create(path("v1", "namespaces"), {"metadata": {"name": name}})
    api.wait_for(path("v1", "serviceaccounts", "default", namespace=name), bool)


def empty_namespace(api: Api, name: str) -> None:
    """Delete a namespace and wait for its Pods to go, not for the rest, which holds no devices."""
    api.delete(path("v1", "namespaces", name))  # first: from now on no controller adds Pods
    pods = path("v1", "pods", namespace=name)
    api.delete(pods, gracePeriodSeconds="0")
    wait_until(lambda: not api.list(pods), timeout=30, what=f"the Pods of {name} to go")
