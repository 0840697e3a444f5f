"""The loop that keeps Pods off what is sick and moves them from what is dead (semantics §9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from selection_spec.health import HealthPolicy
from selection_spec.table import builtin_table
from webhook.controllers.board import Board, Part
from webhook.controllers.health_acts import Applier, Outcome, Result
from webhook.controllers.health_events import HealthEvents
from webhook.controllers.health_ledger import ConflictError, LedgerBook
from webhook.controllers.health_metrics import HealthMetrics
from webhook.controllers.health_records import RecordBook
from webhook.controllers.health_view import HealthView
from webhook.controllers.pauses import Pauses
from webhook.controllers.tables import loaded
from webhook.controllers.world import World
from webhook.health import words
from webhook.health.actions import Action, Doing
from webhook.health.gather import Homes, remembered
from webhook.health.moment import Moment
from webhook.health.records import State
from webhook.health.step import Step, step
from webhook.inventory.matching import Matcher
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ClusterError, UnreachableError
from webhook.kube.versions import server_version
from webhook.logs import Log

# While anything is not healthy, time alone may be a reason to act; else changes are.
_SOON_S = 1.0
_LOOK_S = 30.0

# Actions of one run, and seconds in which another one is begun: the rest follows in the next ones,
# which look at what is there by then.
_ACTIONS = 100
_ACTING_S = 2.0

# Whoever is moved is not there to be kept away from: that comes first.
_MOVING = (Doing.EVICT, Doing.REMOVE)

# A Job is looked at anew before another Pod of it goes: by then it has counted the last one.
_JOB_SETTLES_S = 15.0


class HealthLoop:
    """Judges everything on every change, writes down what it knows, and acts.

    First the ledger is written, so that no two controllers spend the same budget; then what is
    known of each node; then things are done. A process that dies anywhere in between leaves
    nothing that its successor does not see.

    Args:
        cluster: Where it acts.
        world: What it looks at.
        book: The ledger.
        in_use: The table whose settings count.
        board: Takes what is to be said in the table's status.
        log: Told of everything that is done.
        metrics: Told the same in numbers.
        monotonic: Seconds that nobody can set.
    """

    name = "health"

    def __init__(  # noqa: PLR0913 -- each is a thing of its own, named where it is given
        self,
        cluster: Cluster,
        world: World,
        book: LedgerBook,
        *,
        in_use: str,
        board: Board,
        log: Log,
        metrics: HealthMetrics,
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._world = world
        self._book = book
        self._in_use = in_use
        self._board = board
        self._log = log
        self._metrics = metrics
        self._monotonic = monotonic
        builtin = builtin_table()
        self._homes = Homes(builtin, Matcher(builtin))
        self._view = HealthView(cluster, world)
        self._records = RecordBook(cluster)
        self._events = HealthEvents(cluster)
        self._applier = Applier(cluster)
        self._tries: Pauses[tuple[str, ...]] = Pauses()
        self._moved: dict[str, float] = {}
        self._refused = ""
        self._state: State | None = None
        self._missing: tuple[str, ...] | None = None

    def run(self, now: datetime) -> float:
        """Judge, write down, act.

        Raises:
            ClusterError: Something cannot be seen or written; it is tried again.
        """
        try:
            return self._run(now)
        except ClusterError as error:
            self._board.post(self.name, Part((words.blind(str(error)),)))
            raise

    def _run(self, now: datetime) -> float:
        world = self._world
        seen = world.tables, world.nodes, world.pods, world.slices, world.claims, world.rules
        if not world.ready(*seen, world.daemons, self._book.mirror):
            return _SOON_S
        if why := world.blind(*seen, self._book.mirror):
            # What was last seen may be wrong by now: stale data neither acts nor clears (H3).
            raise UnreachableError(why)
        self._settle_table()
        return self._look(round(now.timestamp(), 3))

    @property
    def _policy(self) -> HealthPolicy:
        return self._homes.table.health

    def _settle_table(self) -> None:
        """Take up the table in use; one that cannot be read changes nothing."""
        held = self._world.tables.held().get(self._in_use)
        table = builtin_table() if held is None else loaded(held.text).table
        if table is not None and table.digest != self._homes.table.digest:
            self._homes = Homes(table, Matcher(table))

    def _look(self, now: float) -> float:
        ledger = self._homes.ledger(self._book.read())
        facts = self._view.facts()
        if self._state is None:
            self._state = remembered(facts.nodes, ledger)
        state = replace(self._state, ledger=ledger)
        steady = self._monotonic()
        waiting = self._tries.waiting(steady)
        refused = {key[1] for key in waiting if key[0] in _MOVING}
        paused = refused | self._settling(steady)
        observed = self._homes.observed(facts)
        found = step(Moment(observed, self._policy, now, paused), state)
        if jobs := self._view.jobs(found.decisions, observed, steady):
            observed = replace(observed, jobs=jobs)
            found = step(Moment(observed, self._policy, now, paused), state)
        try:
            self._book.write(found.state.ledger)
        except ConflictError:
            return 0.0
        self._state = found.state
        written = self._records.write(found.state.records, facts.nodes, now, steady)
        self._note_refused(written.refused)
        self._say(found, now)
        actions = [one for one in found.actions if one.subject.node not in written.failed]
        due = [one for one in actions if one.key not in waiting]
        outcomes = self._act(due)
        self._events.tell(found, outcomes, facts.nodes, now)
        self._give_back(outcomes)
        if len(due) > len(outcomes):
            return 0.0
        return _SOON_S if found.decisions else _LOOK_S

    def _settling(self, steady: float) -> frozenset[str]:
        """Return the Jobs of which a Pod went just now, by uid."""
        self._moved = {job: at for job, at in self._moved.items() if steady - at < _JOB_SETTLES_S}
        return frozenset(self._moved)

    def _note_refused(self, refused: str) -> None:
        """Log why a node cannot be written on, every new reason once."""
        if refused and refused != self._refused:
            self._log.warning("a node cannot be written on", why=refused)
        self._refused = refused

    def _act(self, actions: list[Action]) -> list[Outcome]:
        """Do what was planned: first what keeps new Pods away, then evictions."""
        in_order = sorted(actions, key=lambda one: one.doing in _MOVING)[:_ACTIONS]
        began = self._monotonic()
        outcomes: list[Outcome] = []
        for action in in_order:
            if self._monotonic() - began > _ACTING_S:
                break
            outcome = self._applier.apply(action, self._world.rules.served_at)
            outcomes.append(outcome)
            self._metrics.acted(outcome)
            self._remember(outcome)
            if outcome.result is not Result.NEEDLESS:
                self._log.info(
                    "health",
                    action=action.doing.value,
                    subject=str(action.subject),
                    pod="" if action.pod is None else action.pod.key,
                    result=outcome.result.value,
                    why=outcome.why or action.why,
                )
        return outcomes

    def _remember(self, outcome: Outcome) -> None:
        """Note what is to be tried again later, and which Job has lost a Pod."""
        action, steady = outcome.action, self._monotonic()
        if outcome.result in (Result.REFUSED, Result.FAILED):
            self._tries.failed(action.key, steady)
        else:
            self._tries.succeeded(action.key)
            if action.pod is not None and action.doing is Doing.EVICT:
                self._moved[action.pod.owner.uid] = steady
                self._view.forget(action.pod.owner.uid)

    def _give_back(self, outcomes: list[Outcome]) -> None:
        """Take evictions that did not come about out of the ledger."""
        ledger = self._book.read()
        for one in outcomes:
            if one.is_given_back and one.action.pod is not None:
                ledger = ledger.without(one.action.pod.uid)
        try:
            self._book.write(ledger)
        except ConflictError:
            return  # whoever was faster counts them; they count until the window is over
        if self._state is not None:
            self._state = replace(self._state, ledger=ledger)

    def _say(self, found: Step, now: float) -> None:
        """Hand over what the table's status says, and what is exported."""
        if self._missing is None:
            is_old = server_version(self._cluster) < words.FIRST_WITH_ALL
            self._missing = words.MISSING_SIGNALS if is_old else ()
        counts = words.verdicts(found.decisions, now)
        rows = tuple(row.id for row in self._homes.table.rows)
        self._metrics.looked(found, counts, rows)
        self._board.post(
            self.name,
            Part(
                words.conditions(found, self._policy, self._missing, now, self._refused),
                {"health": words.summary(found, self._policy, now)},
            ),
        )
