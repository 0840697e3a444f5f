"""Output ResourceClaim: one claim a container, made from a template (semantics C1, C2, C5, N7)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selection_spec.demand import HeldClaim, Need, claim_owners
from selection_spec.denial import key_of, path_of, who
from selection_spec.errors import Level, Problem
from selection_spec.names import is_dns_label
from selection_spec.resolution import Resolution
from selection_spec.rows import CLAIMS
from selection_spec.sub_requests import MAX_ALTERNATIVES, sub_requests
from selection_spec.table import Table
from webhook.jsonpatch import Edit, Extend, Put
from webhook.placement.templates import (
    Json,
    asked_of,
    canonical,
    claim_spec,
    malformed,
    template_name,
    wanted,
)
from webhook.shapes import CONTAINER_LISTS
from webhook.terms import CLAIMS_ANNOTATION, MAX_CLAIMS_BYTES

_PREFIX = "gpuspec-"
_MAX_NAME = 63
_HASH_CHARACTERS = 8
_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Content:
    """What a claim asks for, whoever asks.

    Attributes:
        template: The name of the template that has it.
        spec: The ResourceClaimSpec.
        text: The same as canonical JSON.
        alternatives: How many sub-requests it needs; more than ``MAX_ALTERNATIVES`` is too many.
    """

    template: str
    spec: Json
    text: str
    alternatives: int


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One claim of a Pod: its name there, what it asks for, and the containers that use it."""

    name: str
    content: Content
    containers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier pass of ours gave a Pod (R2).

    Attributes:
        specs: By template name, what the Pod brings along for templates that it names.
        claims: By name, the Pod's claims that are made from those which we write, and from which.
    """

    specs: Mapping[str, Json]
    claims: Mapping[str, str]


def is_taken(resolution: Resolution) -> bool:
    """Tell whether a resolution that did not fail is to become claims."""
    return resolution.candidates[0].pool == CLAIMS


def content(resolution: Resolution, count: int) -> Content:
    """Write the candidates of a resolution as the content of a claim on so many devices (C2)."""
    alternatives = sub_requests(resolution.candidates)
    spec = claim_spec(alternatives, count)
    return Content(template_name(spec), spec, canonical(spec), len(alternatives))


def pod_claims(
    pod: dict[str, Any], needs: Sequence[Need], contents: Sequence[Content]
) -> tuple[PodClaim, ...]:
    """Name the claims of a Pod's containers (C1).

    Args:
        pod: A readable Pod.
        needs: The containers that ask by a spec.
        contents: What each of them asks for.
    """
    taken = {one.get("name") for one in (*(pod["spec"].get("resourceClaims") or ()), *_used(pod))}
    by_name = {need.name: one for need, one in zip(needs, contents, strict=True)}
    using: dict[str, list[str]] = {}
    for container, owner in claim_owners(needs).items():
        using.setdefault(owner.name, []).append(container)
    claims = []
    for owner_name, containers in using.items():
        name = _claim_name(owner_name, taken)
        taken.add(name)
        claims.append(PodClaim(name, by_name[owner_name], tuple(containers)))
    return tuple(claims)


def _used(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what containers use: a name that no claim has yet is the user's mistake, not ours."""
    for name in CONTAINER_LISTS:
        for container in pod["spec"].get(name) or ():
            yield from (container.get("resources") or {}).get("claims") or ()


def _claim_name(container: str, taken: Collection[object]) -> str:
    """Return a DNS label that no other claim of the Pod has (C1)."""
    name = f"{_PREFIX}{container}"
    if not is_dns_label(name):
        digest = hashlib.sha256(container.encode(errors="replace")).hexdigest()[:_HASH_CHARACTERS]
        cut = container[: _MAX_NAME - len(_PREFIX) - _HASH_CHARACTERS - 1]
        name = f"{_PREFIX}{cut}-{digest}"
        if not is_dns_label(name):  # the container's own name is none, which is told by others
            name = f"{_PREFIX}{digest}"
    number = 1
    numbered = name
    while numbered in taken:
        number += 1
        numbered = f"{name[: _MAX_NAME - len(str(number)) - 1].rstrip('-')}-{number}"
    return numbered


def edits(claims: Sequence[PodClaim], annotation: str) -> Iterator[Edit]:
    """Return what gives a Pod its claims, and what the controller makes their templates from."""
    added = tuple(
        {"name": claim.name, "resourceClaimTemplateName": claim.content.template}
        for claim in claims
    )
    yield Extend(("spec", "resourceClaims"), added, "C1")
    yield Put(("metadata", "annotations", CLAIMS_ANNOTATION), annotation, "C2")


