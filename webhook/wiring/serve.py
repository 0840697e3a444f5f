"""``gpuspec serve``: from settings to a running service."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import Callable

import webhook
from selection_spec.table import builtin_table, load_table
from webhook.inventory.table_object import load_table_text
from webhook.logs import LibraryLines, Log, utc_now
from webhook.metrics import Metrics
from webhook.serving.feeds import CertificateFeed, Feed, TableFeed
from webhook.serving.live_certificate import LiveCertificate
from webhook.serving.live_table import LiveTable
from webhook.serving.self_signed import SelfSigned
from webhook.settings import Address, CertificateFiles, Settings, TableName
from webhook.terms import DEFAULT_TABLE
from webhook.web.app import create_app
from webhook.web.body import BodyReader
from webhook.web.server import Server
from webhook.web.state import Draining, WebState
from webhook.wiring import CannotStartError, listener, writer

# Objects that are made before the collector looks at the young ones, and how often it then looks at
# older ones. A body of 7 MiB may hold two million small lists, none of them garbage: with Python's
# defaults (700, 10, 10) collections during its parsing took 3 to 5 s, in which nobody was served;
# with these they take 0.1 s. Usual reviews cost the same with either.
_COLLECT_AFTER = (10_000, 20, 50)

# A log line is written at most this much later than what it tells of.
_FLUSH_S = 0.1

# How precisely the time for a request to arrive is kept.
_LATE_S = 0.5


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop.

    Args:
        settings: What to serve, and where.
        announce: Told the service's URL once it accepts connections.

    Raises:
        CannotStartError: A file cannot be used or the address is not free.
    """
    log = Log(writer(sys.stderr.fileno()))
    logging.basicConfig(handlers=[LibraryLines(log)], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    try:
        log.info("starting", version=webhook.__version__, settings=settings.effective())
        _Service(settings, log).run(announce)
        log.info("stopped")
    finally:
        log.flush()


class _Service:
    """The live values of one process, and what keeps them alive."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._metrics = Metrics()
        from_cluster = isinstance(settings.table, TableName)
        self._table = LiveTable(
            load=load_table_text if from_cluster else load_table,
            metrics=self._metrics,
            log=log,
            clock=utc_now,
        )
        self._certificate = LiveCertificate(metrics=self._metrics, log=log, clock=utc_now)
        self._feeds: list[Feed] = [self._certificate_feed()]
        if settings.table is None:
            self._table.use(builtin_table(), "built-in")
        elif isinstance(settings.table, TableName):
            self._feeds.append(self._table_resource(settings.table))
        else:
            self._feeds.append(TableFeed(settings.table, self._table))

    def run(self, announce: Callable[[str], None]) -> None:
        """Start, serve, drain."""
        problems = [problem for feed in self._feeds for problem in feed.begin()]
        try:
            opened = listener(self._settings.listen)
        except CannotStartError as error:
            raise CannotStartError([*problems, *error.problems]) from error
        with opened:
            if problems:
                raise CannotStartError(problems)
            server = self._server(opened, announce)
            gc.set_threshold(*_COLLECT_AFTER)
            with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
                runner.run(self._serve(server, opened))

    def _table_resource(self, table: TableName) -> Feed:
        # The client of the API server takes a second to import, and not everybody needs it.
        from webhook.kube.cluster import connect  # noqa: PLC0415
        from webhook.kube.errors import UnreachableError  # noqa: PLC0415
        from webhook.serving.table_resource import TableResource  # noqa: PLC0415

        try:
            cluster = connect(table.place.kubeconfig, table.place.context)
        except UnreachableError as error:
            raise CannotStartError([str(error)]) from error
        return TableResource(cluster, table.name, self._table, builtin=builtin_table, clock=utc_now)

    def _certificate_feed(self) -> CertificateFeed:
        tls = self._settings.tls
        if isinstance(tls, CertificateFiles):
            return CertificateFeed(tls.certificate, tls.key, self._certificate)
        issuer = SelfSigned(
            tls.folder, tls.names, clock=utc_now, say=self._log.info, lifetimes=tls.lifetimes
        )
        return CertificateFeed(
            issuer.certificate_file, issuer.key_file, self._certificate, renew=issuer.ensure
        )

    def _server(self, opened: socket.socket, announce: Callable[[str], None]) -> Server:
        state = WebState(
            table=self._table,
            certificate=self._certificate,
            metrics=self._metrics,
            log=self._log,
            clock=utc_now,
            draining=Draining(),
            bodies=BodyReader(),
        )
        url = _url(self._settings.listen, opened)

        def started() -> None:
            self._log.info("serving", url=url)
            announce(url)

        table = self._settings.table
        in_use = table.name if isinstance(table, TableName) else DEFAULT_TABLE
        return Server(create_app(state, table_in_use=in_use), state, self._settings, started)

    async def _serve(self, server: Server, opened: socket.socket) -> None:
        background = [
            asyncio.create_task(self._every(_FLUSH_S, self._log.flush)),
            asyncio.create_task(self._every(_LATE_S, server.close_late_requests)),
            *(
                asyncio.create_task(self._every_in_thread(self._settings.poll_s, feed.look))
                for feed in self._feeds
            ),
        ]
        try:
            await server.serve([opened])
        finally:
            for feed in self._feeds:
                feed.end()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)

    async def _every(self, seconds: float, action: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            self._guarded(action)

    async def _every_in_thread(self, seconds: float, action: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            # A table of a thousand rows takes a second to load, in which reviews must be answered.
            await asyncio.to_thread(self._guarded, action)

    def _guarded(self, action: Callable[[], None]) -> None:
        """Do something that is repeated; a bug in it must not end the repetition."""
        try:
            action()
        except Exception as bug:  # noqa: BLE001 -- a loop's shell, see above
            self._log.bug("failed in the background", bug)


def _url(address: Address, opened: socket.socket) -> str:
    """Return a URL that works on this machine."""
    everywhere = address.host in {"::", "0.0.0.0"}  # noqa: S104 -- compared, not bound
    host = "localhost" if everywhere else address.host
    return f"https://{Address(host, opened.getsockname()[1])}"
