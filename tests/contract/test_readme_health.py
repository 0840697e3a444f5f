"""What the README says of health is what the program does: settings, signals, texts, documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from kubernetes_validate import validate  # type: ignore[import-untyped]
from pydantic_core import PydanticUndefined

from selection_spec.schema_health import HealthPart
from selection_spec.schema_part import Part
from selection_spec.table import load_table
from tests.contract import readme
from tests.contract.kustomize import Document
from tests.contract.test_schemas import VERSIONS
from webhook.advice.health.judged import About, Judged
from webhook.advice.health.listing import listing
from webhook.health.fences import UNHEALTHY
from webhook.health.gather import Facts, Homes
from webhook.health.moment import Moment
from webhook.health.permits import permit
from webhook.health.records import State
from webhook.health.shipped import CONDITIONS, LABELS, TAINTS
from webhook.health.words import Reason
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import Json, NodeFacts, node_facts
from webhook.inventory.job_facts import job_facts
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts, pod_facts, tolerations_of
from webhook.terms import (
    HEALTH,
    HEALTH_BREAKER,
    HEALTH_BUDGET,
    HEALTH_OBJECT,
    ON_FAILURE_ANNOTATION,
)

CHAPTER = readme.TEXT.partition("\n## Health:")[2].partition("\n## Operate\n")[0]

# When the README's example begins: a GPU is lost.
_LOST = 1_780_324_200.0
# What follows is looked at three times, as soon as that counts, and once when somebody looks.
_LOOKS_S = (2.0, 12.0, 22.0, 722.0)

_CELL = re.compile(r"`([^`]+)`")


def rows_of(head: str) -> Iterator[list[str]]:
    """The cells of the table whose first line begins like this."""
    lines = CHAPTER[CHAPTER.index(head) :].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def settings(part: type[Part], above: str = "") -> Iterator[tuple[str, str]]:
    """Every field below ``health`` as a path, with its default as the README writes it."""
    for field in part.model_fields.values():
        path = f"{above}{field.alias}"
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Part):
            yield from settings(inner, f"{path}.")
            continue
        yield path, written(field.default)
        for of in getattr(inner, "__args__", ()):
            if isinstance(of, type) and issubclass(of, Part):
                yield from settings(of, f"{path}.")


def written(default: object) -> str:
    if default is PydanticUndefined:
        return "required"
    if default == []:
        return "none"
    return "any" if default in (None, "") else str(default)


def test_the_table_of_settings_has_every_field_with_its_default() -> None:
    shown = {
        path: default.strip("`")
        for fields, _, default in rows_of("| field of `health` |")
        for path in _CELL.findall(fields)
    }

    assert shown == dict(settings(HealthPart))


@pytest.mark.rule("H2")
def test_the_table_of_monitors_has_every_shipped_condition_with_its_polarity() -> None:
    shown = {source: cells for source, *cells in rows_of("| source | bad |")}

    for source, conditions in CONDITIONS.items():
        bad, *by_severity = shown[source]
        assert {one.bad_status for one in conditions} == {bad}
        for severity, cell in zip(("Fatal", "Error", "Warning"), by_severity, strict=True):
            named = set(_CELL.findall(cell.partition("; ")[0]))
            assert named == {one.type for one in conditions if one.severity == severity}


@pytest.mark.rule("H2")
def test_the_table_of_monitors_has_every_shipped_taint_and_label() -> None:
    columns = {"Fatal": 2, "Error": 3, "Warning": 4}
    cells = list(rows_of("| source | bad |"))

    for key, severity, value in (
        *((one.key, one.severity, "") for one in TAINTS),
        *((one.key, one.severity, one.value) for one in LABELS),
    ):
        (cell,) = (row[columns[severity]] for row in cells if f"`{key}`" in "|".join(row))
        assert f"`{key}`" in cell
        assert not value or f"`{value}`" in cell


def test_every_fragment_of_settings_loads() -> None:
    fragments = [one["spec"]["health"] for one in readme.documents() if one.keys() == {"spec"}]

    assert len(fragments) == 2
    for fragment in fragments:
        table = shown_table()
        table["spec"]["health"] = fragment
        # A row of the fragment is one of the README's table.
        assert load_table(yaml.safe_dump(table).encode()).has_health


def test_every_reason_and_condition_is_named() -> None:
    for name in (*Reason, HEALTH, HEALTH_BUDGET, HEALTH_BREAKER, HEALTH_OBJECT):
        assert f"`{name}`" in CHAPTER


@pytest.mark.rule("H7")
def test_the_toleration_lets_daemon_sets_come_back() -> None:
    tolerating = [
        DaemonFacts("kube-system", "driver", tolerations=tolerations_of(one))
        for one in readme.documents()
        if one.keys() == {"tolerations"}
    ]

    assert sum(one.tolerates(UNHEALTHY) for one in tolerating) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_job_and_the_budget_are_valid(version: str) -> None:
    for kind in ("Job", "PodDisruptionBudget"):
        assert validate(document(kind), version, strict=True) == version


@pytest.mark.rule("H9")
def test_the_job_outlives_an_eviction_and_its_pod_may_go() -> None:
    job = document("Job")
    template = job["spec"]["template"]
    owner = {"kind": "Job", "name": "train", "uid": "1", "controller": True}
    metadata = {"name": "train-0", "namespace": "default", "ownerReferences": [owner]}
    written_by = {**metadata, **template["metadata"]}
    told, plain = (
        pod_facts({"metadata": one, "spec": template["spec"]}) for one in (written_by, metadata)
    )

    assert ON_FAILURE_ANNOTATION in template["metadata"]["annotations"]
    assert permit(told, {}, 0.0, 1.0).is_given
    assert job_facts(job).outlives(plain)


@pytest.mark.rule("H9")
def test_the_budget_lets_go_who_is_not_ready() -> None:
    assert document("PodDisruptionBudget")["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_the_timeline_is_what_the_command_prints(folder: Path) -> None:
    (command,) = (one for one in readme.commands() if "health simulate" in one)
    done = readme.run(command, folder)

    assert done.stdout.strip() == shown_text("3 events from")


def test_the_report_is_what_the_command_prints() -> None:
    assert report() == shown_text("https://10.0.0.1")


def document(kind: str) -> Document:
    bodies = re.findall(r"^```yaml\n(.*?)^```$", CHAPTER, re.MULTILINE | re.DOTALL)
    (found,) = (one for one in map(yaml.safe_load, bodies) if one.get("kind") == kind)
    whole: Document = found
    return whole


def shown_table() -> Document:
    tables = (one for one in readme.documents() if one.get("kind") == "SelectionTable")
    found: Document = next(one for one in tables if one["metadata"]["name"] == "default")
    return found


def shown_text(begin: str) -> str:
    """The indented block that begins like this."""
    lines = CHAPTER[CHAPTER.index(f"    {begin}") :].splitlines()
    kept = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        kept.append(line.removeprefix("    "))
    return "\n".join(kept).strip()


def report() -> str:
    """The report of the README's example: ten nodes of one row, three of another."""
    document_ = shown_table()
    document_["spec"]["health"] = {}
    table = load_table(json.dumps(document_).encode())
    facts = Facts(nodes=example_nodes(), pods=(example_pod("chat-5d9c", "chat"), DEBUG))
    observed = Homes(table, Matcher(table)).observed(facts)
    about = About("https://10.0.0.1", "v1.37.0", "gpuspec-system")
    state = State()
    for later in _LOOKS_S:
        judged = Judged.of(about, table, Moment(observed, table.health, _LOST + later), state)
        state = judged.step.state
    return listing(judged, lambda _, said: said)


