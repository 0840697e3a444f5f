"""The monitoring component: rules, a dashboard and a PodMonitor that speak of what there is.

There is no schema here of the Prometheus Operator's resources (PrometheusRule, PodMonitor), nor of
Grafana's dashboards, so of their form only what both document is checked. The expressions are
parsed as PromQL, and every series, label and value in them is one that the controller exports.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

import click
import pytest
import yaml

from selection_spec.health import HealthPolicy
from tests.contract import readme
from tests.contract.kustomize import (
    MANIFESTS,
    NAMESPACE,
    Document,
    build,
    built,
    container,
    deployment,
    one,
)
from tests.contract.promql import TARGET_LABELS, exported, grouped, matched, parsed, selectors
from webhook.cli import main
from webhook.controllers.certificates import CertificateLoop, CertificateMetrics
from webhook.controllers.claim_metrics import ClaimTemplateMetrics
from webhook.controllers.claim_templates import ClaimTemplateLoop
from webhook.controllers.health import HealthLoop
from webhook.controllers.health_metrics import HealthMetrics
from webhook.controllers.loop_metrics import LoopMetrics, Result
from webhook.controllers.reserve import ReserveLoop
from webhook.controllers.table_status import TableStatusLoop
from webhook.health.breaker import Breakers
from webhook.health.budget import Budget
from webhook.health.ledger import Ledger
from webhook.health.observed import Observed
from webhook.health.records import State
from webhook.health.step import Step
from webhook.health.words import Reason, verdicts
from webhook.terms import HEALTH_BREAKER, HEALTH_BUDGET

COMPONENT = MANIFESTS / "components/monitoring"
LOOPS = (HealthLoop, TableStatusLoop, ReserveLoop, ClaimTemplateLoop, CertificateLoop)

RULES = tuple(
    rule
    for group in yaml.safe_load((COMPONENT / "rules.yaml").read_text())["spec"]["groups"]
    for rule in group["rules"]
)
DASHBOARD: Document = json.loads((COMPONENT / "dashboard.json").read_text())
PANELS: list[Document] = DASHBOARD["panels"]
EXPRESSIONS = (
    *((rule["alert"], rule["expr"]) for rule in RULES),
    *((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]),
)

_COLUMNS = 24
_DURATION = re.compile(r"[1-9][0-9]*[smh]")
_VARIABLE = re.compile(r"{{ *\$(\w+)(?:\.(\w+))? *}}")
_LEGEND = re.compile(r"{{(\w+)}}")
_LINES = re.compile(r"^#+ (.*)$", re.MULTILINE)
_NO_SLUG = re.compile(r"[^\w\- ]")


def each(those: Iterable[tuple[str, str]]) -> list[object]:
    return [pytest.param(text, id=f"{name}-{number}") for number, (name, text) in enumerate(those)]


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, ...]:
    """The default overlay with the component, as an admin's own overlay has it."""
    folder = tmp_path_factory.mktemp("overlay").resolve()
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(MANIFESTS / "overlays/default", folder)],
        "components": [os.path.relpath(COMPONENT, folder)],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return build(folder)


