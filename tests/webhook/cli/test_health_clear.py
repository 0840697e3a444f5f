"""``gpuspec health clear``: marks of ours are removed because a person says so (H10)."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from tests.builders import DRIVER
from tests.webhook.advice.health.ward import NODES, NOW, RULES, Ward, use_ward
from tests.webhook.cli.running import run
from tests.webhook.cli.test_health import SUSPECT, TAINT, flat, record
from tests.webhook.cli.test_health_explain import slice_of
from webhook.cli import main
from webhook.health.cases import Mark
from webhook.health.stored import record_of, record_text
from webhook.kube.errors import ApiError
from webhook.terms import VERDICTS_ANNOTATION

pytestmark = pytest.mark.rule("H10")

FOREIGN = {"key": "team", "value": "a", "effect": "NoSchedule"}


def marked() -> Ward:
    """A cluster with marks on two nodes, one of which is tainted by others as well."""
    ward = Ward()
    ward.node("n1", taints=[FOREIGN, TAINT], labels=SUSPECT, record=record("n1"))
    ward.node("n2").node("n3", labels={"gpuspec.preferred.jp/health": "fine"})
    ward.put("/apis/resource.k8s.io/v1/resourceslices/s", slice_of("n2", {"gpu-0": []}))
    ward.rule("gpuspec-a", "gpu-0").rule("theirs", "gpu-0", is_ours=False)
    return ward.rule("gpuspec-b", "gpu-gone")


def clear(monkeypatch: pytest.MonkeyPatch, ward: Ward, *arguments: str) -> Result:
    use_ward(monkeypatch, ward)
    return run("health", "clear", *arguments)


def test_what_is_ours_goes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    result = clear(monkeypatch, ward, "--all", "--yes")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        (
            "node n1: taint gpuspec.preferred.jp/unhealthy:NoSchedule, label "
            "gpuspec.preferred.jp/health=suspect"
        ),
        "node n2: DeviceTaintRule gpuspec-a",
        "devices that are on no node: DeviceTaintRule gpuspec-b",
    ]
    assert flat(result.stderr) == (
        "Removed. What is still failed is left alone, its Pods too, until there is new evidence: "
        "another signal, the same one after the node was good for long enough to recover, or a "
        "reboot. note: to have gpuspec act at once on a node whose mark a person has removed: "
        "kubectl taint node NODE gpuspec.preferred.jp/unhealthy:NoSchedule; once the node is well "
        "take that off again (kubectl taint node NODE gpuspec.preferred.jp/unhealthy-), for "
        "gpuspec does not remove what a person has placed"
    )
    node = ward.objects[f"{NODES}/n1"]
    assert node["spec"]["taints"] == [FOREIGN]
    assert node["metadata"]["labels"] == {"gpu-model": "v100-16gb"}
    # Whoever leads next knows that it was a person who removed them.
    kept = record_of(node["metadata"]["annotations"][VERDICTS_ANNOTATION], "n1")
    assert kept is not None
    (case,) = kept.cases
    assert (case.mark, case.is_waived, kept.label) == (Mark.NONE, True, False)
    assert [path for path in ward.objects if path.startswith(RULES)] == [f"{RULES}/theirs"]
    labels = ward.objects[f"{NODES}/n3"]["metadata"]["labels"]
    assert labels["gpuspec.preferred.jp/health"] == "fine"


def test_what_is_known_is_forgotten_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    result = clear(monkeypatch, ward, "n1", "--yes", "--forget")
    assert result.stdout.endswith("annotation gpuspec.preferred.jp/verdicts\n")
    assert flat(result.stderr) == (
        "Removed. A controller that runs writes down again what it knows, and that you have "
        "removed its marks; one that starts after this begins afresh."
    )
    assert ward.objects[f"{NODES}/n1"]["metadata"]["annotations"] == {}


def test_other_nodes_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    result = clear(monkeypatch, ward, "n2", "n3", "--yes")
    assert result.stdout.splitlines() == ["node n2: DeviceTaintRule gpuspec-a"]
    assert [path for _, path, _ in ward.writes] == [f"{RULES}/gpuspec-a"]


def test_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().node("n1")
    result = clear(monkeypatch, ward, "n1")
    assert (result.exit_code, result.stdout) == (0, "No mark of ours is there.\n")
    assert not ward.writes


def test_without_a_terminal_it_has_to_be_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    result = clear(monkeypatch, ward, "n1")
    assert result.exit_code == 2
    assert result.stdout.startswith("node n1: taint")
    assert result.stderr == ("nobody to ask: this is no terminal; --yes removes without asking\n")
    assert not ward.writes


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_it_asks_first(monkeypatch: pytest.MonkeyPatch, typed: str, code: int) -> None:
    ward = marked()
    use_ward(monkeypatch, ward)
    monkeypatch.setattr("webhook.cli.health.agreement.is_terminal", lambda: True)
    arguments = ["health", "clear", "n1"]
    result = CliRunner().invoke(main, arguments, input=typed, catch_exceptions=False)
    assert result.exit_code == code
    assert "Remove all this? [y/N]: " in result.stderr
    assert ("nothing was removed" in result.stderr) is bool(code)
    assert bool(ward.writes) is not bool(code)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the nodes, or give --all"),
        (("n1", "--all"), "name the nodes, or give --all"),
        (("n9", "n1", "n8"), "there is no node n8, n9"),
    ],
)
def test_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    ward = marked()
    result = clear(monkeypatch, ward, *arguments, "--yes")
    assert result.exit_code == 2
    assert said in result.stderr
    assert not ward.writes


def test_what_cannot_be_removed_is_named_and_the_rest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = marked()

    def refuse(verb: str, path: str) -> None:
        if verb == "patch":
            raise ApiError(f"PATCH {path}", 403, "Forbidden", "you may not patch nodes")

    ward.before_write = refuse
    result = clear(monkeypatch, ward, "--all", "--yes")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        (
            "error: node n1: taint gpuspec.preferred.jp/unhealthy:NoSchedule stays: PATCH "
            "/api/v1/nodes/n1: 403 Forbidden: you may not patch nodes"
        ),
        (
            "error: node n1: label and annotation stays: PATCH /api/v1/nodes/n1: 403 Forbidden: "
            "you may not patch nodes"
        ),
    ]
    assert [path for path in ward.objects if path.startswith(RULES)] == [f"{RULES}/theirs"]


def test_what_has_gone_meanwhile_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()

    def vanish(verb: str, path: str) -> None:
        if verb == "delete":
            raise ApiError(f"DELETE {path}", 404, "NotFound", "not found")

    ward.before_write = vanish
    assert clear(monkeypatch, ward, "n2", "--yes").exit_code == 0


def test_rules_that_may_not_be_seen_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    ward.refused.add(("list", RULES))
    result = clear(monkeypatch, ward, "n2")
    assert result.stderr == (
        "note: which DeviceTaintRules there are cannot be told: you may not list devicetaintrules\n"
    )


def test_a_kubernetes_without_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    ward.has_rules = False
    result = clear(monkeypatch, ward, "--all", "--yes")
    assert result.stdout.count("\n") == 1
    assert DRIVER not in result.stdout


def test_what_the_controller_writes_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdict is newer than what was shown: in that one the removal is noted."""
    ward = marked()
    newer = record("n1", relapses=3)

    def write_first(verb: str, path: str) -> None:
        if verb == "patch" and "labels" not in last:
            last.add("labels")
            node = ward.objects[f"{NODES}/n1"]
            node["metadata"]["annotations"][VERDICTS_ANNOTATION] = record_text(newer, NOW)
            ward.put(f"{NODES}/n1", node)
        assert path.startswith(NODES)

    last: set[str] = set()
    ward.before_write = write_first
    assert clear(monkeypatch, ward, "n1", "--yes").exit_code == 0
    metadata = ward.objects[f"{NODES}/n1"]["metadata"]
    kept = record_of(metadata["annotations"][VERDICTS_ANNOTATION], "n1")
    assert kept is not None
    (case,) = kept.cases
    assert (case.relapses, case.is_waived) == (3, True)
    assert metadata["labels"] == {"gpu-model": "v100-16gb"}


def test_a_node_that_changes_all_the_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    ward.objects[f"{NODES}/n1"]["spec"]["taints"] = []

    def conflict(verb: str, path: str) -> None:
        raise ApiError(f"{verb} {path}", 409, "Conflict", "changed meanwhile")

    ward.before_write = conflict
    result = clear(monkeypatch, ward, "n1", "--yes")
    assert result.exit_code == 1
    assert "label and annotation stays: patch /api/v1/nodes/n1: 409 Conflict" in result.stderr


def test_another_node_of_the_same_name_was_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = marked()
    use_ward(monkeypatch, ward)
    monkeypatch.setattr("webhook.cli.health.agreement.is_terminal", lambda: True)

    def replaced(*_: object, **__: object) -> bool:
        ward.objects[f"{NODES}/n1"]["metadata"]["uid"] = "another"
        return True

    monkeypatch.setattr("click.confirm", replaced)
    result = run("health", "clear", "n1")
    assert result.exit_code == 1
    said = "another node of this name has come meanwhile"
    assert result.stderr.count(said) == 2
    assert not ward.writes
