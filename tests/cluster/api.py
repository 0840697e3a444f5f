"""A small client for the Kubernetes API: raw JSON in and out, nothing modelled, nothing cached.

Paths are the API's own; :func:`path` builds them. Errors carry what the API server said.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx

Json = dict[str, Any]

PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

T = TypeVar("T")

_POLL_SECONDS = 0.05
# A machine on which the tests of several versions run side by side is given so many times as long.
_PATIENCE = 3
_CONNECTIONS = 32


class ApiError(Exception):
    """The API server refused a request; ``code``, ``reason`` and the whole ``status`` say why."""

    def __init__(self, request: httpx.Request, response: httpx.Response) -> None:
        try:
            decoded = response.json()
        except json.JSONDecodeError:
            decoded = None
        self.status: Json = decoded if isinstance(decoded, dict) else {"message": response.text}
        self.code = response.status_code
        self.reason: str = self.status.get("reason", "")
        self.message: str = self.status.get("message", "")
        super().__init__(f"{request.method} {request.url.path}: {self.code} {self.message}")


class WaitError(Exception):
    """Something did not become true in time; the message has its last state."""


def path(
    group_version: str,
    plural: str,
    name: str | None = None,
    *,
    namespace: str | None = None,
    subresource: str | None = None,
) -> str:
    """The path of a collection or an object: ``path("apps/v1", "deployments", namespace="x")``."""
    parts = ["apis" if "/" in group_version else "api", group_version]
    if namespace is not None:
        parts += ["namespaces", namespace]
    parts += [part for part in (plural, name, subresource) if part is not None]
    return "/" + "/".join(parts)


class _SharedContext(ssl.SSLContext):
    """A client's context that threads may share.

    httpcore sets the protocols anew before each connection. OpenSSL then frees the former list,
    which another thread may be copying for its own connection: the server refuses that one, now
    and then, with a "decode error". Without the list a server speaks HTTP/1.1, which is all we do.
    """

    def set_alpn_protocols(self, _: Iterable[str]) -> None:
        """Leave it as it is."""


def verify_with(ca_file: Path) -> ssl.SSLContext:
    """Trust the certificates of this file only."""
    context = _SharedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca_file)
    return context


class Api:
    """One user's connection to one API server; threads may share it."""

    def __init__(self, server: str, *, token: str, ca_file: Path, timeout: float = 90) -> None:
        self.server = server
        self._ca_file = ca_file
        self._client = httpx.Client(
            base_url=server,
            headers={"Authorization": f"Bearer {token}"},
            verify=verify_with(ca_file),
            timeout=timeout,
            trust_env=False,
            limits=httpx.Limits(
                max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS
            ),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def as_user(self, token: str) -> Api:
        """The same API server with somebody else's token, to be closed by the caller."""
        return Api(self.server, token=token, ca_file=self._ca_file)

    def get(self, at: str, **params: str) -> Json:
        """One object."""
        return self._request("GET", at, params)

    def find(self, at: str) -> Json | None:
        """One object, or None where there is none."""
        try:
            return self.get(at)
        except ApiError as error:
            if error.code == httpx.codes.NOT_FOUND:
                return None
            raise

    def list(self, at: str, **params: str) -> list[Json]:
        """The items of a collection (``labelSelector``, ``fieldSelector`` as parameters)."""
        items: list[Json] = self._request("GET", at, params)["items"]
        return items

    def create(self, at: str, body: Mapping[str, Any], **params: str) -> Json:
        """POST; the answer is the object as stored."""
        return self._request("POST", at, params, body)

    def replace(self, at: str, body: Mapping[str, Any], **params: str) -> Json:
        """PUT the whole object."""
        return self._request("PUT", at, params, body)

    def patch(self, at: str, body: object, *, kind: str = "merge", **params: str) -> Json:
        """PATCH; the kinds are those of :data:`PATCH_TYPES`. ``apply`` needs ``fieldManager``."""
        return self._request("PATCH", at, params, body, PATCH_TYPES[kind])

    def delete(self, at: str, **params: str) -> Json:
        """DELETE an object or a whole collection (``gracePeriodSeconds="0"`` does not wait)."""
        return self._request("DELETE", at, params)

    def wait_for(
        self, at: str, condition: Callable[[Json], bool], *, timeout: float = 30, what: str = ""
    ) -> Json:
        """Poll one object (or list answer) until the condition holds; it may not exist yet."""

        def holds() -> Json | None:
            found = self.find(at)
            return found if found is not None and condition(found) else None

        return wait_until(
            holds,
            timeout=timeout,
            what=what or f"the condition on {at}",
            state=lambda: json.dumps(self.find(at), indent=2),
        )

    def _request(
        self,
        method: str,
        at: str,
        params: Mapping[str, str],
        body: object = None,
        content_type: str = "application/json",
    ) -> Json:
        content = None if body is None else json.dumps(body)
        headers = {} if content is None else {"Content-Type": content_type}
        response = self._client.request(method, at, params=params, content=content, headers=headers)
        if response.is_error:
            raise ApiError(response.request, response)
        answer: Json = response.json()
        return answer


def wait_until(
    probe: Callable[[], T | None],
    *,
    timeout: float,
    what: str,
    state: Callable[[], str] = lambda: "",
    poll: float = _POLL_SECONDS,
) -> T:
    """Call the probe until it gives something true, and return that.

    Args:
        timeout: Seconds that it takes at most on a machine with nothing else to do.
    """
    patience = timeout * _PATIENCE
    deadline = time.monotonic() + patience
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise WaitError(f"{what} did not come true within {patience:g} s\n{state()}".rstrip())
        time.sleep(poll)
