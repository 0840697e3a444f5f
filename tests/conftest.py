"""What holds for every test: options, known rules, how long hypothesis searches."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.rules import RULES, rules_of

# The suite gives the same answer every time; to search for new counter-examples:
#   pytest --hypothesis-profile=search tests/property
_CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=300)
settings.register_profile("search", deadline=None, max_examples=3_000, suppress_health_check=_CALM)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes golden files instead of comparing them."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the wanted files of tests/golden anew; read the difference before you commit",
    )


@pytest.hookimpl(tryfirst=True)  # before xdist takes up the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check the marks, and keep together what shares a control plane or a module's fixtures."""
    _refuse_unknown_rules(items)
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        version = parameters.get("kubernetes")
        group = f"Kubernetes {version}" if version else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


def _refuse_unknown_rules(items: list[pytest.Item]) -> None:
    """Refuse a mark of a rule that does not exist: it would show nothing."""
    wrong = sorted(
        {(item.nodeid, rule) for item in items for rule in set(rules_of(item)) - {*RULES}}
    )
    if wrong:
        raise pytest.UsageError(
            "\n".join(f"{test} is marked with {rule}, which is no rule" for test, rule in wrong)
        )
