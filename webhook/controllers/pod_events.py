"""Events, each told once: the same object and cause have the same name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Json
from webhook.terms import CONTROLLER_NAME

# Of the Pod's name, so that the Event's own is none too long.
_NAME_CHARACTERS = 200
# What Kubernetes keeps of a message.
_MESSAGE_CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class Words:
    """What an Event says: why in a word, and in a sentence."""

    reason: str
    message: str
    is_warning: bool = True


def event_name(pod: PodFacts, cause: str) -> str:
    """Return the name of the Event that tells a Pod about a cause."""
    return object_event_name(pod.name, pod.uid, cause)


def object_event_name(name: str, uid: str, cause: str) -> str:
    """Return the name of the Event that tells an object about a cause."""
    told = f"{uid} {cause}".encode(errors="backslashreplace")
    digest = hashlib.sha256(told).hexdigest()[:16]
    return f"{name[:_NAME_CHARACTERS].rstrip('.-')}.{digest}"


def warning_event(name: str, pod: PodFacts, reason: str, message: str, now: datetime) -> Json:
    """Return an Event of type Warning on a Pod."""
    involved = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
    }
    return event(name, pod.namespace, involved, Words(reason, message), now)


def event(name: str, namespace: str, involved: Json, words: Words, now: datetime) -> Json:
    """Return an Event on any object."""
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": involved,
        "type": "Warning" if words.is_warning else "Normal",
        "reason": words.reason,
        "message": writable(words.message)[:_MESSAGE_CHARACTERS],
        "source": {"component": CONTROLLER_NAME},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def writable(text: str) -> str:
    """Return a text as UTF-8 can hold it: users' JSON may have half characters."""
    return text.encode(errors="backslashreplace").decode()
