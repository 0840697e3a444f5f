"""The key of a GPU Selection Spec (semantics G1 to G4, G6).

Grammar::

    key   = domain "/" spec
    spec  = "gpu-" name [ "-" bytes ]
    name  = part *( "-" part )          part  = 1*( a-z | 0-9 )
    bytes = N "gb"                      N     = 1-9 *( 0-9 )

All of it ASCII, the whole key, and only a trailing ``-<N>gb`` is memory. N is nominal (marketing)
gigabytes and a lower bound, inclusive (G3).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from selection_spec.errors import Problem, SpecError

ANY = "any"

_SPEC = re.compile(r"gpu-([a-z0-9]+(?:-[a-z0-9]+)*?)(?:-([1-9][0-9]*)gb)?", re.ASCII)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_OURS = re.compile(r"gpu(?:-|\Z)", re.ASCII | re.IGNORECASE)

# What people write for memory: 24, 024, 24g, 24gi, 24gib, 23.5gb, 24.0.
_MEMORY_LIKE = re.compile(r"([0-9]+)(?:\.([0-9]+))?(g|gb|gi|gib)?", re.ASCII)
_WITH_UNIT = re.compile(r"[0-9]+(?:g|gb|gi|gib)|0[0-9]+", re.ASCII)
_DIGITS_WITH_UNIT = re.compile(r"[0-9]+(?:g|gb|gi|gib)?", re.ASCII)

# No card has a million gigabytes, and Python stops converting at 4,300 digits.
_MAX_MEMORY_DIGITS = 9

# The name part of a resource key has at most 63 characters (Kubernetes), "gpu-" and "-NNNNgb" are
# taken, and some room is left for the names that claim templates derive from a row.
MAX_NAME = 48


@dataclass(frozen=True, slots=True, order=True)
class Spec:
    """A parsed spec: a device name or ``any``, and the least nominal gigabytes (None: no bound)."""

    name: str
    min_gb: int | None = None

    @property
    def is_any(self) -> bool:
        """Whether it names no device (G2)."""
        return self.name == ANY

    def __str__(self) -> str:
        memory = "" if self.min_gb is None else f"-{self.min_gb}gb"
        return f"gpu-{self.name}{memory}"


def is_ours(text: str) -> bool:
    """Tell whether the part of a key after the domain claims to be a spec (G4).

    ``gpu``, ``gpu-…`` and ``GPU-…`` do; ``gpudirect-nic`` and ``network`` do not.
    """
    return _OURS.match(text) is not None


def parse_spec(text: str) -> Spec:
    """Read ``gpu-any-24gb``, the part of a key after the domain (G1).

    Raises:
        SpecError: It does not parse; the hint holds the corrected spelling where one exists (G4).
    """
    match = _SPEC.fullmatch(text)
    if match is None or len(match[2] or "") > _MAX_MEMORY_DIGITS:
        raise SpecError(misspelt(text, knows=lambda _: True))
    name, memory = match.groups()
    return Spec(name, None if memory is None else int(memory))


def looks_misspelt(spec: Spec) -> bool:
    """Tell whether an unknown name ends in what was meant as memory (G4): any-24, 24gb."""
    return _DIGITS_WITH_UNIT.fullmatch(spec.name.rpartition("-")[2]) is not None


def misspelt(text: str, knows: Callable[[str], bool], domain: str = "") -> Problem:
    """Describe what is wrong with a key that is meant as a spec, with the right spelling (G4).

    Args:
        text: The part of the key after the domain.
        knows: Whether the table knows a device name; a correction is offered only for those.
        domain: The domain that the hint's spelling is written with.
    """
    prefix = f"{domain}/" if domain else ""
    corrected = correct(text, knows)
    return Problem(
        message=_complaint(text),
        hint=f"write {prefix}{corrected or 'gpu-any, gpu-<name> or gpu-<name>-<N>gb'}",
        rule="G4",
    )


def correct(text: str, knows: Callable[[str], bool]) -> str | None:
    """Return the spec that was probably meant, as text, or None where there is no telling."""
    parts = [part for part in re.split(r"[-_\s]+", _to_ascii_digits(text).lower()) if part][1:]
    if not parts:
        return None
    memory = None
    found = _MEMORY_LIKE.fullmatch(parts[-1])
    if found is not None and not found[3] and knows("-".join([*parts[:-1], found[1].lstrip("0")])):
        parts[-1] = found[1].lstrip("0")
    is_name = knows("-".join(parts)) and found is not None and not found[3]
    if found is not None and not is_name:
        parts.pop()
        if len(found[1]) > _MAX_MEMORY_DIGITS:
            return None
        # A bound is a lower one, so a fraction is met by the next whole number and by nothing less.
        memory = int(found[1]) + (1 if (found[2] or "").strip("0") else 0)
    name = "-".join(parts) or ANY
    if not _NAME.fullmatch(name) or not (name == ANY or knows(name)):
        return None
    corrected = str(Spec(name, memory or None))
    return None if corrected == text else corrected


def almost(text: str, knows: Callable[[str], bool]) -> str | None:
    """Return the spec that a key which is none of ours was probably meant as, None if it was not.

    ``a100-80gb``, ``gpus-a100`` and ``gpu_a100`` are left as they are (G4), and nobody means them.
    """
    meant = f"gpu-{re.sub(r'^gpus?[-_]?', '', text.lower())}"
    match = _SPEC.fullmatch(meant)
    if match is not None and (match[1] == ANY or knows(match[1])):
        return meant
    return correct(meant, knows)


def name_problem(name: str) -> str:
    """Say why a row may not be called this, or "" where it may (G6)."""
    if not _NAME.fullmatch(name):
        return "is not lower-case letters and digits in parts joined by single dashes"
    if name == ANY:
        return "means every device and cannot name one"
    if len(name) > MAX_NAME:
        return f"has more than {MAX_NAME} characters"
    if _WITH_UNIT.fullmatch(name.rpartition("-")[2]):
        return "ends in what reads as an amount of memory"
    return ""


def _complaint(text: str) -> str:
    """Say in a few words what is wrong with the spelling."""
    foreign = next((char for char in text if not char.isascii()), None)
    if foreign is not None:
        name = unicodedata.name(foreign, "unnamed")
        return f"has the character U+{ord(foreign):04X} ({name}), which is not ASCII"
    if text != text.lower():
        return "has upper-case letters"
    parts = text.split("-")[1:]
    if not any(parts):
        return "names no device"
    if "" in parts:
        return "has an empty part between its dashes"
    found = _MEMORY_LIKE.fullmatch(parts[-1])
    if found is None:
        return "is not spelt gpu-<name>-<N>gb"
    return _memory_complaint(parts[-1], found, alone=len(parts) == 1)


def _memory_complaint(part: str, found: re.Match[str], *, alone: bool) -> str:
    number, fraction, unit = found.groups()
    if fraction is not None:
        return f"asks for a fraction of memory ({part})"
    if not number.strip("0"):
        return f"asks for no memory at all ({part})"
    if number.startswith("0"):
        return f"has leading zeros in {part}"
    if unit != "gb":
        return f"ends in {part}, which is neither a name nor memory in whole gb"
    if len(number) > _MAX_MEMORY_DIGITS:
        return "asks for more memory than any device will have"
    return f"names no device before {part}" if alone else "is not spelt gpu-<name>-<N>gb"


def _to_ascii_digits(text: str) -> str:
    """Replace digits of other scripts by those they stand for."""
    return "".join(
        str(unicodedata.decimal(char)) if not char.isascii() and char.isdecimal() else char
        for char in text
    )
