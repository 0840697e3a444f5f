"""How advice is worded: the same shapes in every report, and lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import Final

from selection_spec.labels import Requirement, Toleration
from selection_spec.rows import CLAIMS, Row

WIDTH: Final = 80

NOTHING: Final = "none"
"""What stands for a list without entries, or a field without a value."""


def wrapped(text: str, head: str = "", indent: str = "  ") -> str:
    """Return a paragraph behind a head, its further lines indented; long names are never cut."""
    return fill(
        text,
        WIDTH,
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def some(parts: Sequence[str], at_most: int | None, what: str = "more") -> str:
    """Join parts with commas, all of them where ``at_most`` is None; else count the rest."""
    rest = 0 if at_most is None else len(parts) - at_most
    if rest <= 0:
        return ", ".join(parts)
    return f"{', '.join(parts[:at_most])} and {number(rest)} {what}"


def listed(texts: Iterable[str]) -> str:
    """Return a set of texts, in their order."""
    return ", ".join(sorted(texts)) or NOTHING


def number(count: int) -> str:
    """Return a count with commas between thousands."""
    return f"{count:,}"


def counted(count: int, one: str, many: str = "") -> str:
    """Return ``1 node``, ``2 nodes``."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def labels(requirements: Iterable[Requirement]) -> str:
    """Return requirements on labels as people write them: ``gpu-model=a30, zone In [a, b]``."""
    return ", ".join(
        f"{one.key}={one.values[0]}"
        if one.is_plain
        else " ".join(
            (one.key, one.operator, f"[{', '.join(one.values)}]" if one.values else "")
        ).strip()
        for one in requirements
    )


def toleration(one: Toleration) -> str:
    """Return a toleration as kubectl writes the taint that it is for; ``*`` stands for any."""
    value = "" if one.value is None else f"={one.value}"
    return f"{one.key or '*'}{value}:{one.effect or '*'}"


def held_as(row: Row) -> str:
    """Return by what a Pod holds a row's devices: ``nvidia.com/gpu``, or ``claims``."""
    return "claims" if row.pool == CLAIMS else row.pool


CLAIM_COUNT: Final = "count/resourceclaims.resource.k8s.io"
"""The key by which a ResourceQuota counts claims, one for one."""

DEVICE_CLASS_REQUESTS: Final = "requests.deviceclass.resource.kubernetes.io/"
"""What a DeviceClass is behind in a key that counts its devices from Kubernetes 1.36 on."""


def quota_keys(row: Row, classes: Mapping[str, str]) -> Iterator[str]:
    """Yield all keys by which a ResourceQuota may count Pods that take a row (k8s).

    Where a DRA driver gives an extended resource, Kubernetes makes a claim for it.

    Args:
        row: The row.
        classes: The DeviceClasses that are known, each with the extended resource that it serves.
    """
    if row.pool == CLAIMS and row.claim is not None:
        asked = row.claim.device_class
        names, resource = [asked], classes.get(asked, "")
    else:
        names = [name for name, served in classes.items() if served == row.resource]
        resource = row.resource
    if resource:
        yield f"requests.{resource}"
    for name in names:
        yield class_quota_key(name)
        yield f"{DEVICE_CLASS_REQUESTS}{name}"
    if names:
        yield CLAIM_COUNT


def quota_key(row: Row) -> str:
    """Return the key by which a ResourceQuota counts Pods that take a row."""
    if row.pool == CLAIMS and row.claim is not None:
        return class_quota_key(row.claim.device_class)
    return f"requests.{row.resource}"


def class_quota_key(device_class: str) -> str:
    """Return the key that claims on a DeviceClass are charged to, every alternative of them."""
    return f"{device_class}.deviceclass.resource.k8s.io/devices"
