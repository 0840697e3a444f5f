"""What the readers of YAML and JSON share: a fault, and how deep a text may nest."""

from __future__ import annotations

from dataclasses import dataclass

# Three times what the deepest documents in use need (schemas in CustomResourceDefinitions: about
# 40). The API server takes more, but JSON writers further down the road stop at 254 levels, and
# everything that walks a document may then recurse without a thought for Python's own limit.
MAX_DEPTH = 128

# One bad habit, repeated on every line, is understood well before this many reports.
MAX_LISTED = 1000


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at one place of a text.

    Attributes:
        at: Offset of the place in the text, in characters.
        message: What is wrong.
        hint: What to do instead, "" where nothing can be said.
    """

    at: int
    message: str
    hint: str = ""


def too_deep(at: int) -> Fault:
    """Return the fault of lists and mappings that nest more than ``MAX_DEPTH`` deep."""
    return Fault(at, f"lists and mappings are nested more than {MAX_DEPTH} deep")
