"""Denials and warnings within the limits of Kubernetes (R4, R8)."""

from __future__ import annotations

import pytest

from selection_spec.errors import Problem
from tests.answers import answered, denied
from tests.builders import Json, asking, make_pod, make_row, make_table, pfn
from webhook.admission.messages import denial, warnings
from webhook.snapshot import Snapshot

# Thirty names, of which twenty could cure a denial (D6).
HALF_HIDDEN = make_table(*(make_row(f"row{number}-24gb", any=number < 10) for number in range(30)))


def problems(*texts: str) -> list[Problem]:
    return [Problem(text) for text in texts]


@pytest.mark.rule("R4")
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param(["a"], "a", id="one"),
        pytest.param(["a", "b"], "a\nb", id="one line each"),
        pytest.param(["a\r\n  b\tc"], "a b c", id="what has several lines becomes one"),
        pytest.param(["a\ud800b"], "a?b", id="what UTF-8 cannot hold"),
        pytest.param(["a\x1b[2Jb\x00\u202ec"], "a?[2Jb??c", id="what a terminal obeys"),
        pytest.param(["コンテナ é 🙂"], "コンテナ é 🙂", id="what can be read stays"),
        pytest.param(["x" * 1000], "x" * 1000, id="exactly 1,000 bytes"),
        pytest.param(["x" * 1001], "x" * 997 + "…", id="one byte more"),
        pytest.param(["é" * 501], "é" * 498 + "…", id="no character is halved"),
        pytest.param(["a" * 499, "b" * 500], "a" * 499 + "\n" + "b" * 500, id="two that just fit"),
        pytest.param(
            ["a" * 500, "b" * 500], "a" * 500 + "\n… and 1 more", id="the rest is counted"
        ),
        pytest.param(
            ["a" * 985, "b" * 9, "c" * 9],
            "a" * 985 + "\n… and 2 more",
            id="the count has its own room",
        ),
        pytest.param(
            ["a" * 990, "b" * 9, "c"],
            "a" * 982 + "…" + "\n… and 2 more",
            id="a first line too long for the count is cut",
        ),
        pytest.param(
            ["a", "b" * 2000, "c"], "a\n… and 2 more", id="order is kept, nothing is passed over"
        ),
        pytest.param(
            ["a" * 2000, "b"], "a" * 982 + "…" + "\n… and 1 more", id="a long one and another"
        ),
    ],
)
def test_denial(texts: list[str], message: str) -> None:
    assert denial(problems(*texts)) == message
    assert len(message.encode()) <= 1000


@pytest.mark.rule("R4")
def test_a_hint_follows_its_problem() -> None:
    assert denial([Problem("is wrong", hint="write it right")]) == "is wrong; write it right"


@pytest.mark.rule("R4")
def test_all_problems_of_a_pod_in_one_message() -> None:
    pod = (
        make_pod()
        .init("fetch", h100=1)
        .container("main", any_24gib=1)
        .container("side", any="500m")
        .owner("DaemonSet", "monitor")
    )

    assert denied(pod, pfn()) == (
        'this Pod belongs to DaemonSet "monitor", which picks its nodes before admission, so it '
        "would pend for ever; put selectors, tolerations and resource into its template: "
        '"gpuspec mutate --cluster -f FILE" writes them\n'
        'container "main": preferred.jp/gpu-any-24gib ends in 24gib, which is neither a name nor '
        "memory in whole gb; write preferred.jp/gpu-any-24gb\n"
        'container "side": preferred.jp/gpu-any: "500m" is not a whole number; '
        "devices come whole: 1 or more\n"
        'init container "fetch": preferred.jp/gpu-h100: no device is called h100; '
        "nearest: a100, v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
    )


@pytest.mark.rule("R4")
def test_many_problems_are_counted() -> None:
    pod = make_pod()
    for place in range(40):
        pod.container(f"worker-{place:02d}", any_24gib=1)

    message = denied(pod, pfn())

    lines = message.splitlines()
    assert lines[-1] == f"… and {40 - (len(lines) - 1)} more"
    assert [line.partition(":")[0] for line in lines[:-1]] == [
        f'container "worker-{place:02d}"' for place in range(len(lines) - 1)
    ]
    assert 850 < len(message.encode()) <= 1000


@pytest.mark.rule("R4", "R6")
def test_names_that_are_no_names_stay_on_their_line() -> None:
    """The API server refuses such a name, but after us: the denial is what the user reads."""
    pod = make_pod().container("a\nb\u2028c", any="x")

    assert denied(pod, pfn()) == (
        'container "a b c": preferred.jp/gpu-any: "x" is not a Kubernetes quantity; '
        "write a whole number such as 1"
    )


@pytest.mark.rule("R8")
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["x" * 120], ["x" * 120], id="exactly 120 characters"),
        pytest.param(["é" * 121], ["é" * 119 + "…"], id="characters are counted, not bytes"),
        pytest.param(list("abcdefg"), list("abcde"), id="the first five"),
        pytest.param(["a", "a", "b"], ["a", "b"], id="each once"),
        pytest.param(["a\nb"], ["a b"], id="on one line"),
    ],
)
def test_warnings(texts: list[str], expected: list[str]) -> None:
    assert warnings(problems(*texts)) == expected


@pytest.mark.rule("R8", "A6")
def test_a_pod_of_many_raw_containers_gets_five_warnings() -> None:
    pod = make_pod().container("main", any=1)
    for place in range(9):
        pod.container(f"raw-{place}", {"nvidia.com/mig-1g.5gb": "1"})

    response = answered(pod.build(), pfn())

    assert response["warnings"] == [
        f'container "raw-{place}" asks for nvidia.com/mig-1g.5gb by itself; '
        "it gets devices of the same node"
        for place in range(5)
    ]


@pytest.mark.rule("R4")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "container",
    [
        pytest.param({"preferred.jp/gpu-any-24gib": 1}, id="misspelt"),
        pytest.param({"preferred.jp/gpu-h{}": 1}, id="unknown"),
        pytest.param({"preferred.jp/gpu-h{}-zz9": 1}, id="unknown and misspelt"),
        pytest.param({"preferred.jp/gpu-any-999gb": 1}, id="too much memory"),
        pytest.param({"preferred.jp/gpu-any": "x"}, id="no amount"),
        pytest.param({"preferred.jp/gpu-any": 1, "nvidia.com/gpu": 1}, id="ambiguous"),
        pytest.param({"preferred.jp/gpu-any": 1}, id="too many together"),
    ],
)
def test_a_pod_of_20000_wrong_containers_is_answered(container: Json) -> None:
    """About 3 MiB, the most that the API server takes: time must not grow with the square."""
    pod = asking().build()
    pod["spec"]["containers"] = [
        {
            "name": f"c{place}",
            "resources": {"limits": {k.format(place): n for k, n in container.items()}},
        }
        for place in range(20_000)
    ]

    response = answered(pod, Snapshot(HALF_HIDDEN))

    assert response["allowed"] is False
    assert len(response["status"]["message"].encode()) <= 1000
