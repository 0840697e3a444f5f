"""The health section of a table: defaults, everything said, modes of several rows, the digest."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import yaml

from selection_spec.health import (
    ConditionRule,
    HealthPolicy,
    LabelRule,
    Mode,
    Severity,
    TaintRule,
)
from selection_spec.table import Table, load_table
from tests.builders import Json
from tests.selection_spec.health_tables import TWO_ROWS

_DIGEST = load_table(TWO_ROWS).digest

_EVERYTHING = """\
  health:
    mode: Quarantine
    rows:
      - {id: t4-16gb, mode: Observe}
      - {id: a100-80gb, mode: Evict}
    conditions:
      - {type: GpuBroken}
      - type: AcceleratedHardwareReady
        badStatus: "False"
        reasonRegex: ^Nvidia(XID|DoubleBit)
        minDuration: 30s
        severity: Fatal
    taints:
      - {key: example.org/broken, severity: Warning}
      - {key: amd-gpu-unhealthy, value: "yes", effect: NoSchedule}
    labels:
      - {key: example.org/good, value: "false"}
    ignore: [NTPProblem, example.org/x]
    observations: {every: 20s, bad: 4, good: 5, crashWindow: 15m}
    recovery: {after: 10m, atMost: 2d}
    budget: {percent: 30, evictions: 20, evictionsPerNamespace: 7, window: 1h}
    evictAfter: 0s
"""


def _health(text: str) -> Table:
    """The table with a health section, which is given as YAML in one line."""
    return load_table(f"{TWO_ROWS}  health: {text}\n")


@pytest.mark.rule("H2", "H3", "H4", "H6")
def test_what_is_not_said() -> None:
    plain, empty = load_table(TWO_ROWS), _health("{}")
    assert (plain.has_health, empty.has_health) == (False, True)
    assert plain.health == empty.health == HealthPolicy()
    assert HealthPolicy() == HealthPolicy(
        mode=Mode.OBSERVE,
        row_modes={},
        conditions=(),
        taints=(),
        labels=(),
        ignored=frozenset(),
        observe_every_s=10,
        bad_observations=3,
        good_observations=3,
        crash_window_s=600,
        recovery_s=300,
        longest_recovery_s=86_400,
        quarantine_percent=20,
        evictions=10,
        evictions_per_namespace=8,
        eviction_window_s=600,
        evict_after_s=3,
    )


@pytest.mark.rule("H2", "H3", "H4", "H6")
def test_everything_said() -> None:
    assert load_table(TWO_ROWS + _EVERYTHING).health == HealthPolicy(
        mode=Mode.QUARANTINE,
        row_modes={"a100-80gb": Mode.EVICT, "t4-16gb": Mode.OBSERVE},
        conditions=(
            ConditionRule(
                "AcceleratedHardwareReady", "False", Severity.FATAL, "^Nvidia(XID|DoubleBit)", 30
            ),
            ConditionRule("GpuBroken", "True", Severity.ERROR),
        ),
        taints=(
            TaintRule("amd-gpu-unhealthy", Severity.ERROR, "yes", "NoSchedule"),
            TaintRule("example.org/broken", Severity.WARNING),
        ),
        labels=(LabelRule("example.org/good", "false", Severity.WARNING),),
        ignored=frozenset({"NTPProblem", "example.org/x"}),
        observe_every_s=20,
        bad_observations=4,
        good_observations=5,
        crash_window_s=900,
        recovery_s=600,
        longest_recovery_s=172_800,
        quarantine_percent=30,
        evictions=20,
        evictions_per_namespace=7,
        eviction_window_s=3_600,
        evict_after_s=0,
    )


@pytest.mark.rule("H4")
def test_a_default_gives_way_to_what_is_written() -> None:
    assert _health("{budget: {evictions: 5}}").health.evictions_per_namespace == 5
    assert _health("{budget: {evictions: 0}}").health.evictions_per_namespace == 0
    assert _health("{recovery: {after: 3d}}").health.longest_recovery_s == 3 * 86_400


@pytest.mark.parametrize(
    "bounds",
    [
        "{observations: {every: 1s, bad: 1, good: 1, crashWindow: 1m}}",
        "{observations: {every: 10m, bad: 100, good: 100, crashWindow: 24h}}",
        "{recovery: {after: 1s, atMost: 1s}}",
        "{recovery: {after: 7d, atMost: 365d}}",
        "{budget: {percent: 1, evictions: 0, evictionsPerNamespace: 0, window: 1m}}",
        "{budget: {percent: 100, evictions: 10000, evictionsPerNamespace: 10000, window: 1d}}",
        "{evictAfter: 1h}",
        f"{{conditions: [{{type: A, reasonRegex: {'x' * 256}}}]}}",
        f"{{ignore: [{', '.join(f'A{number}' for number in range(200))}]}}",
    ],
)
def test_bounds_are_inclusive(bounds: str) -> None:
    assert _health(bounds).has_health


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("rows", "mode"),
    [
        ([], Mode.OBSERVE),
        (["other"], Mode.QUARANTINE),
        (["evicts"], Mode.EVICT),
        (["evicts", "other"], Mode.QUARANTINE),
        (["evicts", "observed"], Mode.OBSERVE),
        (["observed", "other"], Mode.OBSERVE),
        (["evicts", "evicts"], Mode.EVICT),
    ],
)
def test_the_most_cautious_of_several_rows(rows: list[str], mode: Mode) -> None:
    own = {"evicts": Mode.EVICT, "observed": Mode.OBSERVE}
    policy = HealthPolicy(mode=Mode.QUARANTINE, row_modes=own)
    for order in itertools.permutations(rows):
        assert policy.mode_of(order) is mode


@pytest.mark.rule("H6")
def test_modes_rise() -> None:
    assert sorted(Mode, key=lambda mode: mode.reach) == [
        Mode.OBSERVE,
        Mode.QUARANTINE,
        Mode.EVICT,
    ]


def test_a_policy_does_not_change_and_can_be_a_key() -> None:
    policy = load_table(TWO_ROWS + _EVERYTHING).health
    assert len({policy, load_table(TWO_ROWS + _EVERYTHING).health}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.mode = Mode.EVICT  # type: ignore[misc]


# The digest.


def test_a_digest_from_before_there_were_settings() -> None:
    """Nobody's table changes its digest with our version: neither without a section nor with {}."""
    assert _DIGEST == "ab3d0297aa2f6476"
    assert load_table(f"{TWO_ROWS}  health: null\n").digest == _DIGEST
    assert _health("{}").digest == "ce337f1da93d1bb4"


