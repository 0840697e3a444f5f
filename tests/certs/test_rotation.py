"""The rotation step by step: what is written, in which order, why, and what waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from certs.authority import KeyPair, create_authority, issue
from certs.plans import Owner, Plan, Publish, Store, Stored
from certs.policy import certificates_in
from tests.certs.predicates import assert_is_authority, assert_is_server, load, names_of
from tests.certs.world import (
    FOREIGN,
    FOREIGN_SERVER,
    LOOK,
    RULES,
    START,
    World,
    bootstrapped,
    swapped,
    verifies,
)

AUTHORITY, SERVER = Owner.AUTHORITY, Owner.SERVER
SETTLE, OVERLAP = RULES.settle.total_seconds(), RULES.overlap.total_seconds()
YEAR = timedelta(days=365)

FORMER = "the server certificate is of a former authority"
RENEWAL = "the server certificate reached its renewal time 2026-07-31T11:58:20+00:00"
EARLY = "the {} certificate is not valid before 2026-06-01T11:55:00+00:00: a clock is or was wrong"
PATIENCE = "it is replaced if that stays so"


def written(made: Plan) -> list[tuple[str, str, bool]]:
    """Each step: what is written, why, and whether that is alarming."""
    return [
        (step.client if isinstance(step, Publish) else step.owner.value, step.why, step.alarming)
        for step in made.steps
    ]


def content(world: World, owner: Owner) -> Stored:
    stored = world.stored[owner]
    assert stored is not None
    return stored


def calm() -> World:
    """A world in which nothing is waited for any more."""
    world = bootstrapped()
    world.run(2 * OVERLAP)
    return world


def rotating() -> World:
    """A world whose authority was deleted: the new one is published and read back, not yet used."""
    world = calm()
    world.store(AUTHORITY, None)
    world.look()
    world.look()
    return world


class TestFirstLook:
    """An empty cluster has everything after one look."""

    def test_the_order(self) -> None:
        made = World().look()

        assert written(made) == [
            ("authority", "there is no authority certificate yet", False),
            ("mutating", "it lacks our authority", False),
            ("validating", "it lacks our authority", False),
            ("server", "there is no server certificate yet", False),
        ]
        assert made.problems == ()

    def test_what_is_written(self) -> None:
        world = bootstrapped()
        authority, server = content(world, AUTHORITY), content(world, SERVER)

        assert_is_authority(load(authority.pair.certificate))
        assert_is_server(load(server.pair.certificate))
        assert names_of(load(server.pair.certificate)) == list(RULES.names)
        assert world.settled()

    def test_when_it_ends(self) -> None:
        assert World().look().not_after == {
            AUTHORITY: START + RULES.authority_lifetime,
            SERVER: START + RULES.server_lifetime,
        }

    def test_a_client_that_comes_later_is_told_at_once(self) -> None:
        world = calm()
        world.published["late"] = b""

        assert written(world.look()) == [("late", "it lacks our authority", False)]
        assert world.look().steps == ()

    def test_without_any_client_both_pairs_are_stored(self) -> None:
        world = World(clients=())
        world.look()

        assert world.settled()

    def test_the_second_look_writes_nothing(self) -> None:
        assert bootstrapped().look().steps == ()


class TestNewAuthority:
    """First it is published, then used, then the former one is forgotten."""

    def test_it_is_published_beside_the_former_one_and_signs_nothing_yet(self) -> None:
        world = calm()
        former = content(world, AUTHORITY)
        served = content(world, SERVER)
        world.store(AUTHORITY, None)
        made = world.look()

        assert written(made) == [
            ("authority", "there is no authority certificate any more", True),
            ("mutating", "it lacks our authority", False),
            ("validating", "it lacks our authority", False),
        ]
        bundle = content(world, AUTHORITY).pair.certificate + former.pair.certificate
        assert set(world.published.values()) == {bundle}
        assert content(world, SERVER) == served
        assert made.problems == (f"{FORMER}; a new one waits until its authority is trusted",)

    def test_it_signs_when_every_client_has_had_it_for_long_enough(self) -> None:
        world = rotating()
        world.run(SETTLE - 1)
        assert not verifies(content(world, AUTHORITY).pair.certificate, served(world))
        made = world.run(LOOK)

        assert written(made)[-1:] == [("server", FORMER, False)]
        assert verifies(content(world, AUTHORITY).pair.certificate, served(world))

    def test_the_former_one_is_trusted_until_every_server_has_the_new_certificate(self) -> None:
        world = rotating()
        world.run(SETTLE + LOOK)
        world.run(OVERLAP - LOOK)
        assert len(certificates_in(world.published["mutating"])) == 2
        made = world.run(2 * LOOK, every=2 * LOOK)

        changed = "it trusts more than is in use"
        assert written(made) == [
            ("authority", changed, False),
            ("mutating", changed, False),
            ("validating", changed, False),
            ("server", changed, False),
        ]
        assert world.settled()

    def test_the_wait_begins_only_when_the_last_client_has_it(self) -> None:
        world = calm()
        world.store(AUTHORITY, None)
        world.look(until=2)
        for _ in range(4):
            world.steady += SETTLE
            world.look(until=0)
        served_before = served(world)
        world.look()
        world.look()
        world.run(SETTLE - 1)
        assert served(world) == served_before
        world.run(LOOK)
        assert served(world) != served_before

    def test_the_wait_begins_anew_when_a_client_forgets(self) -> None:
        world = rotating()
        world.run(SETTLE - 1)
        served_before = served(world)
        world.publish("mutating", b"")
        world.look()
        world.run(SETTLE - 1)
        assert served(world) == served_before

    def test_the_waits_begin_anew_with_another_controller(self) -> None:
        world = rotating()
        served_before = served(world)
        for _ in range(5):
            world.run(SETTLE - 1)
            world.since = {}
        assert served(world) == served_before

    def test_a_former_authority_survives_when_every_client_forgets_it(self) -> None:
        world = rotating()
        bundle = world.published["mutating"]
        for client in world.published:
            world.publish(client, b"")
        world.look()

        assert set(world.published.values()) == {bundle}

    def test_what_somebody_else_put_into_a_secret_is_not_published(self) -> None:
        world = rotating()
        bundle = world.published["mutating"]
        for owner in Owner:
            world.store(owner, Stored(FOREIGN, FOREIGN.certificate, intact=False))
        world.look()

        (_, *former) = certificates_in(world.published["mutating"])
        assert former == certificates_in(bundle)

    def test_a_bundle_does_not_grow_for_ever(self) -> None:
        """Somebody replaces the authority again and again; the one in use is never given up."""
        world = calm()
        for _ in range(20):
            world.store(AUTHORITY, None)
            world.run(1)

        assert len(certificates_in(world.published["mutating"])) == 8
        assert verifies(world.published["mutating"], served(world))


def served(world: World) -> bytes:
    return content(world, SERVER).pair.certificate


def aged(pair: KeyPair) -> Callable[[Stored], Stored]:
    return lambda stored: replace(stored, pair=pair)


OLD_SERVER = issue(FOREIGN, RULES.names, now=START, lifetime=RULES.server_lifetime)
CHANGED = "the {} certificate is not as it was written here: somebody changed it"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        pytest.param(lambda _: None, "there is no server certificate any more", id="deleted"),
        pytest.param(
            lambda stored: replace(stored, intact=False), CHANGED.format("server"), id="seal broken"
        ),
        pytest.param(
            aged(KeyPair(b"", b"")), "the server certificate is no PEM certificate", id="emptied"
        ),
        pytest.param(
            lambda stored: replace(stored, pair=swapped(stored.pair)),
            "the server key does not belong to the server certificate",
            id="another key",
        ),
        pytest.param(
            aged(FOREIGN_SERVER),
            "no authority that clients trust has signed the server certificate",
            id="of a foreign authority",
        ),
    ],
)
def test_a_damaged_server_is_replaced_at_once(
    how: Callable[[Stored], Stored | None], why: str
) -> None:
    world = calm()
    world.store(SERVER, how(content(world, SERVER)))
    made = world.look()

    assert written(made) == [("server", why, True)]
    assert world.settled()


@pytest.mark.parametrize(
    ("how", "why"),
    [
        pytest.param(
            lambda stored: replace(stored, intact=False),
            CHANGED.format("authority"),
            id="seal broken",
        ),
        pytest.param(
            aged(KeyPair(b"x", b"y")),
            "the authority certificate is no PEM certificate",
            id="undecodable",
        ),
        pytest.param(
            lambda stored: replace(stored, pair=swapped(stored.pair)),
            "the authority key does not belong to the authority certificate",
            id="another key",
        ),
        pytest.param(
            aged(FOREIGN_SERVER),
            "the authority's certificate is not one of an authority",
            id="a server's",
        ),
    ],
)
def test_a_damaged_authority_is_replaced(how: Callable[[Stored], Stored], why: str) -> None:
    world = calm()
    world.store(AUTHORITY, how(content(world, AUTHORITY)))
    made = world.look()

    assert written(made)[:1] == [("authority", why, True)]
    world.run(2 * OVERLAP)
    assert world.settled()


def test_a_foreign_authority_that_is_sealed_is_taken_for_a_new_one() -> None:
    """An admin's own, say: it is published before anything is served with it."""
    world = calm()
    former = content(world, AUTHORITY).pair
    world.store(AUTHORITY, Stored(FOREIGN, FOREIGN.certificate, intact=True))
    world.look()
    assert set(world.published.values()) == {FOREIGN.certificate + former.certificate}
    world.run(2 * OVERLAP)
    assert verifies(FOREIGN.certificate, served(world))
    assert world.settled()


