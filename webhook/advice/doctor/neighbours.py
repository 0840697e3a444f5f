"""What others have set up in the cluster that our translation does not go with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from selection_spec.denial import few
from selection_spec.grammar import is_ours
from webhook.advice.doctor.entries import entries, translating
from webhook.advice.doctor.findings import CannotLookError, Finding, error, fine, unknown, warning
from webhook.advice.doctor.seen import Seen, Topic
from webhook.advice.words import counted, quota_key
from webhook.inventory.facts import Json, mapping, mappings, whole
from webhook.terms import is_sibling

GUARD = "gpuspec-guard"

# A text literal of CEL that begins a key: 'preferred.jp/gpu', '^preferred[.]jp/(?i:gpu)(-|$)'.
_PREFIX = re.compile(r"""['"]\^?([^'"\s]+?)/(?:\(\?i:)?gpu""")
_ESCAPED_DOT = re.compile(r"\[\.\]|\\+\.")


def key_prefix(seen: Seen) -> Iterator[Finding]:
    """Check that webhook and guard look for the keys of the table's domain (G1)."""
    expressions = {
        entry.configuration: entry.conditions for entry in translating(seen) if entry.conditions
    }
    policies = [one for one in seen.items(Topic.POLICIES) if one["metadata"]["name"] == GUARD]
    for policy in policies:
        spec = mapping(policy.get("spec"))
        expressions[GUARD] = tuple(
            str(one.get("expression") or "")
            for part in ("matchConditions", "variables", "validations")
            for one in mappings(spec.get(part))
        )
    right = []
    for name, texts in expressions.items():
        domains = {
            _ESCAPED_DOT.sub(".", found) for text in texts for found in _PREFIX.findall(text)
        }
        if not domains:
            yield unknown(f"{name} has no expression in which a prefix such as x/gpu can be seen")
        for domain in sorted(domains - {seen.domain}):
            yield error(
                f"{name} looks for keys that begin with {domain}/gpu; the table's resourceDomain "
                f"is {seen.domain}",
                f"write {seen.domain}/gpu in its expressions",
            )
        if domains == {seen.domain}:
            right.append(name)
    if right:
        look = "looks" if len(right) == 1 else "look"
        yield fine(f"{' and '.join(right)} {look} for {seen.domain}/gpu")
    if not expressions:
        raise CannotLookError("neither webhook nor guard has matchConditions")


def guard(seen: Seen) -> Iterator[Finding]:
    """Check that what slips past the webhook is refused rather than left to pend."""
    policies = {one["metadata"]["name"] for one in seen.items(Topic.POLICIES)}
    bound = {mapping(one.get("spec")).get("policyName") for one in seen.items(Topic.BINDINGS)}
    if GUARD not in policies:
        # Whoever left the guard out on purpose has no binding of it either.
        say = error if GUARD in bound else warning
        yield say(
            f"there is no ValidatingAdmissionPolicy {GUARD}: a Pod whose key is not translated "
            "pends for ever, and nothing says so",
            "apply gpuspec's manifests with the component guard",
        )
    elif GUARD not in bound:
        yield error(
            f"ValidatingAdmissionPolicy {GUARD} has no binding, so it does nothing",
            "apply gpuspec's manifests",
        )
    else:
        yield fine(f"{GUARD} is bound")


def order(seen: Seen) -> Iterator[Finding]:
    """Check that no webhook that may add keys of ours is called after ours."""
    last = max(entry.configuration for entry in translating(seen))
    later = dict.fromkeys(
        entry.configuration
        for entry in entries(seen.items(Topic.MUTATING))
        if entry.configuration > last and entry.sees_new_pods and not entry.is_ours
    )
    if later:
        yield warning(
            f"called after {last}, so what they add to a Pod is not translated: {few(later)}",
            f"if they add containers with a spec, rename them to sort before {last}",
        )
    else:
        yield fine(f"{last} is the last that sees new Pods")


