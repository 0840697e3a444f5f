"""What ``explain`` says of the claims that a Pod gets: what each may hold, in order (C1, C2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selection_spec.resolution import Resolution
from selection_spec.sub_requests import SubRequest, sub_requests
from webhook.advice.words import counted, wrapped
from webhook.cli.outputs import cel_lines
from webhook.placement.claim import PodClaim
from webhook.placement.templates import asked_of

_MADE = '(the controller makes the templates, "gpuspec mutate" prints them)'


def claim_lines(claims: Sequence[PodClaim], resolution: Resolution) -> Iterator[str]:
    """Yield each claim with the containers that use it, and what it may hold.

    Args:
        claims: At least one.
        resolution: Of the Pod that has them.
    """
    shown: dict[str, str] = {}
    for claim in claims:
        template = claim.content.template
        head = f"  claim {claim.name} for {' and '.join(claim.containers)}: "
        if template in shown:
            yield wrapped(f"the same as {shown[template]}", head, "    ")
            continue
        shown[template] = claim.name
        count = counted(asked_of(claim.content.spec)[0]["count"], "device")
        alternatives = sub_requests(resolution.of(claim.containers[-1]).candidates)
        if len(alternatives) == 1:
            yield wrapped(f"{count} of", head, "    ")
            yield from _alternative(alternatives[0], "    ")
        else:
            yield wrapped(f"{count} of the first of these that is free on its node", head, "    ")
            for number, one in enumerate(alternatives, start=1):
                yield from _alternative(one, f"    {number}. ")
        yield wrapped(f"from ResourceClaimTemplate {template}", "    ", "    ")
    yield f"  {_MADE}"


def _alternative(one: SubRequest, head: str) -> Iterator[str]:
    indent = " " * len(head)
    rows = ", ".join(row.id for row in one.rows)
    yield wrapped(f"{rows}, DeviceClass {one.device_class}", head, indent)
    for place, expression in enumerate(one.selectors):
        if place:
            yield f"{indent}and"
        yield from cel_lines(expression, indent)