class TestClients:
    """What stands in a caBundle is put right, and said."""

    @pytest.mark.parametrize(
        ("bundle", "alarming"),
        [
            pytest.param(b"", False, id="emptied"),
            pytest.param(b"garbage", True, id="garbage"),
            pytest.param(FOREIGN.certificate, True, id="foreign"),
        ],
    )
    def test_one_that_lacks_our_authority(self, bundle: bytes, *, alarming: bool) -> None:
        world = calm()
        world.publish("mutating", bundle)

        assert written(world.look()) == [("mutating", "it lacks our authority", alarming)]
        assert world.settled()

    def test_one_that_trusts_a_foreign_authority_too(self) -> None:
        world = calm()
        world.publish("mutating", world.published["mutating"] + FOREIGN.certificate)

        assert written(world.look()) == [("mutating", "it trusts more than is in use", False)]
        assert world.settled()


class TestUnwritable:
    """What may not be written delays nothing for ever, and nothing comes to depend on it."""

    def test_a_client_that_cannot_be_told_is_not_waited_for(self) -> None:
        world = rotating()
        world.locked = {"mutating"}
        world.publish("mutating", b"")
        world.run(2 * OVERLAP)

        assert world.settled()
        assert written(world.look()) == [("mutating", "it lacks our authority", False)]

    def test_one_that_can_be_told_again_has_the_whole_wait_to_notice(self) -> None:
        world = calm()
        world.locked = {"mutating"}
        world.store(AUTHORITY, None)
        served_before = served(world)
        world.run(SETTLE)
        world.locked = set()
        world.look()
        world.run(SETTLE)
        assert served(world) == served_before
        world.run(LOOK)
        assert served(world) != served_before

    def test_what_it_trusts_is_given_to_nobody_else(self) -> None:
        world = bootstrapped("another's")
        world.published["another's"] = FOREIGN.certificate
        world.look()
        world.run(2 * OVERLAP)
        world.store(SERVER, None)
        world.look()

        assert set(certificates_in(world.published["mutating"])) == {
            load(content(world, AUTHORITY).pair.certificate)
        }

    def test_all_are_waited_for_where_none_can_be_told(self) -> None:
        """A certificate that nobody believes would be worse than the former one."""
        world = calm()
        world.locked = {*world.published}
        world.store(AUTHORITY, None)
        served_before = served(world)
        made = world.run(2 * OVERLAP)

        assert served(world) == served_before
        assert made.problems == (f"{FORMER}; a new one waits until its authority is trusted",)
        world.locked = set()
        world.run(2 * OVERLAP)
        assert world.settled()

    def test_an_authority_that_cannot_be_replaced_signs_while_it_is_valid(self) -> None:
        world = calm()
        world.locked = {AUTHORITY}
        world.offset = timedelta(days=500)
        world.run(2 * OVERLAP)
        authority = content(world, AUTHORITY)

        assert world.settled()
        (step,) = world.look().steps
        assert isinstance(step, Store)
        assert step.owner is AUTHORITY
        assert certificates_in(step.bundle) == [
            load(step.pair.certificate),
            load(authority.pair.certificate),
        ]
        world.locked = set()
        world.run(2 * OVERLAP)
        assert content(world, AUTHORITY) != authority
        assert world.settled()

    def test_a_damaged_one_signs_nothing(self) -> None:
        world = calm()
        world.locked = {AUTHORITY}
        for damage in (None, Stored(FOREIGN, FOREIGN.certificate, intact=False)):
            world.store(AUTHORITY, damage)
            served_before = served(world)
            made = world.run(2 * OVERLAP)
            assert written(made)[0][0] == AUTHORITY
            assert served(world) == served_before
            assert certificates_in(world.published["mutating"]) == certificates_in(
                content(world, SERVER).bundle
            )

    def test_other_steps_come_before_one_that_was_refused(self) -> None:
        world = calm()
        world.locked = {AUTHORITY}
        world.store(AUTHORITY, replace(content(world, AUTHORITY), bundle=FOREIGN.certificate))
        world.look()
        world.publish("mutating", b"")

        assert [what for what, _, _ in written(world.look())] == ["mutating", "authority"]


