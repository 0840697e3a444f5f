"""Places of a document that several containers or Pods have, which can be edited in one way only.

A Tekton task's ``stepTemplate`` is such a place: what stands there is each step's.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.jsonpatch import Edit, Path


class Places:
    """The places that are edited so far."""

    def __init__(self) -> None:
        self._edits: dict[Path, list[Edit]] = {}
        self._above: set[Path] = set()

    def take(self, edits: Sequence[Edit]) -> list[Edit] | None:
        """Return those of some edits that are not made already.

        Args:
            edits: All of one container or Pod, as edits of the document.

        Returns:
            None where they want something else of a place than earlier ones do; then none of them
            counts.
        """
        wanted: dict[Path, list[Edit]] = {}
        for edit in edits:
            wanted.setdefault(_place(edit.path), []).append(edit)
        new = {place: some for place, some in wanted.items() if self._edits.get(place) != some}
        if any(self._is_taken(place) for place in new):
            return None
        self._edits |= new
        self._above.update(place[:length] for place in new for length in range(len(place)))
        return [edit for edit in edits if _place(edit.path) in new]

    def _is_taken(self, place: Path) -> bool:
        above = (place[:length] for length in range(len(place) + 1))
        return place in self._above or any(one in self._edits for one in above)


def _place(path: Path) -> Path:
    """Return what an edit is about: of an item that is the list, where it has its number."""
    return path[:-1] if isinstance(path[-1], int) else path
