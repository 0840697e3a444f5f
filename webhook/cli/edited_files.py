"""Files of manifests whose text is edited: read, compared, and replaced as a whole."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from selection_spec.documents import Survey, survey_manifests
from selection_spec.errors import DocumentError
from webhook.cli.differences import unified
from webhook.cli.file_attributes import copy_attributes
from webhook.cli.inputs import UnreadableError, called, read_bytes, unreadable

_ENCODINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_GROUP_SHIFT = 3
_NO_NEWLINE = "\\ No newline at end of file\n"
_ANY_WRITER = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

_File = TypeVar("_File")
_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as it was read.

    Attributes:
        name: Its name, ``-`` for standard input.
        survey: What is in it.
        mark: The byte order mark that it begins with, if any.
    """

    name: str
    survey: Survey
    mark: bytes

    @property
    def called(self) -> str:
        """What messages call it: a name that forges no lines and that no terminal obeys."""
        return called(self.name)

    @classmethod
    def read(cls, name: str) -> TextFile:
        """Read a file.

        Raises:
            UnreadableError: It cannot be opened, kubectl could not read it either, or it is not
                text in one encoding throughout, so that it could not be written as it was.
        """
        raw = read_bytes(name)
        survey = survey_manifests(raw)
        if survey.problems:
            raise unreadable(name, DocumentError(survey.problems))
        mark = next((one for one in _ENCODINGS if raw.startswith(one)), b"")
        found = cls(name, survey, mark)
        if found._bytes(survey.text) != raw:
            raise UnreadableError(f"{found.called}: holds bytes that are no characters")
        return found

    def diff(self, text: str) -> Iterator[str]:
        """Yield the lines of a unified diff to another text, each with its end."""
        before, after = (_lines(one) for one in (self.survey.text, text))
        for line in unified(before, after, self.called):
            yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"

    def replace(self, text: str) -> None:
        """Put a text in the file's place, as ``replace_file`` does.

        Raises:
            UnreadableError: It cannot be written.
        """
        try:
            replace_file(Path(self.name), self._bytes(text))
        except OSError as error:
            raise UnreadableError(f"{self.called}: {error.strerror or error}") from None

    def _bytes(self, text: str) -> bytes:
        encoding = _ENCODINGS.get(self.mark, "utf-8")
        return self.mark + text.encode(encoding, "surrogatepass")


def each(do: Callable[[_File], _Done], files: Iterable[_File]) -> list[_Done]:
    """Do something with every file, and only then tell of all of those with which it failed.

    Raises:
        UnreadableError: It failed with some; all their problems, in the order of the files.
    """
    done: list[_Done] = []
    problems: list[str] = []
    for file in files:
        try:
            done.append(do(file))
        except UnreadableError as error:
            problems.append(error.message)
    if problems:
        raise UnreadableError("\n".join(problems))
    return done


def replace_file(file: Path, raw: bytes) -> None:
    """Put bytes in a file's place, wholly or not at all.

    Its mode and access control list stay, its owner, group and other attributes as far as this user
    may set them, and a link stays one. Nobody may read what is written who may not read the file.

    Raises:
        OSError: It cannot be written; ``strerror`` says why, and what to do where it is refused
            here: the file has several hard links, is read-only, is no regular file, or has an
            access control list that this user may not give to another one.
    """
    target = Path(os.path.realpath(file))
    before = file.stat()
    if obstacle := _obstacle(target, before):
        raise PermissionError(errno.EPERM, obstacle)
    # Not named after the file, whose name may be as long as names can be.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".gpuspec-")
    try:
        with os.fdopen(handle, "wb") as made:
            made.write(raw)
        _give_to_owner(name, before)
        copy_attributes(target, Path(name))
        # After the owner: to change that takes some bits of the mode away. And after the list, for
        # the group's bits stand for all that it may allow; without it the group would have them.
        Path(name).chmod(_mode(name, before))
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _obstacle(target: Path, before: os.stat_result) -> str:
    """Say why a file must not be replaced, and what to do instead; "" where it may be."""
    if not stat.S_ISREG(before.st_mode):
        return "is no regular file, so nothing can take its place: change a copy of it"
    if before.st_nlink > 1:
        return (
            f"has {before.st_nlink} hard links, which rewriting would break: edit it by hand or "
            "copy it first"
        )
    # Root may write to everything; a file without any such bit is not meant to be changed.
    if not before.st_mode & _ANY_WRITER or not os.access(target, os.W_OK):
        return "is read-only: allow writing (chmod u+w) or change a copy of it"
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return "is replaced as a whole, and its folder is read-only: change a copy of it elsewhere"
    return ""


def _give_to_owner(name: str, before: os.stat_result) -> None:
    # Only root gives files away; others may still give them to a group of theirs.
    for owner in (before.st_uid, -1):
        with suppress(OSError):
            os.chown(name, owner, before.st_gid)
            return


def _mode(name: str, before: os.stat_result) -> int:
    """Return the mode that a file gets: another group may not do more than everybody."""
    mode, made = stat.S_IMODE(before.st_mode), Path(name).stat()
    if made.st_uid != before.st_uid:
        mode &= ~stat.S_ISUID
    if made.st_gid != before.st_gid:
        everybody = (mode & stat.S_IRWXO) << _GROUP_SHIFT
        mode &= ~stat.S_ISGID & (~stat.S_IRWXG | everybody)
    return mode


def _lines(text: str) -> list[str]:
    """Return lines as editors and patch count them: only a line feed ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
