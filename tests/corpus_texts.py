"""The texts of the corpus, for whoever needs many manifests that look like people's."""

from __future__ import annotations

from pathlib import Path

_MANIFESTS = Path(__file__).parent / "corpus" / "manifests"


def corpus_texts() -> list[bytes]:
    """Every manifest of the corpus, in the order of their names."""
    files = sorted(path for path in _MANIFESTS.rglob("*") if path.suffix in {".yaml", ".json"})
    return [path.read_bytes() for path in files]
