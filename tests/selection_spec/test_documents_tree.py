"""Where a path leads in a tree: the same wherever it is looked up, and cheap however often."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.documents import Path, load_manifests, tree
from selection_spec.documents.nodes import (
    Alias,
    Literal,
    Mapping,
    Node,
    Scalar,
    Sequence,
    is_merge_key,
    merge_sources,
)
from selection_spec.documents.scalars import key_text
from selection_spec.documents.tree import Tree


def looked_up(root: Node, path: Path) -> tuple[Node, Node | None]:
    """What a path leads to, by going through the entries again for every step."""
    node, key = root, None
    for step in path:
        inner = node.target if isinstance(node, Alias) else node
        found: tuple[Node, Node | None] | None = None
        if isinstance(inner, Sequence) and isinstance(step, int):
            if 0 <= step < len(inner.children):
                found = inner.children[step], None
        elif isinstance(inner, Mapping) and isinstance(step, str):
            found = last_called(step, inner, [inner])
        if found is None:
            break
        node, key = found
    return node, key


def last_called(name: str, mapping: Mapping, seen: list[Mapping]) -> tuple[Node, Node] | None:
    for key, value in reversed(mapping.entries()):
        if is_merge_key(key):
            for source in merge_sources(value) or ():
                if source not in seen:
                    seen.append(source)
                    merged = last_called(name, source, seen)
                    if merged is not None:
                        return merged
            continue
        written = key.target if isinstance(key, Alias) else key
        if isinstance(written, Scalar):
            text = key_text(written.text, plain=written.plain, tag=written.tag)
            if text == name:
                return value, key
    return None


NAMES = ("a", "b", "c", "16", "<<")
KEYS = [
    *(Scalar(0, name, plain=True) for name in ("a", "b", "c", "0x10", "<<", "<<", "")),
    *(Scalar(0, name, plain=False) for name in ("a", "16", "<<")),
]
STEPS = st.sampled_from((*NAMES, "d")) | st.integers(-1, 3)


@st.composite
def roots(draw: st.DrawFn) -> Node:
    """A tree whose mappings share, merge and contain each other as they like."""
    mappings = [Mapping(at) for at in range(draw(st.integers(1, 5)))]
    shared = st.sampled_from(mappings)
    shared_or_aliased = shared | shared.map(lambda node: Alias(0, "x", node))
    values = st.one_of(
        st.builds(Literal, st.just(0), st.just(1)),
        st.builds(Scalar, st.just(0), st.sampled_from(NAMES), st.booleans()),
        shared_or_aliased,
        st.builds(Sequence, st.just(0), children=st.lists(shared_or_aliased | shared, max_size=3)),
    )
    scalars = st.sampled_from(KEYS)
    keys = st.one_of(scalars, scalars.map(lambda key: Alias(0, "k", key)), shared)
    for mapping in mappings:
        entries = draw(st.lists(st.tuples(keys, values), max_size=6))
        mapping.children = list(itertools.chain.from_iterable(entries))
    return mappings[0]


@given(roots(), st.lists(st.lists(STEPS, max_size=4).map(tuple), max_size=12))
def test_every_lookup_finds_what_going_through_the_entries_finds(
    root: Node, paths: list[Path]
) -> None:
    found = Tree(root)
    for path in paths * 3:
        (node, key), (wanted, its_key) = found.find(path), looked_up(root, path)
        assert node is wanted
        assert key is its_key


@pytest.fixture
def names_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that lookups have read so far."""
    read: list[str] = []

    def noted(text: str, *, plain: bool, tag: str = "") -> str | None:
        read.append(text)
        return key_text(text, plain=plain, tag=tag)

    monkeypatch.setattr(tree, "key_text", noted)
    return read


def test_who_asks_for_every_key_reads_each_twice_at_most(names_read: list[str]) -> None:
    names = [f"k{number}" for number in range(2000)]
    (document,) = load_manifests("".join(f"{name}: 1\n" for name in names))

    assert [document.key_position((name,))[0] for name in names] == list(range(1, 2001))
    assert len(names_read) <= 2 * len(names)


def test_who_asks_once_reads_no_further_than_the_key(names_read: list[str]) -> None:
    (document,) = load_manifests("".join(f"k{number}: {{a: 1}}\n" for number in range(2000)))

    assert document.position(("k1999", "a")) == (2000, 12)
    assert names_read == ["k1999", "a"]


def test_what_is_merged_twice_is_searched_once(names_read: list[str]) -> None:
    lowest = root = Mapping(0, children=[Scalar(0, "a", plain=True), Literal(0, 1)])
    for _ in range(60):
        both = Sequence(0, children=[Alias(0, "x", root), Alias(0, "x", root)])
        root = Mapping(0, children=[Scalar(0, "<<", plain=True), both])
    found = Tree(root)

    assert found.find(("b",)) == (root, None)
    assert found.find(("a",)) == (lowest.children[1], lowest.children[0])
    assert names_read == ["a", "a"]
