"""``gpuspec controller``: from settings to running loops, while this process holds the lease."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import webhook
from webhook.controllers.board import Board, Part
from webhook.controllers.certificate_places import CertificatePlaces
from webhook.controllers.certificate_words import kept_elsewhere
from webhook.controllers.certificates import CertificateLoop, CertificateMetrics
from webhook.controllers.claim_jobs import Jobs
from webhook.controllers.claim_metrics import ClaimTemplateMetrics
from webhook.controllers.claim_templates import ClaimTemplateLoop
from webhook.controllers.frame import Frame, Paced
from webhook.controllers.health import HealthLoop
from webhook.controllers.health_ledger import LedgerBook
from webhook.controllers.health_metrics import HealthMetrics
from webhook.controllers.loop_metrics import LoopMetrics
from webhook.controllers.observed import Observed
from webhook.controllers.reserve import ReserveLoop
from webhook.controllers.table_status import TableStatusLoop
from webhook.controllers.world import World
from webhook.kube.cluster import Cluster, connect
from webhook.kube.election import Clocks, Election, Seat
from webhook.kube.errors import UnreachableError
from webhook.logs import LibraryLines, Log, utc_now
from webhook.settings import ControllerSettings
from webhook.terms import CONTROLLER_NAME
from webhook.wiring import CannotStartError, listener, writer

# Of an election's deadline of 10 s, two requests with a retry each fit into this.
_PATIENCE_S = 2.0

# Objects that are made before the collector looks at the young ones, and how often it then looks at
# older ones. A page of a list is fifty thousand small dicts, none of them garbage: with Python's
# defaults (700, 10, 10) listing 5,000 nodes and 20,000 Pods took twice the CPU and more.
_COLLECT_AFTER = (10_000, 20, 50)

# At most one write of a status in this time, whatever happens to however many nodes (design §7).
_GATHER_S = 2.0
# Nothing is written where nothing differs, so these may look sooner.
_SOON_S = 0.2

# Namespaces in which something is written at the same time, and how long one may take to answer:
# a webhook of others that hangs there is given up on. Where it did so last time others do the work.
_HANDS = 8
_SLOW_HANDS = 4
_HANDS_PATIENCE_S = 5.0


def control(settings: ControllerSettings) -> None:
    """Take part in the election, and run the loops while leading, until a signal asks to stop.

    Raises:
        CannotStartError: There is no cluster to work on, or the address is not free.
    """
    log = Log(writer(sys.stderr.fileno()))
    logging.basicConfig(handlers=[LibraryLines(log)], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    log.info("starting", version=webhook.__version__, settings=settings.effective())
    try:
        cluster = connect(settings.place.kubeconfig, settings.place.context)
    except UnreachableError as error:
        raise CannotStartError([str(error)]) from error
    metrics = LoopMetrics()
    stopping = threading.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: stopping.set())
    gc.set_threshold(*_COLLECT_AFTER)
    with Observed(listener(settings.listen), metrics):
        _Controller(settings, cluster, metrics, log).run(stopping)
    log.info("stopped")


class _Controller:
    """One process' part in the election, and what it does when it is elected."""

    def __init__(
        self, settings: ControllerSettings, cluster: Cluster, metrics: LoopMetrics, log: Log
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._metrics = metrics
        self._log = log
        self._certificate_metrics = CertificateMetrics(metrics.registry)
        self._template_metrics = ClaimTemplateMetrics(metrics.registry)
        self._health_metrics = HealthMetrics(metrics.registry)

    def run(self, stopping: threading.Event) -> None:
        """Stand by, lead, stand by again, until ``stopping``."""
        settings = self._settings
        election = Election(
            self._cluster.with_patience(_PATIENCE_S),
            Seat(settings.namespace, CONTROLLER_NAME, settings.identity),
            clocks=Clocks(utc_now, monotonic),
            said=lambda why: self._log.error("cannot take part in the election", why=why),
        )
        election.run(stopping, self._lead)

    def _lead(self, lost: threading.Event) -> None:
        self._log.info("leading", identity=self._settings.identity)
        self._metrics.leads(leading=True)
        try:
            self._loops(lost).run(lost)
        finally:
            self._metrics.leads(leading=False)
            self._log.info("no longer leading", identity=self._settings.identity)

    def _loops(self, lost: threading.Event) -> Frame:
        wakes = status_wake, wake, template_wake, health_wake = [
            threading.Event() for _ in range(4)
        ]

        def changed() -> None:
            for one in wakes:
                one.set()

        def troubled(why: str) -> None:
            self._log.error("cannot follow a collection", why=why)

        # In the middle of a row's nodes, too, nothing is written by whoever has lost the lead.
        cluster = self._cluster.until(lost)
        world = World(cluster, changed, troubled)
        board = Board(status_wake.set)
        in_use = self._settings.table_name
        loops = [
            Paced(
                TableStatusLoop(cluster, world, in_use=in_use, board=board, monotonic=monotonic),
                _GATHER_S,
                status_wake,
            ),
            Paced(
                ReserveLoop(cluster, world, in_use=in_use, board=board, log=self._log),
                _SOON_S,
                wake,
            ),
        ]
        templates = self._templates(cluster, world, board, template_wake)
        loops.append(Paced(templates, _SOON_S, template_wake))
        book = LedgerBook(cluster, self._settings.namespace, health_wake.set)
        loops.append(Paced(self._health(cluster, world, board, book), _SOON_S, health_wake))
        if self._settings.certificates:
            loops.append(Paced(self._certificates(cluster, board), _SOON_S))
        else:
            board.post(CertificateLoop.name, Part((kept_elsewhere(),)))
        world.start(lost, book.mirror)
        return Frame(loops, log=self._log, metrics=self._metrics, clock=utc_now)

    def _templates(
        self, cluster: Cluster, world: World, board: Board, wake: threading.Event
    ) -> ClaimTemplateLoop:
        cluster = cluster.with_patience(_HANDS_PATIENCE_S)
        hands, slow_hands = (
            ThreadPoolExecutor(count, thread_name_prefix=ClaimTemplateLoop.name)
            for count in (_HANDS, _SLOW_HANDS)
        )
        return ClaimTemplateLoop(
            cluster,
            world,
            Jobs(cluster, hands, slow_hands, wake.set),
            in_use=self._settings.table_name,
            board=board,
            log=self._log,
            metrics=self._template_metrics,
            monotonic=monotonic,
            grace_s=self._settings.template_grace_s,
        )

    def _health(self, cluster: Cluster, world: World, board: Board, book: LedgerBook) -> HealthLoop:
        return HealthLoop(
            cluster.with_patience(_HANDS_PATIENCE_S),
            world,
            book,
            in_use=self._settings.table_name,
            board=board,
            log=self._log,
            metrics=self._health_metrics,
            monotonic=monotonic,
        )

    def _certificates(self, cluster: Cluster, board: Board) -> CertificateLoop:
        """Return a new loop: what it has waited for counts within one term only."""
        places = CertificatePlaces(self._settings.namespace)
        return CertificateLoop(
            cluster,
            places,
            places.rules,
            board=board,
            log=self._log,
            metrics=self._certificate_metrics,
            monotonic=monotonic,
        )
