"""Node selector terms: read, written as few alternatives, multiplied (N2, N3, N4)."""

from __future__ import annotations

import pytest

from selection_spec.demand import Term
from selection_spec.labels import Operator, Requirement
from tests.builders import Json, asking, expression, make_pod, term
from webhook.selectors import alternatives, narrowed, node_selector, pod_terms, within

KEYS = frozenset({"model", "tier"})


def said(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, Operator(operator), values)


def is_in(key: str, *values: str) -> Requirement:
    return said(key, "In", *values)


A, B = (is_in("model", "a"),), (is_in("model", "b"),)


class TestReading:
    """What a Pod says, as far as the keys of the table tell."""

    @pytest.mark.rule("N4")
    @pytest.mark.parametrize(
        ("pod", "terms"),
        [
            pytest.param(asking(), [()], id="nothing said"),
            pytest.param(asking().selector(model="a", zone="x"), [A], id="nodeSelector"),
            pytest.param(
                asking().terms(term(expression("zone", "In", "x"))), [()], id="another key"
            ),
            pytest.param(
                asking().terms(
                    term(expression("model", "In", "a")), term(expression("tier", "Gt", "7"))
                ),
                [A, (said("tier", "Gt", "7"),)],
                id="two terms",
            ),
            pytest.param(
                asking().selector(tier="x").terms(term(expression("model", "In", "a"))),
                [(is_in("tier", "x"), *A)],
                id="nodeSelector and affinity are ANDed",
            ),
            pytest.param(asking().terms(term()), [], id="an empty term matches nothing"),
            pytest.param(asking().terms(None), [], id="so does a null"),
            pytest.param(
                asking().terms({"matchExpressions": [], "matchFields": None}),
                [],
                id="and one whose lists are empty",
            ),
            pytest.param(
                asking().terms(term(), term(expression("model", "In", "a"))),
                [A],
                id="beside it another may match",
            ),
            pytest.param(
                asking().terms(term(fields=[expression("metadata.name", "In", "n1")])),
                [()],
                id="matchFields alone",
            ),
            pytest.param(asking().terms(), [()], id="an empty list is the API server's error"),
            pytest.param(
                asking().spec(
                    affinity={
                        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}
                    }
                ),
                [()],
                id="so is required without terms",
            ),
            pytest.param(
                asking().terms(
                    term(expression("model", "Near", "a"), expression("tier", "Exists"))
                ),
                [(said("tier", "Exists"),)],
                id="an unknown operator says nothing",
            ),
        ],
    )
    def test_where_a_pod_may_run(self, pod: object, terms: list[Term]) -> None:
        assert list(pod_terms(pod.build()["spec"], KEYS)) == terms  # type: ignore[attr-defined]

    def test_the_node_selector_is_requirements(self) -> None:
        assert node_selector(make_pod().selector(model="a").build()["spec"]) == A
        assert node_selector({}) == ()


