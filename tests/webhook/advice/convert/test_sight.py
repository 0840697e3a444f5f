"""Where a Pod's edits lead in its document, also where several containers have one place there."""

from __future__ import annotations

from webhook.advice.convert.sight import in_document, misplaced
from webhook.advice.findings.views import View
from webhook.jsonpatch import Drop, Edit, Put

FIRST, SECOND = (("spec", "containers", number, "resources") for number in range(2))
RESOURCES = {"limits": {"nvidia.com/gpu": 1}}
SHARED = ("spec", "common")
VIEW = View(
    pod={"spec": {"containers": [{"resources": RESOURCES}] * 2}},
    places={("spec",): ("spec",), FIRST: SHARED, SECOND: SHARED},
    owner="Task/t",
    kind="Task",
    item={"spec": {"common": RESOURCES}},
    object=(),
)


def _edits(*amounts: int) -> list[Edit]:
    edits: list[Edit] = []
    for place, amount in zip((FIRST, SECOND), amounts, strict=True):
        edits.append(Put((*place, "limits", "x/gpu-l4"), amount, "convert"))
        edits.append(Drop((*place, "limits", "nvidia.com/gpu"), "convert"))
    return edits


def test_what_two_containers_share_is_changed_once() -> None:
    assert misplaced(VIEW, _edits(1, 1)) == ()
    assert in_document(VIEW, _edits(1, 1)) == [
        Put((*SHARED, "limits", "x/gpu-l4"), 1, "convert"),
        Drop((*SHARED, "limits", "nvidia.com/gpu"), "convert"),
    ]


def test_what_two_containers_share_stays_where_it_would_mean_another_amount() -> None:
    (stay,) = misplaced(VIEW, _edits(1, 2))

    assert stay.path == SECOND
    assert stay.why == "another container has it from there, too, and needs another change"
