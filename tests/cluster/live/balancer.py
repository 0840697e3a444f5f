"""A Service in front of several replicas: each connection goes to the next one that accepts it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.cluster.components import HOST

_CHUNK = 1 << 16


@contextmanager
def balancer(ports: Sequence[int]) -> Iterator[int]:
    """The port of a listener that forwards bytes, TLS and all, to the given ports in turn."""
    with socket.create_server((HOST, 0), backlog=1024) as listener:
        turn = itertools.count()

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:  # closed: the time is over
                    return
                threading.Thread(
                    target=_serve, args=(client, ports, next(turn)), daemon=True
                ).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def _serve(client: socket.socket, ports: Sequence[int], turn: int) -> None:
    for step in range(len(ports)):
        with contextlib.suppress(OSError):
            server = socket.create_connection((HOST, ports[(turn + step) % len(ports)]))
            break
    else:
        client.close()
        return
    back = threading.Thread(target=_forward, args=(server, client), daemon=True)
    back.start()
    _forward(client, server)
    back.join()
    for end in (client, server):
        end.close()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
