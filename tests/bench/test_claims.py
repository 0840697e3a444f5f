"""The bench of claims runs and says what it should, at a size at which its figures mean nothing."""

from __future__ import annotations

import pytest

from tests.bench.test_bench import _has_lines, _said
from tests.cluster.binaries import find_binaries
from tests.cluster.versions import wanted_minors


@pytest.mark.cluster
def test_claims_compares_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    version = wanted_minors()[-1]
    with capsys.disabled():
        find_binaries(version)
    figures, shares = r"\s+20(\s+[\d.]+){3}", r"(\s+\d+){4}"
    _has_lines(
        _said("claims", "--mix", "20", "--seed", "3", "--kubernetes", version),
        rf"Kubernetes {version}, all of it; 260 nodes and gpuspec on this machine\.",
        r"seed 3: 20 Pods for \d+ devices, \d+ of high priority: .*",
        r"  of these Pods  run  created, s  bound, s  ms/Pod",
        rf"  device plugin{figures}",
        rf"  claims{figures}",
        r"  on rows  +v100-16gb  v100-32gb  a30-24gb  a100-80gb",
        rf"  device plugin{shares}",
        rf"  claims{shares}",
        r"  ms/Pod of claims to device plugin: [\d.]+",
    )
