"""``python -m certs``: keep a Service's certificate and its authority in a folder, as PEM files.

The way without cert-manager. Running it again replaces what is due and nothing else, so it can run
from a timer. The folder holds ``ca.crt`` (what clients trust: the authority, then former ones that
are still valid), ``ca.key``, ``tls.crt`` and ``tls.key``; keys are for the owner's eyes alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.authority import for_service, identity_names
from certs.folder import SERVER, Lifetimes, Renewed, not_after, read_pair, refresh

_EPILOG = """\
example, which is all that manifests/overlays/own-ca needs:
  python -m certs --dir manifests/overlays/own-ca/pki \\
      --service gpuspec-webhook --namespace gpuspec-system
  kubectl apply -k manifests/overlays/own-ca

Both again, at least every eight months, renew the certificate; nothing has to be restarted.
Keep ca.key: without it the next run makes a new authority.
"""


LIFETIMES = Lifetimes(authority=timedelta(days=3650), server=timedelta(days=365))


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
        renewed = refresh(arguments.dir, names, now=datetime.now(UTC), lifetimes=LIFETIMES)
        report = report_of(arguments.dir, names, renewed)
    except OSError as error:
        parser.error(f"cannot keep certificates in {arguments.dir}: {error}")
    sys.stdout.write("".join(f"{line}\n" for line in report))
    return 0


def report_of(folder: Path, names: Sequence[str], renewed: Sequence[Renewed]) -> list[str]:
    """Say what was replaced, a line each; or that nothing was due."""
    lines = [
        f"{folder}: new {one.what}, valid until {one.not_after:%Y-%m-%d} ({one.reason})"
        for one in renewed
    ]
    if any(one.what == SERVER for one in renewed):
        return [*lines, f"{folder}: it names {', '.join(names)}"]
    server = read_pair(folder, "tls")
    if lines or server is None:
        return lines
    until = f"{not_after(server):%Y-%m-%d}"
    return [f"{folder}: nothing is due; the certificate is valid until {until}"]


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


if __name__ == "__main__":
    sys.exit(main())
