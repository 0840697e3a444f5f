"""What a Pod's specs become where there is no webhook: ``gpuspec convert --to-native``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.admission.translate import Outcome
from webhook.advice.convert.proposal import ByHand
from webhook.advice.convert.sight import Sight, Stay, misplaced
from webhook.jsonpatch import Edit, Extend, Put
from webhook.pods import Ask
from webhook.terms import RESERVED_TAINT

_TEKTON: Final = "tekton.dev"
# Where they say which nodes their Pods get; other kinds of Tekton have nothing of the sort.
_TEMPLATES: Final = {
    "TaskRun": "spec.podTemplate",
    "PipelineRun": "spec.taskRunTemplate.podTemplate or taskRunSpecs[].podTemplate",
}


def native_edits(view: Sight, outcome: Outcome) -> tuple[Edit, ...] | ByHand:
    """Return what admission would do to a Pod, less its marks; or why a text cannot have that.

    Args:
        view: The Pod and where it stands.
        outcome: What becomes of it; it is patched.
    """
    if str(view.item.get("apiVersion")).rpartition("/")[0] == _TEKTON:
        return ByHand((Stay(("spec",), _why_not_in_tekton(view.kind)),))
    asks = outcome.request.asks if outcome.request is not None else ()
    edits = tuple(
        _as_written(edit, view, asks) for edit in outcome.edits if edit.path[0] != "metadata"
    )
    stays = misplaced(view, edits)
    return ByHand(stays) if stays else edits


def reserve_tolerated(outcome: Outcome) -> tuple[str, ...]:
    """Return the ids of the rows whose reserve taint a Pod comes to tolerate (N9)."""
    added = (
        value
        for edit in outcome.edits
        if isinstance(edit, Extend) and edit.path == ("spec", "tolerations")
        for value in edit.values
    )
    return tuple(
        str(one["value"])
        for one in added
        if isinstance(one, dict) and one.get("key") == RESERVED_TAINT
    )


def _why_not_in_tekton(kind: str) -> str:
    if kind in _TEMPLATES:
        return (
            f"a {kind} chooses nodes in {_TEMPLATES[kind]}, which is not edited: write there what "
            "gpuspec explain shows for the spec"
        )
    runs = "TaskRun" if kind == "Task" else "PipelineRun"
    return (
        f"a {kind} has no field that chooses nodes: write what gpuspec explain shows for the spec "
        f"in the podTemplate of each {runs}"
    )


def _as_written(edit: Edit, view: Sight, asks: Sequence[Ask]) -> Edit:
    """Keep the author's way to write an amount: ``2`` does not become ``"2"``."""
    if not isinstance(edit, Put) or edit.path[3:4] != ("resources",):
        return edit
    ask = next((one for one in asks if one.need and one.path == edit.path[1:3]), None)
    if ask is None:
        return edit
    container = view.pod["spec"][ask.path[0]][ask.path[1]]
    amount = container["resources"]["limits"][ask.key]
    return Put(edit.path, amount, edit.rule) if str(amount) == edit.value else edit
