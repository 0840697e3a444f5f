"""What may be called what: Kubernetes' own rules for the texts that a table brings into Pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.names import (
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
    resource_name_problem,
)

_NO_KEY = "is no label key (letters, digits, '-', '_' and '.', after an optional domain/)"
_NO_VALUE = "is no label value (letters, digits, '-', '_' and '.', beginning and ending with one)"
_NO_DOMAIN = "is no DNS domain (lower-case letters, digits, dashes and dots)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("preferred.jp", ""),
        ("localhost", ""),
        ("a.b-c.d", ""),
        ("x" * 253, ""),
        ("x" * 254, "has more than 253 characters"),
        *((text, _NO_DOMAIN) for text in ("", "A.b", "a..b", ".a", "a.", "a/b", "a_b", "a.b\n")),
    ],
)
def test_dns_domains(text: str, problem: str) -> None:
    assert dns_subdomain_problem(text) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gpu-model", ""),
        ("nvidia.com/gpu.product", ""),
        ("Nvidia_GPU", ""),
        ("a" * 63, ""),
        ("x.y/" + "a" * 63, ""),
        ("a" * 64, "has a name of more than 63 characters"),
        *((text, _NO_KEY) for text in ("", "-a", "a-", "a b", "a.com/", "a\n", "a.com/b:c")),
        ("/a", f"has a domain that {_NO_DOMAIN}"),
        ("a/b/c", f"has a domain that {_NO_DOMAIN}"),
        ("A.com/b", f"has a domain that {_NO_DOMAIN}"),
        (f"{'x' * 254}/b", "has a domain that has more than 253 characters"),
    ],
)
def test_label_keys(text: str, problem: str) -> None:
    assert label_key_problem(text) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ""),
        ("a100-80gb", ""),
        ("NVIDIA-A100-SXM4-80GB", ""),
        ("1.2_3", ""),
        ("x" * 63, ""),
        ("x" * 64, "has more than 63 characters"),
        *((text, _NO_VALUE) for text in ("-a", "a-", "Tesla V100", "a/b", "a\n", "é", " ")),
    ],
)
def test_label_values(text: str, problem: str) -> None:
    assert label_value_problem(text) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nvidia.com/gpu", ""),
        ("nvidia.com/mig-1g.5gb", ""),
        ("gpu.intel.com/i915", ""),
        ("kubernetes.io.example/gpu", ""),
        ("gpu", "is no extended resource (it has no domain/)"),
        ("cpu", "is no extended resource (it has no domain/)"),
        ("nvidia.com/", _NO_KEY),
        ("nvidia.com/a b", _NO_KEY),
        ("Nvidia.com/gpu", f"has a domain that {_NO_DOMAIN}"),
        ("/gpu", f"has a domain that {_NO_DOMAIN}"),
        ("a/b/c", f"has a domain that {_NO_DOMAIN}"),
        *(
            (f"{domain}/gpu", "is in kubernetes.io, which is Kubernetes' own")
            for domain in ("kubernetes.io", "x.kubernetes.io", "notkubernetes.io")
        ),
        ("requests.nvidia.com/gpu", "begins with requests., which quotas use"),
        (f"{'x' * 244}/gpu", ""),
        (f"{'x' * 245}/gpu", "has too long a domain to be put under a quota"),
    ],
)
def test_extended_resources(text: str, problem: str) -> None:
    """Kubernetes takes every name that holds ``kubernetes.io/`` for one of its own."""
    assert resource_name_problem(text) == problem


_texts = st.text() | st.text("aZ0-_./ \n", max_size=70)


@given(_texts)
def test_every_resource_may_be_a_label_key(text: str) -> None:
    if not resource_name_problem(text):
        assert not label_key_problem(text)


@given(st.lists(st.text("abc019-", min_size=1, max_size=8), min_size=1).map(".".join))
def test_every_short_domain_may_be_the_domain_of_a_key(domain: str) -> None:
    if not dns_subdomain_problem(domain) and len(domain) < 200:
        assert not label_key_problem(f"{domain}/gpu-any")
