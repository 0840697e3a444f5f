"""What the Dockerfile says about the image."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from tests.contract.dockerfile import Stage, parse
from tests.contract.kustomize import (
    PROCESSES,
    REPOSITORY,
    built,
    container,
    pod_spec,
)


def stages() -> list[Stage]:
    return parse((REPOSITORY / "Dockerfile").read_text())


def final() -> Stage:
    return stages()[-1]


def test_both_stages_start_from_one_image_of_a_named_version() -> None:
    images = {stage.image for stage in stages()}
    assert len(stages()) == 2
    assert len(images) == 1
    assert re.fullmatch(r"python:3\.1[123]\.\d+-slim-[a-z]+", images.pop())


def test_the_final_image_gets_the_environment_and_nothing_that_builds() -> None:
    assert final().arguments("COPY") == ["--from=build /opt/gpuspec /opt/gpuspec"]
    assert final().arguments("ADD") == []
    (removal,) = final().arguments("RUN")
    assert removal.startswith("pip uninstall --yes")
    assert not re.search(r"apt|curl|wget|pip install", removal)


def test_everything_that_is_installed_is_pinned_by_hash_or_was_built_here() -> None:
    for command in stages()[0].arguments("RUN"):
        for install in re.findall(r"pip (?:--python \S+ )?install (.*?)(?:&&|$)", command):
            assert "--require-hashes" in install or "--no-index --no-deps /dist/" in install


def test_the_image_runs_as_the_user_and_on_the_ports_of_the_deployments() -> None:
    ports = []
    for process in PROCESSES:
        user = pod_spec(built("default"), process)["securityContext"]["runAsUser"]
        assert final().arguments("USER") == [f"{user}:{user}"]
        assert "command" not in container(built("default"), process)
        ports += container(built("default"), process)["ports"]
    assert final().arguments("EXPOSE") == [" ".join(str(port["containerPort"]) for port in ports)]
    assert [json.loads(a) for a in final().arguments("ENTRYPOINT")] == [["gpuspec"]]


def test_the_image_says_what_it_is() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert final().settings("LABEL") == {
        "org.opencontainers.image.title": project["name"],
        "org.opencontainers.image.version": project["version"],
        "org.opencontainers.image.licenses": project["license"],
        "org.opencontainers.image.description": (
            "One resource line becomes the right GPU: a Kubernetes admission webhook and its "
            "command line."
        ),
    }


def test_the_build_context_holds_what_is_copied_and_nothing_else() -> None:
    wanted = {
        Path(source).parts[0]
        for argument in stages()[0].arguments("COPY")
        for source in argument.split()[:-1]
    }
    rules = (REPOSITORY / ".dockerignore").read_text().split("\n")
    assert rules[1] == "*"
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} == wanted
