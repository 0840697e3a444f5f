"""The corpus: manifests as people have them, right and wrong, and what ``validate`` says of all.

``tests/corpus/``
    manifests/  every kind of workload and of text; a line of .gpuspecignore leaves some of them out
    wanted/     the report of one run over all of them, in each format

The reports are written by ``pytest --update-golden tests/test_corpus.py``; read the difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import Result

from selection_spec.documents import survey_manifests
from tests.webhook.advice.formats.test_sarif import schema
from tests.webhook.cli.running import on_table
from webhook.advice.findings.catalogue import RULES
from webhook.advice.findings.views import objects
from webhook.advice.formats import Format
from webhook.cli.validate.files import inputs

CORPUS = Path(__file__).parent / "corpus"
MANIFESTS = CORPUS / "manifests"
WANTED = CORPUS / "wanted"
IGNORED = {"ignored/pod.yaml", "texts/pod.ignored.yaml"}
FILES = {form: WANTED / f"report.{form}" for form in Format}

# What no file shows: they need a cluster, a fleet, or a table of claims.
_NOT_SHOWN = {"GS109", "GS110", "GS112", "GS205"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[Format, str]]:
    """One run over all of it, in every format."""
    folder = tmp_path_factory.mktemp("reports")
    wanted = [f"--format={form}={folder / form}" for form in Format]
    with pytest.MonkeyPatch.context() as patch:
        # Beside any repository: files are called as they are in theirs.
        patch.chdir(copytree(MANIFESTS, folder / "manifests"))
        result = on_table("validate", ".", *wanted)
    return result, {form: (folder / form).read_text() for form in Format}


@pytest.fixture(scope="module")
def report(run: tuple[Result, dict[Format, str]]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run[1][Format.JSON])
    return found


@pytest.mark.parametrize("form", Format)
def test_reports(
    run: tuple[Result, dict[Format, str]], form: Format, pytestconfig: pytest.Config
) -> None:
    text = run[1][form]
    if form is Format.SARIF:
        # The version of the program is no part of what is found.
        found = json.loads(text)
        found["runs"][0]["tool"]["driver"]["version"] = "0"
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if pytestconfig.getoption("--update-golden"):
        FILES[form].parent.mkdir(exist_ok=True)
        FILES[form].write_text(text)

    assert (run[0].exit_code, run[0].stdout, run[0].stderr) == (1, "", "")
    assert text == FILES[form].read_text()


def test_every_file_is_used() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(MANIFESTS)
        read = {one.file for one in inputs(["."])}
    there = {
        path.relative_to(MANIFESTS).as_posix() for path in MANIFESTS.rglob("*") if path.is_file()
    }
    assert there - {".gpuspecignore"} - IGNORED == read
    assert len(read) >= 60
    assert set(WANTED.iterdir()) == {*FILES.values()}
    assert {path.name for path in CORPUS.iterdir()} == {"manifests", "wanted"}


def test_every_rule_that_a_file_can_show_is_shown(report: dict[str, Any]) -> None:
    shown = {one["rule"] for one in report["findings"]}
    assert shown == {one.id for one in RULES} - _NOT_SHOWN


def test_every_kind_of_the_readme_is_there() -> None:
    kinds = {
        one.kind
        for path in MANIFESTS.rglob("*")
        if path.is_file()
        for document in survey_manifests(path.read_bytes()).documents
        for one in objects(document.value)
    }
    wanted = (
        "Pod Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob "
        "PodTemplate PyTorchJob MPIJob RayCluster RayJob RayService JobSet LeaderWorkerSet "
        "Workflow CronWorkflow WorkflowTemplate InferenceService Task TaskRun Pipeline Service "
        "Notebook SparkApplication PersistentVolumeClaim ConfigMap LimitRange ResourceQuota "
        "PriorityClass SelectionTable"
    )
    assert {*wanted.split()} <= kinds


def test_every_place_is_in_its_text(report: dict[str, Any]) -> None:
    for one in report["findings"]:
        text = survey_manifests((MANIFESTS / one["file"]).read_bytes()).text
        line = text.split("\n")[one["line"] - 1]
        assert 1 <= one["column"] <= len(line) + 1, one
        assert one["endColumn"] == 0 or one["column"] < one["endColumn"] <= len(line) + 1, one


def test_sarif_is_as_its_schema_wants_it(run: tuple[Result, dict[Format, str]]) -> None:
    jsonschema.Draft7Validator(schema()).validate(json.loads(run[1][Format.SARIF]))


def test_all_formats_tell_of_the_same(
    run: tuple[Result, dict[Format, str]], report: dict[str, Any]
) -> None:
    told = [one for one in report["findings"] if not one["suppressed"]]
    places = [(one["rule"], one["file"], one["line"]) for one in told]
    results = json.loads(run[1][Format.SARIF])["runs"][0]["results"]
    in_sarif = [
        (one["ruleId"], where["artifactLocation"]["uri"], where["region"]["startLine"])
        for one in results
        if not one.get("suppressions")
        for where in (one["locations"][0]["physicalLocation"],)
    ]
    assert in_sarif == places
    assert len(run[1][Format.GITHUB].splitlines()) == len(told)
    for rule, file, line in places:
        assert f"file={file},line={line}," in run[1][Format.GITHUB]
        assert f"{file}:{line}:" in run[1][Format.TEXT]
        assert rule in run[1][Format.JUNIT]
    errors = sum(one["level"] == "error" for one in told)
    junit = ET.fromstring(run[1][Format.JUNIT])  # noqa: S314 -- our own
    assert len(junit.findall(".//failure")) == errors
