"""The example table with claims: the same four kinds of device, offered by NVIDIA's DRA driver."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.builders import PFN_TABLE, Json

NVIDIA = "gpu.nvidia.com"
PRODUCTS = {
    "v100-16gb": "Tesla V100-SXM2-16GB",
    "v100-32gb": "Tesla V100-SXM2-32GB",
    "a30-24gb": "NVIDIA A30",
    "a100-80gb": "NVIDIA A100-SXM4-80GB",
}


def claim_document(*claimed: str, **spec: object) -> Json:
    """Build the table.

    Args:
        claimed: Ids of the rows of output ResourceClaim; all of them where none is given.
        spec: Further fields of the table.
    """
    document: Json = yaml.safe_load(PFN_TABLE.read_text())
    document["metadata"]["name"] = "claims"
    for row in document["spec"]["devices"]:
        row_id = f"{row['name']}-{row['vram']}"
        row["claim"] = {
            "deviceClassName": NVIDIA,
            "driver": NVIDIA,
            "products": [PRODUCTS[row_id]],
        }
        if row_id in claimed or not claimed:
            row["output"] = "ResourceClaim"
    document["spec"] |= spec
    return document


def claim_table(folder: Path, *claimed: str, **spec: object) -> str:
    """Write that table into a folder, and return the file's name."""
    file = folder / "claims.yaml"
    file.write_text(json.dumps(claim_document(*claimed, **spec)))
    return str(file)


def whole(product: str) -> str:
    """The CEL that a row of one product means."""
    attributes = f'device.attributes["{NVIDIA}"]'
    return (
        f'device.driver == "{NVIDIA}" && {attributes}.?type.orValue("gpu") in ["gpu", "amdgpu"]'
        f' && {attributes}.?productName.orValue("") in ["{product}"]'
    )
