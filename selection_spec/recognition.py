"""Which rows a claim that was written earlier may have devices of (semantics R2).

The counterpart of ``cel``: it reads only what that wrote. A claim of somebody else's is no row's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from selection_spec.cel import any_of, selectors
from selection_spec.nominal import least_mib
from selection_spec.rows import Row

_TEXTS = r'\[((?:"(?:[^"\\]|\\.)*"(?:, )?)+)\]'
_PRODUCTS = re.compile(r'\.orValue\(""\) in ' + _TEXTS)
_MEMORY = re.compile(r'\.compareTo\(quantity\("([0-9]+)Mi"\)\) >= 0')


def may_be(row: Row, device_class: str, expressions: Sequence[str]) -> bool:
    """Tell whether a sub-request takes devices of a row, alone or as one of several.

    Args:
        row: Any row; one without a claim is never meant.
        device_class: The DeviceClass of the sub-request.
        expressions: Its CEL selectors.
    """
    claim = row.claim
    if claim is None or claim.device_class != device_class:
        return False
    if tuple(expressions) == selectors(row):
        return True
    guard = any_of([row]).partition(" && ")[0]
    if len(expressions) != 1 or not expressions[0].startswith(f"{guard} && "):
        return False
    if claim.selectors:
        return any_of([row]).removeprefix(f"{guard} && ") in expressions[0]
    if claim.products:
        products = _PRODUCTS.search(expressions[0])
        return products is not None and set(claim.products) <= set(json.loads(f"[{products[1]}]"))
    memory = _MEMORY.search(expressions[0])
    return memory is not None and int(memory[1]) <= least_mib(row.vram_gb)
