"""What a cluster's PriorityClasses make of a Pod's priority, for each verb that goes by it (D3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.builders import Json, asking, make_pod
from tests.webhook.cli.clusters import priority_class, use_cluster
from tests.webhook.cli.running import TABLE, answer, run
from webhook.kube.errors import ApiError

VIP = priority_class("vip", 2_000_000)
LOW = priority_class("low", 5)
EVERY, SMALLEST = ["v100-32gb", "a30-24gb", "a100-80gb"], ["a30-24gb"]
MISSING = "no PriorityClass with name nope was found"

pytestmark = pytest.mark.rule("D3")


def table(*priorities: Json) -> Json:
    """The worked candidates' table as a cluster has it, with other rules."""
    raw: Json = yaml.safe_load(Path(TABLE).read_text(encoding="utf-8"))
    raw["metadata"] = {"name": "default"}
    raw["spec"]["priorities"] = list(priorities)
    return raw


BY_NUMBER = table({"minValue": 1_000_000, "policy": "SmallestFit"})
BY_CLASS = table({"classNames": ["vip"], "policy": "SmallestFit"})
WITHOUT = table()


def pod(**fields: object) -> str:
    return json.dumps(asking(any_24gb=1).spec(**fields).build())


def candidates(*arguments: str, stdin: str | None = None) -> list[str]:
    """Which rows explain finds, with nothing on stderr."""
    result = run("explain", *arguments, "--cluster", "-o", "json", stdin=stdin)
    assert result.stderr == ""
    found = answer(result)
    rows: list[str] = (found[0] if stdin else found)["candidates"]
    return rows


