"""The pinned requirement files: everything by hash, nothing by address, nothing left out."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.contract.kustomize import REPOSITORY

FILES = ("build.txt", "dev.txt", "runtime.txt")


def project() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def text_of(file: str) -> str:
    return (REPOSITORY / ".ci/requirements" / file).read_text()


def entries(file: str) -> list[tuple[Requirement, list[str]]]:
    """Each requirement and its hashes."""
    logical_lines = text_of(file).replace("\\\n", " ").splitlines()
    split = [re.split(r"\s+--hash=", line.strip()) for line in logical_lines]
    return [(Requirement(pin), hashes) for pin, *hashes in split]


def pins(file: str) -> dict[str, str]:
    """Canonical name to pinned version."""
    return {
        canonicalize_name(requirement.name): str(requirement.specifier).removeprefix("==")
        for requirement, _ in entries(file)
    }


@pytest.mark.parametrize("file", FILES)
def test_every_requirement_is_pinned_and_has_hashes(file: str) -> None:
    for requirement, hashes in entries(file):
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), str(requirement)
        assert hashes, str(requirement)
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes)


@pytest.mark.parametrize("file", FILES)
def test_no_requirement_has_an_address_or_a_path(file: str) -> None:
    assert not re.search(
        r"://|\bhttps?:|\bfile:|--(extra-)?index|--find-links|--trusted| @ ", text_of(file)
    )


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("runtime.txt", project()["project"]["dependencies"]),
        ("dev.txt", project()["project"]["dependencies"]),
        ("dev.txt", project()["project"]["optional-dependencies"]["dev"]),
        ("build.txt", project()["build-system"]["requires"]),
    ],
    ids=["runtime", "runtime-in-dev", "dev", "build"],
)
def test_what_the_project_asks_for_is_pinned_to_a_version_that_it_accepts(
    file: str, wanted: list[str]
) -> None:
    pinned = pins(file)
    for requirement in map(Requirement, wanted):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not in {file}: run `make lock`"
        assert requirement.specifier.contains(version), f"{file} has {version}: run `make lock`"


def test_the_files_agree_so_that_one_environment_takes_them_all() -> None:
    everything = pins("dev.txt")
    for file in ("runtime.txt", "build.txt"):
        shared = {name: version for name, version in pins(file).items() if name in everything}
        assert shared == {name: everything[name] for name in shared}
    assert pins("runtime.txt").keys() <= everything.keys()