class TestAlternatives:
    """Rows are written as few alternatives that admit exactly the same nodes."""

    @pytest.mark.rule("N2")
    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            pytest.param([A], [A], id="one row"),
            pytest.param([A, B], [(is_in("model", "a", "b"),)], id="one key becomes one list"),
            pytest.param([A, A], [A], id="the same labels twice"),
            pytest.param(
                [A, (is_in("tier", "x"),)], [A, (is_in("tier", "x"),)], id="different keys"
            ),
            pytest.param(
                [
                    (is_in("model", "a"), is_in("tier", "x")),
                    (is_in("model", "b"), is_in("tier", "x")),
                ],
                [(is_in("model", "a", "b"), is_in("tier", "x"))],
                id="two keys, the second alike",
            ),
            pytest.param(
                [
                    (is_in("model", "a"), is_in("tier", "x")),
                    (is_in("model", "a"), is_in("tier", "y")),
                ],
                [(is_in("model", "a"), is_in("tier", "x", "y"))],
                id="two keys, the first alike",
            ),
            pytest.param(
                [
                    (is_in("model", "a"), is_in("tier", "x")),
                    (is_in("model", "b"), is_in("tier", "y")),
                ],
                [
                    (is_in("model", "a"), is_in("tier", "x")),
                    (is_in("model", "b"), is_in("tier", "y")),
                ],
                id="two keys, none alike: no node is added",
            ),
            pytest.param(
                [
                    (is_in("model", "a"), is_in("tier", "x")),
                    (is_in("model", "b"), is_in("tier", "x")),
                    (is_in("model", "c"), is_in("tier", "y")),
                ],
                [
                    (is_in("model", "a", "b"), is_in("tier", "x")),
                    (is_in("model", "c"), is_in("tier", "y")),
                ],
                id="two keys, some alike",
            ),
            pytest.param(
                [(is_in("model", "a", "b"),), (is_in("model", "b", "c"),)],
                [(is_in("model", "a", "b", "c"),)],
                id="lists that overlap",
            ),
            pytest.param(
                [(said("memory", "Gt", "7"),), (said("memory", "Gt", "9"),)],
                [(said("memory", "Gt", "7"),), (said("memory", "Gt", "9"),)],
                id="bounds stay apart",
            ),
            pytest.param(
                [(said("model", "NotIn", "a"),), (said("model", "NotIn", "b"),)],
                [(said("model", "NotIn", "a"),), (said("model", "NotIn", "b"),)],
                id="so do exclusions",
            ),
        ],
    )
    def test_alternatives(self, rows: list[Term], expected: list[Term]) -> None:
        assert list(alternatives(rows)) == expected


