"""Which versions run, as far as their images say."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from webhook.advice.doctor.findings import Finding, fine, unknown, warning
from webhook.advice.doctor.seen import Seen, Topic
from webhook.inventory.facts import mapping, mappings

_VERSION = re.compile(r":v?(\d+\.\d+[^@/:]*)(?:@|$)", re.ASCII)


def versions(seen: Seen) -> Iterator[Finding]:
    """Check that webhook, controller and this program are of one version."""
    deployments = seen.items(Topic.DEPLOYMENTS)
    found: dict[str, list[str]] = defaultdict(list)
    for deployment in deployments:
        name = str(deployment["metadata"]["name"])
        template = mapping(mapping(deployment.get("spec")).get("template"))
        for container in mappings(mapping(template.get("spec")).get("containers")):
            image = str(container.get("image") or "")
            tag = _VERSION.search(image)
            if tag is None:
                yield unknown(f"the tag of image {image} of Deployment {name} is no version")
            else:
                found[tag[1]].append(name)
    if not deployments:
        yield unknown(f"there is no Deployment of gpuspec in namespace {seen.place.namespace}")
    others = [version for version in found if version != seen.place.version]
    if others:
        each = ", ".join(f"{version} ({', '.join(found[version])})" for version in found)
        yield warning(
            f"this is gpuspec {seen.place.version}, the cluster runs {each}",
            "use one version: what this program explains is what its own version would do",
        )
    elif found:
        yield fine(f"all of them {seen.place.version}")
