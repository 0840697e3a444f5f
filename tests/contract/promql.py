"""What the expressions of rules and dashboards speak of: series, labels and their values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import promql_parser
from prometheus_client import CollectorRegistry

TARGET_LABELS = frozenset({"job", "instance", "namespace", "pod"})
"""What Prometheus adds to every series of a Pod that it scrapes."""

# Grafana puts a duration there, four times the interval of the scrapes at least.
_VARIABLES = {"$__rate_interval": "5m"}

_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


def parsed(expression: str) -> promql_parser.Expr:
    """Parse an expression as Prometheus would; Grafana's variables are filled in before.

    Raises:
        ValueError: It is none.
    """
    for name, value in _VARIABLES.items():
        expression = expression.replace(name, value)
    return promql_parser.parse(expression)


def selectors(expression: str) -> tuple[promql_parser.VectorSelector, ...]:
    """Everything that an expression selects, those within ranges among them."""
    found: list[promql_parser.VectorSelector] = []

    def visit(node: promql_parser.Expr) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)
        return True

    promql_parser.walk(parsed(expression), pre_visit=visit)
    return tuple(found)


def matched(selector: promql_parser.VectorSelector) -> Iterator[tuple[str, str]]:
    """Every label with every value that a selector names; alternatives are told apart."""
    for matcher in selector.matchers.matchers:
        for value in matcher.value.split("|"):
            yield matcher.name, value


def grouped(expression: str) -> frozenset[str]:
    """The labels that an expression groups or joins by."""
    lists = (one.split(",") for one in _GROUPING.findall(expression))
    return frozenset(label.strip() for one in lists for label in one if label.strip())


def exported(registry: CollectorRegistry) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Every series of a registry by its name, with its labels and the values that they have."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for family in registry.collect():
        for sample in family.samples:
            labels = found[sample.name]
            for label, value in sample.labels.items():
                labels[label].add(value)
    return {
        name: {label: frozenset(values) for label, values in labels.items()}
        for name, labels in found.items()
    }
