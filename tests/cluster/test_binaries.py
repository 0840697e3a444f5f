"""Where the programs are looked for, and that what is expensive is made once."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from tests.cluster.binaries import (
    FOLDER_VARIABLE,
    PROGRAMS,
    VERSIONS_VARIABLE,
    BinariesError,
    find_binaries,
    main,
)
from tests.cluster.build import GO_MODULES, STAGES
from tests.cluster.cache import cache_root, cached_folder
from tests.cluster.progress import CommandError, run


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "named"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gpuspec"


def lay_out(folder: Path, version: str, *, without: tuple[str, ...] = ()) -> None:
    """Programs that print a version, and stage files."""
    (folder / STAGES).mkdir(parents=True)
    for name in PROGRAMS:
        if name not in without:
            (folder / name).write_text(f"#!/bin/sh\necho Kubernetes v{version}\n")
            (folder / name).chmod(0o755)


def test_a_flat_folder(named: Path) -> None:
    lay_out(named, "1.36.3")
    found = find_binaries("1.36")
    assert found.programs == {name: named / name for name in PROGRAMS}
    assert found.stages == named / STAGES
    assert found.kubectl.name == "kubectl"


@pytest.mark.parametrize("name", ["1.36", "v1.36", "1.36.3-linux-amd64"])
def test_a_folder_per_version(named: Path, name: str) -> None:
    lay_out(named / name, "1.36.3")
    lay_out(named / "1.35", "1.35.4")
    assert find_binaries("1.36").programs["etcd"] == named / name / "etcd"


def test_what_all_versions_share_may_lie_at_the_top(named: Path) -> None:
    lay_out(named / "1.36", "1.36.3", without=("kwok",))
    (named / "kwok").touch()
    assert find_binaries("1.36").programs["kwok"] == named / "kwok"


def test_the_folders_own_kubectl_comes_first(named: Path) -> None:
    lay_out(named, "1.36.3")
    (named / "kubectl").touch()
    assert find_binaries("1.36").kubectl == named / "kubectl"


def test_what_a_folder_lacks_is_named(named: Path) -> None:
    """A setup-envtest folder, for instance."""
    lay_out(named, "1.36.3", without=("kube-scheduler", "kube-controller-manager", "kwok"))
    with pytest.raises(BinariesError) as told:
        find_binaries("1.36")
    assert "lacks kube-controller-manager, kube-scheduler, kwok for Kubernetes 1.36" in str(
        told.value
    )


def test_a_folder_of_another_version_does_not_pass(named: Path) -> None:
    lay_out(named, "1.35.4")
    with pytest.raises(BinariesError, match=r"is Kubernetes v1\.35\.4, but 1\.36 is wanted"):
        find_binaries("1.36")


def test_an_unsupported_version_is_refused() -> None:
    with pytest.raises(BinariesError, match=r"1\.20 is not one of 1\.35, 1\.36, 1\.37"):
        find_binaries("1.20")


@pytest.mark.parametrize("minor", GO_MODULES)
def test_modules_pin_the_version_they_are_named_after(minor: str) -> None:
    kubernetes = GO_MODULES[minor][0]
    assert kubernetes.version.startswith(f"{minor}.")
    assert {p for module in GO_MODULES[minor] for p in module.packages} == set(PROGRAMS)


def test_a_cached_folder_is_made_once_however_many_want_it(cache: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("whole")

    threads = [threading.Thread(target=cached_folder, args=("a/b", make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert cache_root() == cache
    assert (cache / "a" / "b" / "file").read_text() == "whole"
    assert not made[0].exists()


def test_a_folder_whose_making_failed_is_not_there(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").touch()
        raise CommandError("no")

    with pytest.raises(CommandError):
        cached_folder("a", fail)
    assert [path.name for path in cache.iterdir()] == [".a.lock"]


def test_long_commands_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.cluster.progress._TICK_SECONDS", 0.05)
    run("sleeping", [sys.executable, "-c", "import time; time.sleep(0.5)"], cwd=tmp_path, env={})
    first, second, *_, last = capsys.readouterr().err.splitlines()
    assert first == "[gpuspec] sleeping …"
    assert second == "[gpuspec] sleeping … 0 s"
    assert last.startswith("[gpuspec] sleeping: done in ")


def test_a_failed_command_shows_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="the reason"):
        run(
            "failing",
            [sys.executable, "-c", "raise SystemExit('the reason')"],
            cwd=tmp_path,
            env={},
        )


def test_run_it_finds_what_is_wanted_or_says_what_is_wrong(
    named: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(named / "1.36", "1.36.3")
    monkeypatch.setenv(VERSIONS_VARIABLE, "1.36")
    assert main() == 0

    monkeypatch.setenv(VERSIONS_VARIABLE, "1.36, 1.2")
    assert main() == 1
    said = "GPUSPEC_KUBERNETES: no 1.2; there are 1.35, 1.36, 1.37\n"
    assert capsys.readouterr().err == said
