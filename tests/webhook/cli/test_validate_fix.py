"""``gpuspec validate --fix``: files are mended in place, and all else in them stays."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from pathlib import Path

import pytest

from selection_spec.documents import Change, changed
from tests.webhook.advice.findings.judged import pod
from tests.webhook.cli.running import on_table
from webhook.advice.findings.report import Report
from webhook.cli.validate import fixing

BAD = pod("limits: {preferred.jp/gpu-A100: 1}  # a 日本語 comment")
GOOD = BAD.replace("A100", "a100")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_mended_is_told_and_no_longer_found() -> None:
    Path("p.yaml").write_text(BAD + "---\n" + pod("limits: {preferred.jp/gpu-b1: 1}"))
    result = on_table("validate", "--fix", "p.yaml")
    assert result.exit_code == 1
    assert result.stderr == "fixed: p.yaml: write preferred.jp/gpu-a100\n"
    assert "GS101" not in result.stdout
    assert "GS104" in result.stdout
    again = on_table("validate", "--fix", "p.yaml")
    assert again.stderr == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BAD.encode(), GOOD.encode()),
        (codecs.BOM_UTF8 + BAD.encode(), codecs.BOM_UTF8 + GOOD.encode()),
        (BAD.replace("\n", "\r\n").encode(), GOOD.replace("\n", "\r\n").encode()),
        (BAD.rstrip("\n").encode(), GOOD.rstrip("\n").encode()),
        (
            (BAD + "---\n" + BAD.replace("limits", "requests").replace("A100", "a100")).encode(),
            (GOOD + "---\n" + GOOD).encode(),
        ),
        (
            b"\n\n---\n# x\n---\n" + BAD.encode() + b"...\n",
            b"\n\n---\n# x\n---\n" + GOOD.encode() + b"...\n",
        ),
    ],
    ids=["plain", "BOM", "CRLF", "no end", "two", "empty documents"],
)
def test_all_else_stays_to_the_byte(before: bytes, after: bytes) -> None:
    Path("p.yaml").write_bytes(before)
    result = on_table("validate", "--fix", "p.yaml")
    assert (result.exit_code, Path("p.yaml").read_bytes()) == (0, after)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["plain", "BOM"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_several_parts(mark: bytes, end: str) -> None:
    good = (GOOD + "---\n").replace("\n", end)
    some = f"kind: Other\n# {'日' * 1000}\n---\n".replace("\n", end) * 500
    bad = (BAD + "---\n").replace("\n", end)
    Path("p.yaml").write_bytes(mark + (bad + some + bad + some + bad).encode())
    result = on_table("validate", "--fix", "p.yaml")
    assert (result.exit_code, result.stderr.count("fixed: ")) == (0, 3)
    assert Path("p.yaml").read_bytes() == mark + (good + some + good + some + good).encode()


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_byte_order_marks_within_a_file_stay(mark: str) -> None:
    """Files that each begin with one were put together."""
    inner = "{name: a, resources: {limits: {preferred.jp/gpu-A100: 1}}}"
    line = (
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{inner}]}}}}\n"
    )
    before = f"{mark}{BAD}---\n\ufeff{BAD}---\n\ufeff{line}"
    Path("p.yaml").write_text(before)
    result = on_table("validate", "--fix", "p.yaml")
    assert (result.exit_code, result.stderr.count("fixed: ")) == (0, 3)
    assert Path("p.yaml").read_text() == before.replace("A100", "a100")


def test_thousands_of_changes_are_made_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[int] = []

    def noted(text: str, changes: Iterable[Change]) -> str:
        texts.append(len(text))
        return changed(text, changes)

    monkeypatch.setattr(fixing, "changed", noted)
    Path("p.yaml").write_text("---\n".join([BAD] * 1000))
    result = on_table("validate", "--fix", "p.yaml")
    assert (result.exit_code, result.stderr.count("fixed: ")) == (0, 1000)
    assert Path("p.yaml").read_text() == "---\n".join([GOOD] * 1000)
    assert texts == [len("---\n".join([BAD] * 1000))]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_another_encoding_stays_as_it_is(encoding: str) -> None:
    raw = ("\ufeff" * (encoding != "utf-16") + BAD).encode(encoding)
    Path("p.yaml").write_bytes(raw)
    result = on_table("validate", "--fix", "p.yaml")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert "GS101" in result.stdout
    assert "--fix applies it" not in result.stdout
    assert Path("p.yaml").read_bytes() == raw


def test_a_file_with_what_is_no_character_stays_as_it_is() -> None:
    raw = BAD.encode() + b"# \xff\n"
    Path("p.yaml").write_bytes(raw)
    result = on_table("validate", "--fix", "p.yaml")
    assert (result.exit_code, Path("p.yaml").read_bytes()) == (1, raw)


def test_a_link_stays_one_and_the_mode_stays() -> None:
    Path("p.yaml").write_text(BAD)
    Path("p.yaml").chmod(0o640)
    Path("link.yaml").symlink_to("p.yaml")
    assert on_table("validate", "--fix", "link.yaml").exit_code == 0
    assert Path("link.yaml").is_symlink()
    assert Path("p.yaml").read_text() == GOOD
    assert Path("p.yaml").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in Path().iterdir()) == ["link.yaml", "p.yaml"]


def test_a_file_that_needs_nothing_is_not_touched() -> None:
    Path("p.yaml").write_text(GOOD)
    before = Path("p.yaml").stat()
    assert on_table("validate", "--fix", "p.yaml").exit_code == 0
    after = Path("p.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_without_it_nothing_is_changed() -> None:
    Path("p.yaml").write_text(BAD)
    assert on_table("validate", "p.yaml").exit_code == 1
    assert Path("p.yaml").read_text() == BAD


def test_standard_input_cannot_be_mended() -> None:
    result = on_table("validate", "--fix", "-", stdin=BAD)
    assert (result.exit_code, result.stderr) == (1, "")


def test_a_folder_that_cannot_be_written_to_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.yaml").write_text(BAD)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    result = on_table("validate", "--fix", "p.yaml")
    assert (result.exit_code, result.stderr) == (2, "p.yaml: Permission denied\n")
    assert [path.name for path in Path().iterdir()] == ["p.yaml"]
    assert Path("p.yaml").read_text() == BAD


def test_a_file_that_cannot_be_written_keeps_no_other_from_being_mended() -> None:
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        Path(name).write_text(BAD)
    for name in ("a.yaml", "b.yaml"):
        Path(f"{name}.link").hardlink_to(name)
    result = on_table("validate", "--fix", ".")
    links = "has 2 hard links, which rewriting would break: edit it by hand or copy it first"
    assert result.exit_code == 2
    assert result.stderr == (
        f"fixed: c.yaml: write preferred.jp/gpu-a100\na.yaml: {links}\nb.yaml: {links}\n"
    )
    assert [Path(f"{name}.yaml").read_text() for name in "abc"] == [BAD, BAD, GOOD]


@pytest.mark.parametrize(
    "meanwhile", [BAD.replace("A100", "a30").encode(), BAD.encode() + b"\xff", b""]
)
def test_a_file_that_has_changed_meanwhile_stays_as_it_is(
    meanwhile: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("p.yaml").write_text(BAD)
    judged = fixing.fix_files

    def change_and_fix(report: Report) -> int:
        Path("p.yaml").write_bytes(meanwhile)
        return judged(report)

    monkeypatch.setattr("webhook.cli.validate.fix_files", change_and_fix)
    result = on_table("validate", "--fix", "p.yaml")
    assert result.stderr == "note: p.yaml has changed meanwhile; run again\n"
    assert Path("p.yaml").read_bytes() == meanwhile
