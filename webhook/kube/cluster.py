"""A Kubernetes API server: raw JSON in and out.

The official client finds the server, keeps the credentials fresh and holds the connections; its
typed models are left out, because they cost more than all the rest and drop what they do not know.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes import client
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.utils.keepalive import tcp_keepalive_socket_options
from kubernetes.watch.watch import iter_resp_lines
from urllib3.exceptions import HTTPError, MaxRetryError

from webhook.kube.errors import ApiError, UnreachableError

Json = dict[str, Any]
PatchKind = Literal["merge", "json", "apply"]

_PATCH_TYPES: dict[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}

_JSON = "application/json"

# Bounds for networks that lose packets; an API server that is there answers in milliseconds.
_CONNECT_S = 5.0
_ANSWER_S = 30.0

# A watch is asked anew this often, from where it was. So one that has died without a word (a node
# between us and the API server has gone) is noticed this much later at most, plus the slack.
_WATCH_S = 60
_WATCH_SLACK_S = 10.0

# Of a list, so that 5,000 nodes are never in memory at once. Two pages are, many times as large as
# on the wire. The API server has as much work with pages of 500; with smaller ones it has more.
_PAGE = "250"

# One more try, and only for what may be repeated: the API server closes idle connections.
# What an answer asks for (Retry-After) is up to whoever has asked.
_RETRIES = urllib3.Retry(total=1, redirect=0, status=0, other=0, respect_retry_after_header=False)

_SHOWN_CHARACTERS = 60

# A watch holds one as long as it lasts, and the controller has a dozen besides its loops.
_CONNECTIONS = 64


# What the library puts before its reasons: which connection, or its address in memory.
_CONNECTION = re.compile(r"^(?:<[^>]*>|HTTPS?Connection(?:Pool)?\([^)]*\)): ")


# Group, version and plural of a path, whether it is of a namespace or not.
_KIND = re.compile(r"/apis/([^/]+)/([^/]+)/(?:namespaces/[^/]+/)?([^/]+)")


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked; as text it is what messages call it."""

    method: str
    path: str
    query: dict[str, str]
    body: object = None
    kind: str = _JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Cluster:
    """Requests to one API server; may be used from any thread.

    Paths are the API's own (``/api/v1/nodes``), query values are texts.
    """

    def __init__(
        self,
        api: client.ApiClient,
        answer_s: float = _ANSWER_S,
        ended: threading.Event | None = None,
    ) -> None:
        self._api = api
        self._answer_s = answer_s
        self._ended = ended
        self.server = str(api.configuration.host)

    def with_patience(self, seconds: float) -> Cluster:
        """Return the same API server, given up on after so many seconds without an answer."""
        return Cluster(self._api, seconds, self._ended)

    def until(self, ended: threading.Event) -> Cluster:
        """Return the same API server for no longer than an event is not set.

        Whoever has lost the lead stops at the next request, in the middle of whatever it does.
        """
        return Cluster(self._api, self._answer_s, ended)

    def get(self, path: str, **query: str) -> Json:
        """Return an object, or one page of a list.

        Raises:
            ApiError: The API server says no.
            UnreachableError: It does not answer. (So do all other methods.)
        """
        return self._json(_Request("GET", path, query))

    def items(self, path: str, **query: str) -> Iterator[Json]:
        """Yield the items of a list, page by page."""
        for _, items in self.pages(path, **query):
            yield from items

    def pages(self, path: str, **query: str) -> Iterator[tuple[str, list[Json]]]:
        """Yield the pages of a list: its resource version, the same for all, and the items."""
        more = {"limit": _PAGE}
        while more:
            page = self.get(path, **query, **more)
            metadata = page.get("metadata") or {}
            yield str(metadata.get("resourceVersion", "")), page.get("items") or []
            more = (
                {"limit": _PAGE, "continue": metadata["continue"]}
                if metadata.get("continue")
                else {}
            )

    def create(self, path: str, body: Json, **query: str) -> Json:
        """Create an object below a collection's path."""
        return self._json(_Request("POST", path, query, body))

    def replace(self, path: str, body: Json, **query: str) -> Json:
        """Replace an object; with its ``resourceVersion`` in the body only if nobody else has."""
        return self._json(_Request("PUT", path, query, body))

    def patch(
        self, path: str, body: Json | list[Json], kind: PatchKind = "merge", **query: str
    ) -> Json:
        """Change an object."""
        return self._json(_Request("PATCH", path, query, body, _PATCH_TYPES[kind]))

    def delete(self, path: str, **query: str) -> Json:
        """Delete an object."""
        return self._json(_Request("DELETE", path, query))

    def watch(self, path: str, resource_version: str, **query: str) -> Iterator[Json]:
        """Yield the events of a collection from a version on, until the server ends the watch.

        An event is ``{"type": …, "object": …}``. The first is our own, of type CONNECTED, when the
        API server has agreed; the last may be of type ERROR with a ``Status``.
        """
        query |= {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(_WATCH_S),
        }
        with self._answer(_Request("GET", path, query), _WATCH_S + _WATCH_SLACK_S) as response:
            yield {"type": "CONNECTED"}
            for line in iter_resp_lines(response):  # type: ignore[no-untyped-call]
                if line:
                    yield self._parsed(f"WATCH {path}", line)

    def _json(self, request: _Request) -> Json:
        try:
            with self._answer(request, self._answer_s) as response:
                return self._parsed(str(request), response.data)
        except ApiError as error:
            if self._is_of_no_kind(request.path, error):
                said = "the API server has no such kind of object"
                raise ApiError(str(request), error.code, "NotFound", said) from error
            raise

    def _is_of_no_kind(self, path: str, error: ApiError) -> bool:
        """Tell whether a 404 means that the API server has no such kind of object.

        To a path that it does not know it answers 404 in plain text, as any proxy would. So what it
        has is looked up in its own lists.
        """
        parts = _KIND.match(path)
        if error.code != HTTPStatus.NOT_FOUND or error.reason or parts is None:
            return False
        group, version, plural = parts.groups()
        groups = self.get("/apis")
        if groups.get("kind") != "APIGroupList":
            return False
        served = {one["groupVersion"] for each in groups["groups"] for one in each["versions"]}
        if f"{group}/{version}" not in served:
            return True
        resources = self.get(f"/apis/{group}/{version}")
        return resources.get("kind") == "APIResourceList" and plural not in {
            one["name"] for one in resources["resources"]
        }

    def _parsed(self, request: str, body: bytes | str) -> Json:
        """Read an answer; a proxy in between may have sent anything, with any status."""
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            text = body if isinstance(body, str) else body.decode(errors="replace")
            said = " ".join(text.split())[:_SHOWN_CHARACTERS]
            raise UnreachableError(f"{self.server}: {request}: the answer is no object: {said!r}")
        return value

    @contextmanager
    def _answer(self, request: _Request, seconds: float) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send a request; yield a good answer, whose body is still to be read."""
        if self._ended is not None and self._ended.is_set():
            raise UnreachableError(f"{request}: not sent, this process no longer leads")
        headers = {"Accept": _JSON, "Content-Type": request.kind, "User-Agent": "gpuspec"}
        self._api.update_params_for_auth(
            headers, [], ["BearerToken"], request.path, request.method, request.body
        )
        try:
            response = self._api.rest_client.pool_manager.request(
                request.method,
                f"{self.server}{request.path}?{urlencode(request.query)}".rstrip("?"),
                body=None if request.body is None else orjson.dumps(request.body),
                headers=headers,
                timeout=urllib3.Timeout(connect=min(_CONNECT_S, seconds), read=seconds),
                retries=_RETRIES,
                preload_content=False,
            )
            try:
                if response.status >= 300:  # noqa: PLR2004 -- HTTP's own bound of what went well
                    raise _refusal(str(request), response)
                yield response
            finally:
                # What is unread of a watch that was given up must not be the next one's answer.
                response.close()
                response.release_conn()
        except HTTPError as error:
            raise UnreachableError(f"{self.server}: {request}: {_why(error)}") from error


def connect(kubeconfig: Path | None = None, context: str | None = None) -> Cluster:
    """Find the API server: inside a cluster the cluster's own, else the kubeconfig's.

    Args:
        kubeconfig: The file to use; ``$KUBECONFIG`` or ``~/.kube/config`` where it is None.
        context: The context in it; its current one where it is None.

    Raises:
        UnreachableError: There is no usable configuration.
    """
    configuration = client.Configuration()
    configuration.socket_options = tcp_keepalive_socket_options()
    configuration.connection_pool_maxsize = _CONNECTIONS
    inside = kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ
    try:
        if inside:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            file = None if kubeconfig is None else str(kubeconfig)
            load_kube_config(  # type: ignore[no-untyped-call]
                file, context, client_configuration=configuration
            )
    except Exception as error:
        hint = "" if inside else "; name one with --kubeconfig, or set KUBECONFIG"
        raise UnreachableError(f"no cluster to talk to: {_told(error)}{hint}") from error
    return Cluster(client.ApiClient(configuration))


def _told(error: Exception) -> str:
    """Return what is wrong with a kubeconfig; what the library trips over may say nothing."""
    is_said = isinstance(error, (ConfigException, OSError))
    return str(error) if is_said else f"the kubeconfig cannot be used: {error!r}"


def _refusal(request: str, response: urllib3.BaseHTTPResponse) -> ApiError:
    """Read a ``Status`` object; a proxy in between may have answered with anything."""
    try:
        status = orjson.loads(response.data)
    except orjson.JSONDecodeError:
        status = None
    after = response.headers.get("Retry-After", "")
    after_s = float(after) if after.isascii() and after.isdecimal() else 0.0
    if not isinstance(status, dict):
        text = response.data.decode(errors="replace").strip()[:200]
        return ApiError(request, response.status, "", text, after_s)
    reason, message = (str(status.get(part) or "") for part in ("reason", "message"))
    return ApiError(request, response.status, reason, message, after_s)


def _why(error: HTTPError) -> str:
    """Return the reason behind the retries, without the connection's own description."""
    reason = error.reason if isinstance(error, MaxRetryError) else None
    return _CONNECTION.sub("", str(reason or error)) or type(error).__name__
