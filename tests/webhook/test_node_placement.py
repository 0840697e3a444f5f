"""Candidates become node selectors, affinity and tolerations (N2 to N6, N9)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.answers import admitted, denied, outcome
from tests.builders import (
    Json,
    PodBuilder,
    asking,
    expression,
    make_pod,
    make_row,
    make_table,
    pfn,
    term,
    tolerate,
)
from webhook.admission.reasons import Reason
from webhook.placement.node import weights
from webhook.selectors import PREFERRED, REQUIRED
from webhook.snapshot import Snapshot

A30, A100, V16, V32 = "a30-24gb", "a100-80gb", "v100-16gb", "v100-32gb"
EVERY = [V16, V32, A30, A100]


def model_in(*models: str) -> Json:
    return expression("gpu-model", "In", *models)


def required(pod: Json) -> list[Json] | None:
    """The terms of the required node affinity, None where there is none."""
    node = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms: list[Json] | None = node[REQUIRED]["nodeSelectorTerms"] if REQUIRED in node else None
    return terms


def preferred(pod: Json) -> list[tuple[int, list[Json]]]:
    """The preferred terms as weights and expressions."""
    node = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    return [
        (one["weight"], one["preference"]["matchExpressions"]) for one in node.get(PREFERRED, ())
    ]


def two_keys(**fields: object) -> Snapshot:
    """Two rows that no single label key tells apart."""
    return Snapshot(
        make_table(
            make_row("l4-24gb", nodes={"matchLabels": {"accelerator": "l4"}}),
            make_row("a30-24gb"),
            **fields,
        )
    )


class TestOneCandidate:
    """One row with plain labels becomes nodeSelector."""

    @pytest.mark.rule("N2")
    def test_node_selector(self) -> None:
        spec = admitted(asking(a30=1), pfn())["spec"]

        assert spec["nodeSelector"] == {"gpu-model": A30}
        assert "affinity" not in spec

    @pytest.mark.rule("N2")
    def test_the_users_selectors_stay(self) -> None:
        spec = admitted(asking(a30=1).selector(zone="east"), pfn())["spec"]

        assert spec["nodeSelector"] == {"zone": "east", "gpu-model": A30}

    @pytest.mark.rule("N2", "N4")
    def test_what_the_user_said_already_is_not_touched(self) -> None:
        became = outcome(asking(a30=1).selector(gpu_model=A30), pfn())

        assert not [edit for edit in became.edits if "nodeSelector" in edit.path]

    @pytest.mark.rule("N2")
    def test_every_label_of_the_row(self) -> None:
        row = make_row(
            "a30-24gb", nodes={"matchLabels": {"model": "a30", "site.example/pool": "gpu"}}
        )

        spec = admitted(asking(), Snapshot(make_table(row)))["spec"]

        assert spec["nodeSelector"] == {"model": "a30", "site.example/pool": "gpu"}

    @pytest.mark.rule("N2")
    @pytest.mark.parametrize(
        "said",
        [
            expression("model", "In", "a30", "a30x"),
            expression("model", "NotIn", "cpu"),
            expression("gpu", "Exists"),
            expression("cpu-only", "DoesNotExist"),
            expression("memory", "Gt", "23000"),
            expression("memory", "Lt", "25000"),
        ],
        ids=lambda one: one["operator"],
    )
    def test_what_a_node_selector_cannot_say_becomes_affinity(self, said: Json) -> None:
        table = make_table(make_row("a30-24gb", nodes={"matchExpressions": [said]}))

        after = admitted(asking(), Snapshot(table))

        assert required(after) == [term(said)]
        assert "nodeSelector" not in after["spec"]

    @pytest.mark.rule("N2")
    def test_an_expression_of_one_value_is_a_plain_label(self) -> None:
        row = make_row("a30-24gb", nodes={"matchExpressions": [expression("model", "In", "a30")]})

        assert admitted(asking(), Snapshot(make_table(row)))["spec"]["nodeSelector"] == {
            "model": "a30"
        }

    @pytest.mark.rule("N2", "N4")
    def test_a_node_selector_within_the_rows_labels_is_enough(self) -> None:
        row = make_row(
            "a30-24gb", nodes={"matchExpressions": [expression("model", "In", "a", "b")]}
        )

        spec = admitted(asking().selector(model="b"), Snapshot(make_table(row)))["spec"]

        assert spec["nodeSelector"] == {"model": "b"}
        assert "affinity" not in spec

    @pytest.mark.rule("N3")
    def test_a_node_selector_leaves_the_users_affinity_alone(self) -> None:
        """It is ANDed with every term by itself."""
        theirs = [term(expression("zone", "In", "x")), term(), term(expression("zone", "In", "y"))]

        after = admitted(asking(a30=1).terms(*theirs), pfn())

        assert required(after) == theirs
        assert after["spec"]["nodeSelector"] == {"gpu-model": A30}


class TestSeveralCandidates:
    """Several rows become required node affinity, ANDed with what the user wrote."""

    @pytest.mark.rule("N2")
    def test_one_key_is_one_list_in_order_of_cost(self) -> None:
        assert required(admitted(asking(), pfn())) == [term(model_in(*EVERY))]

    @pytest.mark.rule("N2")
    def test_different_keys_are_alternatives(self) -> None:
        assert required(admitted(asking(), two_keys())) == [
            term(expression("gpu-model", "In", A30)),
            term(expression("accelerator", "In", "l4")),
        ]

    @pytest.mark.rule("N3")
    def test_every_term_of_the_user_gains_ours(self) -> None:
        """The usual bug of such a webhook: a term added beside the user's is an OR."""
        pod = asking(any_24gb=1).terms(
            term(expression("zone", "In", "a")), term(expression("zone", "In", "b"))
        )

        assert required(admitted(pod, pfn())) == [
            term(expression("zone", "In", "a"), model_in(V32, A30, A100)),
            term(expression("zone", "In", "b"), model_in(V32, A30, A100)),
        ]

    @pytest.mark.rule("N3")
    def test_two_alternatives_times_two_terms(self) -> None:
        east, west = expression("zone", "In", "east"), expression("zone", "In", "west")
        a30, l4 = expression("gpu-model", "In", A30), expression("accelerator", "In", "l4")

        assert required(admitted(asking().terms(term(east), term(west)), two_keys())) == [
            term(east, a30),
            term(east, l4),
            term(west, a30),
            term(west, l4),
        ]

    @pytest.mark.rule("N3")
    def test_match_fields_stay_beside_our_expressions(self) -> None:
        node = expression("metadata.name", "In", "node-1")

        assert required(admitted(asking().terms(term(fields=[node])), pfn())) == [
            term(model_in(*EVERY), fields=[node])
        ]

    @pytest.mark.rule("N3")
    def test_an_empty_term_stays_empty(self) -> None:
        pod = asking().terms(term(), term(expression("zone", "In", "x")))

        assert required(admitted(pod, pfn())) == [
            term(),
            term(expression("zone", "In", "x"), model_in(*EVERY)),
        ]

    @pytest.mark.rule("N3", "N4")
    def test_nothing_but_empty_terms_match_no_device(self) -> None:
        assert denied(asking(any_40gb=1).terms(term()), pfn()) == (
            "the Pod's nodeSelector or affinity (no term that can match) excludes every device "
            "for gpu-any-40gb (a100-80gb: gpu-model=a100-80gb); remove it or change the spec"
        )

    @pytest.mark.rule("N3")
    @pytest.mark.parametrize(
        "there",
        [
            {},
            {"nodeSelectorTerms": []},
            {"nodeSelectorTerms": None},
            {"nodeSelectorTerms": [], "x": 1},
        ],
        ids=str,
    )
    def test_an_empty_list_of_terms_is_left_to_the_api_server(self, there: Json) -> None:
        """It is invalid; filling it would make an invalid Pod valid."""
        after = admitted(asking().spec(affinity={"nodeAffinity": {REQUIRED: there}}), pfn())

        assert after["spec"]["affinity"]["nodeAffinity"][REQUIRED] == there

    @pytest.mark.rule("N3")
    @pytest.mark.parametrize("affinity", [None, {}, {"nodeAffinity": None}, {"nodeAffinity": {}}])
    def test_parents_that_are_missing_are_made(self, affinity: Json | None) -> None:
        after = admitted(asking().spec(affinity=affinity), pfn())

        assert required(after) == [term(model_in(*EVERY))]

    @pytest.mark.rule("N3")
    def test_other_affinity_is_kept(self) -> None:
        others = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}, "podAffinity": None}

        affinity = admitted(asking().spec(affinity=others), pfn())["spec"]["affinity"]

        assert affinity == {**others, "nodeAffinity": affinity["nodeAffinity"]}

    @pytest.mark.rule("N3")
    @pytest.mark.parametrize(
        ("pod", "terms"),
        [
            pytest.param(asking().selector(zone="east"), [term(model_in(*EVERY))], id="other key"),
            pytest.param(
                asking().terms(term(model_in(A30, "cpu"))),
                [term(model_in(A30, "cpu"))],
                id="one candidate left: nodeSelector says it",
            ),
            pytest.param(
                asking().terms(term(model_in(A30, V32, "cpu"))),
                [term(model_in(A30, V32, "cpu"), model_in(V32, A30))],
                id="ours narrows a list of theirs",
            ),
            pytest.param(
                asking().terms(term(model_in(A30, V32))),
                [term(model_in(A30, V32))],
                id="a term within ours is not written again",
            ),
            pytest.param(
                asking().terms(term(model_in(A30)), term(model_in("cpu")), term(model_in(V32))),
                [term(model_in(A30)), term(model_in(V32))],
                id="a term that no device can meet is left out",
            ),
            pytest.param(
                asking().terms(term(expression("gpu-model", "NotIn", A100, V16))),
                [term(expression("gpu-model", "NotIn", A100, V16), model_in(V32, A30))],
                id="what they exclude is not offered",
            ),
        ],
    )
    def test_what_the_user_wrote_narrows(self, pod: PodBuilder, terms: list[Json]) -> None:
        assert required(admitted(pod, pfn())) == terms

    @pytest.mark.rule("N3", "R3")
    def test_terms_within_ours_are_not_written_again(self) -> None:
        became = outcome(asking().terms(term(model_in(A30)), term(model_in(V32, V16))), pfn())

        assert not [edit for edit in became.edits if "nodeSelectorTerms" in edit.path]

    @pytest.mark.rule("N3")
    def test_more_than_64_terms_are_denied(self) -> None:
        pod = asking().terms(*(term(expression("zone", "In", f"z{n}")) for n in range(33)))

        assert denied(pod, two_keys()) == (
            "the Pod's own node affinity has 33 terms and the devices that fit need "
            "2 alternatives: more than 64 terms together; write fewer terms, or name a device"
        )
        assert len(required(admitted(pod, pfn())) or ()) == 33

    @pytest.mark.rule("N3")
    def test_exactly_64_terms_are_not(self) -> None:
        pod = asking().terms(*(term(expression("zone", "In", f"z{n}")) for n in range(32)))

        assert len(required(admitted(pod, two_keys())) or ()) == 64

    @pytest.mark.rule("N3")
    def test_the_limit_counts_what_is_written(self) -> None:
        """Terms that fit no alternative, or lie within one, do not multiply."""
        theirs = [
            term(model_in("cpu"), expression("accelerator", "In", f"z{n}")) for n in range(99)
        ]

        zone = expression("zone", "Exists")
        theirs += [term(zone), term(model_in(A30)), term()]

        assert required(admitted(asking().terms(*theirs), two_keys())) == [
            term(zone, model_in(A30)),
            term(zone, expression("accelerator", "In", "l4")),
            term(model_in(A30)),
            term(),
        ]


