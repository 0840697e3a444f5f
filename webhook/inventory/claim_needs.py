"""Which ResourceClaimTemplates are needed and which no longer, and who waits (semantics C3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from webhook.inventory.pod_facts import PodFacts

TemplateKey = tuple[str, str]
"""Namespace and name of a ResourceClaimTemplate."""


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What is kept of a ResourceClaimTemplate that is called as ours are.

    Attributes:
        is_ours: Whether it has our label; nobody else's is ever swept.
        is_true: Whether it holds what its name is the hash of.
    """

    key: TemplateKey
    is_ours: bool = True
    is_true: bool = True


# After a template was made. Kubernetes sees it within that time, and needs no nudge if it is not
# pausing just then.
_NUDGE_AFTER_S = 0.5


@dataclass(frozen=True, slots=True)
class Past:
    """What is remembered from look to look; times are seconds of a steady clock.

    Attributes:
        waiting: Since when a Pod has waited for a template that is not there, by the Pod's uid.
        late: Since when the templates of a Pod that had waited are there, by the Pod's uid.
        unused: Since when no Pod has named a template.
        is_known: Whether anything was looked at; before, every Pod may have waited for long.
    """

    waiting: Mapping[str, float] = field(default_factory=dict)
    late: Mapping[str, float] = field(default_factory=dict)
    unused: Mapping[TemplateKey, float] = field(default_factory=dict)
    is_known: bool = False

    def used_just_now(self, templates: Collection[TemplateKey]) -> Past:
        """Return the same, with the time begun anew in which these templates are unused."""
        kept = {key: since for key, since in self.unused.items() if key not in templates}
        return replace(self, unused=kept)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A Pod without a claim that it is to have.

    Attributes:
        missing: The templates that are not there.
        seconds: For how long it was seen to wait for them.
    """

    pod: PodFacts
    missing: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class ClaimNeeds:
    """What is to be done about templates right now.

    Attributes:
        missing: Templates that are needed and not there, with the Pods that need them.
        waiting: The Pods that cannot get their claims for that.
        late: Pods that waited and still have no claim though their templates are there now.
        idle: Templates of ours that no Pod has named for the grace time.
        odd: Those that hold something else than their name says, with the Pods that may get claims
            from them.
        namespaces: All in which there are Pods or templates.
        past: For the next look.
    """

    missing: Mapping[TemplateKey, tuple[PodFacts, ...]]
    waiting: tuple[Waiting, ...]
    late: tuple[PodFacts, ...]
    idle: tuple[TemplateKey, ...]
    odd: Mapping[TemplateKey, tuple[PodFacts, ...]]
    namespaces: frozenset[str]
    past: Past


def claim_needs(
    pods: Iterable[PodFacts],
    templates: Collection[TemplateFacts],
    past: Past,
    *,
    now: float,
    grace_s: float,
) -> ClaimNeeds:
    """Work out what is to be done.

    A template is needed by a Pod that is not bound yet, for its claim may have to be made again,
    and used by every Pod that is not finished.

    Args:
        pods: All Pods that name templates of ours, and any others.
        templates: Those that are there.
        past: From the last look.
        now: The present by the steady clock.
        grace_s: How long a template stays that no Pod names.
    """
    there = {one.key for one in templates}
    odd: dict[TemplateKey, list[PodFacts]] = {one.key: [] for one in templates if not one.is_true}
    used: set[TemplateKey] = set()
    missing: dict[TemplateKey, list[PodFacts]] = {}
    waiting: list[Waiting] = []
    late: dict[str, tuple[PodFacts, float]] = {}
    for pod in pods:
        if not pod.templates or pod.finished:
            continue
        keys = [(pod.namespace, name) for name in pod.templates]
        used.update(keys)
        if pod.node:
            continue
        for key in odd.keys() & keys if odd else ():
            odd[key].append(pod)
        absent = [key for key in keys if key not in there]
        for key in absent:
            missing.setdefault(key, []).append(pod)
        if not pod.unclaimed:
            continue
        if absent:
            seconds = now - past.waiting.get(pod.uid, now)
            waiting.append(Waiting(pod, tuple(name for _, name in absent), seconds))
        elif pod.uid in past.late or pod.uid in past.waiting or not past.is_known:
            late[pod.uid] = pod, past.late.get(pod.uid, now)
    ours = (one.key for one in templates if one.is_ours)
    unused = {key: past.unused.get(key, now) for key in ours if key not in used}
    return ClaimNeeds(
        missing={key: tuple(found) for key, found in missing.items()},
        waiting=tuple(waiting),
        late=tuple(pod for pod, since in late.values() if now - since >= _NUDGE_AFTER_S),
        idle=tuple(key for key, since in unused.items() if now - since >= grace_s),
        odd={key: tuple(found) for key, found in odd.items() if found},
        namespaces=frozenset(namespace for namespace, _ in used | there),
        past=Past(
            waiting={one.pod.uid: now - one.seconds for one in waiting},
            late={uid: since for uid, (_, since) in late.items()},
            unused=unused,
            is_known=True,
        ),
    )
