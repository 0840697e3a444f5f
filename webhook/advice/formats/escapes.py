"""What a manifest brings into a report, so that nothing obeys it and every file can hold it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

# Beside line breaks, JSON itself has nothing that is not printable.
_HIDDEN: Final = re.compile(r"[^\x20-\x7e\n]")


def visible(text: str) -> str:
    r"""Write what a terminal would obey or not show as its escape: ``\x1b``, ``\u202e``.

    Unlike ``one_line`` this keeps every blank, so a file keeps its name and a line its columns.
    """
    if not text.isprintable():
        text = "".join(
            one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
        )
    return disarmed(text)


def disarmed(text: str) -> str:
    """Write what GitHub's runners obey wherever in a line it stands so that they do not."""
    return text.replace("##[", r"#\x23[")


def json_text(value: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    """Return a value as JSON that reads well and reads back the same.

    What does not print is escaped: UTF-8 has no half surrogates, and whoever looks at the file is
    not led astray by marks that turn the direction of writing.
    """
    return _HIDDEN.sub(_escaped, json.dumps(value, indent=2, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return character if character.isprintable() else json.dumps(character)[1:-1]
