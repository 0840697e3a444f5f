"""What one change certainly mends, and how little it changes."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.judged import found, ids, pod


def _mended(text: str, fixes: int) -> str:
    """Apply all fixes, of which there are so many, as the command line does."""
    all_fixes = {one.fix for one in found(text) if one.fix is not None and not one.suppressed}
    assert len(all_fixes) == fixes
    for fix in sorted(all_fixes, key=lambda one: -one.start):
        text = text[: fix.start] + fix.text + text[fix.end :]
    return text


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("limits: {preferred.jp/gpu-A100: 1}", "limits: {preferred.jp/gpu-a100: 1}"),
        ("limits:\n  preferred.jp/GPU-a100: 1 # x", "limits:\n  preferred.jp/gpu-a100: 1 # x"),
        ("limits: {'preferred.jp/gpu-A100' : 1}", "limits: {'preferred.jp/gpu-a100' : 1}"),
        ('limits: {"preferred.jp/gpu-A100": 1}', 'limits: {"preferred.jp/gpu-a100": 1}'),
        ("limits: {preferred.jp/gpu-any-24GB: 1}", "limits: {preferred.jp/gpu-any-24gb: 1}"),
        ("limits: {preferred.jp/gpu-any--24gb: 1}", "limits: {preferred.jp/gpu-any-24gb: 1}"),
        ("limits: {preferred.jp/gpu-any-24gb-: 1}", "limits: {preferred.jp/gpu-any-24gb: 1}"),
        ("limits: {preferred.jp/gpu-any_24gb: 1}", "limits: {preferred.jp/gpu-any-24gb: 1}"),
        (
            "limits: {preferred.jp/gpu-A100: 1}\nrequests: {preferred.jp/gpu-A100: 1}",
            "limits: {preferred.jp/gpu-a100: 1}\nrequests: {preferred.jp/gpu-a100: 1}",
        ),
    ],
)
def test_a_spelling_is_mended(before: str, after: str) -> None:
    mended = _mended(pod(before), before.lower().count("gpu-a"))
    assert mended == pod(after)
    assert ids(mended) == []


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    "resources",
    [
        "limits: {preferred.jp/gpu-any-24gib: 1}",
        "limits: {preferred.jp/gpu-any-24: 1}",
        "limits: {preferred.jp/gpu-24gb: 1}",
        "limits: {preferred.jp/gpu-any-23.5gb: 1}",
        "limits: {preferred.jp/gpu-any-024gb: 1}",
        "limits: {preferred.jp/gpu-nothing-like-it: 1}",
        "limits: {preferred.jp/gpu-X: 1}",
        "limits: {preferred.jp/gpu-any-２４gb: 1}",
        "limits: {preferred.jp/gpu-a30-32gb: 1}",
        "limits: {preferred.jp/gpu-A100: 1, preferred.jp/gpu-a100: 1}",
        "limits: {preferred.jp/gpu-A100: 1, preferred.jp/GPU-a100: 1}",
        'limits: {"preferred.jp/gpu-\\x41100": 1}',
    ],
)
def test_what_needs_a_person_has_no_fix(resources: str) -> None:
    assert _mended(pod(resources), 0) == pod(resources)


def test_what_is_merged_elsewhere_has_no_fix() -> None:
    """There the key would come to stand beside one of the same name, which then wins."""
    text = """\
kind: Pod
spec:
  containers:
    - {name: a, resources: {limits: &l {preferred.jp/GPU-A100: 1}}}
    - {name: b, resources: {limits: {<<: *l, preferred.jp/gpu-a100: 4}}}
"""
    assert "GS101" in ids(text)
    assert _mended(text, 0) == text


@pytest.mark.parametrize("encoding", ["utf-16", "shift-jis"])
def test_what_is_not_utf_8_has_no_fix(encoding: str) -> None:
    raw = (pod("limits: {preferred.jp/gpu-A100: 1}") + "# 日本\n").encode(encoding)
    assert [(one.rule.id, one.fix) for one in found(raw) if one.rule.id == "GS101"] == [
        ("GS101", None)
    ]


@pytest.mark.rule("A4")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("requests: {preferred.jp/gpu-a100: 1}", "limits: {preferred.jp/gpu-a100: 1}"),
        (
            "requests:  # why\n  # what\n  preferred.jp/gpu-a100: 1",
            "limits:  # why\n  # what\n  preferred.jp/gpu-a100: 1",
        ),
        ("'requests': {preferred.jp/gpu-a100: 1}", "'limits': {preferred.jp/gpu-a100: 1}"),
        (
            "claims: []\nrequests: {preferred.jp/gpu-a100: 1}",
            "claims: []\nlimits: {preferred.jp/gpu-a100: 1}",
        ),
    ],
)
def test_requests_that_hold_nothing_else_become_limits(before: str, after: str) -> None:
    (one,) = found(pod(before))
    assert one.fix is not None
    assert one.fix.said == "write limits instead of requests"
    assert _mended(pod(before), 1) == pod(after)
    assert ids(pod(after)) == []


@pytest.mark.rule("A4")
@pytest.mark.parametrize(
    "resources",
    [
        "requests: {preferred.jp/gpu-a100: 1, cpu: 1}",
        "requests: {preferred.jp/gpu-a100: 1}\nlimits: {cpu: 1}",
        "requests: {preferred.jp/gpu-a100: 1}\nlimits: {}",
        "requests: {preferred.jp/gpu-a100: 1}\nlimits:",
        "<<: {}\nrequests: {preferred.jp/gpu-a100: 1}",
        "requests: {preferred.jp/gpu-a100: 2}\nlimits: {preferred.jp/gpu-a100: 1}",
    ],
)
def test_other_requests_are_for_a_person(resources: str) -> None:
    assert "GS102" in ids(pod(resources))
    assert _mended(pod(resources), 0) == pod(resources)


def test_several_fixes_of_a_text_and_all_else_stays() -> None:
    text = (
        "# first\n"
        + pod("limits: {preferred.jp/gpu-A100: 1} # 一")
        + "---\n# second\n"
        + pod("requests:\n  preferred.jp/gpu-a30: 1   ", name="q")
        + "---\n"
        + pod("limits: {  'preferred.jp/gpu-V100' : 1}", name="r")
    )
    wanted = (
        text.replace("gpu-A100", "gpu-a100")
        .replace("requests:\n", "limits:\n")
        .replace("gpu-V100", "gpu-v100")
    )
    assert _mended(text, 3) == wanted
    assert ids(wanted) == []


def test_what_an_anchor_shares_is_mended_once() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: one
      resources: &gpu
        requests: {preferred.jp/gpu-a100: 1}
    - name: two
      resources: *gpu
"""
    mended = _mended(text, 1)
    assert mended == text.replace("requests", "limits")
    assert ids(mended) == []


def test_what_is_suppressed_is_not_mended() -> None:
    text = pod("limits: {preferred.jp/gpu-A100: 1} # gpuspec: ignore GS101 -- shows a mistake")
    assert _mended(text, 0) == text
