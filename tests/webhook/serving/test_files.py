"""Files that Kubernetes, editors and ``cp`` change while they are read."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.mounted import MountedVolume
from webhook.serving.files import Contents, FileWatch, Unreadable, read_together

NAMES = ("tls.crt", "tls.key")


def generation(number: int) -> dict[str, bytes]:
    return {name: str(number).encode() * 5000 for name in NAMES}


class TestReadTogether:
    def test_files_come_in_the_order_in_which_they_were_named(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"A")
        (tmp_path / "b").write_bytes(b"B")

        assert read_together((tmp_path / "b", tmp_path / "a")) == Contents((b"B", b"A"))

    def test_the_digest_tells_where_a_file_ends(self) -> None:
        assert Contents((b"ab", b"c")).digest != Contents((b"a", b"bc")).digest
        assert Contents((b"ab", b"c")).digest == Contents((b"ab", b"c")).digest

    def test_generations_are_never_mixed(self, tmp_path: Path) -> None:
        """A certificate and its key are from one generation however often they are swapped."""
        volume = MountedVolume(tmp_path / "volume", generation(0))
        paths = tuple(volume / name for name in NAMES)
        stop = threading.Event()
        swaps = 0

        def swap() -> None:
            nonlocal swaps
            while not stop.is_set():
                swaps += 1
                volume.swap(generation(swaps))

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            seen = [read_together(paths) for _ in range(2000)]
        finally:
            stop.set()
            swapper.join()

        read = [found for found in seen if isinstance(found, Contents)]
        assert all(found.files[0] == found.files[1] for found in read)
        assert len({found.digest for found in read}) > 1
        assert swaps > 1

    def test_error_a_missing_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "tls.crt").write_bytes(b"")

        found = read_together((tmp_path / "tls.crt", tmp_path / "tls.key"))

        assert found == Unreadable(f"cannot read {tmp_path}/tls.key: No such file or directory")

    def test_error_a_folder_is_no_file(self, tmp_path: Path) -> None:
        assert read_together((tmp_path,)) == Unreadable(f"cannot read {tmp_path}: Is a directory")

    def test_error_files_that_never_rest(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "table.yaml"
        path.write_bytes(b"")
        read = Path.read_bytes

        def read_and_append(self: Path) -> bytes:
            content = read(self)
            self.write_bytes(content + b"x")
            return content

        monkeypatch.setattr(Path, "read_bytes", read_and_append)

        assert read_together((path,)) == Unreadable(
            f"{path} changed during each of 10 attempts to read"
        )


class TestFileWatch:
    def test_nothing_new_is_nothing(self, tmp_path: Path) -> None:
        volume = MountedVolume(tmp_path / "volume", {"table.yaml": b"1"})
        watch = watch_of(volume / "table.yaml")

        assert [watch.look() for _ in range(3)] == [None, None, None]

    def test_a_swap_is_reported_once_and_when_it_has_come_to_rest(self, tmp_path: Path) -> None:
        volume = MountedVolume(tmp_path / "volume", {"table.yaml": b"1"})
        watch = watch_of(volume / "table.yaml")

        volume.swap({"table.yaml": b"2"})

        assert [watch.look() for _ in range(3)] == [None, Contents((b"2",)), None]

    def test_a_file_that_is_being_written_is_waited_for(self, tmp_path: Path) -> None:
        """Half a table can be a valid table of half the rows."""
        path = tmp_path / "table.yaml"
        path.write_bytes(b"rows: [1, 2]")
        watch = watch_of(path)
        looks = []

        for content in (b"", b"rows: [1]", b"rows: [1, 3]"):
            path.write_bytes(content)
            looks.append(watch.look())
        looks.append(watch.look())

        assert looks == [None, None, None, Contents((b"rows: [1, 3]",))]

    def test_a_swap_to_and_fro_between_two_looks_is_nothing(self, tmp_path: Path) -> None:
        volume = MountedVolume(tmp_path / "volume", {"table.yaml": b"1"})
        watch = watch_of(volume / "table.yaml")

        volume.swap({"table.yaml": b"2"})
        volume.swap({"table.yaml": b"1"})

        assert [watch.look() for _ in range(3)] == [None, None, None]

    def test_going_back_to_the_former_content_is_a_change(self, tmp_path: Path) -> None:
        volume = MountedVolume(tmp_path / "volume", {"table.yaml": b"1"})
        watch = watch_of(volume / "table.yaml")
        volume.swap({"table.yaml": b"2"})
        assert [watch.look(), watch.look()] == [None, Contents((b"2",))]

        volume.swap({"table.yaml": b"1"})

        assert [watch.look(), watch.look()] == [None, Contents((b"1",))]

    def test_a_file_that_goes_away_is_reported_once_and_its_return_too(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "table.yaml"
        path.write_bytes(b"1")
        watch = watch_of(path)

        path.unlink()
        gone = [watch.look() for _ in range(3)]
        path.write_bytes(b"1")
        back = [watch.look() for _ in range(3)]

        reason = f"cannot read {path}: No such file or directory"
        assert gone == [None, Unreadable(reason), None]
        assert back == [None, Contents((b"1",)), None]


def watch_of(path: Path) -> FileWatch:
    return FileWatch((path,), read_together((path,)))