class TestOwnSelectors:
    """N4: what the user wrote narrows the candidates and is never overwritten."""

    @pytest.mark.rule("N4")
    @pytest.mark.parametrize(
        ("pod", "models"),
        [
            pytest.param(asking().selector(gpu_model=A30), [A30], id="nodeSelector"),
            pytest.param(asking().terms(term(model_in(A30, "x"))), [A30], id="In"),
            pytest.param(
                asking().terms(term(expression("gpu-model", "NotIn", V16, V32))),
                [A30, A100],
                id="NotIn",
            ),
            pytest.param(
                asking().terms(term(expression("gpu-model", "Exists"))), EVERY, id="Exists"
            ),
            pytest.param(
                asking().terms(term(expression("gpu-model", "Gt", "7"))),
                EVERY,
                id="Gt says nothing",
            ),
            pytest.param(
                asking().terms(term(expression("gpu-model", "Lt", "7"))),
                EVERY,
                id="Lt says nothing",
            ),
            pytest.param(
                asking().terms(term(expression("zone", "In", "x"))), EVERY, id="a key of no row"
            ),
            pytest.param(
                asking().terms(term(model_in(A30)), term(model_in(V16))),
                [V16, A30],
                id="one term is enough",
            ),
            pytest.param(
                asking().selector(gpu_model=A30).terms(term(expression("zone", "Exists"))),
                [A30],
                id="nodeSelector binds every term",
            ),
            pytest.param(
                asking().terms(term(model_in(A30), model_in(V16)), term(model_in(V32))),
                [V32],
                id="a term that contradicts itself",
            ),
        ],
    )
    def test_candidates(self, pod: PodBuilder, models: list[str]) -> None:
        resolution = outcome(pod, pfn()).resolution

        assert resolution is not None
        assert [row.id for row in resolution.candidates] == models

    @pytest.mark.rule("N4", "D5")
    def test_selectors_narrow_before_the_smallest_is_chosen(self) -> None:
        spec = admitted(asking().high().selector(gpu_model=A100), pfn())["spec"]

        assert spec["nodeSelector"] == {"gpu-model": A100}

    @pytest.mark.rule("N4")
    @pytest.mark.parametrize(
        ("pod", "theirs"),
        [
            pytest.param(
                asking(any_40gb=1).selector(gpu_model=A30, zone="x"),
                "gpu-model=a30-24gb",
                id="nodeSelector",
            ),
            pytest.param(
                asking(any_40gb=1).terms(term(model_in(A30)), term(model_in(V16, V32))),
                "gpu-model=a30-24gb or gpu-model In [v100-16gb, v100-32gb]",
                id="terms",
            ),
            pytest.param(
                asking(any_40gb=1).terms(term(expression("gpu-model", "DoesNotExist"))),
                "gpu-model DoesNotExist",
                id="DoesNotExist",
            ),
        ],
    )
    def test_none_left_names_both_sides(self, pod: PodBuilder, theirs: str) -> None:
        assert denied(pod, pfn()) == (
            f"the Pod's nodeSelector or affinity ({theirs}) excludes every device for "
            "gpu-any-40gb (a100-80gb: gpu-model=a100-80gb); remove it or change the spec"
        )

    @pytest.mark.rule("N4")
    @pytest.mark.parametrize(
        ("said", "rows"),
        [
            pytest.param([expression("accelerator", "In", "l4")], ["l4-24gb"], id="In"),
            pytest.param([expression("accelerator", "Exists")], ["l4-24gb"], id="Exists"),
            pytest.param([expression("accelerator", "DoesNotExist")], [A30], id="DoesNotExist"),
            pytest.param([expression("accelerator", "NotIn", "l4")], [A30], id="NotIn"),
            pytest.param(
                [expression("accelerator", "NotIn", "x")], [A30, "l4-24gb"], id="NotIn another"
            ),
            pytest.param(
                [expression("accelerator", "Exists"), expression("accelerator", "DoesNotExist")],
                [],
                id="both",
            ),
        ],
    )
    def test_a_row_that_says_nothing_of_a_label_of_others_has_none(
        self, said: list[Json], rows: list[str]
    ) -> None:
        """Rows are told apart by that key, so nodes of this one do not have it."""
        resolution = outcome(asking().terms(term(*said)), two_keys()).resolution

        assert resolution is not None
        assert [row.id for row in resolution.candidates] == rows

    @pytest.mark.rule("N4", "D10")
    def test_no_row_is_chosen_by_two_terms_that_each_exclude_it(self) -> None:
        """One term excludes the smaller card by architecture, the other by label."""
        pod = asking().terms(
            term(model_in(V16), expression("kubernetes.io/arch", "In", "arm64")),
            term(model_in(A30), expression("kubernetes.io/arch", "In", "amd64")),
        )

        assert admitted(pod.high(), pfn())["spec"]["nodeSelector"] == {"gpu-model": A30}

    @pytest.mark.rule("D10")
    @pytest.mark.parametrize(
        ("pod", "wants"),
        [
            pytest.param(asking().spec(os={"name": "windows"}), "os windows", id="os"),
            pytest.param(
                asking().selector(**{"kubernetes.io/arch": "arm64"}),
                "kubernetes.io/arch=arm64",
                id="architecture",
            ),
            pytest.param(
                asking().terms(
                    term(model_in(A30), expression("kubernetes.io/arch", "In", "arm64", "s390x")),
                    term(model_in("cpu")),
                ),
                "kubernetes.io/arch In [arm64, s390x]",
                id="the term that the label admits",
            ),
        ],
    )
    def test_another_platform(self, pod: PodBuilder, wants: str) -> None:
        assert denied(pod, pfn()) == (
            f"the Pod wants {wants}, the devices that fit are on linux/amd64; "
            "change spec.os or the architecture selector, or ask for another device"
        )


