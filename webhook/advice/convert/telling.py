"""What was converted, what stays and why, in lines of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from selection_spec.documents import field_path
from selection_spec.rows import Row
from webhook.admission.translate import Outcome
from webhook.advice.convert.native import reserve_tolerated
from webhook.advice.convert.proposal import ByHand, Proposal
from webhook.advice.convert.sight import Sight, Stay
from webhook.jsonpatch import Path
from webhook.terms import RESERVED_TAINT

_WIDTH = 80


def of_proposal(view: Sight, place: str, found: Proposal) -> Iterator[str]:
    """Yield what comes of a Pod that said it by hand.

    Args:
        view: The Pod; in all functions here.
        place: Its file and line; in all functions here.
        found: What it may say instead.
    """
    names = ", ".join(f'"{name}"' for name in found.containers)
    yield from _head(f"{place}: {view.owner}: {found.key} for {found.resource} in {names}")
    yield from _line("rows", _ids(found.rows))
    if found.added:
        yield from _line("also", f"{_ids(found.added)}, in addition")
    if found.tolerated:
        yield from _line("also", f"nodes with the taint {', '.join(found.tolerated)}, in addition")
    for path in found.gone:
        more = "; it chose among these nodes" if path in found.loosened else ""
        yield from _line("goes", f"{_place(view, path)}{more}")
    yield from _stays(view, found.stays)


def of_hand(view: Sight, place: str, found: ByHand) -> Iterator[str]:
    """Yield why a Pod stays as it is."""
    yield from _head(f"{place}: {view.owner}: stays by hand")
    yield from _stays(view, found.stays)


def of_native(view: Sight, place: str, outcome: Outcome) -> Iterator[str]:
    """Yield what comes of a Pod whose specs were translated."""
    asks = outcome.request.asks if outcome.request is not None else ()
    keys = dict.fromkeys(ask.key for ask in asks)
    yield from _head(f"{place}: {view.owner}: without {', '.join(keys)}")
    if outcome.resolution is not None:
        yield from _line("rows", _ids(outcome.resolution.candidates))
    if reserved := reserve_tolerated(outcome):
        text = (
            f"a toleration of {RESERVED_TAINT} ({', '.join(reserved)}), the taint of nodes that "
            "gpuspec keeps for Pods that name their row; it does nothing where no node has it"
        )
        yield from _line("also", text)


def of_failure(view: Sight, place: str, why: str) -> Iterator[str]:
    """Yield why the text of a Pod could not be changed."""
    yield from _head(f"{place}: {view.owner}: stays as it is")
    yield from _line("stays", f"{field_path(view.place(('spec',)))}: {why}")


def _stays(view: Sight, stays: tuple[Stay, ...]) -> Iterator[str]:
    for one in stays:
        yield from _line("stays", f"{_place(view, one.path)}: {one.why}")


def _head(text: str) -> list[str]:
    return _wrapped(text, "", "  ")


def _line(what: str, text: str) -> list[str]:
    return _wrapped(text, f"  {what:<5}  ", " " * 9)


def _wrapped(text: str, first: str, others: str) -> list[str]:
    # What a manifest calls things is not to be obeyed by a terminal.
    visible = "".join(one if one.isprintable() else "\ufffd" for one in text)
    return textwrap.wrap(
        visible,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _place(view: Sight, path: Path) -> str:
    return field_path(view.place(path))


def _ids(rows: tuple[Row, ...]) -> str:
    return ", ".join(row.id for row in rows)
