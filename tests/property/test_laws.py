"""Laws of the answer: it never fails, applies, stays in bounds, and depends on nothing else."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from selection_spec.errors import Problem
from selection_spec.table import Table
from tests.answers import answered, applied, denial
from tests.builders import DOMAIN, Json, make_review, pfn, pfn_table
from tests.property.laws import check_answer
from tests.property.strategies import (
    JSON_VALUES,
    broken_pods,
    placed_pods,
    pods,
    table_documents,
    table_of,
    tables,
)
from webhook.admission import messages
from webhook.admission.decide import Decision, decide
from webhook.admission.essence import essence_of
from webhook.admission.review import Undecidable
from webhook.admission.translate import ADMISSION, Context, Outcome, Verdict, translate
from webhook.jsonpatch import Drop, Edit, Extend, Put, write
from webhook.shapes import unreadable
from webhook.snapshot import Snapshot

PFN = pfn_table()


class TestNeverFails:
    """Whatever JSON comes in is answered."""

    @pytest.mark.rule("R6")
    @given(st.one_of(JSON_VALUES, broken_pods()), tables(), st.booleans())
    def test_translate(self, value: object, table: Table, is_template: bool) -> None:  # noqa: FBT001
        before = deepcopy(value)

        became = translate(value, Context(is_template=is_template), Snapshot(table))

        assert value == before
        assert repr(value) == repr(before)
        assert bool(became.edits) is (became.verdict is Verdict.PATCHED)
        assert bool(became.problems) is (became.verdict is Verdict.DENIED)

    @pytest.mark.rule("R6")
    @given(st.one_of(JSON_VALUES, broken_pods()))
    def test_decide_on_any_object(self, value: object) -> None:
        became = decided(make_review(value), pfn())

        if isinstance(became, Undecidable):
            assert (became.status, became.reason) == (400, "BadRequest")
            assert became.message
        elif isinstance(value, dict):
            check_answer(value, became.answer["response"])
        else:
            assert became.answer["response"]["allowed"] is True

    @pytest.mark.rule("R6")
    @given(
        st.one_of(
            JSON_VALUES,
            st.fixed_dictionaries(
                {
                    "kind": st.one_of(st.just("AdmissionReview"), JSON_VALUES),
                    "apiVersion": st.one_of(st.just("admission.k8s.io/v1"), JSON_VALUES),
                    "request": st.one_of(
                        JSON_VALUES,
                        st.fixed_dictionaries(
                            {"uid": st.one_of(st.just("u"), JSON_VALUES)},
                            optional={
                                "operation": st.one_of(st.just("CREATE"), JSON_VALUES),
                                "resource": st.one_of(
                                    st.just({"group": "", "resource": "pods"}), JSON_VALUES
                                ),
                                "subResource": JSON_VALUES,
                                "kind": JSON_VALUES,
                                "object": JSON_VALUES,
                                "name": JSON_VALUES,
                                "namespace": JSON_VALUES,
                                "dryRun": JSON_VALUES,
                            },
                        ),
                    ),
                }
            ),
        )
    )
    def test_decide_on_any_document(self, document: object) -> None:
        became = decided(document, pfn())

        if isinstance(became, Undecidable):
            assert (became.status, became.reason) == (400, "BadRequest")
        else:
            assert became.answer["response"]["uid"] == document["request"]["uid"]  # type: ignore[index]
            assert became.answer["apiVersion"] == "admission.k8s.io/v1"
            assert became.answer["kind"] == "AdmissionReview"


class TestPatch:
    """What is sent applies to what was received and does what was meant."""

    @pytest.mark.rule("R3")
    @given(st.one_of(pods(), broken_pods()), tables())
    def test_of_a_pod(self, pod: Json, table: Table) -> None:
        snapshot = Snapshot(table)
        edits = translate(pod, ADMISSION, snapshot).edits
        became = decided(make_review(pod), snapshot)

        if not isinstance(became, Undecidable):
            after = check_answer(pod, became.answer["response"])
            assert after == (write(pod, edits).after if edits else pod)

    @pytest.mark.rule("R3")
    @given(st.data())
    def test_of_any_edits(self, data: st.DataObject) -> None:
        document: Json = data.draw(
            st.dictionaries(st.sampled_from("ab~/"), JSON_VALUES, max_size=3)
        )
        paths = st.lists(st.sampled_from("ab~/"), min_size=1, max_size=3).map(tuple)
        edits: list[Edit] = []
        after = document
        for _ in range(data.draw(st.integers(0, 4))):
            path, value = data.draw(paths), data.draw(JSON_VALUES)
            edit: Edit = (
                Put(path, value, "")
                if data.draw(st.booleans())
                else Extend(path, tuple(data.draw(st.lists(JSON_VALUES, max_size=2))), "")
            )
            if _crosses_a_list(after, path):
                continue
            edits.append(edit)
            after = write(after, [edit]).after
        edits += [Drop((key,), "") for key in after if data.draw(st.booleans())]
        before = deepcopy(document)

        patch = write(document, edits)

        assert document == before
        assert applied(document, patch.operations) == patch.after


class TestAgain:
    """R2: our own output is no input, and an injected container is all that a second pass sees."""

    @pytest.mark.rule("R2")
    @given(pods(), tables())
    def test_a_second_pass_changes_nothing(self, pod: Json, table: Table) -> None:
        snapshot = Snapshot(table)
        response = answered(pod, snapshot)
        after = check_answer(pod, response)

        if response["allowed"]:
            assert "patch" not in answered(after, snapshot)
            assert translate(after, ADMISSION, snapshot).verdict is Verdict.UNCHANGED

    @pytest.mark.rule("R2")
    @given(pods(), pods(), tables())
    def test_an_injected_container(self, pod: Json, other: Json, table: Table) -> None:
        snapshot = Snapshot(table)
        response = answered(pod, snapshot)
        assume(response["allowed"])
        first = deepcopy(check_answer(pod, response))
        injected = {**other["spec"]["containers"][0], "name": "injected"}
        first["spec"]["containers"].insert(0, injected)
        response = answered(first, snapshot)
        assume(response["allowed"])

        second = check_answer(first, response)

        assert second["spec"]["containers"][1:] == first["spec"]["containers"][1:]
        assert second["spec"].get("initContainers") == first["spec"].get("initContainers")
        assert (second == first) is ("patch" not in response)


class TestEssence:
    """A Pod and its essence are one to admission: what the memo rests on."""

    @pytest.mark.rule("D8")
    @given(st.one_of(pods(), broken_pods()), tables())
    def test_they_are_translated_alike(self, pod: Json, table: Table) -> None:
        if unreadable(pod):
            return
        snapshot = Snapshot(table)

        whole = translate(pod, ADMISSION, snapshot)
        part = translate(essence_of(pod), ADMISSION, snapshot)

        assert seen(whole) == seen(part)

    @pytest.mark.rule("D8")
    @given(pods(), pods(), tables(), st.data())
    def test_what_another_pod_left_in_the_memo_is_right(
        self, pod: Json, noise: Json, table: Table, data: st.DataObject
    ) -> None:
        """The same Pod with other fields anywhere is answered from memory, and rightly."""
        snapshot = Snapshot(table)
        answered(pod, snapshot)
        other = deepcopy(pod)
        other["status"] = noise
        other["metadata"]["name"] = data.draw(st.text(max_size=5))
        for holder in (other["spec"], other["metadata"], *other["spec"]["containers"]):
            holder[data.draw(st.sampled_from(UNREAD))] = data.draw(JSON_VALUES)

        response = answered(other, snapshot)

        assert response == answered(other, Snapshot(snapshot.table))
        check_answer(other, response)


class TestMemo:
    """Answers and plans are remembered within a snapshot; nobody can tell."""

    @pytest.mark.rule("D8")
    @given(st.lists(st.one_of(pods(), placed_pods()), min_size=2, max_size=5), tables())
    def test_one_snapshot_answers_as_many_do(self, some: list[Json], table: Table) -> None:
        shared = Snapshot(table)

        for pod in some:
            alone = translate(pod, ADMISSION, Snapshot(table))
            together = translate(pod, ADMISSION, shared)
            assert seen(together) == seen(alone)
            assert together.placement == alone.placement
            assert answered(pod, shared) == answered(pod, Snapshot(table))


# Fields of a Pod, its metadata and its containers that say nothing about where it may run, and
# some that are read elsewhere.
UNREAD = ("env", "volumes", "hostname", "generateName", "serviceAccountName", "limits", "key", "x")


class TestMessages:
    """R4 and R8: within what Kubernetes passes on, whatever is said."""

    PROBLEMS = st.lists(
        st.builds(Problem, st.text(max_size=700), hint=st.text(max_size=50)), max_size=12
    )

    @pytest.mark.rule("R4")
    @given(PROBLEMS.filter(bool))
    def test_denials(self, problems: list[Problem]) -> None:
        text = messages.denial(problems)

        assert len(text.encode()) <= 1000
        assert text.replace("\n", "").isprintable()
        lines = text.split("\n")
        rest = 0
        if lines[-1].startswith("… and ") and len(lines) <= len(problems):
            rest = int(lines.pop().split()[2])
        assert len(lines) + rest == len(problems)
        for line, problem in zip(lines, problems, strict=False):
            whole = "".join(
                character if character.isprintable() else "?"
                for character in " ".join(problem.text().split())
            )
            assert line == whole or (whole.startswith(line[:-1]) and line.endswith("…"))

    @pytest.mark.rule("R8")
    @given(PROBLEMS)
    def test_warnings(self, problems: list[Problem]) -> None:
        texts = messages.warnings(problems)

        assert len(texts) <= 5
        assert all(len(text) <= 120 and text.isprintable() for text in texts)

    @pytest.mark.rule("R4")
    @given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), min_size=1, max_size=30))
    def test_wrong_keys_and_amounts(self, wrong: list[tuple[str, str]]) -> None:
        containers = [
            {"name": f"{place}{key}", "resources": {"limits": {f"{DOMAIN}/gpu-{key}": amount}}}
            for place, (key, amount) in enumerate(wrong)
        ]
        pod = {"spec": {"containers": containers}}
        became = decided(make_review(pod), pfn())

        if not isinstance(became, Undecidable):
            check_answer(pod, became.answer["response"])


class TestSameInput:
    """The same Pod and the same table give the same bytes (D8)."""

    @pytest.mark.rule("D8")
    @given(pods(), table_documents(), st.randoms(use_true_random=False))
    def test_rows_may_be_written_in_any_order(
        self, pod: Json, document: Json, random: Random
    ) -> None:
        shuffled = deepcopy(document)
        random.shuffle(shuffled["spec"]["devices"])
        one, other = table_of(document), table_of(shuffled)

        assert one.digest == other.digest
        assert json.dumps(answered(pod, Snapshot(one))) == json.dumps(
            answered(pod, Snapshot(other))
        )


def seen(became: Outcome) -> tuple[object, ...]:
    """All of an outcome that anybody is told."""
    return (
        became.verdict,
        became.reason,
        became.edits,
        denial(became),
        messages.warnings(became.warnings),
    )


def decided(document: object, snapshot: Snapshot) -> Decision | Undecidable:
    """Decide a review, or say why that is not possible; nothing else may happen."""
    try:
        return decide(document, snapshot)
    except Undecidable as undecidable:
        return undecidable


def _crosses_a_list(document: object, path: tuple[str, ...]) -> bool:
    """Whether a path of keys leads through a list, which no edit of ours does."""
    node = document
    for key in path[:-1]:
        if isinstance(node, list):
            return True
        node = node.get(key) if isinstance(node, dict) else None
    return isinstance(node, list)
