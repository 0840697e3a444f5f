"""``convert``: a spec gives a Pod the nodes that it chose by hand, judged by the scheduler's rules.

The nodes are those of the table's rows that have enough of the resource: each has what its row says
of labels and taints, and other taints besides; what no row has is no matter of a table's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from random import Random

from hypothesis import event, given, note
from hypothesis import strategies as st

from selection_spec.documents import load_manifests, survey_manifests
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import GPU, Json
from tests.matcher import admits
from tests.property import generated
from tests.property.strategies import placed_pods, table_documents, table_of
from webhook.admission.translate import Context, Outcome, Verdict, translate
from webhook.advice.convert.native import native_edits
from webhook.advice.convert.proposal import ByHand, Proposal, propose
from webhook.advice.convert.rewriting import Wanted, rewritten
from webhook.advice.convert.sight import in_document
from webhook.advice.findings.views import View, views
from webhook.cli.outputs import yaml_text
from webhook.jsonpatch import Edit, write
from webhook.selectors import REQUIRED
from webhook.snapshot import Snapshot

_RESERVED = "gpuspec.preferred.jp/reserved"
_HARD = ("NoSchedule", "NoExecute")
_TABLES = st.one_of(table_documents(2, "ExtendedResource"), table_documents(4, "ExtendedResource"))
_RANDOM = st.randoms(use_true_random=False)


def _view(pod: Json) -> View:
    (view,) = views(pod)
    return view


# --- Nodes of rows


def _nodes(document: Json, amount: int, resource: str, random: Random) -> list[Json]:
    """Nodes of every row that has enough: pure ones, with all taints that the row tolerates."""
    found = []
    for row in document["spec"]["devices"]:
        # A Pod that says nothing of its operating system is for linux (D10).
        if row["resource"] == resource and row["perNode"] >= amount and "os" not in row:
            nodes = (_node(row, random) for _ in range(3))
            found += [node for node in nodes if _is_of(row, node)]
    return found


def _is_of(row: Json, node: Json) -> bool:
    """Whether a node has the labels of a row; no value may be both more and less than some."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": _expressions(row)}]}
    affinity = {"nodeAffinity": {REQUIRED: terms}}
    return admits(node, {"spec": {"affinity": affinity, "tolerations": [{"operator": "Exists"}]}})


def _node(row: Json, random: Random) -> Json:
    node = generated.node_of(row["nodes"], generated.node(random))
    said = row["nodes"].get("matchLabels") or row["nodes"].get("matchExpressions")
    own = {one if isinstance(one, str) else one["key"] for one in said}
    labels = {
        key: value
        for key, value in node["metadata"]["labels"].items()
        if key in own or key not in generated.LABELS
    }
    labels |= {
        "kubernetes.io/arch": row.get("arch", "amd64"),
        "kubernetes.io/os": row.get("os", "linux"),
    }
    taints = [one for one in node["spec"]["taints"] if one["key"] != _RESERVED]
    for one in row["tolerations"]:
        value = "whatever" if one.get("operator") == "Exists" else one.get("value", "")
        effects = [one["effect"]] if one.get("effect") else _HARD
        taints += [{"key": one["key"], "value": value, "effect": each} for each in effects]
    if row.get("reserved"):
        value = f"{row['name']}-{row['vram']}"
        taints.append({"key": _RESERVED, "value": value, "effect": "NoSchedule"})
    return {"metadata": {**node["metadata"], "labels": labels}, "spec": {"taints": taints}}


# --- Pods by hand


def _expressions(row: Json) -> list[Json]:
    labels = row["nodes"].get("matchLabels", {})
    said = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return [*said, *row["nodes"].get("matchExpressions", ())]


def _pod(document: Json, random: Random) -> Json:
    """A Pod that means some rows, more or less, in one of the ways in which people say so."""
    rows = document["spec"]["devices"]
    meant = random.sample(rows, random.choice((1, 1, 1, 2, len(rows))))
    spec: Json = {"containers": _containers(meant[0]["resource"], random)}
    if random.random() < 0.3:
        spec["initContainers"] = [
            {"name": "i", "resources": {"limits": {meant[0]["resource"]: "1"}}}
        ]
    if random.random() < 0.9:
        _select(spec, meant, random)
    if random.random() < 0.3:
        spec.setdefault("nodeSelector", {}).update(generated.selector(random))
    if random.random() < 0.2:
        spec["affinity"] = generated.affinity(random)
    _tolerate(spec, meant, random)
    if random.random() < 0.4:
        spec["priorityClassName"] = random.choice(("high", "low"))
    return deepcopy({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})


def _containers(resource: str, random: Random) -> list[Json]:
    sides = random.choice((("limits",), ("limits", "requests")))
    return [
        {
            "name": f"c{number}",
            "resources": {side: {resource: "1", "cpu": 1} for side in sides},
        }
        for number in range(random.choice((1, 1, 2)))
    ]


def _select(spec: Json, meant: Sequence[Json], random: Random) -> None:
    labels = meant[0]["nodes"].get("matchLabels")
    if len(meant) == 1 and labels and random.random() < 0.5:
        spec["nodeSelector"] = dict(labels)
        return
    terms = [{"matchExpressions": _expressions(row)} for row in meant]
    for term in terms:
        if random.random() < 0.2:
            term["matchExpressions"] = [*term["matchExpressions"], generated.expression(random)]
        if random.random() < 0.1:
            term["matchExpressions"] = term["matchExpressions"][1:]
    node = {REQUIRED: {"nodeSelectorTerms": terms}}
    spec["affinity"] = {"nodeAffinity": node}


