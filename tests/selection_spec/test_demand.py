"""What a Pod holds at one time (A7), against a naive run of its containers' lives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.demand import Demand, Kind, Need, at_peak, peak
from selection_spec.grammar import Spec

_GPU, _OTHER = "nvidia.com/gpu", "amd.com/gpu"
_SPEC = Spec("any")


def _need(name: str, kind: Kind, count: int = 0, **raw: int) -> Need:
    resources = {"nvidia": _GPU, "amd": _OTHER}
    return Need(
        name,
        kind,
        f"spec.containers[{name}]",
        _SPEC if count else None,
        count,
        tuple(sorted((resources[vendor], amount) for vendor, amount in raw.items())),
    )


def _init(name: str, count: int = 0, **raw: int) -> Need:
    return _need(name, Kind.INIT, count, **raw)


def _sidecar(name: str, count: int = 0, **raw: int) -> Need:
    return _need(name, Kind.SIDECAR, count, **raw)


def _main(name: str, count: int = 0, **raw: int) -> Need:
    return _need(name, Kind.MAIN, count, **raw)


@pytest.mark.rule("A7")
@pytest.mark.parametrize(
    ("needs", "most", "holders"),
    [
        ([], 0, ""),
        ([_main("a", 4)], 4, "a"),
        ([_main("a", 4), _main("b", 2)], 6, "ab"),
        # Plain init containers are over before the next one starts.
        ([_init("i", 8), _main("a", 4)], 8, "i"),
        ([_init("i", 8), _init("j", 3), _main("a", 4), _main("b", 2)], 8, "i"),
        ([_init("i", 2), _main("a", 4)], 4, "a"),
        # Sidecars stay.
        ([_sidecar("s", 1), _main("a", 4)], 5, "sa"),
        ([_sidecar("s", 1), _init("i", 4), _main("a", 4)], 5, "sa"),
        ([_sidecar("s", 1), _init("i", 5), _main("a", 4)], 6, "si"),
        ([_init("i", 5), _sidecar("s", 1), _main("a", 4)], 5, "sa"),
        ([_init("i", 6), _sidecar("s", 1), _main("a", 4)], 6, "i"),
        (
            [_sidecar("s", 1), _init("i", 3), _sidecar("t", 2), _init("j", 3), _main("a", 2)],
            6,
            "stj",
        ),
        # Raw amounts of the same resource count, those of others do not.
        ([_main("a", 4), _main("b", nvidia=2)], 6, "ab"),
        ([_main("a", 4), _main("b", amd=2)], 4, "a"),
        ([_sidecar("s", nvidia=1), _init("i", nvidia=9), _main("a", 4)], 10, "si"),
    ],
)
def test_peak(needs: list[Need], most: int, holders: str) -> None:
    assert peak(needs, _GPU) == most
    assert "".join(need.name for need in at_peak(needs, _GPU)) == holders


def test_the_specs_of_a_demand() -> None:
    spec, raw = _main("a", 4), _main("b", nvidia=2)
    assert Demand((spec, raw)).specs == (spec,)
    assert Demand((spec,)) == Demand((_main("a", 4),))
    assert hash(Demand((spec,))) == hash(Demand((_main("a", 4),)))


_amounts = st.integers(0, 9)
_needs = st.lists(
    st.builds(
        lambda number, kind, count, nvidia, amd: _need(
            str(number), kind, count, nvidia=nvidia, amd=amd
        ),
        st.integers(0, 99),
        st.sampled_from([Kind.INIT, Kind.SIDECAR]),
        _amounts,
        _amounts,
        _amounts,
    ),
    max_size=6,
)
_mains = st.lists(
    st.builds(
        lambda number, count, nvidia: _main(str(number), count, nvidia=nvidia),
        st.integers(0, 99),
        _amounts,
        _amounts,
    ),
    max_size=4,
)


def _most_held(needs: list[Need], resource: str) -> int:
    """Live a Pod's life: init containers one after the other, then all others together."""
    running: list[Need] = []
    seen = [0]

    def hold() -> None:
        held = 0
        for need in running:
            held += need.count if need.spec is not None else 0
            held += sum(amount for name, amount in need.raw if name == resource)
        seen.append(held)

    for need in needs:
        if need.kind is not Kind.MAIN:
            running.append(need)
            hold()
            if need.kind is Kind.INIT:
                running.remove(need)
                hold()
    for need in needs:
        if need.kind is Kind.MAIN:
            running.append(need)
            hold()
    return max(seen)


@pytest.mark.rule("A7")
@given(_needs, _mains, st.sampled_from([_GPU, _OTHER]))
def test_peak_is_the_most_that_is_held_at_any_time(
    inits: list[Need], mains: list[Need], resource: str
) -> None:
    needs = [*inits, *mains]
    most = peak(needs, resource)
    assert most == _most_held(needs, resource)
    holders = at_peak(needs, resource)
    assert sum(need.amount(resource) for need in holders) == most
    assert all(need.amount(resource) for need in holders)
