"""The composition root: from settings to a running process, and out again without losing anything.

Nothing else makes these objects, and nothing here decides anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from webhook.settings import Address

# Connections that wait to be accepted. The kernel cuts this to its own limit, 4,096 where nobody
# changed it; a burst of creates opens some hundred.
_BACKLOG = 4096


class CannotStartError(Exception):
    """A process cannot start; carries every problem that was found, not only the first."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def writer(descriptor: int) -> Callable[[bytes], None]:
    """Return what writes all of some bytes, past the buffers of Python's own streams."""

    def write(content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    return write


def listener(address: Address) -> socket.socket:
    """Listen on an address; ``::`` is every address of either family, where there are two.

    Raises:
        CannotStartError: It is not free, or none of this machine's.
    """
    host = address.host
    if host == "::" and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"  # noqa: S104 -- every address was asked for
    try:
        family, _, _, _, place = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(
            place, family=family, backlog=_BACKLOG, dualstack_ipv6=host == "::"
        )
    except OSError as error:
        problem = f"cannot listen on {address}: {_reason(error)}; choose another --listen"
        raise CannotStartError([problem]) from error


def _reason(error: OSError) -> str:
    """Return the system's own words; the socket module adds the address, which is there already."""
    if error.errno is None or isinstance(error, socket.gaierror):
        return str(error.strerror)
    return os.strerror(error.errno)