def example_nodes() -> Mapping[str, NodeFacts]:
    a30 = [example_node(f"a30-{n}", "a30-24gb", 6, lost=n == 7) for n in range(1, 11)]
    v100 = [example_node(f"v100-{n}", "v100-16gb", 8, sick=int(n == 2)) for n in range(1, 4)]
    return {node.name: node for node in (*a30, *v100)}


def example_node(
    name: str, model: str, devices: int, *, sick: int = 0, lost: bool = False
) -> NodeFacts:
    condition = {"type": "GPUIsLost", "status": "True" if lost else "False", "reason": "NoCuda"}
    return node_facts(
        {
            "metadata": {"name": name, "uid": name, "labels": {"gpu-model": model}},
            "status": {
                "capacity": {"nvidia.com/gpu": str(devices)},
                "allocatable": {"nvidia.com/gpu": str(devices - sick)},
                "conditions": [{"type": "Ready", "status": "True"}, condition],
            },
        }
    )


def example_pod(name: str, owner: str = "") -> PodFacts:
    controller = {"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    metadata: Json = {"name": name, "namespace": "team-a", "uid": name}
    if owner:
        metadata["ownerReferences"] = [controller]
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"nodeName": "a30-7", "containers": [container]}
    return pod_facts({"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})


DEBUG = example_pod("debug")
