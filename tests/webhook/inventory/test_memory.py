"""Memory: what is on the box, what the driver says, and when the two contradict each other."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.nominal import least_mib
from selection_spec.table import builtin_table
from webhook.inventory.memory import card_mib, contradicts, nominal_gb

_WHOLE = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}


@pytest.mark.rule("G3")
@pytest.mark.parametrize(
    ("gigabytes", "mib"),
    [(12, 11272), (16, 15029), (24, 22544), (40, 37574), (48, 45089), (80, 75149)],
    ids=str,
)
def test_the_least_memory_of_a_size(gigabytes: int, mib: int) -> None:
    assert least_mib(gigabytes) == mib


@pytest.mark.rule("G3")
@pytest.mark.parametrize(
    ("mib", "gigabytes"),
    [
        pytest.param(mib, gigabytes, id=f"{card} {mib}")
        for card, mib, gigabytes in (
            ("K80", 11441, 12),
            ("11 GiB card", 11264, 11),
            ("T4", 15360, 16),
            ("T4, old driver", 15109, 16),
            ("P100", 16276, 16),
            ("V100", 16384, 16),
            ("V100, old driver", 16160, 16),
            ("V100-32", 32768, 32),
            ("V100-32, old driver", 32510, 32),
            ("A10G", 23028, 24),
            ("A10G, old driver", 22731, 24),
            ("L4", 23034, 24),
            ("L4, cloud", 22835, 24),
            ("A30", 24576, 24),
            ("RTX-4090", 24564, 24),
            ("A100-40", 40960, 40),
            ("A100-40, old driver", 39538, 40),
            ("A40", 46068, 48),
            ("A40, old driver", 45634, 48),
            ("RTX-A6000", 49140, 48),
            ("A100-80", 81920, 80),
            ("H100", 81559, 80),
            ("H200", 143771, 141),
            ("RTX PRO 6000", 97871, 96),
            ("a slice", 4864, 5),
            ("tiny", 100, 1),
        )
    ],
)
def test_real_memory_is_the_nominal_size_that_is_sold(mib: int, gigabytes: int) -> None:
    assert nominal_gb(mib) == gigabytes


@given(st.integers(1, 400_000))
def test_a_size_is_never_more_than_the_memory_allows(mib: int) -> None:
    size = nominal_gb(mib)

    assert size == 1 or least_mib(size) <= mib


@pytest.mark.rule("G3")
def test_every_size_of_the_built_in_table_is_sold() -> None:
    sizes = {row.vram_gb for row in builtin_table().rows}
    assert {nominal_gb(least_mib(size)) for size in sizes} == sizes


@pytest.mark.rule("G3")
@pytest.mark.parametrize(
    ("vram", "mib", "said"),
    [
        pytest.param(80, 81920, False, id="as sold"),
        pytest.param(80, 81559, False, id="a little less, as always"),
        pytest.param(24, 22731, False, id="A10G, old driver"),
        pytest.param(94, 95830, False, id="H100 NVL, beside 96 GB"),
        pytest.param(180, 183359, False, id="B200 is sold with 192 GB too"),
        pytest.param(20, 20470, False, id="a size of its own"),
        pytest.param(40, 81920, True, id="half of it"),
        pytest.param(16, 32510, True, id="V100 with 32"),
        pytest.param(48, 40960, True, id="more than there is"),
        pytest.param(12, 11264, True, id="an 11 GiB card as 12"),
    ],
)
def test_what_contradicts(vram: int, mib: int, *, said: bool) -> None:
    assert contradicts(vram, mib) is said


@pytest.mark.parametrize(
    ("labels", "mib"),
    [
        ({}, 81920),
        ({"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/gpu.replicas": "1"}, 81920),
        ({"nvidia.com/gpu.sharing-strategy": "mps"}, 0),
        ({"nvidia.com/gpu.replicas": "4"}, 0),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-SHARED"}, 0),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}, 0),
        ({"nvidia.com/gpu.memory": "much"}, 0),
    ],
    ids=str,
)
def test_only_whole_cards_are_measured(labels: Mapping[str, str], mib: int) -> None:
    assert card_mib({**_WHOLE, **labels}) == mib
