"""Where DeviceTaintRules are served differs between versions, and is found out (H7)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from webhook.controllers.rules_mirror import RulesMirror
from webhook.kube.cluster import Cluster
from webhook.kube.errors import UnreachableError

Json = dict[str, Any]


class Discovered:
    """An API server that serves the rules in some versions, one rule in each."""

    def __init__(self, *versions: str, over: threading.Event) -> None:
        self.versions = versions
        self.over = over
        self.down = False

    def get(self, path: str, **_: str) -> Json:
        if self.down:
            self.down = False
            raise UnreachableError("no answer")
        if path == "/apis":
            served = [{"version": one} for one in ("v1", "v1beta2", "v1beta1", "v1alpha3")]
            return {"groups": [{"name": "resource.k8s.io", "versions": served}]}
        has_rules = path.rpartition("/")[2] in self.versions
        return {"resources": [{"name": "devicetaintrules"}] if has_rules else [{"name": "x"}]}

    def pages(self, path: str, **_: str) -> Iterator[tuple[str, list[Json]]]:
        yield "1", [{"metadata": {"name": path}, "spec": {"taint": {}}}]

    def watch(self, *_: object, **__: str) -> Iterator[Json]:
        self.over.set()
        yield from ()


def mirrored(*versions: str, down: bool = False) -> RulesMirror:
    over = threading.Event()
    server = Discovered(*versions, over=over)
    server.down = down

    def changed() -> None:
        if not versions:
            over.set()

    mirror = RulesMirror(cast("Cluster", server), changed, lambda _: None)
    mirror.run(over)
    return mirror


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    ("versions", "path"),
    [
        (("v1", "v1beta2", "v1alpha3"), "/apis/resource.k8s.io/v1/devicetaintrules"),
        (("v1alpha3", "v1beta2"), "/apis/resource.k8s.io/v1beta2/devicetaintrules"),
        (("v1alpha3",), "/apis/resource.k8s.io/v1alpha3/devicetaintrules"),
    ],
)
def test_the_newest_version_that_has_them_is_followed(versions: tuple[str, ...], path: str) -> None:
    mirror = mirrored(*versions)
    assert mirror.served_at == path
    assert mirror.synced
    assert [one.name for one in mirror.held() or ()] == [path]


@pytest.mark.rule("H7")
def test_where_there_are_none_that_is_known() -> None:
    mirror = mirrored()
    assert mirror.synced
    assert mirror.served_at is None
    assert mirror.held() is None


def test_nothing_is_known_while_nobody_answers() -> None:
    over = threading.Event()
    server = Discovered(over=over)
    server.down = True
    said: list[str] = []

    def troubled(why: str) -> None:
        said.append(why)
        over.set()

    mirror = RulesMirror(cast("Cluster", server), lambda: None, troubled)
    mirror.run(over)
    assert said == ["no answer"]
    assert not mirror.synced
    assert mirror.trouble == "no answer"