def gpu_taint(value: str) -> Json:
    return tolerate("gpu-model", value)


class TestTolerations:
    """N5: those of the candidates only, appended, and none twice."""

    @pytest.mark.rule("N5")
    def test_those_of_the_candidates_and_no_other(self) -> None:
        spec = admitted(asking(any_24gb=1), pfn())["spec"]

        assert spec["tolerations"] == [gpu_taint(V32), gpu_taint(A30), gpu_taint(A100)]

    @pytest.mark.rule("N5")
    @pytest.mark.parametrize(
        ("there", "added"),
        [
            pytest.param([{"operator": "Exists"}], False, id="everything"),
            pytest.param([{"operator": "Exists", "key": ""}], False, id="everything, empty key"),
            pytest.param(
                [{"operator": "Exists", "effect": "NoSchedule"}],
                False,
                id="everything of the effect",
            ),
            pytest.param(
                [{"operator": "Exists", "effect": "NoExecute"}], True, id="everything of another"
            ),
            pytest.param([tolerate("gpu-model")], False, id="every value of the key"),
            pytest.param([tolerate("gpu-model", effect=None)], False, id="and every effect"),
            pytest.param([tolerate("gpu-model", effect="")], False, id="an empty effect is every"),
            pytest.param([gpu_taint(A30)], False, id="exactly ours"),
            pytest.param(
                [{"key": "gpu-model", "value": A30, "effect": "NoSchedule"}],
                False,
                id="Equal is the default",
            ),
            pytest.param(
                [{"key": "gpu-model", "value": A30, "operator": "", "effect": "NoSchedule"}],
                False,
                id="so is an empty operator",
            ),
            pytest.param([tolerate("gpu-model", A30, effect=None)], False, id="ours, every effect"),
            pytest.param([gpu_taint(V16)], True, id="another value"),
            pytest.param([tolerate("gpu-model", A30, "NoExecute")], True, id="another effect"),
            pytest.param([tolerate("gpu", A30)], True, id="another key"),
            pytest.param([tolerate("gpu")], True, id="every value of another key"),
            pytest.param(
                [{**gpu_taint(A30), "tolerationSeconds": 0}], True, id="for a time covers nothing"
            ),
            pytest.param(
                [{"operator": "Exists", "tolerationSeconds": 60}], True, id="everything for a time"
            ),
            pytest.param(
                [{**gpu_taint(A30), "tolerationSeconds": None}], False, id="for ever, as null"
            ),
            pytest.param([{**gpu_taint(A30), "operator": "Gt"}], True, id="unknown operator"),
            pytest.param([{"key": "gpu-model", "value": None}], True, id="no value"),
            pytest.param([None, {}], True, id="what is no toleration"),
        ],
    )
    def test_existing_ones(self, there: list[Json], added: bool) -> None:  # noqa: FBT001
        after = admitted(asking().selector(gpu_model=A30).tolerates(*there), pfn())

        assert after["spec"]["tolerations"] == [*there, *([gpu_taint(A30)] if added else [])]

    @pytest.mark.rule("N5")
    @pytest.mark.parametrize(
        ("wanted", "there", "added"),
        [
            pytest.param({}, tolerate("gpu", "x", None), False, id="the same"),
            pytest.param({}, tolerate("gpu", "x"), True, id="theirs has one effect, ours every"),
            pytest.param(
                {"operator": "Exists", "value": None},
                tolerate("gpu", "x", None),
                True,
                id="one value",
            ),
            pytest.param(
                {"operator": "Exists", "value": None},
                tolerate("gpu", effect=None),
                False,
                id="both",
            ),
            pytest.param(
                {"value": None}, {"key": "gpu", "value": "", "effect": ""}, False, id="empty values"
            ),
            pytest.param(
                {"operator": "Exists", "value": None},
                {"key": "gpu", "value": "", "effect": ""},
                True,
                id="only the empty value",
            ),
        ],
    )
    def test_a_row_that_tolerates_every_effect(
        self,
        wanted: Json,
        there: Json,
        added: bool,  # noqa: FBT001
    ) -> None:
        ours = {"key": "gpu", "value": "x", **wanted}
        row = make_row("a30-24gb", tolerations=[{k: v for k, v in ours.items() if v is not None}])

        after = admitted(asking().tolerates(there), Snapshot(make_table(row)))

        assert (len(after["spec"]["tolerations"]) == 2) is added

    @pytest.mark.rule("N5")
    @pytest.mark.parametrize("there", [None, []])
    def test_a_list_that_is_missing_or_empty(self, there: list[Json] | None) -> None:
        after = admitted(asking(a30=1).spec(tolerations=there), pfn())

        assert after["spec"]["tolerations"][0] == gpu_taint(A30)

    @pytest.mark.rule("N5")
    def test_rows_that_share_a_taint(self) -> None:
        taint = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        rows = [make_row("a30-24gb", tolerations=taint), make_row("l4-24gb", tolerations=taint)]

        after = admitted(asking(), Snapshot(make_table(*rows)))

        assert after["spec"]["tolerations"] == taint


