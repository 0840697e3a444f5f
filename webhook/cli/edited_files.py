"""Files of manifests whose text is edited: read, compared, and replaced as a whole."""

from __future__ import annotations

import codecs
import difflib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from selection_spec.documents import Survey, survey_manifests
from selection_spec.errors import DocumentError
from webhook.cli.inputs import UnreadableError, read_bytes, shown, unreadable

_ENCODINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_NO_NEWLINE = "\\ No newline at end of file\n"


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
            raise UnreadableError(f"{shown(name)}: holds bytes that are no characters")
        return found

    def diff(self, text: str) -> Iterator[str]:
        """Yield the lines of a unified diff to another text, each with its end."""
        name = shown(self.name)
        before, after = (_lines(one) for one in (self.survey.text, text))
        for line in difflib.unified_diff(before, after, name, name):
            yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"

    def replace(self, text: str) -> None:
        """Put a text in the file's place, wholly or not at all; its mode stays.

        Raises:
            UnreadableError: It cannot be written.
        """
        try:
            replace_file(Path(self.name), self._bytes(text))
        except OSError as error:
            raise UnreadableError(f"{self.name}: {error.strerror or error}") from None

    def _bytes(self, text: str) -> bytes:
        encoding = _ENCODINGS.get(self.mark, "utf-8")
        return self.mark + text.encode(encoding, "surrogatepass")


def replace_file(file: Path, raw: bytes) -> None:
    """Put bytes in a file's place, wholly or not at all; its mode stays, and a link stays one.

    Raises:
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(file))
    mode = target.stat().st_mode
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as made:
            made.write(raw)
        Path(name).chmod(mode & 0o7777)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _lines(text: str) -> list[str]:
    """Return lines as editors and patch count them: only a line feed ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
