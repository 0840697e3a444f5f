"""What the service is told when it starts, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from certs.folder import Lifetimes

_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen.

    Attributes:
        host: A name or an address, without brackets; ``::`` means every address of either family.
        port: 0 picks a free one.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A certificate and key that somebody else keeps fresh."""

    certificate: Path
    key: Path


# Clients have to be told of a new authority by hand, hence ten years; a new server certificate goes
# unnoticed, hence short.
_LIFETIMES = Lifetimes(authority=timedelta(days=3650), server=timedelta(days=90))


@dataclass(frozen=True, slots=True)
class SelfSignedFolder:
    """A folder in which the service keeps its own authority and certificate.

    Attributes:
        folder: Where ``ca.crt`` is written.
        more_names: DNS names and addresses beside those of this machine.
        lifetimes: How long certificates are valid.
    """

    folder: Path
    more_names: tuple[str, ...] = ()
    lifetimes: Lifetimes = _LIFETIMES

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the certificate."""
        return (*_LOCAL_NAMES, *self.more_names)


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """How to find an API server.

    Attributes:
        kubeconfig: Its file; None means the cluster that the process runs in, else the usual file.
        context: A context of it; None means its current one.
    """

    kubeconfig: Path | None = None
    context: str | None = None

    def __str__(self) -> str:
        """Return it as a log line shows it."""
        if self.kubeconfig is None and self.context is None:
            return "this cluster, or the usual kubeconfig"
        return f"{self.kubeconfig or 'the usual kubeconfig'}, {self.context or 'current context'}"


@dataclass(frozen=True, slots=True)
class TableName:
    """A SelectionTable of a cluster."""

    name: str
    place: ClusterPlace = ClusterPlace()

    def __str__(self) -> str:
        """Return it as a log line shows it."""
        return f"SelectionTable {self.name} of {self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that ``serve`` can be told; seconds are in ``_s``.

    Attributes:
        listen: Where.
        table: The selection table's file, or its name in a cluster; None for the built-in table.
        tls: Where the certificate comes from.
        drain_s: From the first SIGTERM to the end of accepting connections.
        request_s: In which a request has to arrive whole.
        poll_s: Between two looks at the files.
    """

    listen: Address
    table: Path | TableName | None
    tls: CertificateFiles | SelfSignedFolder
    drain_s: float = 5.0
    request_s: float = 10.0
    poll_s: float = 1.0

    def effective(self) -> dict[str, object]:
        """Return what holds, with the defaults, for the log; it has no secrets."""
        tls: dict[str, object]
        if isinstance(self.tls, CertificateFiles):
            tls = {"certificate": str(self.tls.certificate), "key": str(self.tls.key)}
        else:
            tls = {
                "selfSigned": str(self.tls.folder),
                "names": self.tls.names,
                "serverDays": self.tls.lifetimes.server.days,
                "authorityDays": self.tls.lifetimes.authority.days,
            }
        return {
            "listen": str(self.listen),
            "table": "built-in" if self.table is None else str(self.table),
            "tls": tls,
            "drainSeconds": self.drain_s,
            "requestSeconds": self.request_s,
            "pollSeconds": self.poll_s,
        }


def parse_address(text: str) -> Address:
    """Read ``HOST:PORT``, ``[IPv6]:PORT`` or ``:PORT`` (every address).

    Raises:
        ValueError: It is none of these; the message says what to write.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or (":" in host and not bracketed):
        raise ValueError(f"{text!r} is no address; write HOST:PORT, or [ADDRESS]:PORT for IPv6")
    if not (port.isascii() and port.isdecimal()) or int(port) > _HIGHEST_PORT:
        raise ValueError(f"{port!r} in {text!r} is no port; write a number from 0 to 65535")
    return Address(host[1:-1] if bracketed else host or "::", int(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Everything that ``controller`` can be told; seconds are in ``_s``.

    Attributes:
        place: The cluster that it works on.
        namespace: Where it and the webhook are installed; the lease and the certificate are there.
        identity: Its own name among the replicas: that of its Pod.
        table_name: The SelectionTable in use.
        listen: Where metrics and the probe are served, without TLS.
        certificates: Whether it issues the webhook's certificate.
        template_grace_s: How long a ResourceClaimTemplate stays that no Pod names.
    """

    place: ClusterPlace
    namespace: str
    identity: str
    table_name: str
    listen: Address
    certificates: bool = True
    template_grace_s: float = 600.0

    def effective(self) -> dict[str, object]:
        """Return what holds, with the defaults, for the log; it has no secrets."""
        return {
            "cluster": str(self.place),
            "namespace": self.namespace,
            "identity": self.identity,
            "table": self.table_name,
            "listen": str(self.listen),
            "certificates": self.certificates,
            "templateGraceSeconds": self.template_grace_s,
        }