@pytest.fixture(scope="module")
def series() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Everything that a controller exports which has looked once and whose loops all ran."""
    metrics = LoopMetrics()
    CertificateMetrics(metrics.registry)
    ClaimTemplateMetrics(metrics.registry)
    nothing = Budget(Ledger(), Observed(), HealthPolicy())
    step = Step(State(), (), (), nothing, nothing, Breakers({}))
    HealthMetrics(metrics.registry).looked(step, verdicts((), 0.0), ())
    for loop in LOOPS:
        for result in Result:
            metrics.ran(loop.name, result, 0.1)
    return exported(metrics.registry)


def test_it_adds_three_objects_and_changes_nothing(monitored: tuple[Document, ...]) -> None:
    added = [document for document in monitored if document not in built("default")]

    assert {(found["kind"], found["metadata"]["name"]) for found in added} == {
        ("ConfigMap", "gpuspec-dashboard"),
        ("PodMonitor", "gpuspec-controller"),
        ("PrometheusRule", "gpuspec-health"),
    }
    assert len(monitored) == len(built("default")) + len(added)
    for found in added:
        assert found["metadata"]["namespace"] == NAMESPACE
        assert found["metadata"]["labels"]["app.kubernetes.io/name"] == "gpuspec"


def test_the_pod_monitor_finds_the_controllers_and_their_port(
    monitored: tuple[Document, ...],
) -> None:
    monitor = one(monitored, "PodMonitor")
    (port,) = container(monitored, "controller")["ports"]
    pods = deployment(monitored, "controller")["spec"]["template"]["metadata"]["labels"]
    policy = one(monitored, "NetworkPolicy", "gpuspec-controller")["spec"]

    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pods.items()
    assert monitor["spec"]["selector"] == deployment(monitored, "controller")["spec"]["selector"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"], endpoint["scheme"]) == (
        port["name"],
        "/metrics",
        "http",
    )
    assert policy["ingress"] == [{"ports": [{"port": endpoint["port"], "protocol": "TCP"}]}]


@pytest.mark.parametrize("expression", each(EXPRESSIONS))
def test_an_expression_is_promql_about_series_that_there_are(
    expression: str, series: Mapping[str, Mapping[str, frozenset[str]]]
) -> None:
    found = selectors(expression)

    assert found
    for selector in found:
        name = str(selector.name)
        assert name in series
        for label, value in matched(selector):
            assert value in series[name][label], (name, label)


@pytest.mark.parametrize("expression", each(EXPRESSIONS))
def test_an_expression_groups_by_labels_that_there_are(
    expression: str, series: Mapping[str, Mapping[str, frozenset[str]]]
) -> None:
    labels = {label for one in selectors(expression) for label in series[str(one.name)]}

    assert grouped(expression) <= labels | TARGET_LABELS


@pytest.mark.parametrize("expression", each(EXPRESSIONS))
def test_what_a_former_leader_still_shows_does_not_count(
    expression: str, series: Mapping[str, Mapping[str, frozenset[str]]]
) -> None:
    """It exports its last numbers until it ends; only counters and times are right for ever."""
    of_now = {
        str(one.name)
        for one in selectors(expression)
        if str(one.name).startswith("gpuspec_health_") and not str(one.name).endswith("_total")
    }

    assert not of_now or "and on (job, instance) gpuspec_leader == 1" in expression
    assert of_now <= series.keys()


def test_all_that_health_exports_is_on_the_dashboard(
    series: Mapping[str, Mapping[str, frozenset[str]]],
) -> None:
    shown = {
        str(selector.name)
        for panel in PANELS
        for target in panel["targets"]
        for selector in selectors(target["expr"])
    }
    exports = {name for name in series if name.startswith("gpuspec_health_")}

    assert {name for name in exports if not name.endswith("_created")} <= shown


def test_a_misspelt_series_label_or_bracket_would_be_found() -> None:
    """The tests above test something: this is what they go by."""
    (found,) = selectors('rate(gpuspec_lop_seconds_count{loop=~"health|x"}[$__rate_interval])')

    assert found.name == "gpuspec_lop_seconds_count"
    assert list(matched(found)) == [("loop", "health"), ("loop", "x")]
    assert grouped("max by (verdict, x) (a and on (job) b)") == {"verdict", "x", "job"}
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        parsed("sum(gpuspec_leader")


def test_every_alert_is_whole() -> None:
    names = [rule["alert"] for rule in RULES]

    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert rule["labels"] == {"severity": rule["labels"]["severity"]}
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert _DURATION.fullmatch(rule.get("for", "1s"))
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}
        assert len(rule["annotations"]["summary"]) <= 100


def test_the_rule_and_the_dashboard_are_built_as_they_are_written(
    monitored: tuple[Document, ...],
) -> None:
    rules = one(monitored, "PrometheusRule")
    (group,) = rules["spec"]["groups"]
    config_map = one(monitored, "ConfigMap")

    assert rules["apiVersion"] == "monitoring.coreos.com/v1"
    assert tuple(group["rules"]) == RULES
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert {name: json.loads(text) for name, text in config_map["data"].items()} == {
        "gpuspec.json": DASHBOARD
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_names_commands_reasons_and_conditions_that_there_are(rule: Document) -> None:
    said = " ".join(rule["annotations"]["description"].split())
    context = click.Context(main)

    for verb in re.findall(r"\bgpuspec ([a-z]+)", said):
        assert verb in main.list_commands(context)
    assert re.search(r"gpuspec (health|doctor)|kubectl ", said)
    for reason in re.findall(r"reason=(\w+)", said):
        assert reason in set(Reason)
    for condition in re.findall(r"condition (\w+)", said):
        assert condition in {HEALTH_BUDGET, HEALTH_BREAKER}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_only_what_its_expression_leaves(rule: Document) -> None:
    for text in rule["annotations"].values():
        for variable, label in _VARIABLE.findall(text):
            assert variable in {"value", "labels"}
            assert not label or label in grouped(rule["expr"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alerts_runbook_is_a_heading_of_the_readme(rule: Document) -> None:
    file, _, anchor = rule["annotations"]["runbook"].partition("#")

    assert file == "README.md"
    assert anchor in {slug(heading) for heading in _LINES.findall(readme.TEXT)}


def test_every_alert_is_in_the_readme() -> None:
    for rule in RULES:
        assert f"`{rule['alert']}`" in readme.TEXT


def slug(heading: str) -> str:
    """The anchor that a heading gets where the README is shown."""
    return _NO_SLUG.sub("", heading.lower()).replace(" ", "-")


def test_the_dashboard_has_what_grafana_asks_for() -> None:
    assert DASHBOARD["title"]
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", DASHBOARD["uid"])
    assert isinstance(DASHBOARD["schemaVersion"], int)
    assert DASHBOARD["time"].keys() == {"from", "to"}
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )


def test_every_panel_is_whole() -> None:
    source = {"type": "prometheus", "uid": "${datasource}"}

    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["type"] in {"stat", "timeseries"}
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"] == source
        assert panel["fieldConfig"].keys() == {"defaults", "overrides"}
        references = [target["refId"] for target in panel["targets"]]
        assert references
        assert len(set(references)) == len(references)
        for target in panel["targets"]:
            assert target["datasource"] == source
            assert set(_LEGEND.findall(target["legendFormat"])) <= grouped(target["expr"])


def test_no_panel_hides_another() -> None:
    areas = [panel["gridPos"] for panel in PANELS]

    for area in areas:
        assert area.keys() == {"x", "y", "w", "h"}
        assert min(area["w"], area["h"]) > 0
        assert 0 <= area["x"] <= area["x"] + area["w"] <= _COLUMNS
    for first, second in combinations(areas, 2):
        beside = any(
            low[at] + low[size] <= high[at]
            for at, size in (("x", "w"), ("y", "h"))
            for low, high in ((first, second), (second, first))
        )
        assert beside, (first, second)


def test_the_component_has_no_file_that_it_does_not_use() -> None:
    used = yaml.safe_load((COMPONENT / "kustomization.yaml").read_text())
    generated = (one for map_ in used["configMapGenerator"] for one in map_["files"])
    files = {*used["resources"], *(one.partition("=")[2] for one in generated)}

    assert files == {Path(one).name for one in COMPONENT.iterdir()} - {"kustomization.yaml"}
