"""``python -m certs``: the way to a certificate without cert-manager."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.__main__ import LIFETIMES, main, report_of
from certs.authority import KeyPair, for_service
from certs.folder import refresh
from certs.policy import server_due

NOW = datetime(2027, 1, 1, tzinfo=UTC)
NAMES = for_service("gpuspec-webhook", "gpuspec-system")
ARGUMENTS = ("--service", "gpuspec-webhook", "--namespace", "gpuspec-system")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(folder: Path, *, days: float = 0) -> list[str]:
    renewed = refresh(folder, NAMES, now=NOW + timedelta(days=days), lifetimes=LIFETIMES)
    return report_of(folder, NAMES, renewed)


def trusted(folder: Path, *, days: float = 0) -> bool:
    """Whether a client that trusts ca.crt takes tls.crt under the Service's name."""
    server = KeyPair((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes())
    bundle = (folder / "ca.crt").read_bytes()
    return not server_due(server, bundle, NAMES, now=NOW + timedelta(days=days)).due


def test_the_first_run_makes_four_files_and_says_what_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pki"
    assert run(folder) == [
        (
            f"{folder}: new certificate authority, valid until 2036-12-29 "
            "(there is no authority certificate yet)"
        ),
        (
            f"{folder}: new server certificate, valid until 2028-01-01 "
            "(there is no server certificate yet)"
        ),
        (
            f"{folder}: it names gpuspec-webhook.gpuspec-system.svc, "
            "gpuspec-webhook.gpuspec-system.svc.cluster.local, gpuspec-webhook.gpuspec-system"
        ),
    ]
    assert sorted(contents(folder)) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.key")}
    assert modes == {"ca.key": 0o600, "tls.key": 0o600}
    assert trusted(folder)


def test_another_run_changes_nothing_before_two_thirds_of_the_life_are_over(
    tmp_path: Path,
) -> None:
    run(tmp_path)
    before = contents(tmp_path)
    assert run(tmp_path, days=240) == [
        f"{tmp_path}: nothing is due; the certificate is valid until 2028-01-01"
    ]
    assert contents(tmp_path) == before


def test_a_renewed_certificate_has_the_same_authority(tmp_path: Path) -> None:
    run(tmp_path)
    before = contents(tmp_path)
    first, second = run(tmp_path, days=250)
    assert first.startswith(
        f"{tmp_path}: new server certificate, valid until 2028-09-07 (the server"
    )
    assert second.startswith(f"{tmp_path}: it names ")
    after = contents(tmp_path)
    assert {name for name in after if after[name] != before[name]} == {"tls.crt", "tls.key"}
    assert trusted(tmp_path, days=250)


def test_a_renewed_authority_is_trusted_beside_the_former_one(tmp_path: Path) -> None:
    """Replicas still show the old certificate while the API server already has the new bundle."""
    run(tmp_path)
    old = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    run(tmp_path, days=2500)
    bundle = x509.load_pem_x509_certificates((tmp_path / "ca.crt").read_bytes())
    assert len(bundle) == 2
    assert bundle[1].public_bytes(Encoding.PEM) == old.public_bytes(Encoding.PEM)
    assert trusted(tmp_path, days=2500)


@pytest.mark.parametrize("lost", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
def test_whatever_file_is_lost_or_of_another_pair_the_next_run_mends_it(
    tmp_path: Path, lost: str
) -> None:
    run(tmp_path)
    (tmp_path / lost).unlink()
    run(tmp_path)
    assert trusted(tmp_path)
    run(tmp_path / "other")
    (tmp_path / lost).write_bytes((tmp_path / "other" / lost).read_bytes())
    run(tmp_path)
    assert trusted(tmp_path)


def test_a_key_left_readable_by_an_ended_run_is_not_reused(tmp_path: Path) -> None:
    left = tmp_path / ".tls.key.new"
    left.write_text("half")
    left.chmod(0o644)
    run(tmp_path)
    assert not left.exists()
    assert stat.S_IMODE((tmp_path / "tls.key").stat().st_mode) == 0o600


def test_the_command_prints_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dir", str(tmp_path), *ARGUMENTS, "--name", "10.1.2.3"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    assert printed[2].endswith("gpuspec-webhook.gpuspec-system, 10.1.2.3")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("--dir", "{tmp}/pki", *ARGUMENTS, "--name", "under_score"),
            "'under_score' is neither a DNS name nor an IP address",
        ),
        (
            ("--dir", "{tmp}/file/pki", *ARGUMENTS),
            (
                "cannot keep certificates in {tmp}/file/pki: [Errno 20] Not a directory: "
                "'{tmp}/file/pki'"
            ),
        ),
        (
            ("--dir", "{tmp}/pki", "--service", "x"),
            "the following arguments are required: --namespace",
        ),
    ],
    ids=["name", "folder", "missing"],
)
def test_wrong_usage_ends_with_2_and_the_reason(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    complaint: str,
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as ended:
        main([argument.replace("{tmp}", str(tmp_path)) for argument in arguments])
    assert ended.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"python -m certs: error: {complaint.replace('{tmp}', str(tmp_path))}"
