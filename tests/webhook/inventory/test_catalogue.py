"""Which card a text means, and how many gigabytes are on its box."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.grammar import name_problem, parse_spec
from selection_spec.table import builtin_table
from webhook.inventory.generate.catalogue import Catalogue, usable_name

CATALOGUE = Catalogue(builtin_table())

PIECES = ("x" * 47, "rtx", "a100", "80gb", "007", "any", "-", "_", "NVIDIA-", "-SHARED", "-MIG-")
SLICES = ("1g.5gb", "0g.0gb", "7g.80gb+me", "1g.10gb.me-SHARED", "INVALID", "g.gb", "1g.5gb.7gb")
TEXTS = st.one_of(
    st.text(max_size=70), st.lists(st.sampled_from(PIECES + SLICES), max_size=5).map("".join)
)


@pytest.mark.parametrize(
    ("text", "mib", "shares", "wanted"),
    [
        ("NVIDIA-A100-SXM4-40GB", 40536, 1, "a100-40gb"),
        ("A100-SXM4-40GB", 39538, 1, "a100-40gb"),
        ("NVIDIA A100-PCIE-40GB", 0, 1, "a100-40gb"),
        ("NVIDIA-GH200-480GB", 97871, 1, "gh200-96gb"),
        ("Tesla V100-SXM2-16GB", 16160, 1, "v100-16gb"),
        ("NVIDIA-L4-SHARED", 22835, 4, "l4-shared-6gb"),
        ("NVIDIA-L4", 22835, 48, "l4-shared-1gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 4864, 1, "a100-mig1-5gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb-SHARED", 20096, 2, "a100-mig3-shared-10gb"),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me", 9856, 1, "h100-mig1-me-10gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-INVALID", 0, 1, "a100-mig-40gb"),
        ("AMD_Instinct_MI300X_OAM", 0, 1, "mi300x-192gb"),
        ("Max_1550", 0, 1, "max-1550-128gb"),
        ("nvidia-l4", 0, 1, "l4-24gb"),
        ("nvidia-tesla-t4", 0, 1, "t4-16gb"),
        ("nvidia-tesla-a100", 0, 1, "a100-40gb"),
        ("nvidia-tesla-p100", 0, 1, "p100-16gb"),
        ("nvidia-tesla-v100", 0, 1, "v100-16gb"),
        ("nvidia-a100-80gb", 0, 1, "a100-80gb"),
        ("nvidia-h100-80gb", 0, 1, "h100-80gb"),
        ("nvidia-h100-mega-80gb", 0, 1, "h100-80gb"),
        ("nvidia-h200-141gb", 0, 1, "h200-141gb"),
        ("nvidia-b200", 0, 1, "b200-180gb"),
        ("a100", 40960, 1, "a100-40gb"),
        ("a100", 81920, 1, "a100-80gb"),
        ("h100", 81920, 1, "h100-80gb"),
        ("h200", 144384, 1, "h200-141gb"),
        ("b200", 183359, 1, "b200-180gb"),
        ("v100-16gb", 0, 1, "v100-16gb"),
        ("a30-24gb", 0, 1, "a30-24gb"),
        ("A30_24G", 0, 1, "a30-24gb"),
        ("rtx4090", 0, 1, "rtx-4090-24gb"),
        ("GeForce-RTX-4090-Laptop", 0, 1, "rtx-4090-24gb"),
        ("mncore2-32gb", 0, 1, "mncore2-32gb"),
        ("NVIDIA-Quantum-9000", 49140, 1, "quantum-9000-48gb"),
    ],
    ids=str,
)
def test_a_text_is_the_card_that_it_means(text: str, mib: int, shares: int, wanted: str) -> None:
    assert CATALOGUE.card(text, mib, shares).id == wanted


@pytest.mark.parametrize(
    ("text", "mib", "shares", "wanted", "doubts"),
    [
        ("a100", 0, 1, "a100-40gb", ("a100 is sold with 80 GB too; the smaller is assumed",)),
        ("experimental", 0, 1, "experimental-1gb", ("nothing tells its memory, so vram is 1gb",)),
        (
            "NVIDIA-A100-SXM4-40GB",
            20480,
            1,
            "a100-20gb",
            ("its memory is 20480 MiB, less than a a100-40gb has",),
        ),
        (
            "NVIDIA-L4-SHARED",
            0,
            4,
            "l4-shared-6gb",
            ("4 Pods share 24 GB; see what vram you want to promise each",),
        ),
        (
            "NVIDIA-A30-MIG-INVALID",
            0,
            1,
            "a30-mig-24gb",
            ("its node is split in a way that the driver does not support",),
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_cannot_be_told_is_said(
    text: str, mib: int, shares: int, wanted: str, doubts: tuple[str, ...]
) -> None:
    card = CATALOGUE.card(text, mib, shares)

    assert (card.id, card.doubts) == (wanted, doubts)


def test_every_product_of_the_shipped_table_is_its_row() -> None:
    products = [
        (value, row.id)
        for row in builtin_table().rows
        for one in row.nodes
        if one.key.endswith(("product", "product-name"))
        for value in one.values
    ]

    assert len(products) > 90
    assert [(value, CATALOGUE.card(value).id) for value, _ in products] == products


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Some Card", "some-card"),
        ("p3.8xlarge", "p3-8xlarge"),
        ("any", "any-card"),
        ("a100-80gb", "a100-80gb-card"),
        ("007", "007-card"),
        ("", "unknown"),
        ("日本", "unknown"),
        ("x" * 80, "x" * 48),
        ("x" * 45 + "-80gb", "x" * 45 + "-80"),
    ],
    ids=str,
)
@pytest.mark.rule("G6")
def test_a_text_becomes_a_name(text: str, name: str) -> None:
    assert usable_name(text) == name


@pytest.mark.rule("G6")
@given(TEXTS, st.integers(0, 300_000), st.integers(1, 64))
def test_every_card_has_an_id_that_users_can_write(text: str, mib: int, shares: int) -> None:
    card = CATALOGUE.card(text, mib, shares)

    assert name_problem(card.name) == ""
    assert parse_spec(f"gpu-{card.id}").name == card.name
