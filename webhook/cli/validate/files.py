"""Which files are meant: named ones, those of folders, patterns; what is ignored stays out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pathspec import GitIgnoreSpec

from webhook.advice.formats.escapes import visible
from webhook.cli.inputs import STDIN, UnreadableError, called
from webhook.cli.validate.repository import repository_of

OWN_IGNORE = ".gpuspecignore"

_IGNORE_FILES = (".gitignore", OWN_IGNORE)
_ENDINGS = (".yaml", ".yml", ".json")
_NEVER = frozenset({".git", "node_modules", ".venv"})
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, ``-`` for standard input; ``is_named`` by a person, not found in a folder."""

    file: str
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class _Ignored:
    """What the ignore files of a folder, and of those above it, say."""

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = field(default=())

    def below(self, folder: Path) -> _Ignored:
        lines = [
            line
            for name in _IGNORE_FILES
            if (file := folder / name).is_file()
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
            if _is_pattern_of_git(line)
        ]
        if not lines:
            return self
        return _Ignored((*self.specs, (folder, GitIgnoreSpec.from_lines(lines))))

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Tell whether a path is left out; the innermost file that says anything decides."""
        for folder, spec in reversed(self.specs):
            below = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
            said = spec.check_file(below).include
            if said is not None:
                return said
        return False


def _is_pattern_of_git(line: str) -> bool:
    """Tell whether a line of an ignore file means anything; git passes others over."""
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def inputs(paths: Sequence[str], *, forces_ignore: bool = False) -> Iterator[Input]:
    """Yield the files that paths mean, each once.

    Args:
        paths: Files, folders, patterns; ``-`` is standard input.
        forces_ignore: Whether named files are left out, too, that ignore files leave out.

    Raises:
        UnreadableError: A path is not there, or a pattern matches nothing; all of them are named.
            Or a folder cannot be read.
    """
    missing = [path for path in paths if not _is_there(path)]
    if missing:
        lines = [f"{visible(path)}: {_why_missing(path)}" for path in missing]
        raise UnreadableError("\n".join(lines))
    seen: set[str] = set()
    for path in paths:
        if forces_ignore and path != STDIN and _is_ignored(Path(path)):
            continue
        for one in _of_path(path):
            key = one.file if one.file == STDIN else os.path.realpath(one.file)
            if key not in seen:
                seen.add(key)
                # Hooks name every file there is.
                yield replace(one, is_named=one.is_named and not forces_ignore)


def _is_ignored(path: Path) -> bool:
    """Tell whether the ignore files above a path leave it out, or a folder that it is in."""
    absolute = _absolute(path)
    ignored = _Ignored()
    for folder in reversed(absolute.parents):
        if ignored.has(folder, is_folder=True):
            return True
        ignored = ignored.below(folder)
    return ignored.has(absolute, is_folder=path.is_dir())


def _is_there(path: str) -> bool:
    return path == STDIN or Path(path).exists() or (_is_pattern(path) and bool(_matches(path)))


def _why_missing(path: str) -> str:
    return "matches no file" if _is_pattern(path) else "there is no such file or folder"


def _is_pattern(path: str) -> bool:
    return not _PATTERN.isdisjoint(path)


def _matches(pattern: str) -> list[str]:
    # Path.glob follows no links below "**": two of them that point upward never come to an end.
    anchor = Path(pattern).anchor
    return sorted(map(str, Path(anchor or ".").glob(pattern.removeprefix(anchor))))


def _of_path(path: str) -> Iterator[Input]:
    if path != STDIN and not Path(path).exists():
        for match in _matches(path):
            # Nobody has looked at each of the files that a pattern finds.
            yield from (Input(one.file, is_named=False) for one in _of_path(match))
    elif path != STDIN and Path(path).is_dir():
        yield from _in_folder(Path(path), _above(Path(path)))
    else:
        yield Input(path)


def _above(folder: Path) -> _Ignored:
    """Return what the ignore files above a folder say, as far as its repository reaches."""
    named = _absolute(folder)
    root = repository_of(named)
    if root is None:
        return _Ignored()
    ignored = _Ignored()
    for one in reversed([above for above in named.parents if above.is_relative_to(root)]):
        ignored = ignored.below(one)
    # Who names a folder that is ignored wants it all the same.
    return _Ignored() if ignored.has(named, is_folder=True) else ignored


def _absolute(folder: Path) -> Path:
    # Not resolved: the ignore files are those beside the names, as for git.
    return Path(os.path.abspath(folder))  # noqa: PTH100 -- Path.absolute keeps the ".."


def _in_folder(folder: Path, ignored: _Ignored) -> Iterator[Input]:
    ignored = ignored.below(_absolute(folder))
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        raise UnreadableError(f"{called(str(folder))}: {error.strerror or error}") from None
    for entry in entries:
        path, absolute = folder / entry.name, _absolute(folder) / entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name in _NEVER or ignored.has(absolute, is_folder=is_folder):
            continue
        if is_folder:
            yield from _in_folder(path, ignored)
        elif entry.name.endswith(_ENDINGS) and path.is_file():
            yield Input(path.as_posix(), is_named=False)