def annotation_of(claims: Sequence[PodClaim], before: Earlier) -> str:
    """Return the contents of all templates of a Pod; what an earlier pass wrote stays."""
    texts = {name: canonical(spec) for name, spec in before.specs.items()}
    texts |= {claim.content.template: claim.content.text for claim in claims}
    return f"{{{','.join(f'{json.dumps(name)}:{text}' for name, text in sorted(texts.items()))}}}"


def problems(
    pod: dict[str, Any],
    table: Table,
    needs: Sequence[Need],
    claims: Sequence[PodClaim],
    annotation: str,
) -> Iterator[Problem]:
    """Yield why a Pod cannot have its claims (C2, N7)."""
    if pod["spec"].get("nodeName"):
        yield Problem(
            "the Pod is bound by spec.nodeName, and a claim gets its devices from the scheduler",
            "spec.nodeName",
            "remove nodeName; a nodeSelector on kubernetes.io/hostname chooses a node, too",
            "N7",
        )
    by_name = {need.name: need for need in needs}
    for claim in claims:
        if claim.content.alternatives > MAX_ALTERNATIVES:
            need = by_name[claim.containers[-1]]
            yield Problem(
                f"{who(need)}: {key_of(table, need)}: the devices that fit are of "
                f"{claim.content.alternatives} kinds, a claim names at most {MAX_ALTERNATIVES}",
                path_of(table, need),
                "name a device, or ask for more memory",
                "C2",
            )
    size = len(annotation.encode())
    if size > MAX_CLAIMS_BYTES:
        yield Problem(
            f"the Pod's claims take {size} bytes of annotations, {MAX_CLAIMS_BYTES} is the most",
            "metadata.annotations",
            "use several Pods, or name devices",
            "C2",
        )


def warnings(pod: dict[str, Any]) -> Iterator[Problem]:
    """Yield what is worth knowing about a Pod with claims (N7)."""
    scheduler = pod["spec"].get("schedulerName")
    if isinstance(scheduler, str) and scheduler and scheduler != _SCHEDULER:
        text = f"the Pod's devices are claims (DRA): scheduler {scheduler} must be able to allocate"
        yield Problem(text, "spec.schedulerName", rule="N7", level=Level.WARNING)


def earlier(pod: dict[str, Any]) -> Earlier:
    """Return what an earlier pass gave a Pod; nothing where there was none."""
    specs = wanted(pod)
    ours = {name for name, spec in specs.items() if not malformed(spec)}
    claims = pod["spec"].get("resourceClaims") or () if ours else ()
    return Earlier(
        specs,
        {
            one["name"]: one["resourceClaimTemplateName"]
            for one in claims
            if one.get("name") and one.get("resourceClaimTemplateName") in ours
        },
    )


def held(before: Earlier, table: Table) -> tuple[HeldClaim, ...]:
    """Return what the claims hold that an earlier pass gave a Pod, those alike together (R2).

    Claims whose devices no row of the table means any more count, and narrow nothing.
    """
    uses = Counter(before.claims.values())
    return tuple(_held(before.specs[name], count, table) for name, count in uses.items())


def _held(spec: Json, uses: int, table: Table) -> HeldClaim:
    asked = asked_of(spec)
    rows = 0
    for one in asked:
        texts = [part["cel"]["expression"] for part in one["selectors"]]
        rows |= table.recognition.rows(one["deviceClassName"], texts)
    return HeldClaim(asked[0]["count"] * uses, rows)


def doubled(
    pod: dict[str, Any], before: Earlier, needs: Sequence[Need], table: Table
) -> Iterator[Problem]:
    """Yield containers that ask by a spec and have the claim already that it became (A5).

    That is what is left where a translated template is applied over one with the key.

    Args:
        pod: A readable Pod.
        before: What an earlier pass gave it.
        needs: The containers that ask by a spec.
        table: The table that decides.
    """
    by_name = {need.name: need for need in needs}
    for name in CONTAINER_LISTS if before.claims else ():
        for container in pod["spec"].get(name) or ():
            need = by_name.get(container["name"])
            claims = (container.get("resources") or {}).get("claims") or ()
            there = [one["name"] for one in claims if one.get("name") in before.claims]
            if need is not None and there:
                yield Problem(
                    f"{who(need)} asks for {key_of(table, need)} and has a claim of ours already, "
                    f"{there[0]}",
                    path_of(table, need),
                    "take the spec out: a translated template was applied over it, or a stored "
                    "Pod was copied",
                    "A5",
                )
