"""The one entry: verdict, reason, and what each denial's reason is."""

from __future__ import annotations

import pytest

from selection_spec.errors import Level
from tests.answers import outcome
from tests.builders import PodBuilder, asking, expression, make_pod, make_row, make_table, pfn, term
from webhook.admission.reasons import Reason, reason_of_rule
from webhook.admission.translate import Verdict
from webhook.snapshot import Snapshot

DENIED, UNCHANGED, PATCHED = Verdict.DENIED, Verdict.UNCHANGED, Verdict.PATCHED
TWO_KEYS = Snapshot(
    make_table(
        make_row("a30-24gb"), make_row("l4-24gb", nodes={"matchLabels": {"accelerator": "l4"}})
    )
)


@pytest.mark.parametrize(
    ("pod", "verdict", "reason", "rule"),
    [
        pytest.param(asking(), PATCHED, Reason.TRANSLATED, "", id="translated"),
        pytest.param(asking(0), PATCHED, Reason.ZERO_REMOVED, "", id="zero"),
        pytest.param(make_pod().container("a"), UNCHANGED, Reason.NO_SPEC, "", id="no spec"),
        pytest.param(
            asking().metadata(annotations={"kubernetes.io/config.mirror": ""}),
            UNCHANGED,
            Reason.MIRROR_POD,
            "",
            id="mirror",
        ),
        pytest.param(make_pod(), UNCHANGED, Reason.LEFT_AS_IS, "", id="no containers"),
        pytest.param(asking(any_24g=1), DENIED, Reason.BAD_KEY, "G4", id="misspelt"),
        pytest.param(asking("x"), DENIED, Reason.BAD_AMOUNT, "A1", id="no quantity"),
        pytest.param(asking("-1"), DENIED, Reason.BAD_AMOUNT, "A2", id="negative"),
        pytest.param(asking(9), DENIED, Reason.BAD_AMOUNT, "A2", id="too many in a container"),
        pytest.param(
            make_pod().container("a", None, {"preferred.jp/gpu-any": 1}),
            DENIED,
            Reason.BAD_AMOUNT,
            "A4",
            id="requests only",
        ),
        pytest.param(
            make_pod().container("a", any=1, a30=1), DENIED, Reason.AMBIGUOUS, "A5", id="two specs"
        ),
        pytest.param(
            make_pod().container("a").spec(resources={"limits": {"preferred.jp/gpu-any": 1}}),
            DENIED,
            Reason.AMBIGUOUS,
            "A8",
            id="pod level",
        ),
        pytest.param(asking(h100=1), DENIED, Reason.NO_SUCH_DEVICE, "G5", id="unknown name"),
        pytest.param(asking(a30_99gb=1), DENIED, Reason.NO_SUCH_DEVICE, "G5", id="too much memory"),
        pytest.param(
            make_pod().container("a", a30=1).container("b", v100=1),
            DENIED,
            Reason.NO_COMMON_DEVICE,
            "D1",
            id="none in common",
        ),
        pytest.param(
            asking().selector(gpu_model="x"), DENIED, Reason.OWN_SELECTORS, "N4", id="selectors"
        ),
        pytest.param(
            asking().spec(os={"name": "windows"}), DENIED, Reason.OTHER_PLATFORM, "D10", id="os"
        ),
        pytest.param(
            make_pod().container("a", any=8).container("b", any=8),
            DENIED,
            Reason.TOO_MANY_FOR_A_NODE,
            "D2",
            id="too many together",
        ),
        pytest.param(
            asking().owner("DaemonSet", "d"), DENIED, Reason.DAEMON_SET, "N8", id="DaemonSet"
        ),
    ],
)
def test_verdict_and_reason(pod: PodBuilder, verdict: Verdict, reason: Reason, rule: str) -> None:
    became = outcome(pod, pfn())

    assert (became.verdict, became.reason) == (verdict, reason)
    assert [problem.rule for problem in became.problems] == ([rule] if rule else [])
    assert all(problem.path for problem in became.problems)
    assert all(problem.level is Level.ERROR for problem in became.problems)
    assert all(warning.level is Level.WARNING for warning in became.warnings)
    assert bool(became.edits) is (verdict is PATCHED)


@pytest.mark.rule("N3")
def test_too_many_terms() -> None:
    pod = asking().terms(*(term(expression("zone", "In", f"z{n}")) for n in range(33)))

    became = outcome(pod, TWO_KEYS)

    assert (became.verdict, became.reason) == (DENIED, Reason.OWN_SELECTORS)
    assert became.problems[0].path == (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    )


@pytest.mark.rule("D6")
def test_nothing_open() -> None:
    became = outcome(asking(), Snapshot(make_table(make_row("a30-24gb", any=False))))

    assert became.reason is Reason.NO_SUCH_DEVICE
    assert [problem.rule for problem in became.problems] == ["D6"]
    assert became.problems[0].text() == (
        'container "main": preferred.jp/gpu-any: no device is open to gpu-any; '
        "a30-24gb fits but is not part of gpu-any: write preferred.jp/gpu-a30-24gb"
    )


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        (
            make_pod().init("i", any="x").container("a"),
            'spec.initContainers[0].resources.limits["preferred.jp/gpu-any"]',
        ),
        (
            make_pod().container("a").container("b", any_24g=1),
            'spec.containers[1].resources.limits["preferred.jp/gpu-any-24g"]',
        ),
        (
            make_pod().container("a", h100=1),
            'spec.containers[0].resources.limits["preferred.jp/gpu-h100"]',
        ),
        (make_pod().container("a", any=1, a30=1), "spec.containers[0].resources.limits"),
        (asking().owner("DaemonSet", "d"), "metadata.ownerReferences"),
    ],
)
def test_a_problem_has_the_path_of_its_field(pod: PodBuilder, path: str) -> None:
    assert [problem.path for problem in outcome(pod, pfn()).problems] == [path]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    assert reason.sentence.endswith(".")
    assert str(reason).isalpha()


@pytest.mark.parametrize(
    "rule",
    ["G1", "G4", "G5", "A1", "A2", "A4", "A5", "A8", "D1", "D2", "D6", "D10", "N3", "N4", "N8"],
)
def test_every_rule_that_denies_has_a_reason(rule: str) -> None:
    assert rule in reason_of_rule(rule).sentence or reason_of_rule(rule) is Reason.BAD_AMOUNT
