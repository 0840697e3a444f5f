"""Mutated manifests through ``validate``: nothing is raised, every place is in its text."""

from __future__ import annotations

import pytest

from tests.corpus_texts import corpus_texts
from tests.fuzz_validate import Fuzz, check
from tests.mutations import mutated
from tests.webhook.advice.findings.judged import found, pod

DOCUMENTS = 1_500


def test_every_law_holds_for_every_document() -> None:
    fuzz = Fuzz()
    for seed in range(DOCUMENTS):
        fuzz.try_one(seed)
    print(dict(fuzz.seen.most_common()))
    assert fuzz.broken == []
    # The mutations leave enough to find.
    assert len(fuzz.seen) >= 20
    assert fuzz.seen["GS001"] <= 2 * DOCUMENTS / 3


def test_a_seed_is_a_document() -> None:
    texts = corpus_texts()
    raws = [mutated(seed, texts) for seed in range(200)]
    assert raws == [mutated(seed, texts) for seed in range(200)]
    assert len(set(raws)) >= 190


@pytest.mark.parametrize(
    "change", [("f: {", "f:\n {"), ("A100: 1", "A100:"), ("limits", "\nlimits")]
)
def test_a_place_that_is_elsewhere_is_seen(change: tuple[str, str]) -> None:
    """The laws would tell of a finding whose text was another."""
    text = pod("limits: {preferred.jp/gpu-A100: 1}")
    (one,) = found(text)
    check(one, text)
    with pytest.raises(AssertionError):
        check(one, f"# {change}\n{text}")
