"""What a file system keeps beside a file goes to the file that takes its place, or that stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from webhook.cli import file_attributes
from webhook.cli.edited_files import replace_file

ACL = "system.posix_acl_access"
OLD, NEW = b"old\n", b"new\n"


class Attributes:
    """Attributes of the files of a folder, by their inodes: not every file system has such."""

    def __init__(self) -> None:
        self.of: dict[int, dict[str, bytes]] = {}
        self.refused: set[str] = set()
        self.steps: list[str] = []

    def listxattr(self, file: Path) -> list[str]:
        return list(self.of.get(file.stat().st_ino, {}))

    def getxattr(self, file: Path, name: str) -> bytes:
        return self.of[file.stat().st_ino][name]

    def setxattr(self, file: Path, name: str, value: bytes) -> None:
        mode = file.stat().st_mode & 0o777
        self.steps.append(f"{name} at {mode:o}")
        if name in self.refused:
            raise OSError(errno.EPERM, "Operation not permitted")
        self.of.setdefault(file.stat().st_ino, {})[name] = value

    def removexattr(self, file: Path, name: str) -> None:
        if self.of.get(file.stat().st_ino, {}).pop(name, None) is None:
            raise OSError(errno.ENODATA, "No data available")
        self.steps.append(f"no {name}")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Attributes:
    kept = Attributes()
    for name in ("listxattr", "getxattr", "setxattr", "removexattr"):
        monkeypatch.setattr(os, name, getattr(kept, name), raising=False)
    return kept


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "x.yaml"
    file.write_bytes(OLD)
    file.chmod(0o664)
    return file


def _of(kept: Attributes, file: Path) -> dict[str, bytes]:
    return kept.of.get(file.stat().st_ino, {})


def test_attributes_stay_and_the_list_is_there_before_the_mode_opens_the_file(
    file: Path, kept: Attributes
) -> None:
    kept.of[file.stat().st_ino] = {ACL: b"list", "user.x": b"y", "security.ima": b"of the bytes"}
    replace_file(file, NEW)

    assert file.read_bytes() == NEW
    assert _of(kept, file) == {ACL: b"list", "user.x": b"y"}
    assert kept.steps == ["user.x at 600", f"{ACL} at 600"]
    assert file.stat().st_mode & 0o777 == 0o664


def test_a_list_that_cannot_be_kept_keeps_the_file(file: Path, kept: Attributes) -> None:
    kept.of[file.stat().st_ino] = {ACL: b"list"}
    kept.refused = {ACL}
    with pytest.raises(PermissionError, match=r"access control list .*setfacl -b"):
        replace_file(file, NEW)

    assert file.read_bytes() == OLD
    assert list(file.parent.iterdir()) == [file]


def test_other_attributes_stay_where_they_can(file: Path, kept: Attributes) -> None:
    kept.of[file.stat().st_ino] = {"trusted.x": b"y"}
    kept.refused = {"trusted.x"}
    replace_file(file, NEW)

    assert file.read_bytes() == NEW
    assert _of(kept, file) == {}


def test_a_list_speaks_of_one_owner(
    file: Path, kept: Attributes, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.of[file.stat().st_ino] = {ACL: b"list"}
    monkeypatch.setattr(file_attributes, "_has_changed_hands", lambda *_: True)
    with pytest.raises(PermissionError, match="owner or group would be another one"):
        replace_file(file, NEW)


def test_a_list_that_only_the_folder_would_give_goes(
    file: Path, kept: Attributes, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = file_attributes.copy_attributes

    def given(old: Path, new: Path) -> None:
        kept.of[new.stat().st_ino] = {ACL: b"of the folder"}
        copy(old, new)

    monkeypatch.setattr("webhook.cli.edited_files.copy_attributes", given)
    replace_file(file, NEW)

    assert _of(kept, file) == {}
    assert kept.steps == [f"no {ACL}"]


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENODATA])
def test_a_file_system_without_attributes_is_none_the_worse(
    file: Path, kept: Attributes, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "listxattr", refuse)
    monkeypatch.setattr(os, "removexattr", refuse)
    replace_file(file, NEW)

    assert file.read_bytes() == NEW
    assert kept.steps == []


def test_a_platform_without_attributes_is_none_the_worse(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "listxattr", raising=False)
    replace_file(file, NEW)

    assert file.read_bytes() == NEW


def test_another_group_may_do_no_more_than_everybody(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.stat()
    real = Path.stat
    there = os.stat_result([*before[:5], before.st_gid + 1, *before[6:10]])
    monkeypatch.setattr(Path, "stat", lambda self, **_: there if self == file else real(self))
    monkeypatch.setattr(os, "chown", lambda *_: None)
    replace_file(file, NEW)

    assert real(file).st_mode & 0o777 == 0o644
