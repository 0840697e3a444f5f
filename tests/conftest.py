"""What holds for every test: options, known rules, how long hypothesis searches."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.rules import RULES, rules_of

# How a test's name ends that runs on one version of Kubernetes.
_VERSION: Final = re.compile(r"\[(1\.\d+)[]-]")

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a mark of a rule that does not exist: it would show nothing."""
    wrong = sorted(
        {(item.nodeid, rule) for item in items for rule in set(rules_of(item)) - {*RULES}}
    )
    if wrong:
        raise pytest.UsageError(
            "\n".join(f"{test} is marked with {rule}, which is no rule" for test, rule in wrong)
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Give a worker what shares something: tests of a version of Kubernetes, else of a file."""
    return _Sharing(config, log)


class _Sharing(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        version = _VERSION.search(nodeid)
        is_shared = version is not None and nodeid.startswith("tests/cluster/")
        return version[1] if version is not None and is_shared else nodeid.partition("::")[0]
