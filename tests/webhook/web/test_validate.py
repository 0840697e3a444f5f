"""``POST /validate`` in process: the same envelope as ``/mutate``, and no need of a live table."""

from __future__ import annotations

import orjson
import pytest

from tests.builders import UID, make_row
from tests.webhook.test_tables import review, table
from tests.webhook.web.asgi import Web, refused, without_reason


@pytest.mark.rule("R6")
def test_tables_are_validated_by_a_replica_that_has_none_yet() -> None:
    web = Web(with_table=False)

    good = web.post(orjson.dumps(review("CREATE", table())), "/validate")
    bad = web.post(orjson.dumps(review("CREATE", table({"name": "x"}))), "/validate")

    assert (good.status_code, bad.status_code) == (200, 200)
    assert orjson.loads(good.content)["response"] == {"uid": UID, "allowed": True}
    assert orjson.loads(bad.content)["response"]["allowed"] is False
    assert web.reviews() == {("unchanged", "GoodTable"): 1, ("denied", "BadTable"): 1}
    assert [(line["level"], line["name"], line["reason"]) for line in web.book.lines] == [
        ("info", "default", "GoodTable"),
        ("warning", "default", "BadTable"),
    ]


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is empty; send an AdmissionReview"),
        (b"{}", "the body is no AdmissionReview; send one of admission.k8s.io/v1"),
        (
            orjson.dumps(review("CREATE")),
            "request.object is no SelectionTable; send the object",
        ),
    ],
    ids=["empty", "no review", "no table"],
)
def test_what_cannot_be_judged_is_a_status(body: bytes, message: str) -> None:
    response = Web().post(body, "/validate")

    assert response.status_code == 400
    assert without_reason(response) == refused(400, message)


@pytest.mark.rule("R7")
def test_a_dry_run_is_counted_as_one() -> None:
    web = Web()
    row = make_row("a100-80gb")

    web.post(orjson.dumps(review("CREATE", table(row), dryRun=True)), "/validate")

    assert web.reviews() == {("dry_run", "GoodTable"): 1}


def test_it_is_posted_to() -> None:
    assert Web().get("/validate").status_code == 405