def costs(*steps: int, **fields: object) -> Snapshot:
    """A row a step, named after its place."""
    rows = [make_row(f"r{place}-24gb", cost=cost) for place, cost in enumerate(steps)]
    return Snapshot(make_table(*rows, **fields))


class TestCheaperFirst:
    """N6: a preferred term a cost step, cumulative, with geometric weights."""

    @pytest.mark.rule("N6")
    @pytest.mark.parametrize(
        ("steps", "expected"),
        [
            (0, ()),
            (1, ()),
            (2, (100,)),
            (3, (100, 10)),
            (4, (100, 10, 1)),
            (5, (100, 22, 5, 1)),
            (6, (100, 32, 10, 3, 1)),
            (8, (100, 46, 22, 10, 5, 2, 1)),
        ],
    )
    def test_weights(self, steps: int, expected: Sequence[int]) -> None:
        assert weights(steps) == expected

    @pytest.mark.rule("N6")
    @pytest.mark.parametrize("steps", range(2, 60))
    def test_weights_never_rise_nor_leave_what_kubernetes_takes(self, steps: int) -> None:
        found = weights(steps)

        assert len(found) == steps - 1
        assert found[0] == 100
        assert found[-1] == (1 if steps > 3 else 10 ** (4 - steps))
        assert all(1 <= low <= high <= 100 for high, low in pairwise(found))

    @pytest.mark.rule("N6")
    def test_every_term_holds_all_up_to_its_step(self) -> None:
        assert preferred(admitted(asking(), pfn())) == [
            (100, [model_in(V16)]),
            (10, [model_in(V16, V32)]),
            (1, [model_in(V16, V32, A30)]),
        ]

    @pytest.mark.rule("N6")
    def test_a_step_is_a_cost_not_a_row(self) -> None:
        assert preferred(admitted(asking(), costs(1, 1, 5, 5))) == [
            (100, [model_in("r0-24gb", "r1-24gb")])
        ]

    @pytest.mark.rule("N6")
    def test_alternatives_are_each_a_term_of_the_weight(self) -> None:
        table = make_table(
            make_row("l4-24gb", nodes={"matchLabels": {"accelerator": "l4"}}, cost=1),
            make_row("a30-24gb", cost=1),
            make_row("a100-80gb", cost=2),
        )

        assert preferred(admitted(asking(), Snapshot(table))) == [
            (100, [model_in(A30)]),
            (100, [expression("accelerator", "In", "l4")]),
        ]

    @pytest.mark.rule("N6")
    @pytest.mark.parametrize(
        ("pod", "snapshot"),
        [
            pytest.param(asking(), costs(3, 3), id="one cost"),
            pytest.param(asking(a30=1), pfn(), id="one candidate"),
            pytest.param(asking().high(), pfn(), id="one candidate by policy"),
            pytest.param(asking(), costs(1, 2, preferCheaper=False), id="turned off"),
        ],
    )
    def test_nothing_is_preferred_where_nothing_is_cheaper(
        self, pod: PodBuilder, snapshot: Snapshot
    ) -> None:
        assert preferred(admitted(pod, snapshot)) == []

    @pytest.mark.rule("N6")
    def test_the_users_own_preferences_stay_first(self) -> None:
        """What a retry plugin added is kept, and ours come behind it."""
        theirs = {"weight": 7, "preference": term(expression("host", "NotIn", "h1"))}

        after = admitted(asking().prefers(theirs), costs(1, 2))

        assert preferred(after) == [
            (7, [expression("host", "NotIn", "h1")]),
            (100, [model_in("r0-24gb")]),
        ]

    @pytest.mark.rule("N6")
    def test_a_preference_that_is_there_is_not_added_again(self) -> None:
        ours = {"weight": 100, "preference": term(model_in("r0-24gb"))}

        assert preferred(admitted(asking().prefers(ours), costs(1, 2))) == [
            (100, [model_in("r0-24gb")])
        ]

    @pytest.mark.rule("N6")
    @pytest.mark.parametrize("steps", [(1,), (1, 2)])
    def test_away_from_suspect_nodes(self, steps: tuple[int, ...]) -> None:
        after = admitted(asking(), costs(*steps, health={}))

        assert preferred(after)[-1] == (
            1,
            [expression("gpuspec.preferred.jp/health", "NotIn", "suspect")],
        )