class TestNarrowing:
    """The Pod's terms times ours."""

    @pytest.mark.rule("N3")
    @pytest.mark.parametrize(
        ("theirs", "ours", "together"),
        [
            pytest.param(
                [term(expression("zone", "In", "x")), term(expression("zone", "In", "y"))],
                [(is_in("model", "a", "b"),)],
                [
                    term(expression("zone", "In", "x"), expression("model", "In", "a", "b")),
                    term(expression("zone", "In", "y"), expression("model", "In", "a", "b")),
                ],
                id="every term gains ours",
            ),
            pytest.param(
                [term(expression("zone", "In", "x")), term(expression("zone", "In", "y"))],
                [A, (is_in("tier", "t"),)],
                [
                    term(expression("zone", "In", "x"), expression("model", "In", "a")),
                    term(expression("zone", "In", "x"), expression("tier", "In", "t")),
                    term(expression("zone", "In", "y"), expression("model", "In", "a")),
                    term(expression("zone", "In", "y"), expression("tier", "In", "t")),
                ],
                id="the cross product in stable order",
            ),
            pytest.param([term()], [A, B], [term()], id="an empty term stays so"),
            pytest.param([None], [A, B], [None], id="and a null"),
            pytest.param(
                [term(fields=[expression("metadata.name", "In", "n1")])],
                [(is_in("model", "a", "b"),)],
                [
                    term(
                        expression("model", "In", "a", "b"),
                        fields=[expression("metadata.name", "In", "n1")],
                    )
                ],
                id="matchFields stay in their term",
            ),
            pytest.param(
                [term(expression("model", "In", "a"))],
                [(is_in("model", "a", "b"),)],
                [term(expression("model", "In", "a"))],
                id="a term within ours stays as it is",
            ),
            pytest.param(
                [term(expression("model", "In", "a", "c"))],
                [(is_in("model", "a", "b"),)],
                [term(expression("model", "In", "a", "c"), expression("model", "In", "a", "b"))],
                id="a term that overlaps is ANDed",
            ),
            pytest.param(
                [term(expression("model", "In", "c")), term(expression("model", "In", "a"))],
                [(is_in("model", "a", "b"),)],
                [term(expression("model", "In", "a"))],
                id="a product that contradicts itself is left out",
            ),
            pytest.param(
                [term(expression("model", "NotIn", "a"))],
                [A, (is_in("tier", "t"),)],
                [term(expression("model", "NotIn", "a"), expression("tier", "In", "t"))],
                id="by NotIn",
            ),
            pytest.param(
                [term(expression("model", "DoesNotExist"))],
                [A, (said("tier", "Exists"),)],
                [term(expression("model", "DoesNotExist"), expression("tier", "Exists"))],
                id="by DoesNotExist",
            ),
            pytest.param(
                [term(expression("tier", "DoesNotExist"))],
                [A, (said("tier", "Exists"),), (said("tier", "Gt", "7"),)],
                [term(expression("tier", "DoesNotExist"), expression("model", "In", "a"))],
                id="of our Exists and Gt by their DoesNotExist",
            ),
            pytest.param(
                [term(expression("tier", "Exists")), term(expression("tier", "In", "t"))],
                [A, (said("tier", "DoesNotExist"),)],
                [
                    term(expression("tier", "Exists"), expression("model", "In", "a")),
                    term(expression("tier", "In", "t"), expression("model", "In", "a")),
                ],
                id="of our DoesNotExist by their Exists and In",
            ),
            pytest.param(
                [term(expression("tier", "In", "t", "u"))],
                [A, (said("tier", "NotIn", "t", "u"),), (said("tier", "NotIn", "t"),)],
                [
                    term(expression("tier", "In", "t", "u"), expression("model", "In", "a")),
                    term(expression("tier", "In", "t", "u"), expression("tier", "NotIn", "t")),
                ],
                id="of our NotIn by their In",
            ),
            pytest.param(
                [term(expression("model", "Gt", "7"))],
                [A],
                [term(expression("model", "Gt", "7"), expression("model", "In", "a"))],
                id="Gt is left to the scheduler",
            ),
            pytest.param(
                [term(expression("model", "Near", "x"))],
                [A],
                [term(expression("model", "Near", "x"), expression("model", "In", "a"))],
                id="an unknown operator stays",
            ),
            pytest.param(
                [{**term(expression("zone", "In", "x")), "matchLater": [1]}],
                [A],
                [
                    {
                        **term(expression("zone", "In", "x"), expression("model", "In", "a")),
                        "matchLater": [1],
                    }
                ],
                id="an unknown field stays",
            ),
        ],
    )
    def test_terms_together(
        self, theirs: list[Json], ours: list[Term], together: list[Json]
    ) -> None:
        assert narrowed(theirs, (), ours, at_most=64) == together

    @pytest.mark.rule("N3")
    def test_what_the_node_selector_says_is_not_said_again(self) -> None:
        theirs = [term(expression("zone", "In", "x"))]

        assert narrowed(theirs, A, [A, B], at_most=64) == theirs
        assert narrowed(theirs, A, [(is_in("model", "a"), is_in("tier", "t"))], at_most=64) == [
            term(expression("zone", "In", "x"), expression("tier", "In", "t"))
        ]

    @pytest.mark.rule("N3")
    @pytest.mark.parametrize(
        ("terms", "ours", "fits"),
        [
            (32, 2, True),
            (33, 2, False),
            (64, 1, True),
            (500, 1, True),
            (1, 64, True),
            (1, 65, False),
        ],
    )
    def test_more_than_64_terms(self, terms: int, ours: int, fits: bool) -> None:  # noqa: FBT001
        """Only where several alternatives of ours multiply them: one adds no term."""
        theirs = [term(expression("zone", "In", f"z{place}")) for place in range(terms)]
        rows = [(said(f"key-{place}", "Exists"),) for place in range(ours)]

        together = narrowed(theirs, (), rows, at_most=64)

        assert (together is not None) is fits
        assert together is None or len(together) == terms * ours

    @pytest.mark.rule("N3")
    def test_a_hostile_number_of_terms_is_not_multiplied_out(self) -> None:
        theirs = [term(expression("zone", "In", f"z{place}")) for place in range(5000)]

        assert narrowed(theirs, (), [A, (said("tier", "Exists"),)], at_most=64) is None


@pytest.mark.rule("N2", "N3")
@pytest.mark.parametrize(
    ("there", "ours", "expected"),
    [
        ((), [A], False),
        (A, [A], True),
        (A, [B], False),
        (A, [B, (is_in("model", "a", "c"),)], True),
        ((is_in("model", "a", "b"),), [A], False),
        (A, [(*A, said("tier", "Exists"))], False),
        ((*A, said("tier", "Exists")), [(*A, said("tier", "Exists"))], True),
        ((said("model", "NotIn", "a"),), [(said("model", "NotIn", "a", "b"),)], False),
    ],
)
def test_within(there: Term, ours: list[Term], expected: bool) -> None:  # noqa: FBT001
    assert within(there, ours) is expected
