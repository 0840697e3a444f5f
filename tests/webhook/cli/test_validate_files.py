"""Which files ``validate`` reads: folders, patterns, and what is ignored."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.webhook.advice.findings.judged import pod
from tests.webhook.cli.running import TABLE, answer, on_table, run
from webhook.cli.validate.files import Input, inputs

BAD = pod("limits: {preferred.jp/gpu-A100: 1}")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _tree(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def _read(*paths: str) -> list[str]:
    return [one.file for one in inputs(paths)]


def test_manifests_of_folders_in_order() -> None:
    _tree(
        dict.fromkeys(
            (
                "b/z.yml",
                "b/a/x.json",
                "a.yaml",
                "c.txt",
                "README.md",
                "b/.hidden.yaml",
                "x.yaml.bak",
            ),
            BAD,
        )
    )
    wanted = ["a.yaml", "b/.hidden.yaml", "b/a/x.json", "b/z.yml"]
    assert _read(".") == wanted
    assert _read("./") == wanted
    assert _read("b") == wanted[1:]
    assert _read("b/a") == ["b/a/x.json"]


def test_a_file_that_was_named_is_read_whatever_it_is_called() -> None:
    _tree({"a.txt": BAD})
    assert [*inputs(["a.txt"])] == [Input("a.txt", is_named=True)]
    assert on_table("validate", "a.txt").exit_code == 1


def test_each_file_is_read_once() -> None:
    _tree({"a/x.yaml": BAD, "y.yaml": BAD})
    Path("link.yaml").symlink_to("y.yaml")
    assert _read("a/x.yaml", ".", "a", "*/x.yaml") == ["a/x.yaml", "link.yaml"]
    assert _read("-", "-") == ["-"]


def test_patterns() -> None:
    _tree(dict.fromkeys(("a/x.yaml", "a/b/y.yaml", "a/b/z.txt", "a[1].yaml", "README.md"), BAD))
    assert _read("a/*.yaml") == ["a/x.yaml"]
    assert _read("a/**/*.yaml") == ["a/b/y.yaml", "a/x.yaml"]
    assert _read("**/z.*") == ["a/b/z.txt"]
    assert _read("a/?") == ["a/b/y.yaml"]
    # What is there needs no pattern.
    assert [*inputs(["a[1].yaml"])] == [Input("a[1].yaml", is_named=True)]
    assert [one.is_named for one in inputs(["a/*.yaml"])] == [False]
    assert _read(f"{Path.cwd()}/a/*.yaml") == [f"{Path.cwd()}/a/x.yaml"]


def test_what_a_pattern_finds_may_be_something_else() -> None:
    _tree({"a/x.yaml": BAD, "a/README.md": "# A title\n\n- a: [\n"})
    found = answer(on_table("validate", "a/*", "--format", "json"), 1)
    assert [one["file"] for one in found["findings"]] == ["a/x.yaml"]


def test_other_yaml_of_folders_is_passed_over_and_counted_as_read() -> None:
    _tree({"values.yaml": "a: {b: [\n", "x.yaml": BAD, "package.json": '{"name": }'})
    found = answer(on_table("validate", ".", "--format", "json"), 1)
    assert [one["file"] for one in found["findings"]] == ["x.yaml"]
    assert found["summary"]["files"] == 3
    named = answer(on_table("validate", "values.yaml", "--format", "json"), 1)
    assert [one["rule"] for one in named["findings"]] == ["GS001"]


@pytest.mark.parametrize("name", [".gitignore", ".gpuspecignore"])
@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("a/", ["b/x.yaml", "b/y.yaml", "z.yaml"]),
        ("x.yaml", ["b/y.yaml", "z.yaml"]),
        ("/x.yaml\n", ["a/x.yaml", "b/x.yaml", "b/y.yaml", "z.yaml"]),
        ("b/*.yaml\n!b/y.yaml\n# all of it\n\n", ["a/x.yaml", "b/y.yaml", "z.yaml"]),
        ("b/\n!b/y.yaml\n", ["a/x.yaml", "z.yaml"]),
        ("*\n!z.yaml", ["z.yaml"]),
        ("**/x.yaml", ["b/y.yaml", "z.yaml"]),
        ("\\#x.yaml\nx.yaml ", ["b/y.yaml", "z.yaml"]),
    ],
)
def test_what_is_ignored_stays_out(name: str, lines: str, left: list[str]) -> None:
    _tree(dict.fromkeys(("a/x.yaml", "b/x.yaml", "b/y.yaml", "z.yaml"), BAD))
    Path(name).write_text(lines)
    assert _read(".") == left


def test_ignore_files_of_inner_folders_come_first() -> None:
    _tree(
        {
            **dict.fromkeys(("a/x.yaml", "a/y.yaml", "a/b/x.yaml", "x.yaml", "y.yaml"), BAD),
            ".gitignore": "x.yaml\n",
            "a/.gitignore": "!x.yaml\ny.yaml\n",
            "a/b/.gpuspecignore": "*\n",
        }
    )
    assert _read(".") == ["a/x.yaml", "y.yaml"]


def test_the_own_ignore_file_has_the_last_word() -> None:
    _tree(
        {
            "x.yaml": BAD,
            "y.yaml": BAD,
            ".gitignore": "x.yaml\n",
            ".gpuspecignore": "!x.yaml\ny.yaml",
        }
    )
    assert _read(".") == ["x.yaml"]


def test_ignore_files_above_hold_within_a_repository_alone() -> None:
    _tree(
        {"r/a/x.yaml": BAD, "r/a/y.yaml": BAD, "r/.gitignore": "x.yaml\n", ".gitignore": "y.yaml"}
    )
    assert _read("r/a") == ["r/a/x.yaml", "r/a/y.yaml"]
    Path("r/.git").mkdir()
    assert _read("r/a") == ["r/a/y.yaml"]
    os.chdir("r/a")
    assert _read(".") == ["y.yaml"]
    assert _read("../a") == ["../a/y.yaml"]
    assert _read("..") == ["../a/y.yaml"]


def test_who_names_what_is_ignored_wants_it() -> None:
    _tree({"a/x.yaml": BAD, "a/b/y.yaml": BAD, ".gitignore": "a/\n"})
    Path(".git").mkdir()
    assert _read(".") == []
    assert _read("a") == ["a/b/y.yaml", "a/x.yaml"]
    assert _read("a/b") == ["a/b/y.yaml"]
    assert _read("a/x.yaml") == ["a/x.yaml"]


def test_nobody_looks_into_what_tools_have_made() -> None:
    _tree(dict.fromkeys((".git/x.yaml", "node_modules/x.yaml", ".venv/x.yaml", "x.yaml"), BAD))
    assert _read(".") == ["x.yaml"]


def test_links_to_folders_are_followed_only_by_name() -> None:
    _tree({"a/x.yaml": BAD})
    Path("a/loop").symlink_to("..")
    Path("a/self").symlink_to(".")
    Path("link").symlink_to("a")
    Path("a/broken.yaml").symlink_to("nothing")
    Path("round.yaml").symlink_to("round.yaml")
    assert _read(".") == ["a/x.yaml"]
    assert _read("link") == ["link/x.yaml"]
    assert _read("a/loop") == ["a/loop/a/x.yaml"]
    result = on_table("validate", "a/broken.yaml", "round.yaml")
    assert (result.exit_code, result.stderr.count("there is no such file or folder")) == (2, 2)


def test_a_folder_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _tree({"a/b/x.yaml": BAD})
    scandir = os.scandir

    def refuse(folder: Path) -> object:
        if folder.name == "b":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    result = on_table("validate", ".")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "a/b: Permission denied\n"


def test_a_folder_may_be_called_like_a_manifest() -> None:
    _tree({"a.yaml/x.yaml": BAD})
    assert _read(".") == ["a.yaml/x.yaml"]


def test_an_empty_folder_is_fine() -> None:
    Path("a").mkdir()
    result = on_table("validate", "a")
    assert (result.exit_code, result.stdout) == (
        0,
        "nothing found in 0 files (0 Pods judged by table pfn in pfn-table.yaml)\n",
    )


def test_names_may_hold_anything() -> None:
    names = ["ü.yaml", "a b.yaml", "a\nb.yaml", "%41.yaml", os.fsdecode(b"\xff.yaml")]
    _tree(dict.fromkeys(names, BAD))
    assert sorted(_read(".")) == sorted(names)
    for form in ("text", "json", "sarif", "junit", "github"):
        result = on_table("validate", ".", "--format", form)
        assert result.exit_code == 1
        assert result.stdout.count("preferred.jp/gpu-a100") >= len(names)


@pytest.mark.parametrize("line", ["!", "\\", "foo\\", "[z-a]"])
def test_a_line_that_git_passes_over_is_passed_over(line: str) -> None:
    Path(".git").mkdir()
    Path(".gitignore").write_text(f"{line}\nleft.yaml\n")
    for name in ("left.yaml", "kept.yaml"):
        Path(name).write_text(BAD)
    result = on_table("validate", ".", "--format", "github")
    assert (result.exit_code, result.stdout.count("::error")) == (1, 1)


def test_links_that_point_upward_end_a_pattern() -> None:
    Path("sub").mkdir()
    Path("sub/p.yaml").write_text(BAD)
    for name in ("a", "b"):
        Path(f"sub/{name}").symlink_to(".")
    result = on_table("validate", "sub/**/*.yaml", "--format", "github")
    assert (result.exit_code, result.stdout.count("::error")) == (1, 1)


def test_a_hook_names_every_file_and_means_those_of_a_folder() -> None:
    Path(".git").mkdir()
    Path(".gpuspecignore").write_text("left/\n")
    Path("left").mkdir()
    Path("left/p.yaml").write_text(BAD)
    Path("tsconfig.json").write_text("{ // no JSON\n}")
    names = ("left/p.yaml", "tsconfig.json")
    assert on_table("validate", *names).exit_code == 1
    assert run("validate", "--force-exclude", "--table", TABLE, "--", *names).exit_code == 0


def test_items_of_a_typed_list_are_what_the_list_says() -> None:
    item = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "resources": {}}]}}
    item["spec"] = {
        "containers": [{"name": "main", "resources": {"limits": {"preferred.jp/gpu-A100": 1}}}]
    }
    Path("l.json").write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [item]}))
    result = on_table("validate", "l.json", "--format", "json")
    (one,) = json.loads(result.stdout)["findings"]
    assert (one["object"], one["path"].partition(".spec")[0]) == ("Pod/p", "items[0]")
