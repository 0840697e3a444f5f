"""Views of texts, and where their Pods ask."""

from __future__ import annotations

from typing import Any

import yaml

from selection_spec.documents import field_path
from webhook.advice.findings.view import View
from webhook.advice.findings.views import views


def views_of(api: str, kind: str, spec: str) -> list[View]:
    """The Pods of an object."""
    text = f"{{apiVersion: {api}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}"
    return list(views(yaml.safe_load(text)))


def limits(view: View) -> dict[str, dict[str, str]]:
    """By container the limits of a Pod, each key with where it stands."""
    found: dict[str, dict[str, str]] = {}
    for name in ("initContainers", "containers"):
        for number, one in enumerate(view.pod["spec"].get(name, ())):
            held: dict[str, Any] = one.get("resources", {}).get("limits", {})
            here = ("spec", name, number, "resources", "limits")
            found[one["name"]] = {key: field_path(view.place((*here, key))) for key in held}
    return found
