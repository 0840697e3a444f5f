"""Free ports on loopback."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable

_BELOW_EPHEMERAL = range(20_000, 32_000)


def free_ports(names: Iterable[str], host: str) -> dict[str, int]:
    """A free port for each name.

    They come from below the range that outgoing connections use: a port that the kernel hands out
    (port 0) may be some connection's own again before the program that is told of it binds it.
    """
    ports: dict[str, int] = {}
    candidates = iter(random.sample(_BELOW_EPHEMERAL, len(_BELOW_EPHEMERAL)))
    for name in names:
        ports[name] = next(port for port in candidates if _is_free(host, port))
    return ports


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
