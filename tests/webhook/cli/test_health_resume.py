"""``gpuspec health resume``: rows go on that the breaker has stopped (H5)."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from tests.builders import DRIVER
from tests.webhook.advice.health.ward import LEDGER, NOW, READY, Ward, use_ward
from tests.webhook.cli.running import run
from tests.webhook.cli.test_health import LOST, flat, record
from tests.webhook.cli.test_health_explain import claim_of, slice_of
from webhook.cli import main
from webhook.health.ledger import ASKED, Eviction, Ledger
from webhook.health.stored_ledger import ledger_of
from webhook.kube.errors import ApiError

pytestmark = pytest.mark.rule("H5")

STOPPED = Ledger(
    evictions=(Eviction("p", "ml", NOW - 5),),
    breakers={"a30-24gb": NOW - 90, "a100-80gb": NOW - 3700},
)


def resume(monkeypatch: pytest.MonkeyPatch, ward: Ward, *arguments: str) -> Result:
    """Let rows go on; what would come is seen elsewhere, and was agreed to."""
    use_ward(monkeypatch, ward)
    return run("health", "resume", *arguments, "--yes")


def went_on(result: Result) -> list[str]:
    """What is said behind what would come."""
    return [line for line in result.stdout.splitlines() if line[0] != " "][1:]


def ledger(ward: Ward) -> Ledger:
    found = ledger_of(ward.objects[LEDGER]["data"]["ledger"])
    assert found is not None
    return found


def test_a_row_goes_on_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)
    ward.objects[LEDGER]["data"]["other"] = "kept"
    result = resume(monkeypatch, ward, "a30-24gb")
    assert result.exit_code == 0
    assert went_on(result) == [
        "a30-24gb goes on; it was stopped for 1m30s",
        "still stopped: a100-80gb",
    ]
    assert ledger(ward).breakers == {"a100-80gb": NOW - 3700}
    assert ledger(ward).resumed == {"a30-24gb": ASKED}
    assert ledger(ward).evictions == STOPPED.evictions
    assert ward.objects[LEDGER]["data"]["other"] == "kept"


def test_all_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)
    result = resume(monkeypatch, ward, "--all")
    assert went_on(result) == [
        "a100-80gb goes on; it was stopped for 1h1m",
        "a30-24gb goes on; it was stopped for 1m30s",
    ]
    assert not ledger(ward).breakers


def test_while_two_are_stopped_everything_is(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {**STOPPED.breakers, "v100-16gb": NOW - 10}
    result = resume(monkeypatch, Ward().ledger(Ledger(breakers=more)), "v100-16gb")
    assert went_on(result)[1:] == ["still stopped, and so is every row: a100-80gb, a30-24gb"]


@pytest.mark.parametrize("arguments", [(), ("a30-24gb",), ("--all",)])
@pytest.mark.parametrize("has_ledger", [True, False])
def test_nothing_is_stopped(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], *, has_ledger: bool
) -> None:
    ward = Ward().ledger(Ledger()) if has_ledger else Ward()
    result = resume(monkeypatch, ward, *arguments)
    assert (result.exit_code, result.stdout) == (0, "No row is stopped.\n")
    assert not ward.writes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("v100-16gb",), "v100-16gb is not stopped; these are: a100-80gb, a30-24gb"),
        (
            ("x", "v100-16gb", "a30-24gb"),
            "v100-16gb, x are not stopped; these are: a100-80gb, a30-24gb",
        ),
        ((), "name the rows that are to go on, or --all; stopped: a100-80gb, a30-24gb"),
        (("a30-24gb", "--all"), "give either rows or --all"),
    ],
)
def test_a_wrong_row_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    ward = Ward().ledger(STOPPED)
    result = resume(monkeypatch, ward, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not ward.writes


def test_what_the_controller_writes_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)
    newer = Ledger(breakers={**STOPPED.breakers, "v100-16gb": NOW})

    def write_first(*_: str) -> None:
        ward.before_write = lambda *_: None
        ward.ledger(newer)

    ward.before_write = write_first
    assert resume(monkeypatch, ward, "a30-24gb").exit_code == 0
    assert ledger(ward).breakers == {"a100-80gb": NOW - 3700, "v100-16gb": NOW}


def test_it_gives_up_on_a_ledger_that_always_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward()
    ward.ledger(STOPPED)

    def write_first(*_: str) -> None:
        ward.ledger(STOPPED)

    ward.before_write = write_first
    result = resume(monkeypatch, ward, "a30-24gb")
    assert result.exit_code == 2
    assert result.stderr == f"the cluster refuses: PUT {LEDGER}: 409 Conflict: changed meanwhile\n"


def test_what_nobody_can_read_is_not_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger("{")
    result = resume(monkeypatch, ward, "--all")
    assert result.exit_code == 2
    assert result.stderr == (
        "ConfigMap gpuspec-system/gpuspec-health: ledger cannot be read; the controller writes it "
        "again as it knows it, and starts afresh where it was not running\n"
    )
    assert not ward.writes


def test_another_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)
    ward.put(LEDGER.replace("gpuspec-system", "gpu"), ward.objects.pop(LEDGER))
    result = resume(monkeypatch, ward, "--all", "--namespace", "gpu")
    assert "a30-24gb goes on" in result.stdout


def test_a_permission_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)

    def refuse(verb: str, path: str) -> None:
        raise ApiError(f"PUT {path}", 403, "Forbidden", f"you may not {verb} it")

    ward.before_write = refuse
    result = resume(monkeypatch, ward, "--all")
    assert result.exit_code == 2
    assert "you may not replace it; ask an admin for this permission" in result.stderr


def test_a_ledger_that_may_not_be_seen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)
    ward.refused.add(("get", LEDGER))
    result = resume(monkeypatch, ward, "--all")
    assert result.exit_code == 2
    assert "you may not get gpuspec-health; ask an admin for this permission" in result.stderr


def stopped(mode: str = "Evict") -> Ward:
    """A row of ten nodes that has stopped: five of them have failed, with a Pod on each."""
    ward = Ward({"mode": mode})
    for number in range(10):
        name = f"n{number}"
        if number < 5:
            ward.node(name, bad=LOST, record=record(name)).pod(f"train-{number}", name)
        else:
            ward.node(name)
    return ward.ledger(Ledger(breakers={"v100-16gb": NOW - 90}))


COMING = [
    "Once v100-16gb goes on:",
    "  v100-16gb, mode Evict: would quarantine 2 nodes, and evict 2 Pods",
    "    taint 2 nodes gpuspec.preferred.jp/unhealthy:NoSchedule",
    "    evict ml/train-0, ml/train-1",
    "  3 failed nodes or devices would wait until there is budget again",
]


@pytest.mark.rule("H4")
def test_it_says_what_would_come_and_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = stopped()
    use_ward(monkeypatch, ward)
    result = run("health", "resume", "v100-16gb")
    assert result.exit_code == 2
    assert result.stdout.splitlines() == COMING
    assert result.stderr == (
        "nobody to ask: this is no terminal; --yes lets them go on without asking\n"
    )
    assert not ward.writes


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_answers(monkeypatch: pytest.MonkeyPatch, typed: str, code: int) -> None:
    ward = stopped()
    use_ward(monkeypatch, ward)
    monkeypatch.setattr("webhook.cli.health.agreement.is_terminal", lambda: True)
    arguments = ["health", "resume", "--all"]
    result = CliRunner().invoke(main, arguments, input=typed, catch_exceptions=False)
    assert result.exit_code == code
    assert result.stdout.splitlines()[: len(COMING)] == COMING
    assert "Is the sensor right, and are they to go on? [y/N]: " in result.stderr
    assert ("nothing was changed" in result.stderr) is bool(code)
    assert bool(ward.writes) is not bool(code)


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("Observe", ["  v100-16gb, mode Observe: nothing would be done now"]),
        (
            "Quarantine",
            [
                "  v100-16gb, mode Quarantine: would quarantine 2 nodes, and evict 0 Pods",
                "    taint 2 nodes gpuspec.preferred.jp/unhealthy:NoSchedule",
                "  3 failed nodes or devices would wait until there is budget again",
            ],
        ),
    ],
)
def test_what_comes_depends_on_the_mode(
    monkeypatch: pytest.MonkeyPatch, mode: str, said: list[str]
) -> None:
    result = resume(monkeypatch, stopped(mode), "v100-16gb")
    assert result.stdout.splitlines()[1:-1] == said


@pytest.mark.rule("H7")
def test_a_rule_and_whom_it_moves_are_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule takes three steps until somebody is evicted: each is taken beforehand."""
    ward = Ward({"mode": "Evict"}).node("n1").pod("train-0", "n1")
    taint = {"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}
    ward.put("/apis/resource.k8s.io/v1/resourceslices/s", slice_of("n1", {"gpu-0": [taint]}))
    ward.put(
        "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/c", claim_of("train-0", "gpu-0")
    )
    ward.ledger(Ledger(breakers={"v100-16gb": NOW - 90}))
    result = resume(monkeypatch, ward, "v100-16gb")
    assert flat(result.stdout) == (
        "Once v100-16gb goes on: v100-16gb, mode Evict: would quarantine 1 device, and evict 1 Pod "
        f"place a DeviceTaintRule on {DRIVER}/pool/gpu-0, effect NoSchedule evict ml/train-0 "
        "v100-16gb goes on; it was stopped for 1m30s"
    )


def test_while_two_are_stopped_the_other_rows_go_on_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What one row's going on lets go on elsewhere is told, too."""
    ward = stopped().node("a30-1", "a30-24gb", bad=LOST, record=record("a30-1"))
    both = {"v100-16gb": NOW - 90, "a100-80gb": NOW - 80}
    result = resume(monkeypatch, ward.ledger(Ledger(breakers=both)), "a100-80gb")
    assert result.stdout.splitlines()[1:4] == [
        "  a100-80gb, mode Evict: nothing would be done now",
        "  a30-24gb, mode Evict: would quarantine 1 node, and evict 0 Pods",
        "    taint node a30-1 gpuspec.preferred.jp/unhealthy:NoSchedule",
    ]


def test_a_row_that_stops_while_a_person_thinks_was_not_agreed_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = stopped()
    use_ward(monkeypatch, ward)
    monkeypatch.setattr("webhook.cli.health.agreement.is_terminal", lambda: True)

    def think(*_: object, **__: object) -> bool:
        ward.ledger(Ledger(breakers={"v100-16gb": NOW - 90, "a30-24gb": NOW}))
        return True

    monkeypatch.setattr("click.confirm", think)
    assert run("health", "resume", "--all").exit_code == 0
    assert ledger(ward).breakers == {"a30-24gb": NOW}


@pytest.mark.rule("H7")
def test_marks_of_many_devices_are_all_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred marks a step, two for each device: it goes on until nothing new comes."""
    names = {f"gpu-{number:03d}" for number in range(450)}
    taint = {"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}
    ward = Ward({"mode": "Evict", "budget": {"percent": 100}}).node("n1")
    devices = slice_of("n1", {name: [taint] for name in names})
    ward.put("/apis/resource.k8s.io/v1/resourceslices/s", devices)
    ward.ledger(Ledger(breakers={"v100-16gb": NOW - 90}))
    said = flat(resume(monkeypatch, ward, "v100-16gb").stdout)
    assert "would quarantine 450 devices, and evict 0 Pods" in said
    assert "place a DeviceTaintRule on each of 450 devices, effect NoSchedule" in said
    assert "more would follow" not in said


def one_failed() -> Ward:
    """A row that has stopped, of which one node has failed."""
    ward = Ward({"mode": "Evict"}).node("n0", bad=LOST, record=record("n0"))
    for number in range(1, 5):
        ward.node(f"n{number}")
    return ward.ledger(Ledger(breakers={"v100-16gb": NOW - 90}))


@pytest.mark.rule("H9")
@pytest.mark.parametrize(("retries", "evicted"), [(1, 1), (2, 2), (9, 4)])
def test_a_job_loses_no_more_pods_than_it_has_retries(
    monkeypatch: pytest.MonkeyPatch, retries: int, evicted: int
) -> None:
    ward = one_failed()
    for number in range(4):
        ward.pod(f"fit-{number}", "n0", owner=("Job", "fit"))
    job = {"metadata": {"name": "fit", "uid": "uid-fit"}, "spec": {"backoffLimit": retries}}
    ward.put("/apis/batch/v1/namespaces/ml/jobs/fit", job)
    said = flat(resume(monkeypatch, ward, "v100-16gb").stdout)
    assert f"and evict {evicted} Pod" in said


@pytest.mark.rule("H9")
def test_what_disruption_budgets_refuse_is_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = one_failed().pod("web", "n0", conditions=READY).disruption_budget("keep")
    assert (
        "refused until that is allowed: ml/web: the PodDisruptionBudget ml/keep allows no "
        "disruption now" in flat(resume(monkeypatch, ward, "v100-16gb").stdout)
    )