@pytest.mark.parametrize(
    "same",
    [
        "{mode: Observe, rows: [], ignore: []}",
        "{observations: {}, recovery: {}, budget: {}}",
        "{observations: {every: 10s, bad: 3, good: 3, crashWindow: 600s}}",
        "{recovery: {after: 300s, atMost: 1d}, evictAfter: 0m3s}",
        "{budget: {percent: 20, evictions: 10, evictionsPerNamespace: 8, window: 10m}}",
    ],
)
def test_defaults_written_out_are_the_same_table(same: str) -> None:
    assert _health(same).digest == _health("{}").digest


def test_another_order_or_spelling_is_the_same_table() -> None:
    document: Json = yaml.safe_load(TWO_ROWS + _EVERYTHING)
    health = document["spec"]["health"]
    for name in ("rows", "conditions", "taints", "labels", "ignore"):
        health[name].reverse()
    health["ignore"].append(health["ignore"][0])
    health["taints"].append(health["taints"][0])
    health["observations"] |= {"crashWindow": "900s"}
    health["conditions"][0] |= {"minDuration": "0m30s"}
    turned, wanted = load_table(yaml.safe_dump(document)), load_table(TWO_ROWS + _EVERYTHING)
    assert turned.digest == wanted.digest
    assert turned == wanted


@pytest.mark.parametrize(
    "change",
    [
        "{mode: Evict}",
        "{rows: [{id: t4-16gb, mode: Observe}]}",
        "{rows: [{id: t4-16gb, mode: Evict}]}",
        "{rows: [{id: a100-80gb, mode: Evict}]}",
        "{conditions: [{type: A}]}",
        '{conditions: [{type: A, badStatus: "False"}]}',
        "{conditions: [{type: A, reasonRegex: x}]}",
        "{conditions: [{type: A, minDuration: 1s}]}",
        "{conditions: [{type: A, severity: Fatal}]}",
        "{taints: [{key: a}]}",
        "{taints: [{key: a, value: b}]}",
        '{taints: [{key: a, value: ""}]}',
        "{taints: [{key: a, effect: NoExecute}]}",
        "{taints: [{key: a, severity: Fatal}]}",
        "{labels: [{key: a, value: b}]}",
        "{labels: [{key: a, value: b, severity: Error}]}",
        "{ignore: [a]}",
        "{observations: {every: 11s}}",
        "{observations: {bad: 4}}",
        "{observations: {good: 4}}",
        "{observations: {crashWindow: 11m}}",
        "{recovery: {after: 6m}}",
        "{recovery: {atMost: 25h}}",
        "{budget: {percent: 21}}",
        "{budget: {evictions: 11}}",
        "{budget: {evictionsPerNamespace: 9}}",
        "{budget: {window: 11m}}",
        "{evictAfter: 4s}",
    ],
)
def test_every_setting_makes_another_table(change: str) -> None:
    seen = {_DIGEST, _health("{}").digest}
    assert _health(change).digest not in seen


def test_no_two_settings_are_taken_for_each_other() -> None:
    sections = [
        "{taints: [{key: a}]}",
        '{taints: [{key: a, value: ""}]}',
        "{labels: [{key: a, value: b}]}",
        "{taints: [{key: a, value: b}]}",
        "{ignore: [a]}",
        "{observations: {bad: 4}}",
        "{observations: {good: 4}}",
    ]
    assert len({_health(section).digest for section in sections}) == len(sections)
