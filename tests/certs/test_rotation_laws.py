"""Laws of the rotation, whatever happens in whichever order (model in ``world``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from certs.authority import KeyPair
from certs.plans import Owner, Stored
from tests.certs.world import FOREIGN, FOREIGN_SERVER, RULES, World, bootstrapped, swapped

Event = Callable[[World], None]

CALM_S = 30 * 60.0
DAY = timedelta(days=1)
ANOTHER = "another's"


def passes(seconds: float) -> Event:
    return lambda world: (world.run(seconds), None)[1]


def absent(days: int) -> Event:
    """Nobody looks; then another controller, which remembers nothing, does."""

    def happens(world: World) -> None:
        world.steady += days * DAY.total_seconds()
        world.restart()
        world.look()

    return happens


def restarts(world: World) -> None:
    world.restart()


def is_cut_off(steps: int) -> Event:
    return lambda world: (world.look(until=steps), None)[1]


def jumps(days: int) -> Event:
    def happens(world: World) -> None:
        world.offset = days * DAY
        world.look()

    return happens


def is_tampered_with(owner: Owner, how: Callable[[Stored], Stored | None]) -> Event:
    def happens(world: World) -> None:
        stored = world.stored[owner]
        world.store(owner, None if stored is None else how(stored))
        world.look()

    return happens


def is_published(client: str, how: Callable[[bytes], bytes]) -> Event:
    def happens(world: World) -> None:
        if client in world.published:
            world.publish(client, how(world.published[client]))
            world.look()

    return happens


def is_locked(place: str) -> Event:
    """The controller may not write there, or may again; a look tells it so, or does not."""

    def happens(world: World) -> None:
        world.locked ^= {place}

    return happens


def foreign(pair: KeyPair) -> Callable[[Stored], Stored]:
    return lambda stored: Stored(pair, stored.bundle, intact=False)


TAMPERINGS: dict[str, Callable[[Stored], Stored | None]] = {
    "deleted": lambda _: None,
    "emptied": lambda _: Stored(KeyPair(b"", b""), b"", intact=False),
    "foreign": foreign(FOREIGN_SERVER),
    "foreign authority": foreign(FOREIGN),
    "swapped key": lambda stored: replace(stored, pair=swapped(stored.pair), intact=False),
    "swapped key, sealed again": lambda stored: replace(stored, pair=swapped(stored.pair)),
    "other bundle": lambda stored: replace(stored, bundle=FOREIGN.certificate, intact=False),
}
PUBLICATIONS: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "garbage": lambda _: b"garbage",
    "foreign": lambda _: FOREIGN.certificate,
    "foreign, too": lambda bundle: bundle + FOREIGN.certificate,
}

harmless = st.one_of(
    st.integers(1, 1000).map(passes),
    st.just(restarts),
    st.integers(0, 3).map(is_cut_off),
)
tampering = st.one_of(
    st.builds(is_tampered_with, st.sampled_from(Owner), st.sampled_from([*TAMPERINGS.values()])),
    st.builds(
        is_published,
        st.sampled_from(["mutating", "validating"]),
        st.sampled_from([*PUBLICATIONS.values()]),
    ),
)
clocks = st.integers(-7000, 7000).map(jumps)
absence = st.integers(1, 800).map(absent)
locks = st.sampled_from(["mutating", "validating", *Owner]).map(is_locked)
others = st.builds(is_published, st.just(ANOTHER), st.sampled_from([*PUBLICATIONS.values()]))


@settings(max_examples=160, deadline=None)
@given(
    st.sampled_from([(), (ANOTHER,)]),
    st.lists(st.one_of(harmless, tampering, clocks, absence, locks, others), max_size=25),
)
def test_every_client_verifies_every_server_and_in_the_end_all_is_well(
    unwritable: tuple[str, ...], events: list[Event]
) -> None:
    """Once all that is ours may be written, that is; what is another's may never be."""
    world = bootstrapped(*unwritable)
    for event in events:
        event(world)
        world.check()
    world.locked = {*unwritable}
    last = world.run(CALM_S)
    assert {step.place for step in last.steps} <= world.locked
    assert last.problems == ()
    assert world.settled()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(harmless, clocks), max_size=20))
def test_a_clock_costs_at_most_one_rotation_a_jump(events: list[Event]) -> None:
    world = bootstrapped()
    jumped = sum(event.__qualname__.startswith("jumps") for event in events)
    for event in events:
        event(world)
    world.run(CALM_S)
    assert world.authorities <= 1 + jumped
    assert world.servers <= 1 + 2 * jumped


def test_years_without_an_incident() -> None:
    """Three years: everything is valid at every moment and replaced when it is due, not sooner."""
    world = bootstrapped()
    for _ in range(3 * 365 // 5):
        world.run(15 * 60, every=60)
        world.check_dates()
        world.steady += 5 * DAY.total_seconds() - 15 * 60
    # An authority is due after 487 days, a server certificate after 60 or with its authority.
    assert world.authorities == 1 + 2
    assert 1 + 16 <= world.servers <= 1 + 18 + 2
    assert RULES.server_lifetime < RULES.authority_lifetime / 3
