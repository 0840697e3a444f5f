"""What is kept of a Pod: who made it, where it is, which devices it holds, what it tolerates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern
from typing import Any

from selection_spec.demand import Kind, Need, peak
from selection_spec.labels import Toleration
from webhook.inventory.facts import Json, is_extended, mapping, mappings, whole
from webhook.inventory.pod_trouble import Trouble, pod_trouble
from webhook.inventory.times import seconds
from webhook.terms import (
    CLAIMS_ANNOTATION,
    MIRROR_ANNOTATION,
    ON_FAILURE_ANNOTATION,
    REQUEST_ANNOTATION,
    is_template_name,
)

_FINISHED = frozenset({"Succeeded", "Failed"})

# Of what Pods have in common: of more workloads than that few start at the same time. What users
# write is remembered while it is short, so that all of it together takes some megabytes at most.
_REMEMBERED = 4096
_REMEMBERED_CHARACTERS = 512

# What admission writes at most of a table's rows: their number, and an id's length.
_MOST_CANDIDATES = 2048
_ID_CHARACTERS = 63
_REQUEST_CHARACTERS = 131_072

_INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
_HASH_LABEL = "pod-template-hash"
_COUNT_DIGITS = 9
# What Kubernetes allows for the names of kinds and of objects; users write longer ones, too.
_LABEL, _NAME = 63, 253
# Kinds that go on under the same name when what they run is changed.
_LASTING = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"})


@dataclass(frozen=True, slots=True)
class Owner:
    """Who controls a Pod: its controller's kind and name; the Pod itself where there is none.

    ``group`` is the API group of the kind. A user writes all of it, and may write anything.
    """

    kind: str
    name: str
    uid: str = ""
    group: str = ""

    def __str__(self) -> str:
        """Return it as kubectl writes it: ``ReplicaSet/web-5d4``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is kept of a Pod.

    Attributes:
        node: Where it is bound, "" while it is pending.
        devices: Extended resources at the Pod's peak (semantics A7), by name.
        by_claim: Those of them that DRA drivers gave, by a claim that Kubernetes made for it.
        candidates: Ids of the rows that admission found for it (R5); information, not permission.
        finished: Whether it is done for good and holds nothing any more.
        templates: Names of ours among the ResourceClaimTemplates that its claims are made from.
        claims: A hash of what these hold, as admission wrote it down (C2); "" for a bound Pod.
            The text itself is read when one is to be made of it: it may be long, and forged.
        unclaimed: Whether a claim of one of these templates is still to be made.
        has_claims: Whether it holds, or waits for, claims of whatever kind.
        index_failures: How often this index of an indexed Job has failed before.
        trouble: What its status tells of its devices and of trouble with them; None where it tells
            nothing of either.
        on_failure: Its annotation about what is to become of it when its device fails (H9).
        created: When it was created, in seconds since 1970; 0 where that is not known.
        leaves: Whether it is being deleted.
        leaves_by: By when it was to be gone, in seconds since 1970: the end of its grace period; 0
            where it is not being deleted. It is there for longer where it hangs.
        is_mirror: Whether the kubelet made it from a file.
        program: What runs it, the same for all that a Deployment or a CronJob ever made, and for
            what somebody submits again and again under new names.
    """

    namespace: str
    name: str
    uid: str
    owner: Owner
    node: str = ""
    devices: Mapping[str, int] = field(default_factory=dict)
    by_claim: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    priority: int = 0
    finished: bool = False
    templates: tuple[str, ...] = ()
    claims: str = ""
    unclaimed: bool = False
    has_claims: bool = False
    index_failures: int = 0
    trouble: Trouble | None = None
    on_failure: str = ""
    created: float = 0.0
    leaves: bool = False
    leaves_by: float = 0.0
    is_mirror: bool = False
    program: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


def pod_facts(pod: Json) -> PodFacts:
    """Read a raw Pod."""
    metadata, spec, status = (mapping(pod.get(part)) for part in ("metadata", "spec", "status"))
    annotations = mapping(metadata.get("annotations"))
    priority = spec.get("priority")
    node = intern(str(spec.get("nodeName") or ""))
    finished = str(status.get("phase")) in _FINISHED
    templates = _templates(spec)
    pending = bool(templates) and not node and not finished
    owner, trouble = _owner(metadata), pod_trouble(pod)
    return PodFacts(
        namespace=intern(str(metadata.get("namespace") or "")),
        name=str(metadata.get("name") or ""),
        uid=str(metadata.get("uid") or ""),
        owner=owner,
        node=node,
        devices=_devices(spec),
        by_claim=_by_claim(status),
        candidates=_candidates(annotations.get(REQUEST_ANNOTATION)),
        tolerations=tolerations_of(spec),
        priority=priority if type(priority) is int else 0,
        finished=finished,
        templates=_shared(tuple(dict.fromkeys(templates.values()))),
        claims=_word(_hash(annotations.get(CLAIMS_ANNOTATION))) if pending else "",
        unclaimed=pending and bool(templates.keys() - _claimed(status)) and not _leaves(metadata),
        has_claims=bool(spec.get("resourceClaims")),
        index_failures=_count(annotations.get(_INDEX_FAILURES)),
        trouble=trouble,
        on_failure=_word(_text(annotations.get(ON_FAILURE_ANNOTATION))[:_REMEMBERED_CHARACTERS]),
        created=seconds(metadata.get("creationTimestamp")),
        leaves=_leaves(metadata),
        leaves_by=seconds(metadata.get("deletionTimestamp")),
        is_mirror=MIRROR_ANNOTATION in annotations,
        program=_word(_program(metadata, spec, owner)) if trouble and trouble.has_befallen else "",
    )


def tolerations_of(spec: Json) -> tuple[Toleration, ...]:
    """Read the tolerations of a raw Pod spec, or of what else has some in the same form."""
    return tuple(map(_toleration, mappings(spec.get("tolerations"))))


def _templates(spec: Json) -> dict[str, str]:
    """Return the templates of ours that a Pod names, by the Pod's name for the claim."""
    return {
        _text(one.get("name")): one["resourceClaimTemplateName"]
        for one in mappings(spec.get("resourceClaims"))
        if is_template_name(one.get("resourceClaimTemplateName"))
    }


