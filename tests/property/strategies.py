"""What hypothesis draws: whole tables, Pods and nodes, put together from pools of pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import TypeVar

from hypothesis import strategies as st

from selection_spec.table import Table, load_table
from tests.builders import DOMAIN, Json
from tests.property import generated
from webhook.selectors import REQUIRED

_Piece = TypeVar("_Piece")


def _from(pieces: Sequence[_Piece]) -> st.SearchStrategy[_Piece]:
    """Draw from a long list, without showing all of it wherever hypothesis shows a strategy."""
    return st.integers(0, len(pieces) - 1).map(pieces.__getitem__)


_ROWS = _from(generated.pool(generated.row))
_REQUIRED = _from(generated.pool(generated.required))
_AFFINITY = _from(generated.pool(generated.affinity))
_TOLERATIONS = _from(generated.pool(generated.tolerations))
_SELECTORS = _from([None, {}, *generated.pool(generated.selector)])
# What asks for a GPU first: hypothesis likes the beginning of a list.
_CONTAINERS = _from(
    sorted(generated.pool(generated.containers), key=lambda some: DOMAIN not in json.dumps(some))
)
_INIT_CONTAINERS = _from(generated.pool(generated.init_containers))
_CLAIMS = st.sampled_from(
    (
        None,
        [],
        [{"name": "theirs", "resourceClaimName": "shared"}],
        [{"name": "gpuspec-c0", "resourceClaimTemplateName": "theirs"}],
    )
)
_NODES = _from(generated.pool(generated.node))
_PLACES = st.integers(0, 13)
_IDS = _from([(name, vram) for name in generated.ROW_NAMES for vram in generated.VRAMS])


_OUTPUTS = ("ExtendedResource", "ExtendedResource", "ExtendedResource", "ResourceClaim", "mixed")


def table_documents(least_rows: int = 1, output: str | None = None) -> st.SearchStrategy[Json]:
    """Documents of tables that obey every load-time law, of one output or of any."""
    rows = st.lists(
        st.tuples(_IDS, _ROWS), min_size=least_rows, max_size=7, unique_by=lambda row: row[0]
    )
    return st.builds(
        _table_document,
        rows,
        st.integers(0, 9),
        st.sampled_from(_OUTPUTS if output is None else (output,)),
    )


def _table_document(rows: list[tuple[tuple[str, int], Json]], rare: int, output: str) -> Json:
    spec: Json = {
        "priorities": [{"classNames": ["high"], "policy": "SmallestFit"}],
        "devices": [{"name": name, "vram": f"{vram}gb", **row} for (name, vram), row in rows],
    }
    if output != "ExtendedResource":
        for number, row in enumerate(spec["devices"]):
            row["claim"] = generated.claim(number)
            if output == "mixed" and number % 2:
                row["output"] = "ResourceClaim"
        if output == "ResourceClaim":
            spec["output"] = output
        spec["mixedNodes"] = rare in (6, 7)
    if rare == 8:
        spec["preferCheaper"] = False
    if rare == 9:
        spec["health"] = {}
    return {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "generated"},
        "spec": spec,
    }


def table_of(document: Json) -> Table:
    """Load a generated document."""
    return load_table(json.dumps(document))


def tables() -> st.SearchStrategy[Table]:
    """Tables that obey every load-time law."""
    return table_documents().map(table_of)


def pods() -> st.SearchStrategy[Json]:
    """Pods that the API server would take but for our keys, with all that places them."""
    spec = st.fixed_dictionaries(
        {"containers": _CONTAINERS},
        optional={
            "volumes": st.just([{"name": "data", "emptyDir": {}}]),
            "initContainers": _INIT_CONTAINERS,
            "nodeSelector": _SELECTORS,
            "affinity": _AFFINITY,
            "tolerations": _TOLERATIONS,
            "priorityClassName": st.just("high"),
            "resourceClaims": _CLAIMS,
            "schedulerName": st.sampled_from(("default-scheduler", "other")),
            "nodeName": st.sampled_from(("", "", "", "node-0")),
            "os": st.sampled_from(({"name": "linux"}, {"name": "linux"}, {"name": "windows"})),
        },
    )
    metadata = st.sampled_from(
        [
            {"name": "p"},
            {"generateName": "p-", "labels": {"app": "x"}},
            {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
            {},
        ]
    )
    return st.builds(_pod, metadata, spec)


def _pod(metadata: Json, spec: Json) -> Json:
    # Pieces come from pools, and a test may change what it got.
    return deepcopy({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def placed_pods() -> st.SearchStrategy[Json]:
    """Pods that ask for a single GPU of any kind and say much about where they may run."""
    resources = {"limits": {f"{DOMAIN}/gpu-any": "1"}}
    spec = st.fixed_dictionaries(
        {
            "containers": st.just([{"name": "c0", "resources": resources}]),
            "affinity": st.builds(
                lambda required: {"nodeAffinity": {REQUIRED: required}}, _REQUIRED
            ),
        },
        optional={
            "nodeSelector": _SELECTORS,
            "tolerations": _TOLERATIONS,
            "priorityClassName": st.just("high"),
        },
    )
    return st.builds(_pod, st.just({"name": "p"}), spec)


def nodes_of(document: Json, count: int) -> st.SearchStrategy[list[Json]]:
    """Nodes of which most have what one of a table's rows asks for."""
    rows = [row["nodes"] for row in document["spec"]["devices"]]
    drawn = st.tuples(_PLACES, _NODES).map(
        lambda found: (
            generated.node_of(rows[found[0] % len(rows)], found[1]) if found[0] else found[1]
        )
    )
    return st.lists(drawn, min_size=count, max_size=count)


# --- Anything at all

_TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(("spec", "In", "Equal", f"{DOMAIN}/gpu-any", "1", "0", "model", "a")),
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    _TEXTS,
)
JSON_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)


def broken_pods() -> st.SearchStrategy[Json]:
    """Pods in which some places hold anything at all, or nothing."""
    return broken(st.one_of(pods(), placed_pods()))


def broken_tables() -> st.SearchStrategy[Json]:
    """Tables in which some places hold anything at all, or nothing."""
    return broken(table_documents())


@st.composite
def broken(draw: st.DrawFn, whole: st.SearchStrategy[Json]) -> Json:
    """JSON objects in which some places hold anything at all, or nothing."""
    document = deepcopy(draw(whole))
    for _ in range(draw(st.integers(1, 5))):
        holder, key = draw(st.sampled_from(generated.places(document)))
        fate = draw(st.sampled_from(("value", "value", "null", "gone", "extra")))
        if fate == "gone":
            del holder[key]
        elif fate == "extra" and isinstance(holder, dict):
            holder[draw(_TEXTS)] = draw(JSON_VALUES)
        else:
            holder[key] = None if fate == "null" else draw(JSON_VALUES)
        if not document:
            break
    return document