def limit_ranges(seen: Seen) -> Iterator[Finding]:
    """Check for LimitRanges that add devices to containers which did not ask for them (A5)."""
    table, found = seen.table, False
    for one in seen.items(Topic.LIMIT_RANGES):
        metadata, spec = one["metadata"], mapping(one.get("spec"))
        called = f"LimitRange {metadata['namespace']}/{metadata['name']}"
        limits = [limit for limit in mappings(spec.get("limits")) if limit.get("type") != "PVC"]
        devices = _keys(
            limits,
            ("default", "defaultRequest"),
            lambda key: key in table.resources or is_sibling(key, table.resources),
        )
        if devices:
            found = True
            yield error(
                f"{called} adds {few(devices)} to every container that does not ask for it, so "
                "Pods with a spec are refused there (A5)",
                "remove it from default, defaultRequest and max (a max without a default is one)",
            )
        ours = _is_key(seen.domain)
        for key in _keys(limits, ("default", "defaultRequest"), ours):
            found = True
            # Kubernetes applies the LimitRange again to what admission made of the Pod.
            yield error(
                f"{called} adds {key} to every container that does not ask for it, also after "
                "admission, so every Pod is refused there (A5)",
                "remove it from default, defaultRequest and max (a max without a default is one)",
            )
        for key in _keys(limits, ("min",), ours):
            found = True
            yield error(
                f"{called} has a min of {key}, which no container has after admission: none can be "
                "created there",
                "remove it",
            )
    if not found:
        yield fine("none adds devices")


def quotas(seen: Seen) -> Iterator[Finding]:
    """Check for quotas on keys that are gone when Kubernetes counts."""
    table, found = seen.table, False
    ours = _is_key(seen.domain)
    for one in seen.items(Topic.QUOTAS):
        hard = mapping(mapping(one.get("spec")).get("hard"))
        idle = [key for key in hard if ours(key.removeprefix("requests.").removeprefix("limits."))]
        if idle:
            found = True
            metadata = one["metadata"]
            counted_by = " or ".join(sorted(set(map(quota_key, table.rows))))
            yield warning(
                f"ResourceQuota {metadata['namespace']}/{metadata['name']} limits nothing with "
                f"{few(idle)}: admission removes the key before Pods are counted",
                f"limit {counted_by}",
            )
    if not found:
        yield fine("none is on a key that admission removes")


def pending(seen: Seen) -> Iterator[Finding]:
    """Check for Pods that were stored with a key of ours and pend for ever."""
    ours = _is_key(seen.domain)
    found = []
    for pod in seen.items(Topic.PENDING):
        keys = _pod_keys(pod, ours)
        if keys:
            metadata = pod["metadata"]
            found.append(f"{metadata['namespace']}/{metadata['name']} ({few(keys)})")
    if found:
        many = counted(len(found), "Pod")
        yield error(
            f"{many} {'waits' if len(found) == 1 else 'wait'} for a key that no node has, stored "
            f"while nobody translated it: {few(found)}",
            "delete them; what controls them makes new ones, which are translated",
        )
    else:
        yield fine("none waits for a key that was not translated")


def _keys(limits: list[Json], parts: tuple[str, ...], wanted: Callable[[str], bool]) -> list[str]:
    """Return the resources, not zero, that some fields of a LimitRange name."""
    return sorted(
        {
            key
            for limit in limits
            for part in parts
            for key, amount in mapping(limit.get(part)).items()
            if wanted(key) and whole(amount)
        }
    )


def _pod_keys(pod: Json, ours: Callable[[str], bool]) -> list[str]:
    spec = mapping(pod.get("spec"))
    resources = [
        mapping(one.get("resources"))
        for part in ("containers", "initContainers")
        for one in mappings(spec.get(part))
    ]
    resources.append(mapping(spec.get("resources")))
    sides = [mapping(one.get(side)) for one in resources for side in ("limits", "requests")]
    return sorted({key for side in sides for key in side if ours(key)})


def _is_key(domain: str) -> Callable[[str], bool]:
    prefix = f"{domain}/"
    return lambda key: key.startswith(prefix) and is_ours(key[len(prefix) :])
