"""Large files are judged in parts, so that memory does not grow with them."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.documents import MAX_MANIFEST_BYTES
from tests.webhook.advice.findings.judged import pod
from tests.webhook.cli.running import answer, on_table
from webhook.cli.validate import parts as parts_module
from webhook.cli.validate.parts import parts

BAD = pod("limits: {preferred.jp/gpu-A100: 1}")
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n---\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_hundred_thousand_documents() -> None:
    with Path("p.yaml").open("w") as file:
        file.writelines(f"kind: Other\nnumber: {number}\n---\n" for number in range(100_000))
        file.write(BAD)
    found = answer(on_table("validate", "p.yaml", "--format", "json"), 1)
    assert found["summary"]["documents"] == 100_001
    (one,) = found["findings"]
    assert (one["line"], one["column"]) == (300_008, 18)
    text = Path("p.yaml").read_text()
    start, end = one["fix"]["replace"]["start"], one["fix"]["replace"]["end"]
    assert text[start:end] == "preferred.jp/gpu-A100"


def test_parts_are_read_one_at_a_time() -> None:
    """Ten times as much takes no more memory."""

    def peak(megabytes: int) -> int:
        with Path("p.yaml").open("w") as file:
            megabyte = (SERVICE + "# " + "x" * 10_000 + "\n---\n") * 100
            file.writelines([megabyte] * megabytes)
        tracemalloc.start()
        result = on_table("validate", "p.yaml")
        assert result.exit_code == 0
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)  # what is read once for all
    small, large = peak(2), peak(20)
    assert large < small + 2_000_000


@pytest.mark.parametrize("start", ["a: ", "{", "- [", "\ufeff{"])
def test_a_document_that_is_too_large_is_not_held(start: str) -> None:
    with Path("p.yaml").open("w") as file:
        file.write(f"{start}kind: Pod")
        file.writelines(["x" * 1_000_000] * 50)
        file.write("\n---\n" + BAD)
    tracemalloc.start()
    found = answer(on_table("validate", "p.yaml", "--format", "json"), 1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one["rule"] for one in found["findings"]] == ["GS001"]
    assert "at most 31,457,280 are read" in found["findings"][0]["message"]
    assert most < 5 * MAX_MANIFEST_BYTES


_LINES = st.lists(
    st.sampled_from(
        ["---", "--- # a", "----", " ---", "a: b", "é: 日", "", "# ---", "\ufeff", "\r"]
    ),
    max_size=30,
)


@given(_LINES, st.sampled_from(["", "\ufeff", "\n", "{", "[", "---\n"]), st.integers(1, 40))
def test_parts_are_the_file_cut_before_separators(lines: list[str], head: str, size: int) -> None:
    raw = (head + "\n".join(lines)).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts_module, "_PART_BYTES", size)
        patch.setattr(parts_module, "_READ_BYTES", 7)
        found = list(parts_module._parts(io.BytesIO(raw)))
    assert b"".join(one.raw for one in found) == raw
    text = raw.decode().removeprefix("\ufeff")
    for number, one in enumerate(found):
        rest = text[one.characters :]
        assert rest.startswith(one.raw.decode().removeprefix("\ufeff"))
        assert one.lines == text[: one.characters].count("\n")
        if number:
            assert one.raw.startswith(b"---")


def test_text_in_another_encoding_is_one_part() -> None:
    raw = (SERVICE * 10_000).encode("utf-16")
    Path("p.yaml").write_bytes(raw)
    assert [one.raw for one in parts("p.yaml")] == [raw]


def test_an_empty_file_is_fine() -> None:
    Path("p.yaml").write_bytes(b"")
    assert on_table("validate", "p.yaml").exit_code == 0
