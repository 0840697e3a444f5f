"""Kubernetes' own rules for what may be called what, as far as a table's values reach Pods.

Each function returns "" for a valid text and otherwise what is wrong with it, to follow the field
and the value in a message. Source: ``k8s.io/apimachinery/pkg/util/validation`` and
``k8s.io/kubernetes/pkg/apis/core/v1/helper``.
"""

from __future__ import annotations

import re

_QUALIFIED_PART = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)

_MAX_LABEL = 63
_MAX_SUBDOMAIN = 253

# Quota prefixes the name ("requests.nvidia.com/gpu"), and that has to stay a valid name.
_QUOTA_PREFIX = "requests."


def is_dns_label(text: str) -> bool:
    """Tell whether a text is a DNS label: the name of a container, or of a Pod's claim."""
    return len(text) <= _MAX_LABEL and _DNS_LABEL.fullmatch(text) is not None


def dns_subdomain_problem(text: str) -> str:
    """Check a DNS subdomain: the domain of a key, the name of an object."""
    if len(text) > _MAX_SUBDOMAIN:
        return f"has more than {_MAX_SUBDOMAIN} characters"
    if not all(_DNS_LABEL.fullmatch(part) for part in text.split(".")):
        return "is no DNS domain (lower-case letters, digits, dashes and dots)"
    return ""


def label_key_problem(text: str) -> str:
    """Check a label or taint key: ``[domain/]name``."""
    domain, slash, name = text.rpartition("/")
    if slash and (problem := dns_subdomain_problem(domain)):
        return f"has a domain that {problem}"
    if len(name) > _MAX_LABEL:
        return f"has a name of more than {_MAX_LABEL} characters"
    if not _QUALIFIED_PART.fullmatch(name):
        return "is no label key (letters, digits, '-', '_' and '.', after an optional domain/)"
    return ""


def label_value_problem(text: str) -> str:
    """Check a label or taint value; the empty text is one."""
    if len(text) > _MAX_LABEL:
        return f"has more than {_MAX_LABEL} characters"
    if text and not _QUALIFIED_PART.fullmatch(text):
        return (
            "is no label value (letters, digits, '-', '_' and '.', beginning and ending with one)"
        )
    return ""


def resource_name_problem(text: str) -> str:
    """Check the name of an extended resource: ``domain/name`` outside kubernetes.io."""
    domain, slash, _ = text.partition("/")
    if not slash:
        return "is no extended resource (it has no domain/)"
    if problem := label_key_problem(text):
        return problem
    # Kubernetes looks for "kubernetes.io/" anywhere in the name.
    if domain.endswith("kubernetes.io"):
        return "is in kubernetes.io, which is Kubernetes' own"
    if domain.startswith(_QUOTA_PREFIX):
        return f"begins with {_QUOTA_PREFIX}, which quotas use"
    if len(_QUOTA_PREFIX) + len(domain) > _MAX_SUBDOMAIN:
        return "has too long a domain to be put under a quota"
    return ""
