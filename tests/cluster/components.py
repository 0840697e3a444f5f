"""The command line of each program of the control plane, and where its health is asked.

Pure: nothing is started or written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"

LOOPBACK_SERVICES = "127.7.0.0/24"
"""Services get loopback addresses, so a server that is bound to one is reached through it."""


@dataclass(frozen=True)
class Options:
    """What a test may choose about a control plane."""

    service_cidr: str = LOOPBACK_SERVICES
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    extra_flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Program name to flags, put last: a single-valued flag that is given twice takes these."""
    jobs_run_on: bool = False
    """Whether the Pods of Jobs run for ever, instead of completing at once."""


@dataclass(frozen=True)
class Layout:
    """Where one control plane keeps its files and listens."""

    workdir: Path
    ports: Mapping[str, int]

    @property
    def server(self) -> str:
        """The API server's address."""
        return f"https://{HOST}:{self.ports['kube-apiserver']}"

    @property
    def serving_chain(self) -> Path:
        """The certificate that the API server makes for itself, and the CA that it makes for it."""
        return self.workdir / "kube-apiserver" / "apiserver.crt"

    @property
    def ca_file(self) -> Path:
        """That CA alone, as everybody else needs it."""
        return self.workdir / "ca.crt"

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig, which the components use too."""
        return self.workdir / "kubeconfig"

    @property
    def service_account_key(self) -> Path:
        """The key that signs ServiceAccount tokens."""
        return self.workdir / "service-account.key"

    @property
    def token_file(self) -> Path:
        """The API server's list of static tokens."""
        return self.workdir / "tokens.csv"


@dataclass(frozen=True)
class Component:
    """One program: its flags, and where it says that it is healthy."""

    name: str
    flags: tuple[str, ...]
    health_url: str
    health_ca: Path | None = None


PORT_NAMES = (
    *("etcd", "etcd-peer", "kube-apiserver"),
    *("kube-controller-manager", "kube-scheduler", "kwok"),
)


def components(layout: Layout, options: Options, stages: Sequence[Path]) -> tuple[Component, ...]:
    """All programs, in the order in which they are started; ``stages`` are KWOK's files."""
    return (
        _etcd(layout),
        _apiserver(layout, options),
        _client(
            "kube-controller-manager",
            layout,
            f"--service-account-private-key-file={layout.service_account_key}",
            f"--root-ca-file={layout.ca_file}",
            *_feature_gates(options),
        ),
        _client("kube-scheduler", layout, *_feature_gates(options)),
        _kwok(layout, stages),
    )


def _etcd(layout: Layout) -> Component:
    client = f"http://{HOST}:{layout.ports['etcd']}"
    peer = f"http://{HOST}:{layout.ports['etcd-peer']}"
    flags = (
        f"--data-dir={layout.workdir / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # nobody needs the data after a power cut
        "--log-level=warn",
    )
    return Component("etcd", flags, f"{client}/health")


def _apiserver(layout: Layout, options: Options) -> Component:
    flags = (
        f"--etcd-servers=http://{HOST}:{layout.ports['etcd']}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",  # else a machine without a network has none
        "--endpoint-reconciler-type=none",  # an Endpoints object may not name loopback
        f"--secure-port={layout.ports['kube-apiserver']}",
        f"--cert-dir={layout.serving_chain.parent}",
        f"--service-account-key-file={layout.service_account_key}",
        f"--service-account-signing-key-file={layout.service_account_key}",
        f"--service-account-issuer={layout.server}",
        f"--token-auth-file={layout.token_file}",
        "--authorization-mode=RBAC",
        f"--service-cluster-ip-range={options.service_cidr}",
        "--enable-admission-plugins=Priority,ResourceQuota",  # besides those on by default
        *_feature_gates(options),
    )
    return Component("kube-apiserver", flags, f"{layout.server}/readyz", layout.serving_chain)


def _client(name: str, layout: Layout, *more: str) -> Component:
    """A program of Kubernetes that works through the API server."""
    certificates = layout.workdir / name
    flags = (
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        f"--secure-port={layout.ports[name]}",
        f"--cert-dir={certificates}",
        # a storm of test objects must not wait for the client's own rate limit
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *more,
    )
    health_url = f"https://{HOST}:{layout.ports[name]}/healthz"
    return Component(name, flags, health_url, certificates / f"{name}.crt")


def _kwok(layout: Layout, stages: Sequence[Path]) -> Component:
    address = f"{HOST}:{layout.ports['kwok']}"
    flags = (
        f"--kubeconfig={layout.kubeconfig}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
        f"--server-address={address}",
        *(f"--config={file}" for file in stages),
    )
    return Component("kwok", flags, f"http://{address}/healthz")


def _feature_gates(options: Options) -> tuple[str, ...]:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in options.feature_gates.items())
    return (f"--feature-gates={gates}",) if gates else ()
