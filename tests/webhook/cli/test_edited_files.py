"""Files that are replaced: wholly or not at all, and with whatever was theirs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.webhook.advice.findings.judged import pod
from tests.webhook.cli.running import on_table
from webhook.cli.edited_files import each, replace_file
from webhook.cli.inputs import UnreadableError

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "x.yaml"
    file.write_bytes(OLD)
    return file


def refusal(file: Path) -> str:
    """Return why a file is not replaced; it is as it was, and there is no other beside it."""
    there = sorted(file.parent.iterdir())
    with pytest.raises(OSError, match=r".") as error:
        replace_file(file, NEW)
    assert sorted(file.parent.iterdir()) == there
    return str(error.value.strerror)


def test_mode_owner_and_group_stay(file: Path) -> None:
    groups = os.getgroups() or [os.getegid()]
    # Only root may choose whose a file is.
    owner, group = (1234, 2345) if os.geteuid() == 0 else (os.geteuid(), groups[-1])
    os.chown(file, owner, group)
    file.chmod(0o2664)
    replace_file(file, NEW)

    after = file.stat()
    assert file.read_bytes() == NEW
    assert (after.st_uid, after.st_gid, after.st_mode & 0o7777) == (owner, group, 0o2664)


def test_the_group_stays_where_the_owner_may_not_be_set(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[int, int]] = []

    def for_root_only(_: str, owner: int, group: int) -> None:
        tried.append((owner, group))
        if owner != -1:
            raise PermissionError(1, "Operation not permitted")

    before = file.stat()
    monkeypatch.setattr(os, "chown", for_root_only)
    replace_file(file, NEW)

    assert tried == [(before.st_uid, before.st_gid), (-1, before.st_gid)]
    assert file.read_bytes() == NEW


def test_a_file_is_replaced_where_neither_may_be_set(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    replace_file(file, NEW)

    assert file.read_bytes() == NEW


def test_links_by_name_stay_links(file: Path) -> None:
    link = file.with_name("link.yaml")
    link.symlink_to(file.name)
    replace_file(link, NEW)

    assert link.is_symlink()
    assert file.read_bytes() == NEW


def test_hard_links_are_not_broken(file: Path) -> None:
    for name in ("y.yaml", "z.yaml"):
        file.with_name(name).hardlink_to(file)
    link = file.with_name("link.yaml")
    link.symlink_to(file.name)

    for one in (file, link):
        assert refusal(one) == (
            "has 3 hard links, which rewriting would break: edit it by hand or copy it first"
        )
    assert file.read_bytes() == OLD


READ_ONLY = "is read-only: allow writing (chmod u+w) or change a copy of it"


def test_a_file_that_nobody_may_write_stays_for_root_too(file: Path) -> None:
    file.chmod(0o444)

    assert refusal(file) == READ_ONLY
    assert file.read_bytes() == OLD


def test_a_file_that_this_user_may_not_write_stays(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: path != file)

    assert refusal(file) == READ_ONLY
    assert file.read_bytes() == OLD


def test_a_folder_that_this_user_may_not_write_is_named_as_the_reason(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: path != file.parent)

    assert refusal(file) == (
        "is replaced as a whole, and its folder is read-only: change a copy of it elsewhere"
    )


def test_a_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    assert refusal(pipe) == (
        "is no regular file, so nothing can take its place: change a copy of it"
    )
    assert pipe.is_fifo()


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 250 + ".yaml")
    file.write_bytes(OLD)
    replace_file(file, NEW)

    assert file.read_bytes() == NEW


@pytest.mark.parametrize("step", ["chmod", "replace"])
def test_an_interrupted_run_leaves_the_old_file(
    step: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(file, NEW)

    assert file.read_bytes() == OLD
    assert list(file.parent.iterdir()) == [file]


def test_mending_tells_why_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bad = pod("limits: {preferred.jp/gpu-A100: 1}")
    Path("x.yaml").write_text(bad)
    Path("y.txt").hardlink_to("x.yaml")
    result = on_table("validate", "--fix", "x.yaml")

    assert result.exit_code == 2
    assert result.stderr == (
        "x.yaml: has 2 hard links, which rewriting would break: edit it by hand or copy it first\n"
    )
    assert Path("y.txt").read_text() == bad


def test_all_problems_come_after_all_that_can_be_done() -> None:
    done: list[int] = []

    def odd(number: int) -> int:
        if number % 2:
            raise UnreadableError(f"{number} is odd")
        done.append(number)
        return -number

    assert each(odd, [2, 4]) == [-2, -4]
    with pytest.raises(UnreadableError, match=r"^1 is odd\n3 is odd$"):
        each(odd, [1, 6, 3, 8])
    assert done == [2, 4, 6, 8]
