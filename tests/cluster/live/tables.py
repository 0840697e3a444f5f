"""SelectionTables of a test cluster: the resource, objects of it, and what is said about them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.cluster.api import Api, ApiError, Json, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import MANIFESTS
from webhook.terms import TABLES_PATH

_EXAMPLE = Path(__file__).parents[3] / "selection_spec/data/pfn-table.yaml"
SEEN_SECONDS = 30.0


def example() -> Json:
    """The fleet's table as an object called default."""
    table: Json = yaml.safe_load(_EXAMPLE.read_text())
    return table | {"metadata": {"name": "default"}}


def edited(**fields: object) -> Json:
    """The fleet's table with other fields in its spec."""
    table = copy.deepcopy(example())
    table["spec"] |= fields
    return table


def with_row(row_id: str, **fields: object) -> Json:
    """The fleet's table with other fields in one row."""
    table = copy.deepcopy(example())
    (row,) = (one for one in table["spec"]["devices"] if f"{one['name']}-{one['vram']}" == row_id)
    row |= fields
    return table


def install_resource(api: Api) -> None:
    """Create the CustomResourceDefinition as shipped and wait until it is served."""
    definition: Json = yaml.safe_load((MANIFESTS / "base/crd.yaml").read_text())
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)

    def served() -> bool:
        try:
            return api.find(TABLES_PATH) is not None
        except ApiError as error:  # 429 while its storage is being made
            if error.code != httpx.codes.TOO_MANY_REQUESTS:
                raise
            return False

    wait_until(served, timeout=SEEN_SECONDS, what="the resource to be served")


def apply(api: Api, table: Json) -> Json:
    """Apply a table as kubectl does on the server's side, whatever was there before."""
    at = f"{TABLES_PATH}/{table['metadata']['name']}"
    return api.patch(at, table, kind="apply", fieldManager="admin", force="true")


def delete(api: Api, name: str = "default") -> None:
    """Delete a table."""
    api.delete(f"{TABLES_PATH}/{name}")


def status(api: Api, name: str = "default") -> dict[str, Any]:
    """What was last written about a table."""
    found: dict[str, Any] = api.get(f"{TABLES_PATH}/{name}").get("status") or {}
    return found


def row(api: Api, row_id: str) -> dict[str, Any]:
    """What the table's status says of a row."""
    (found,) = (one for one in status(api)["rows"] if one["id"] == row_id)
    return dict(found)


def condition(api: Api, kind: str, name: str = "default") -> dict[str, Any]:
    """A condition of a table; empty where there is none yet."""
    found = (one for one in status(api, name).get("conditions", []) if one["type"] == kind)
    return next(found, {})


def shows(plane: ControlPlane, row_id: str, **expected: object) -> None:
    """Wait until a row's status has these fields."""

    def so() -> bool:
        found = row(plane.api, row_id)
        return all(found.get(name) == value for name, value in expected.items())

    wait_until(
        so,
        timeout=SEEN_SECONDS,
        what=f"{row_id} to show {expected}",
        state=lambda: str(status(plane.api)),
    )
