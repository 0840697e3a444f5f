"""Reviews of SelectionTables in, answers out (R6, R7, R8 and the laws of design §3)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import UID, Json, make_row
from webhook.admission.reasons import Reason
from webhook.admission.review import Undecidable
from webhook.admission.tables import decide_table
from webhook.admission.translate import Verdict

IN_USE = "default"


def table(*rows: Json, name: str = IN_USE, **spec: object) -> Json:
    return {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": name, "uid": "1", "managedFields": [{"manager": "kubectl"}]},
        "spec": {"devices": list(rows or (make_row("a100-80gb"),)), **spec},
    }


def review(operation: str, new: object = None, old: object = None, **request: object) -> Json:
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "resource": {
                "group": "gpuspec.preferred.jp",
                "version": "v1alpha1",
                "resource": "selectiontables",
            },
            "name": IN_USE,
            "operation": operation,
            "object": new,
            "oldObject": old,
            **request,
        },
    }


def answer(document: Json) -> Any:  # noqa: ANN401 - any JSON
    return decide_table(document, IN_USE).answer["response"]


def refusal(document: Json) -> list[str]:
    """The lines of a denial."""
    response = answer(document)
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["reason"]) == (422, "Invalid")
    message: str = response["status"]["message"]
    return message.split("\n")


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    "document",
    [
        review("CREATE", table()),
        review("CREATE", table(), dryRun=True),
        review("UPDATE", table(make_row("a30-24gb")), table()),
    ],
    ids=["create", "dry-run", "update"],
)
def test_a_good_table_is_stored(document: Json) -> None:
    decision = decide_table(document, IN_USE)
    assert decision.answer["response"] == {"uid": UID, "allowed": True}
    assert (decision.outcome, decision.reason) == (Verdict.UNCHANGED, Reason.GOOD_TABLE)
    assert (decision.name, decision.namespace) == (IN_USE, "")
    assert decision.dry_run is (document["request"].get("dryRun") is True)


_CLAIM = {"deviceClassName": "gpu.nvidia.com", "driver": "gpu.nvidia.com", "products": ["A"]}


@pytest.mark.rule("R6", "R8", "D9")
@pytest.mark.parametrize(
    ("old", "new"),
    [("ExtendedResource", "ResourceClaim"), ("ResourceClaim", "ExtendedResource")],
    ids=["to claims", "and back"],
)
def test_a_row_may_go_from_one_output_to_the_other(old: str, new: str) -> None:
    other = make_row("v100-16gb")
    before, after = (
        table(make_row("a100-80gb", claim=_CLAIM, output=output), other) for output in (old, new)
    )
    response = answer(review("UPDATE", after, before))
    assert response["allowed"] is True
    left_out = (
        "gpu-any up to 16gb gives nvidia.com/gpu only, not a100-80gb (ResourceClaim); rows moved "
        "together do not have this"
    )
    warned = [] if new == "ExtendedResource" else [left_out]
    assert response.get("warnings", []) == warned


@pytest.mark.rule("R6", "G3", "G6")
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_every_problem_is_named_with_its_path_and_its_row(operation: str) -> None:
    bad = table(
        {**make_row("a100-80gb"), "vram": "80", "pernode": 8},
        {**make_row("any-24gb"), "nodes": {}},
        {"vram": "8gb"},
        defaultPolicy="Every",
    )
    decision = decide_table(review(operation, bad, table()), IN_USE)
    assert (decision.outcome, decision.reason) == (Verdict.DENIED, Reason.BAD_TABLE)
    assert refusal(review(operation, bad, table())) == [
        'SelectionTable "default" is refused:',
        (
            'spec.defaultPolicy: defaultPolicy is the text "Every" and should be '
            "'EveryFit' or 'SmallestFit'"
        ),
        "spec.devices[0].pernode (a100): unknown key pernode; did you mean perNode?",
        'spec.devices[0].vram (a100): vram "80" is no nominal memory; write 80gb',
        (
            'spec.devices[1].name (any): name "any" means every device and cannot name one; '
            "use lower-case parts such as a100 or rtx-4090, without the memory"
        ),
        (
            "spec.devices[1].nodes (any): nodes names no label, so every node would match; "
            "give matchLabels or matchExpressions"
        ),
        "spec.devices[2].name: name is missing",
        "spec.devices[2].nodes: nodes is missing",
        "spec.devices[2].perNode: perNode is missing",
        (
            "spec.devices[2].resource: resource is missing, output is ExtendedResource; write the "
            "resource of the device plugin, such as nvidia.com/gpu"
        ),
    ]


def test_a_message_is_bounded_and_counts_the_rest() -> None:
    bad = table(*({**make_row(f"a{number}-8gb"), "vram": "8"} for number in range(500)))
    lines = refusal(review("CREATE", bad))
    assert len("\n".join(lines).encode()) <= 8192
    assert lines[1] == 'spec.devices[0].vram (a0): vram "8" is no nominal memory; write 8gb'
    assert lines[-1] == f"… and {500 - (len(lines) - 2)} more"


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    bad = table({**make_row("a100-80gb"), "name": "a\x1b[2J\nb"})
    assert all(line.isprintable() for line in refusal(review("CREATE", bad)))


@pytest.mark.rule("G1")
def test_the_domain_cannot_change() -> None:
    moved = table({**make_row("a100-80gb"), "vram": "80"}, resourceDomain="example.org")
    assert refusal(review("UPDATE", moved, table())) == [
        'SelectionTable "default" is refused:',
        (
            'spec.resourceDomain: resourceDomain cannot change from "preferred.jp" to '
            '"example.org", '
            "which would leave every preferred.jp/gpu-… untranslated; keep it, or delete the table "
            "and create it anew"
        ),
        'spec.devices[0].vram (a100): vram "80" is no nominal memory; write 80gb',
    ]
    assert refusal(review("UPDATE", table(), table(resourceDomain="example.org")))


@pytest.mark.rule("G1")
@pytest.mark.parametrize("former", ["Not A Domain", 5, None, "preferred.jp"])
def test_a_domain_that_never_was_in_force_may_change(former: object) -> None:
    """Written out, or wrong and stored while nobody validated."""
    new = table(make_row("a30-24gb"))
    assert answer(review("UPDATE", new, table(resourceDomain=former)))["allowed"]


def test_a_bad_table_can_still_be_marked_and_got_rid_of() -> None:
    bad = table({**make_row("a100-80gb"), "vram": "80"})
    marked = deepcopy(bad)
    marked["metadata"] |= {"finalizers": [], "annotations": {"a": "b"}}
    marked["status"] = {"rows": []}
    assert answer(review("UPDATE", marked, bad)) == {"uid": UID, "allowed": True}


@pytest.mark.rule("R6")
def test_the_table_in_use_is_not_deleted_by_accident() -> None:
    decision = decide_table(review("DELETE", None, table()), IN_USE)
    assert (decision.outcome, decision.reason) == (Verdict.DENIED, Reason.TABLE_IN_USE)
    assert refusal(review("DELETE", None, table())) == [
        (
            'SelectionTable "default" is in use, and without it the built-in table would decide; '
            "to delete it all the same, first run: kubectl annotate selectiontable default "
            "gpuspec.preferred.jp/allow-delete=true"
        )
    ]
    # the deletion of a whole collection names nothing but the object
    assert refusal(review("DELETE", None, table(), name=""))


@pytest.mark.parametrize(
    ("annotation", "allowed"), [("true", True), ("false", False), ("", False), (None, False)]
)
def test_the_annotation_allows_it(annotation: object, *, allowed: bool) -> None:
    old = table()
    old["metadata"]["annotations"] = {"gpuspec.preferred.jp/allow-delete": annotation}
    assert answer(review("DELETE", None, old))["allowed"] is allowed


def test_other_tables_come_and_go_with_a_word_on_what_they_do() -> None:
    other = table(name="other")
    assert answer(review("CREATE", other, name="other")) == {
        "uid": UID,
        "allowed": True,
        "warnings": ['this table decides nothing, the one in use is called "default"'],
    }
    assert answer(review("DELETE", None, other, name="other"))["allowed"]


@pytest.mark.rule("R8")
def test_smells_are_warnings_the_first_five_of_them() -> None:
    rows = [make_row(f"m{number}-8gb", aliases=["x", f"h{number}99"]) for number in range(9)]
    warnings = answer(review("CREATE", table(*rows)))["warnings"]
    assert warnings == [
        f"alias h{number}99 has no part in common with m{number}-8gb; remove it if "
        f"gpu-h{number}99 should not mean that card"
        for number in range(5)
    ]
    assert all(len(warning) <= 120 for warning in warnings)


@pytest.mark.rule("R1")
@pytest.mark.parametrize(
    "request_",
    [
        {"operation": "CONNECT"},
        {"subResource": "status"},
        {"resource": {"group": "", "version": "v1", "resource": "pods"}},
        {"resource": {"group": "example.org", "resource": "selectiontables"}},
        {"resource": None},
    ],
    ids=str,
)
def test_anything_else_is_allowed(request_: Json) -> None:
    document = review("CREATE", table({"bad": 1}))
    document["request"] |= request_
    decision = decide_table(document, IN_USE)
    assert decision.answer["response"] == {"uid": UID, "allowed": True}
    assert decision.reason is Reason.OTHER_OPERATION


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("document", "message"),
    [
        (review("CREATE"), "request.object is no SelectionTable; send the object"),
        (review("UPDATE", [], table()), "request.object is no SelectionTable; send the object"),
        (review("UPDATE", table()), "request.oldObject is no SelectionTable; send the object"),
        (review("DELETE"), "request.oldObject is no SelectionTable; send the object"),
        ({}, "the body is no AdmissionReview; send one of admission.k8s.io/v1"),
    ],
    ids=["no object", "a list", "no old object", "nothing to delete", "no review"],
)
def test_what_cannot_be_judged_is_no_denial(document: Json, message: str) -> None:
    with pytest.raises(Undecidable) as caught:
        decide_table(document, IN_USE)
    assert (caught.value.status, caught.value.message) == (400, message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "metadata", "name", "devices", "annotations", "vram", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.rule("R6")
@given(
    operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]),
    new=st.dictionaries(st.sampled_from(["spec", "metadata", "kind"]), JSON),
    old=st.dictionaries(st.sampled_from(["spec", "metadata"]), JSON),
)
def test_objects_of_any_shape_are_answered(operation: str, new: Json, old: Json) -> None:
    response = answer(review(operation, new, old))
    assert response["uid"] == UID
    assert response["allowed"] or len(response["status"]["message"].encode()) <= 8192