def _tolerate(spec: Json, meant: Sequence[Json], random: Random) -> None:
    some = [one for row in meant for one in row["tolerations"] if random.random() < 0.95]
    some += [
        {"key": _RESERVED, "value": f"{row['name']}-{row['vram']}", "effect": "NoSchedule"}
        for row in meant
        if row.get("reserved") and random.random() < 0.9
    ]
    if random.random() < 0.2:
        some = [{"operator": "Exists"}]
    if random.random() < 0.3:
        some.append(generated.toleration(random))
    if some:
        spec["tolerations"] = some


def _amount(pod: Json) -> int:
    """How many devices the Pod holds at once: one a container, the init container before them."""
    return len(pod["spec"]["containers"])


# --- Through the text


def _as_text(pod: Json, random: Random) -> str:
    match random.randint(0, 2):
        case 0:
            return "# above\n" + yaml_text([pod]) + "# below\n"
        case 1:
            return json.dumps(pod)
        case _:
            return json.dumps(pod, indent=2)


def _edited(pod: Json, edits: Sequence[Edit], random: Random) -> Json:
    """Make edits of a Pod in its text, and read that."""
    survey = survey_manifests(_as_text(pod, random))
    made = rewritten(survey, [Wanted(0, tuple(in_document(_view(pod), edits)))])
    assert made.failed == {}
    (document,) = load_manifests(made.text)
    assert document.value == write(pod, edits).after
    after: Json = write(pod, edits).after
    return after


def _outcomes(pod: Json, table: Table) -> list[Outcome]:
    """What becomes of a Pod under each policy that it may have."""
    outcome = translate(pod, Context(is_template=True), Snapshot(table))
    assert outcome.choice is not None
    policies = [outcome.choice.policy] if outcome.choice.certain else list(Policy)
    return [
        translate(pod, Context(is_template=True, policy=policy), Snapshot(table))
        for policy in policies
    ]


@given(_TABLES, _RANDOM)
def test_a_spec_gives_the_very_nodes(document: Json, random: Random) -> None:
    pod, table = _pod(document, random), table_of(document)
    note(json.dumps(pod))
    found = propose(_view(pod), table)
    if not isinstance(found, Proposal):
        event("by hand")
        return
    event("converted" if not found.stays else "converted, and something stays")
    assert not [*found.added, *found.loosened, *found.tolerated]
    after = _edited(pod, found.edits, random)
    nodes = _nodes(document, _amount(pod), found.resource, random)
    for outcome in _outcomes(after, table):
        assert outcome.verdict is Verdict.PATCHED
        translated = write(after, outcome.edits).after
        for node in nodes:
            assert admits(node, translated) == admits(node, pod), (node, translated)
        if any(admits(node, pod) for node in nodes):
            event("some node is admitted")


@given(_TABLES, _RANDOM)
def test_with_leave_it_gives_at_least_these_nodes(document: Json, random: Random) -> None:
    pod, table = _pod(document, random), table_of(document)
    note(json.dumps(pod))
    found = propose(_view(pod), table, widen=True)
    exact = propose(_view(pod), table)
    if not isinstance(found, Proposal):
        event("by hand")
        assert isinstance(exact, ByHand)
        return
    event("wider" if found.added else "no more rows")
    assert {row.id for row in found.rows}.isdisjoint(row.id for row in found.added)
    after = _edited(pod, found.edits, random)
    nodes = _nodes(document, _amount(pod), found.resource, random)
    for outcome in _outcomes(after, table):
        translated = write(after, outcome.edits).after
        for node in nodes:
            assert admits(node, translated) or not admits(node, pod), (node, translated)


@given(_TABLES, _RANDOM)
def test_a_reason_hides_no_other(document: Json, random: Random) -> None:
    pod, table = _pod(document, random), table_of(document)
    note(json.dumps(pod))
    free = propose(_view(pod), table)
    bound = propose(_view({**pod, "spec": {**pod["spec"], "nodeName": "n"}}), table)
    assert isinstance(bound, ByHand)
    node, *others = bound.stays
    assert node.path == ("spec", "nodeName")
    assert others == (list(free.stays) if isinstance(free, ByHand) else [])
    event("by hand anyway" if others else "by hand for its node alone")


@given(_TABLES, placed_pods(), _RANDOM)
def test_to_native_and_back_gives_the_same_nodes(document: Json, pod: Json, random: Random) -> None:
    table = table_of(document)
    policy = random.choice(list(Policy))
    known = Context(policy=policy)
    outcome = translate(pod, known, Snapshot(table))
    if outcome.verdict is not Verdict.PATCHED:
        return
    edits = native_edits(_view(pod), outcome)
    assert isinstance(edits, tuple)
    native = _edited(pod, edits, random)
    assert native["metadata"] == pod["metadata"]
    stored = write(pod, outcome.edits).after
    assert native["spec"] == stored["spec"]
    back = propose(_view(native), table, replace(known, is_template=True))
    if not isinstance(back, Proposal):
        event("native, and stays so")
        return
    event("there and back")
    again = _edited(native, back.edits, random)
    became = translate(again, known, Snapshot(table))
    nodes = _nodes(document, 1, GPU, random)
    final = write(again, became.edits).after
    assert [admits(one, final) for one in nodes] == [admits(one, native) for one in nodes]