def _claimed(status: Json) -> set[str]:
    """Return the Pod's names for the claims that Kubernetes has made."""
    return {_text(one.get("name")) for one in mappings(status.get("resourceClaimStatuses"))}


def _leaves(metadata: Json) -> bool:
    return metadata.get("deletionTimestamp") is not None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(annotation: object) -> int:
    text = _text(annotation)
    is_number = text.isascii() and text.isdigit() and len(text) <= _COUNT_DIGITS
    return int(text) if is_number else 0


def _hash(annotation: object) -> str:
    """Return a hash of a text, which may hold half characters as JSON's may; "" of nothing."""
    written = _text(annotation).encode(errors="backslashreplace")
    return hashlib.sha256(written).hexdigest() if written else ""


def _shared(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the one object for equal ones: the replicas of a workload have the same templates."""
    is_short = sum(map(len, words)) <= _REMEMBERED_CHARACTERS
    return _same_words(words) if is_short else words


def _word(text: str) -> str:
    """Return the one object for equal texts of users: what was interned is never let go of."""
    return _same_word(text) if len(text) <= _REMEMBERED_CHARACTERS else text


@lru_cache(_REMEMBERED)
def _same_words(words: tuple[str, ...]) -> tuple[str, ...]:
    return words


@lru_cache(_REMEMBERED)
def _same_word(text: str) -> str:
    return text


def _owner(metadata: Json) -> Owner:
    for one in mappings(metadata.get("ownerReferences")):
        if one.get("controller") is True:
            kind, name, uid = (str(one.get(part) or "") for part in ("kind", "name", "uid"))
            group = str(one.get("apiVersion") or "").rpartition("/")[0]
            return Owner(_word(kind), name, uid, _word(group))
    return Owner("Pod", str(metadata.get("name") or ""), str(metadata.get("uid") or ""))


def _program(metadata: Json, spec: Json, owner: Owner) -> str:
    """Return what a Pod's owner has in common with those before and after it.

    A Deployment's ReplicaSets run one program: what follows the last dash of their names only
    numbers them. What runs once, whoever wants it again submits under another name: it is known by
    its images, of whichever version: the next try has another tag.
    """
    namespace, kind, name = metadata.get("namespace"), owner.kind[:_LABEL], owner.name
    images = _images(spec)
    if images and owner.kind not in _LASTING:
        return f"{namespace}/{kind}s of {images[:_NAME]}"
    if owner.kind == "ReplicaSet":
        base, _, number = name.rpartition("-")
        if base and number == mapping(metadata.get("labels")).get(_HASH_LABEL):
            name = base
    return f"{namespace}/{kind}/{name[:_NAME]}"


def _images(spec: Json) -> str:
    images = {_repository(_text(one.get("image"))) for one in mappings(spec.get("containers"))}
    return ",".join(sorted(images))


def _repository(image: str) -> str:
    """Return an image's name without tag and digest; a registry's port stays."""
    above, slash, last = image.partition("@")[0].rpartition("/")
    return f"{above}{slash}{last.partition(':')[0]}"


def _devices(spec: Json) -> dict[str, int]:
    """Return what the containers ask for together at their peak (A7)."""
    needs = [
        Need(str(one.get("name")), _kind(one, of), of, raw=_raw(one))
        for of in ("initContainers", "containers")
        for one in mappings(spec.get(of))
    ]
    return {
        _word(name): peak(needs, name) for name in {name for one in needs for name, _ in one.raw}
    }


def _by_claim(status: Json) -> tuple[str, ...]:
    mapped = mappings(mapping(status.get("extendedResourceClaimStatus")).get("requestMappings"))
    return tuple(dict.fromkeys(_word(_text(one.get("resourceName"))) for one in mapped))


def _kind(container: Json, of: str) -> Kind:
    if of == "containers":
        return Kind.MAIN
    return Kind.SIDECAR if container.get("restartPolicy") == "Always" else Kind.INIT


def _raw(container: Json) -> tuple[tuple[str, int], ...]:
    limits = mapping(mapping(container.get("resources")).get("limits"))
    amounts = {name: whole(amount) for name, amount in limits.items() if is_extended(name)}
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))


def _candidates(annotation: object) -> tuple[str, ...]:
    if not isinstance(annotation, str) or len(annotation) > _REQUEST_CHARACTERS:
        return ()
    try:
        request: Any = json.loads(annotation)
    except (ValueError, RecursionError):
        return ()
    candidates = mapping(request).get("candidates")
    if not isinstance(candidates, list) or len(candidates) > _MOST_CANDIDATES:
        return ()
    return _shared(tuple(_word(one) for one in candidates if _is_id(one)))


def _is_id(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _ID_CHARACTERS and value.isascii()


def _toleration(one: Json) -> Toleration:
    def text(part: str) -> str | None:
        value = one.get(part)
        return _word(value) if isinstance(value, str) and value else None

    return Toleration(
        key=text("key") or "",
        operator=text("operator") or "Equal",
        value=text("value"),
        effect=text("effect"),
    )
