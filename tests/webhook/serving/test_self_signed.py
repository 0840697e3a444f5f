"""The folder in which the service keeps its own authority and certificate."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from certs.folder import Lifetimes
from tests.certs.predicates import assert_is_authority, assert_is_server, names_of
from webhook.serving.self_signed import SelfSigned

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
LIFETIMES = Lifetimes(authority=900 * DAY, server=90 * DAY)
NAMES = ("localhost", "127.0.0.1", "::1")
FILES = ["ca.crt", "ca.key", "tls.crt", "tls.key"]


class Folder:
    """A folder, a clock that is set by hand, and what was said."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = NOW
        self.said: list[str] = []

    def ensure(self, names: tuple[str, ...] = NAMES) -> None:
        """Do what the service does at its start and at every look; a new object each time."""
        SelfSigned(
            self.path, names, clock=lambda: self.now, say=self.said.append, lifetimes=LIFETIMES
        ).ensure()

    def content(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.path.iterdir())}

    def authorities(self) -> list[x509.Certificate]:
        return x509.load_pem_x509_certificates((self.path / "ca.crt").read_bytes())

    def server(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.path / "tls.crt").read_bytes())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "deep" / "tls")


def test_everything_is_made(folder: Folder) -> None:
    folder.ensure((*NAMES, "gpu.example"))

    assert sorted(folder.content()) == FILES
    (authority,) = folder.authorities()
    assert_is_authority(authority)
    assert_is_server(folder.server())
    assert names_of(folder.server()) == [*NAMES, "gpu.example"]
    folder.server().verify_directly_issued_by(authority)
    assert folder.said == [
        "new certificate authority: there is no authority certificate yet",
        "new server certificate: there is no server certificate yet",
    ]


def test_keys_are_for_the_owner_alone(folder: Folder) -> None:
    folder.ensure()

    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in folder.path.iterdir()}
    assert modes == {"ca.crt": "0o644", "ca.key": "0o600", "tls.crt": "0o644", "tls.key": "0o600"}
    assert oct(folder.path.stat().st_mode & 0o777) == "0o700"


def test_a_restart_changes_nothing(folder: Folder) -> None:
    folder.ensure()
    before = folder.content()

    folder.now += DAY
    folder.ensure()

    assert folder.content() == before


def test_the_server_certificate_is_renewed_by_the_same_authority(folder: Folder) -> None:
    folder.ensure()
    before = folder.content()

    folder.now += 61 * DAY
    folder.ensure()

    after = folder.content()
    assert after["ca.crt"] == before["ca.crt"]
    assert after["ca.key"] == before["ca.key"]
    assert after["tls.crt"] != before["tls.crt"]
    assert after["tls.key"] != before["tls.key"]
    assert folder.server().not_valid_after_utc == folder.now + 90 * DAY
    assert re.fullmatch(
        r"new server certificate: the server certificate reached its renewal time .*",
        folder.said[-1],
    )


def test_an_authority_is_renewed_with_an_overlap(folder: Folder) -> None:
    """The served certificate stays, clients may trust either, and the next one is of the new."""
    folder.ensure()
    (old,) = folder.authorities()
    folder.now += 599 * DAY
    folder.ensure()
    served = folder.server()

    folder.now += 2 * DAY
    folder.ensure()

    new, kept = folder.authorities()
    assert kept == old
    assert folder.server() == served

    folder.now += 90 * DAY
    folder.ensure()

    folder.server().verify_directly_issued_by(new)
    assert folder.authorities() == [new, old]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_is_replaced(folder: Folder, name: str) -> None:
    folder.ensure()

    (folder.path / name).unlink()
    folder.ensure()

    assert sorted(folder.content()) == FILES
    folder.server().verify_directly_issued_by(folder.authorities()[-1])


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_damaged_is_replaced(folder: Folder, name: str) -> None:
    folder.ensure()

    (folder.path / name).write_bytes(b"-----BEGIN NONSENSE-----\n")
    folder.ensure()

    assert b"NONSENSE" not in b"".join(folder.content().values())
    before = folder.content()
    folder.ensure()
    assert folder.content() == before


def test_without_its_key_the_former_authority_is_still_trusted(folder: Folder) -> None:
    """What it has issued goes on serving, so that no client has to read ca.crt at once."""
    folder.ensure()
    (old,) = folder.authorities()
    served = folder.server()

    (folder.path / "ca.key").unlink()
    folder.ensure()

    assert folder.authorities()[1] == old
    assert folder.server() == served


def test_another_name_is_added(folder: Folder) -> None:
    folder.ensure()

    folder.ensure((*NAMES, "gpu.example"))

    assert names_of(folder.server()) == [*NAMES, "gpu.example"]
    assert (
        folder.said[-1]
        == "new server certificate: the server certificate lacks the names gpu.example"
    )


def test_an_expired_pair_is_replaced(folder: Folder) -> None:
    folder.ensure()

    folder.now += 2000 * DAY
    folder.ensure()

    (authority,) = folder.authorities()
    assert authority.not_valid_after_utc == folder.now + 900 * DAY
    assert folder.server().not_valid_after_utc == folder.now + 90 * DAY


def test_a_draft_that_a_crash_left_behind_does_not_matter(folder: Folder) -> None:
    folder.ensure()
    (folder.path / ".tls.key.new").write_bytes(b"half")
    (folder.path / "tls.key").unlink()

    folder.ensure()

    assert sorted(folder.content()) == FILES


def test_error_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match="Not a directory"):
        Folder(tmp_path / "file" / "tls").ensure()


def test_error_a_name_that_is_none(folder: Folder) -> None:
    with pytest.raises(ValueError, match=r"^'a_b' is neither a DNS name nor an IP address$"):
        folder.ensure(("a_b",))