class TestCalendar:
    """What only a clock says has to stay so for a while."""

    @pytest.mark.parametrize(
        ("days", "problems"),
        [
            pytest.param(
                60.1,
                [f"{RENEWAL} (it ends at 2026-08-30T12:00:00+00:00)"],
                id="server due",
            ),
            pytest.param(
                91, ["the server certificate expired at 2026-08-30T12:00:00+00:00"], id="expired"
            ),
            pytest.param(
                731,
                [
                    "the authority certificate expired at 2028-05-31T12:00:00+00:00",
                    "the server certificate expired at 2026-08-30T12:00:00+00:00",
                ],
                id="both",
            ),
            pytest.param(
                -1,
                [EARLY.format("authority"), EARLY.format("server")],
                id="not valid yet",
            ),
        ],
    )
    def test_a_clock_that_is_wrong_for_less_than_a_minute(
        self, days: float, problems: list[str]
    ) -> None:
        world = calm()
        before = dict(world.stored)
        world.offset = timedelta(days=days) - timedelta(seconds=world.steady)
        made = world.run(SETTLE - 1, every=10)

        assert made.problems == tuple(f"{one}; {PATIENCE}" for one in problems)
        world.offset = timedelta(0)
        assert world.look().problems == ()
        assert world.stored == before

    def test_a_certificate_is_renewed_after_two_thirds_of_its_life(self) -> None:
        world = calm()
        world.offset = timedelta(days=60.1)
        world.run(SETTLE)
        made = world.run(LOOK)

        assert [(what, alarming) for what, _, alarming in written(made)] == [("server", False)]
        assert world.settled()

    def test_a_clock_that_stays_behind_gets_certificates_that_it_believes(self) -> None:
        world = calm()
        world.offset = -5 * YEAR
        world.run(2 * OVERLAP)
        assert world.settled()

    def test_nothing_is_issued_by_an_authority_that_has_expired(self) -> None:
        world = calm()
        world.offset = 3 * YEAR
        world.store(SERVER, None)
        made = world.look()

        assert made.steps == ()
        assert made.problems == (
            f"the authority certificate expired at 2028-05-31T12:00:00+00:00; {PATIENCE}",
            "there is no server certificate any more; a new one waits for a new authority",
        )
        world.run(2 * OVERLAP)
        assert world.settled()


