"""Contexts of a kubeconfig: what of them is no matter of finding the API server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kubernetes.config import ConfigException, list_kube_config_contexts

DEFAULT_NAMESPACE: Final = "default"


def namespace_of(kubeconfig: Path | None = None, context: str | None = None) -> str:
    """Return the namespace of objects that name none, as kubectl takes it from the context.

    Args:
        kubeconfig: The file to use; ``$KUBECONFIG`` or ``~/.kube/config`` where it is None.
        context: The context in it; its current one where it is None.
    """
    try:
        contexts, current = list_kube_config_contexts(  # type: ignore[no-untyped-call]
            None if kubeconfig is None else str(kubeconfig)
        )
    except ConfigException:  # as inside a cluster
        return DEFAULT_NAMESPACE
    named = (one for one in contexts if one["name"] == context)
    chosen = current if context is None else next(named, {})
    return str(chosen.get("context", {}).get("namespace") or DEFAULT_NAMESPACE)
