"""The series that other people's dashboards rely on."""

from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client import REGISTRY, generate_latest

from webhook.metrics import Metrics, Outcome, Reload

PREFIX = "gpuspec_"


def samples(metrics: Metrics) -> dict[str, float]:
    """Every sample of ours as it is written, without the times of creation."""
    lines = generate_latest(metrics.registry).decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line.startswith(PREFIX))
    return {name: float(value) for name, _, value in pairs if "_created" not in name}


def test_names_and_labels_are_as_promised() -> None:
    metrics = Metrics()
    metrics.review(Outcome.PATCHED, "Translated", 0.0001)
    metrics.table_in_use("default", "abc")
    metrics.certificate_in_use(datetime(2026, 6, 1, tzinfo=UTC))

    found = samples(metrics)

    expected = {
        'gpuspec_reviews_total{outcome="patched",reason="Translated"}': 1,
        "gpuspec_review_seconds_count": 1,
        "gpuspec_review_seconds_sum": 0.0001,
        'gpuspec_table_info{digest="abc",name="default"}': 1,
        'gpuspec_table_reloads_total{result="success"}': 0,
        'gpuspec_table_reloads_total{result="failure"}': 0,
        "gpuspec_table_refused": 0,
        "gpuspec_table_unreached": 0,
        'gpuspec_certificate_reloads_total{result="success"}': 0,
        'gpuspec_certificate_reloads_total{result="failure"}': 0,
        "gpuspec_certificate_not_after_timestamp_seconds": 1780272000,
    }
    assert {name: found[name] for name in expected} == expected
    assert all(name in expected or "_bucket" in name for name in found)


def test_the_buckets_reach_from_a_decision_to_beyond_the_api_server_s_patience() -> None:
    bounds = [
        float(name.partition('le="')[2].partition('"')[0])
        for name in samples(Metrics())
        if "_bucket" in name
    ]

    assert bounds == sorted(bounds)
    assert bounds[0] < 0.0001
    assert sum(bound < 0.001 for bound in bounds) >= 4
    assert any(3 < bound < 30 for bound in bounds)


def test_counting_the_same_again() -> None:
    metrics = Metrics()

    for _ in range(3):
        metrics.review(Outcome.DENIED, "BadKey", 0.5)
    metrics.table_reloaded(Reload.FAILURE)
    metrics.certificate_reloaded(Reload.FAILURE)

    found = samples(metrics)
    assert found['gpuspec_reviews_total{outcome="denied",reason="BadKey"}'] == 3
    assert found["gpuspec_review_seconds_sum"] == 1.5
    assert found['gpuspec_table_reloads_total{result="failure"}'] == 1
    assert found['gpuspec_certificate_reloads_total{result="failure"}'] == 1


def test_only_one_table_is_shown() -> None:
    metrics = Metrics()

    for digest in ("a", "b", "b"):
        metrics.table_in_use("default", digest)

    assert [name for name in samples(metrics) if "table_info" in name] == [
        'gpuspec_table_info{digest="b",name="default"}'
    ]


def test_two_services_share_nothing() -> None:
    """Each has a registry of its own, and none of it is in the process's global one."""
    first, second = Metrics(), Metrics()

    first.review(Outcome.PATCHED, "Translated", 0.1)

    assert samples(second)["gpuspec_review_seconds_count"] == 0
    assert PREFIX not in generate_latest(REGISTRY).decode()