class TestTakingOver:
    """Certificates that somebody else made are replaced without a gap."""

    def test_a_folder_s_certificates(self) -> None:
        """What was applied from files: no seal, and no Secret of the authority."""
        world = World()
        own = create_authority("gpuspec authority", now=START, lifetime=YEAR)
        pair = issue(own, RULES.names, now=START, lifetime=YEAR)
        world.store(SERVER, Stored(pair, own.certificate, intact=False))
        world.served.note(0, pair.certificate)
        for client in world.published:
            world.published[client] = own.certificate
            world.trusted[client].note(0, own.certificate)
        world.look()
        world.check()
        assert served(world) == pair.certificate
        world.run(2 * OVERLAP)
        assert served(world) != pair.certificate
        assert world.settled()

    def test_a_server_s_secret_from_a_backup(self) -> None:
        """It is intact, but of an authority that nobody trusts any more."""
        world = calm()
        backup = content(world, SERVER)
        world.store(AUTHORITY, None)
        world.run(3 * OVERLAP)
        world.store(SERVER, backup)
        made = world.look()

        assert verifies(world.published["mutating"], backup.pair.certificate)
        assert written(made)[-1] == (
            "server",
            FORMER,
            False,
        )
        world.run(2 * OVERLAP)
        assert world.settled()


def test_keys_are_not_shown() -> None:
    assert "PRIVATE KEY" not in repr(World().look())
