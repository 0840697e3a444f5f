"""Some hundred generated Pods through a real service; ``python -m tests.many_pods`` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.many_pods import run


@pytest.mark.rule("R2", "R3", "R4", "R6", "R8")
def test_every_law_holds_over_http(tmp_path: Path) -> None:
    seen, broken = run(tmp_path, range(1_000_000, 1_000_400))

    assert broken == []
    assert set(seen) == {"denied", "patched", "unchanged"}