def reserved_for(row_id: str) -> Json:
    return tolerate("gpuspec.preferred.jp/reserved", row_id)


class TestReserved:
    """N9: naming a row brings the toleration of its reserve taint, reserved today or not."""

    @pytest.mark.rule("N9")
    @pytest.mark.parametrize(
        ("pod", "rows"),
        [
            pytest.param(asking(a30=1), [A30], id="a name"),
            pytest.param(asking(v100=1), [V16, V32], id="a name of two rows"),
            pytest.param(asking(v100_24gb=1), [V32], id="only candidates"),
            pytest.param(asking(v100=1).high(), [V16], id="only what the policy leaves"),
            pytest.param(asking(), [], id="any names none"),
            pytest.param(
                make_pod().container("a", any=1).container("b", a30=1),
                [A30],
                id="anywhere in the Pod",
            ),
        ],
    )
    def test_tolerations(self, pod: PodBuilder, rows: list[str]) -> None:
        tolerations = admitted(pod, pfn())["spec"]["tolerations"]

        assert [one for one in tolerations if one["key"] == "gpuspec.preferred.jp/reserved"] == [
            reserved_for(row) for row in rows
        ]

    @pytest.mark.rule("N9", "D6")
    @pytest.mark.parametrize("reserved", [True, False])
    def test_reserved_today_or_not(self, reserved: bool) -> None:  # noqa: FBT001
        table = make_table(make_row("a30-24gb", aliases=["ampere"], reserved=reserved))

        for spec in ("a30", "ampere"):
            after = admitted(asking(**{spec: 1}), Snapshot(table))
            assert after["spec"]["tolerations"] == [reserved_for(A30)]

    @pytest.mark.rule("N9")
    def test_a_zero_names_nothing(self) -> None:
        pod = make_pod().container("a", any=1).container("b", a30=0)

        tolerations = admitted(pod, pfn())["spec"]["tolerations"]

        assert reserved_for(A30) not in tolerations


@pytest.mark.rule("D6")
def test_a_reserved_row_is_not_offered() -> None:
    table = make_table(make_row("a30-24gb"), make_row("a100-80gb", reserved=True))

    assert admitted(asking(), Snapshot(table))["spec"]["nodeSelector"] == {"gpu-model": A30}
    assert outcome(asking(any_80gb=1), Snapshot(table)).reason is Reason.NO_SUCH_DEVICE
    assert denied(asking(any_80gb=1), Snapshot(table)) == (
        'container "main": preferred.jp/gpu-any-80gb: the largest device has 24 GB; '
        "write preferred.jp/gpu-any-24gb or less; "
        "a100-80gb fits but is reserved: write preferred.jp/gpu-a100-80gb"
    )
