"""Remembered answers stay within a bound of memory, and change nothing but time."""

from __future__ import annotations

import pytest

from tests.answers import answered
from tests.builders import asking, make_row, make_table, pfn, pfn_table
from webhook.memo import Memo
from webhook.snapshot import Snapshot


def test_what_was_put_is_got_back() -> None:
    memo = Memo()
    memo.put(b"key", "answer", 6)

    assert memo.get(b"key") == "answer"
    assert memo.get(b"other") is None


def test_a_large_answer_is_not_kept() -> None:
    memo = Memo()
    memo.put(b"long answer", "x", 256 * 1024)
    memo.put(b"k" * 256 * 1024, "long key", 1)

    assert memo.get(b"long answer") is None
    assert memo.get(b"k" * 256 * 1024) is None


def test_a_full_memo_is_emptied() -> None:
    """16 MiB at about 251 KiB each: what was there goes at once, then it fills again."""
    memo = Memo()
    sizes = [0]
    for number in range(200):
        memo.put(b"%d" % number, number, 250 * 1024)
        sizes.append(sum(memo.get(b"%d" % other) is not None for other in range(number + 1)))

    assert max(sizes) == 16 * 1024 * 1024 // (251 * 1024 + 2)
    assert memo.get(b"199") == 199
    assert memo.get(b"0") is None


@pytest.mark.rule("D8")
def test_a_remembered_answer_is_the_same_answer() -> None:
    snapshot = pfn()

    first, second = (answered(asking(any_24gb=1).build(), snapshot) for _ in range(2))

    assert first == second
    assert first == answered(asking(any_24gb=1).build(), pfn())


@pytest.mark.rule("N9", "D8")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["any first", "name first"])
def test_remembered_candidates_do_not_hide_how_they_were_asked_for(order: tuple[int, int]) -> None:
    """The same row, once by ``any`` and once by its name, which brings another toleration."""
    pods = [asking(any_24gb=1).high().build(), asking(a30_24gb=1).high().build()]
    snapshot = pfn()

    answers = [answered(pods[place], snapshot) for place in order]

    assert answers == [answered(pods[place], pfn()) for place in order]
    assert len({answer["patch"] for answer in answers}) == 2


def test_an_answer_goes_with_its_snapshot() -> None:
    """Another table never answers from what an earlier one said."""
    old, new = Snapshot(pfn_table()), Snapshot(make_table(make_row("a30-24gb")))
    pod = asking(v100=1).build()

    assert answered(pod, old)["allowed"] is True
    assert answered(pod, new)["allowed"] is False


def test_pods_that_differ_in_a_number_and_a_truth_are_told_apart() -> None:
    """1, 1.0 and true are equal to Python and not to Kubernetes."""
    snapshot = pfn()

    answers = [answered(asking(amount).build(), snapshot) for amount in (1, True, 1.0, True, 1)]

    assert [answer["allowed"] for answer in answers] == [True, False, True, False, True]
