"""Events on Pods, each told once: the same Pod and cause have the same name."""

from __future__ import annotations

import hashlib
from datetime import datetime

from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Json
from webhook.terms import CONTROLLER_NAME

# Of the Pod's name, so that the Event's own is none too long.
_NAME_CHARACTERS = 200
# What Kubernetes keeps of a message.
_MESSAGE_CHARACTERS = 1024


def event_name(pod: PodFacts, cause: str) -> str:
    """Return the name of the Event that tells a Pod about a cause."""
    told = f"{pod.uid} {cause}".encode(errors="backslashreplace")
    digest = hashlib.sha256(told).hexdigest()[:16]
    return f"{pod.name[:_NAME_CHARACTERS].rstrip('.-')}.{digest}"


def warning_event(name: str, pod: PodFacts, reason: str, message: str, now: datetime) -> Json:
    """Return an Event of type Warning on a Pod."""
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": pod.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "type": "Warning",
        "reason": reason,
        "message": writable(message)[:_MESSAGE_CHARACTERS],
        "source": {"component": CONTROLLER_NAME},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def writable(text: str) -> str:
    """Return a text as UTF-8 can hold it: users' JSON may have half characters."""
    return text.encode(errors="backslashreplace").decode()