@pytest.mark.parametrize(
    ("default", "classes", "said", "wanted"),
    [
        pytest.param(BY_NUMBER, [VIP, LOW], "vip", SMALLEST, id="number-of-a-class"),
        pytest.param(BY_NUMBER, [VIP, LOW], "low", EVERY, id="small-number"),
        pytest.param(BY_NUMBER, [VIP, LOW], None, EVERY, id="no-class-is-zero"),
        pytest.param(
            BY_NUMBER,
            [LOW, priority_class("all", 1_000_000, is_default=True)],
            None,
            SMALLEST,
            id="default-class-by-number",
        ),
        pytest.param(
            BY_CLASS,
            [priority_class("vip", 7, is_default=True)],
            None,
            SMALLEST,
            id="default-class-by-name",
        ),
        pytest.param(
            BY_NUMBER,
            [
                priority_class("a", 1_000_000, is_default=True),
                priority_class("b", 999_999, is_default=True),
            ],
            None,
            EVERY,
            id="of-two-defaults-the-smaller",
        ),
    ],
)
def test_class_and_number_are_filled_in(
    default: Json,
    classes: list[Json],
    said: str | None,
    wanted: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_cluster(monkeypatch, classes=classes, default=default)
    option = ["--priority-class", said] if said else []
    fields = {"priorityClassName": said} if said else {}
    assert candidates("any-24gb", *option) == wanted
    assert candidates("-f", "-", stdin=pod(**fields)) == wanted
    assert candidates("-f", "-", *option, stdin=pod()) == wanted
    mutated = run("mutate", "-f", "-", "--cluster", "-o", "json", stdin=pod(**fields))
    assert mutated.stderr == ""
    ((_, request),) = answer(mutated)["metadata"]["annotations"].items()
    assert json.loads(request)["candidates"] == wanted
    offered = run("offers", "any-24gb", *option, "-o", "json")
    assert offered.stderr == ""
    assert answer(offered, code=1)["offers"][0]["candidates"] == wanted


@pytest.mark.parametrize("default", [BY_NUMBER, BY_CLASS, WITHOUT], ids=["number", "class", "none"])
def test_a_class_that_does_not_exist_is_refused_as_the_api_server_does(
    default: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cluster(monkeypatch, classes=[VIP], default=default)
    option = ("--priority-class", "nope")
    text = run("explain", "any-24gb", *option, "--cluster")
    assert (text.exit_code, text.stdout, text.stderr) == (1, f"denied\n  {MISSING}\n", "")
    found = answer(run("explain", "any-24gb", *option, "--cluster", "-o", "json"), code=1)
    assert (found["allowed"], found["message"], found["rows"]) == (False, MISSING, [])
    # A number that was said as well does not make it exist.
    assert run("explain", "any", *option, "--priority", "7", "--cluster").exit_code == 1
    mutated = run("mutate", "-f", "-", "--cluster", stdin=pod(priorityClassName="nope"))
    assert (mutated.exit_code, mutated.stdout) == (1, "")
    assert mutated.stderr == f"error: Pod/train spec.priorityClassName: {MISSING}\n"
    offered = run("offers", *option)
    assert (offered.exit_code, offered.stdout) == (1, "")
    assert offered.stderr == f"error: spec.priorityClassName: {MISSING}\n"


def test_a_pod_s_own_number_has_to_be_that_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch, classes=[VIP], default=BY_NUMBER)
    right = pod(priorityClassName="vip", priority=2_000_000)
    assert candidates("-f", "-", stdin=right) == SMALLEST
    wrong = run("explain", "-f", "-", "--cluster", stdin=pod(priority=7))
    assert wrong.stdout == (
        "Pod/train\n"
        "denied\n"
        "  the integer value of priority (7) must not be provided in pod spec; priority\n"
        "  admission controller computed 0 from the given PriorityClass name\n"
    )


def test_a_stored_pod_has_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class may have gone since, and its number is not what the class has by now."""
    use_cluster(monkeypatch, classes=[LOW], default=BY_NUMBER)
    stored = json.loads(pod(priorityClassName="nope", priority=2_000_000))
    stored["metadata"]["uid"] = "u"
    assert candidates("-f", "-", stdin=json.dumps(stored)) == SMALLEST


def test_a_manifest_may_bring_its_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch, classes=[LOW], default=BY_NUMBER)
    own = json.dumps({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **VIP})
    both = f"{own}\n---\n{pod(priorityClassName='vip')}"
    assert candidates("-f", "-", stdin=both) == SMALLEST
    assert run("mutate", "-f", "-", "--cluster", stdin=both).exit_code == 0


def test_a_pod_that_asks_for_no_gpu_is_none_of_our_business(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_cluster(monkeypatch, classes=[], default=BY_NUMBER)
    other = make_pod().container("main").spec(priorityClassName="nope").build()
    result = run("mutate", "-f", "-", "--cluster", "-o", "json", stdin=json.dumps(other))
    assert answer(result) == other


REFUSED = ApiError(
    "GET",
    403,
    "Forbidden",
    'priorityclasses.scheduling.k8s.io is forbidden: User "u" cannot list resource '
    '"priorityclasses" in API group "scheduling.k8s.io" at the cluster scope',
)


def test_where_classes_may_not_be_read_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch, classes=REFUSED, default=BY_NUMBER)
    two = f"{pod(priorityClassName='vip')}\n---\n{pod(priorityClassName='nope')}"
    result = run("mutate", "-f", "-", "--cluster", stdin=two)
    assert result.exit_code == 0
    assert result.stderr == (
        f"note: {REFUSED.message}; judged without them\n"
        "note: Pod/train: the number of priority class vip is not known; under SmallestFit it "
        "would be a30-24gb (say --priority)\n"
        "note: Pod/train: the number of priority class nope is not known; under SmallestFit it "
        "would be a30-24gb (say --priority)\n"
    )


@pytest.mark.parametrize(
    ("default", "arguments"),
    [
        pytest.param(BY_NUMBER, ["--priority", "7"], id="the-number-was-said"),
        pytest.param(WITHOUT, [], id="nothing-goes-by-priority"),
    ],
)
def test_nobody_asks_for_what_does_not_matter(
    default: Json, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cluster(monkeypatch, classes=REFUSED, default=default)
    assert candidates("any-24gb", *arguments) == EVERY


def test_a_cluster_that_stops_answering(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch, classes=ApiError("GET x", 500, "", "etcd is gone"), default=BY_NUMBER)
    result = run("explain", "any", "--cluster")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "the cluster refuses: GET x: 500 etcd is gone\n"
