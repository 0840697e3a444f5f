"""One Job, looked up by its name and known by its uid."""

from __future__ import annotations

from collections.abc import Callable

from webhook.inventory.facts import Json, mapping
from webhook.inventory.job_facts import JobFacts, job_facts


def job_of(
    get: Callable[[str], Json | None], namespace: str, name: str, uid: str
) -> JobFacts | None:
    """Return a Job; None where it cannot be looked at, or is another one of this name.

    Args:
        get: Returns the object at a path; None where it cannot be had.
        namespace: The Job's.
        name: The Job's.
        uid: The Job's, as its Pods name it.
    """
    found = get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
    if found is None or mapping(found.get("metadata")).get("uid") != uid:
        return None
    return job_facts(found)
