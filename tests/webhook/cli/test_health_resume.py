"""``gpuspec health resume``: rows go on that the breaker has stopped (H5)."""

from __future__ import annotations

import pytest
from click.testing import Result

from tests.webhook.advice.health.ward import LEDGER, NOW, Ward, use_ward
from tests.webhook.cli.running import run
from webhook.health.ledger import ASKED, Eviction, Ledger
from webhook.health.stored_ledger import ledger_of
from webhook.kube.errors import ApiError

pytestmark = pytest.mark.rule("H5")

STOPPED = Ledger(
    evictions=(Eviction("p", "ml", NOW - 5),),
    breakers={"a30-24gb": NOW - 90, "a100-80gb": NOW - 3700},
)


def resume(monkeypatch: pytest.MonkeyPatch, ward: Ward, *arguments: str) -> Result:
    use_ward(monkeypatch, ward)
    return run("health", "resume", *arguments)


def ledger(ward: Ward) -> Ledger:
    found = ledger_of(ward.objects[LEDGER]["data"]["ledger"])
    assert found is not None
    return found


def test_a_row_goes_on_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().ledger(STOPPED)
    ward.objects[LEDGER]["data"]["other"] = "kept"
    result = resume(monkeypatch, ward, "a30-24gb")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
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
    assert result.stdout.splitlines() == [
        "a100-80gb goes on; it was stopped for 1h1m",
        "a30-24gb goes on; it was stopped for 1m30s",
    ]
    assert not ledger(ward).breakers


def test_while_two_are_stopped_everything_is(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {**STOPPED.breakers, "v100-16gb": NOW - 10}
    result = resume(monkeypatch, Ward().ledger(Ledger(breakers=more)), "v100-16gb")
    assert result.stdout.splitlines()[1:] == [
        "still stopped, and so is every row: a100-80gb, a30-24gb"
    ]


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
