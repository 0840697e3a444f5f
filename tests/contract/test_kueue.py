"""The component for Kueue's namespaces (C5): one more entry, and nothing else is another."""

from __future__ import annotations

import pytest

from tests.contract.kustomize import Document, built, one, webhook, with_component

LABEL = "gpuspec.preferred.jp/kueue"


@pytest.fixture(scope="module")
def with_kueue() -> tuple[Document, ...]:
    return with_component("kueue")


def _without(document: Document, *fields: str) -> Document:
    return {key: value for key, value in document.items() if key not in fields}


@pytest.mark.rule("C5")
def test_its_namespaces_are_those_that_the_plain_entry_leaves_out(
    with_kueue: tuple[Document, ...],
) -> None:
    plain, queued = one(with_kueue, "MutatingWebhookConfiguration")["webhooks"]
    before = webhook(built("default"))
    everywhere = before["namespaceSelector"]["matchExpressions"]

    def chosen(operator: str) -> Document:
        last = {"key": LABEL, "operator": operator, "values": ["true"]}
        return {"matchExpressions": [*everywhere, last]}

    assert plain["namespaceSelector"] == chosen("NotIn")
    assert queued["namespaceSelector"] == chosen("In")
    assert _without(plain, "namespaceSelector") == _without(before, "namespaceSelector")


@pytest.mark.rule("C5")
def test_both_entries_are_the_same_but_for_their_path(with_kueue: tuple[Document, ...]) -> None:
    plain, queued = one(with_kueue, "MutatingWebhookConfiguration")["webhooks"]
    own = ("name", "namespaceSelector", "clientConfig")

    assert _without(queued, *own) == _without(plain, *own)
    assert queued["clientConfig"]["service"] == {
        **plain["clientConfig"]["service"],
        "path": "/mutate/kueue",
    }


def test_everything_else_is_as_without_it(with_kueue: tuple[Document, ...]) -> None:
    kind = "MutatingWebhookConfiguration"

    assert [one for one in with_kueue if one["kind"] != kind] == [
        one for one in built("default") if one["kind"] != kind
    ]
