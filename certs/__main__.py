"""``python -m certs``: keep a Service's certificate and its authority in a folder, as PEM files.

The way without cert-manager. Running it again replaces what is due and nothing else, so it can run
from a timer. The folder holds ``ca.crt`` (what clients trust: the authority, then former ones that
are still valid), ``ca.key``, ``tls.crt`` and ``tls.key``; keys are for the owner's eyes alone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from certs.authority import KeyPair, create_authority, for_service, identity_names, issue
from certs.policy import authority_due, server_due, trust_bundle

_EPILOG = """\
example, which is all that manifests/overlays/own-ca needs:
  python -m certs --dir manifests/overlays/own-ca/pki \\
      --service gpuspec-webhook --namespace gpuspec-system
  kubectl apply -k manifests/overlays/own-ca

Both again, at least every eight months, renew the certificate; nothing has to be restarted.
Keep ca.key: without it the next run makes a new authority.
"""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long from now new certificates are valid. Each is due when two thirds are over."""

    authority: timedelta = timedelta(days=3650)
    server: timedelta = timedelta(days=365)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0, or 2 for wrong usage and unusable folders."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    names = [*for_service(arguments.service, arguments.namespace), *arguments.name]
    try:
        identity_names(names)
    except ValueError as error:
        parser.error(str(error))
    try:
        report = refresh(arguments.dir, names, now=datetime.now(UTC), lifetimes=Lifetimes())
    except OSError as error:
        parser.error(f"cannot keep certificates in {arguments.dir}: {error}")
    sys.stdout.write("".join(f"{line}\n" for line in report))
    return 0


def refresh(
    folder: Path, names: Sequence[str], *, now: datetime, lifetimes: Lifetimes
) -> list[str]:
    """Replace what is due in the folder, which is made if need be; returns what was done, in words.

    Raises:
        ValueError: A name is neither a DNS name nor an IP address.
        OSError: The folder cannot be read or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report: list[str] = []
    authority = _read(folder, "ca")
    renewal = authority_due(authority, now=now)
    if authority is None or renewal.due:
        new = create_authority("gpuspec authority", now=now, lifetime=lifetimes.authority)
        former = folder / "ca.crt"
        previous = former.read_bytes() if former.exists() else b""
        authority = KeyPair(trust_bundle(new.certificate, previous, now=now), new.key)
        _write(folder, "ca", authority)
        report.append(f"{folder}: new authority, {_until(authority)} ({renewal.reason})")
    server = _read(folder, "tls")
    renewal = server_due(server, authority.certificate, names, now=now)
    if server is None or renewal.due:
        server = issue(authority, names, now=now, lifetime=lifetimes.server)
        _write(folder, "tls", server)
        report.append(f"{folder}: new certificate, {_until(server)} ({renewal.reason})")
        report.append(f"{folder}: it names {', '.join(names)}")
    return report or [f"{folder}: nothing is due; the certificate is {_until(server)}"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m certs",
        description="Make or renew the certificate of a Service, and the authority that signs it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dir", type=Path, required=True, help="where the four files are kept")
    parser.add_argument("--service", required=True, help="the Service's name")
    parser.add_argument("--namespace", required=True, help="the Service's namespace")
    parser.add_argument(
        "--name", action="append", default=[], help="one more DNS name or IP address (repeatable)"
    )
    return parser


def _read(folder: Path, stem: str) -> KeyPair | None:
    """What the folder holds under this name; None when either half is missing."""
    certificate, key = folder / f"{stem}.crt", folder / f"{stem}.key"
    if not (certificate.exists() and key.exists()):
        return None
    return KeyPair(certificate.read_bytes(), key.read_bytes())


def _write(folder: Path, stem: str, pair: KeyPair) -> None:
    """Write both halves, each whole or not at all.

    A run that ends between the two leaves a key and a certificate that do not belong together,
    which the next run finds and replaces.
    """
    _replace(folder / f"{stem}.key", pair.key, mode=0o600)
    _replace(folder / f"{stem}.crt", pair.certificate, mode=0o644)


def _replace(path: Path, content: bytes, *, mode: int) -> None:
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)  # of a run that was ended, perhaps with another mode
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    unfinished.replace(path)


def _until(pair: KeyPair) -> str:
    end = x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc
    return f"valid until {end:%Y-%m-%d}"


if __name__ == "__main__":
    sys.exit(main())
