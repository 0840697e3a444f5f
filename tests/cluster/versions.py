"""Which versions of Kubernetes the tests run on; ``GPUSPEC_KUBERNETES=1.36,1.37`` narrows them."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cluster import binaries
from tests.cluster.binaries import BinariesError


def wanted_minors() -> tuple[str, ...]:
    """The versions to test, oldest first."""
    try:
        return binaries.wanted_minors()
    except BinariesError as error:
        raise pytest.UsageError(str(error)) from error


ON_NEWEST: Final = pytest.mark.parametrize(
    "kubernetes", wanted_minors()[-1:], indirect=True, scope="session"
)
"""For tests of what no version does differently, and that take their time: a whole run has them on
the newest version; each other one has them when it alone is asked for."""
