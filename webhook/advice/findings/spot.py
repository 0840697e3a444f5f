"""What a rule has found, by its field path: before anybody looks where that is in the text."""

from __future__ import annotations

from dataclasses import dataclass

from selection_spec.errors import Level, Problem
from webhook.advice.findings.rule import Rule
from webhook.jsonpatch import Path


@dataclass(frozen=True, slots=True)
class Spot:
    """One thing that was found in a document.

    Attributes:
        rule: Of which rule it is.
        path: What it is about, in the document.
        message: What is wrong.
        hint: What to do instead; "" where the message says it.
        owner: The object, as ``Deployment/train``; "" where there is none.
        object: The object's own path, for what is said of it as a whole.
        semantics: The number of admission's rule; "" where there is none.
        level: How bad it is; None as bad as the rule says.
        is_key: Whether the key at the path is meant, and not its value.
        rename: What a key certainly has to be called instead; "" where that is not certain.
        renamed: Which key that is, where it is not the one at the path.
    """

    rule: Rule
    path: Path
    message: str
    hint: str = ""
    owner: str = ""
    object: Path = ()
    semantics: str = ""
    level: Level | None = None
    is_key: bool = True
    rename: str = ""
    renamed: Path = ()


def spot_of(problem: Problem, rule: Rule, path: Path, owner: str, at: Path) -> Spot:
    """Return a problem of another part of the project as a spot at a path of its document."""
    return Spot(
        rule,
        path,
        problem.message,
        problem.hint,
        owner,
        at,
        semantics=problem.rule,
        level=problem.level,
    )
