"""HTTP as it comes over a socket."""

from __future__ import annotations

import re
import ssl
from typing import Any

import orjson


class Answer:
    """One HTTP answer as it came over the wire."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            assert byte, f"closed after {head!r}"
            head += byte
        self.status = int(head.split(b" ")[1])
        self.head = head.decode().lower()
        length = re.search(r"content-length: (\d+)", self.head)
        assert length is not None, head
        body = b""
        while len(body) < int(length[1]):
            body += connection.recv(int(length[1]) - len(body))
        self.body: dict[str, Any] = orjson.loads(body)

    def refusal(self) -> tuple[int, str]:
        """Its status and message, of which the Status object must tell the same."""
        assert "content-type: application/json\r\n" in self.head
        assert self.body["kind"] == "Status"
        assert self.body["code"] == self.status
        return self.status, self.body["message"]


def is_closed(connection: ssl.SSLSocket) -> bool:
    """Whether the server closes the connection, orderly and without another byte."""
    return connection.recv(1) == b""
