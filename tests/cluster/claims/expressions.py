"""Expressions that admins may write for NVIDIA's devices, and the devices that fulfil them.

Pure: the lint judges them, and a real control plane shows whether it judges rightly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.cluster.claims.devices import (
    A30,
    A100,
    MIG,
    NVIDIA,
    NVIDIA_BARE,
    V100,
    VFIO,
    Device,
)

OF = f'device.attributes["{NVIDIA}"]'
WHOLE = (V100, A30, A100)
EVERY = (*WHOLE, MIG, VFIO, NVIDIA_BARE)


@dataclass(frozen=True)
class Unguarded:
    """An expression without a guard: the read in it, the guarded form, and what that then means."""

    expression: str
    read: str
    form: str
    devices: tuple[Device, ...]

    @property
    def mended(self) -> str:
        """The expression with the guarded form pasted in, or before it."""
        assert self.read in self.expression
        if self.form.endswith(" && …"):
            return f"{self.form.removesuffix('…')}{self.expression}"
        before, _, after = self.expression.rpartition(self.read)
        return f"{before}{self.form}{after}"


def attribute(text: str, name: str, instead: str, *devices: Device) -> Unguarded:
    """One whose read is where ``%s`` is in the text."""
    read = f"{OF}.{name}"
    form = f"{OF}.?{name}.orValue({instead})" if instead else f"has({read}) && …"
    return Unguarded(text % read, read, form, devices)


_CAPACITY = f'device.capacity["{NVIDIA}"]'
_PRODUCT = f'{OF}["productName"]'

UNGUARDED: Mapping[str, Unguarded] = {
    "text": attribute('%s == "NVIDIA A30"', "productName", '""', A30),
    "text-first": attribute('"NVIDIA A30" == %s', "productName", '""', A30),
    "list": attribute('%s in ["NVIDIA A30", "x"]', "productName", '""', A30),
    "starts": attribute('%s.startsWith("Tesla")', "productName", '""', V100),
    "matches": attribute('%s.matches("A30$")', "productName", "", A30),
    "contains": attribute('%s.contains("A30")', "productName", "", A30),
    "lower": attribute('%s.lowerAscii() == "nvidia a30"', "productName", "", A30),
    "joined": attribute('%s + "!" == "NVIDIA A30!"', "productName", "", A30),
    "size": attribute("%s.size() == 10", "productName", "", A30),
    "major": attribute("%s.major() > 7", "cudaComputeCapability", "", A30, A100),
    "version": attribute(
        '%s.isGreaterThan(semver("7.5.0"))', "cudaComputeCapability", 'semver("0.0.0")', A30, A100
    ),
    "number": attribute("%s >= 1", "gpuModuleID", "0", *WHOLE),
    "truth": attribute("%s", "iommuFDEnabled", "false", VFIO),
    "not": attribute("!%s", "iommuFDEnabled", "false", *WHOLE, MIG, NVIDIA_BARE),
    "after-the-driver": attribute(
        f'device.driver == "{NVIDIA}" && %s == "NVIDIA A30"', "productName", '""', A30
    ),
    "other-branch": attribute(f'has({OF}.type) ? true : %s == "gpu"', "type", '""', *EVERY[:-1]),
    "other-guard": attribute(f'has({OF}.type) && %s == "NVIDIA A30"', "productName", '""', A30),
    "bound": Unguarded(
        f'cel.bind(own, {OF}, own.type == "mig")', "own.type", f'{OF}.?type.orValue("")', (MIG,)
    ),
    "brackets": Unguarded(
        f'{_PRODUCT} == "NVIDIA A30"', _PRODUCT, f'{OF}.?productName.orValue("")', (A30,)
    ),
    "capacity": Unguarded(
        f'{_CAPACITY}.memory.compareTo(quantity("24Gi")) >= 0',
        f"{_CAPACITY}.memory",
        f'{_CAPACITY}.?memory.orValue(quantity("0"))',
        (A30, A100, MIG),
    ),
    "value": Unguarded(
        f'{OF}.?type.value() == "mig"', f"{OF}.?type.value()", f'{OF}.?type.orValue("")', (MIG,)
    ),
}

GUARDED: Mapping[str, tuple[str, tuple[Device, ...]]] = {
    "or-value": (f'{OF}.?productName.orValue("") == "NVIDIA A30"', (A30,)),
    "brackets": (f'{OF}[?"productName"].orValue("") == "NVIDIA A30"', (A30,)),
    "has": (f'has({OF}.productName) && {OF}.productName == "NVIDIA A30"', (A30,)),
    "has-behind": (f'{OF}.productName == "NVIDIA A30" && has({OF}.productName)', (A30,)),
    "has-two": (
        f'has({OF}.type) && has({OF}.profile) && ({OF}.type == "mig" && {OF}.profile != "")',
        (MIG,),
    ),
    "has-not": (f'!has({OF}.type) || {OF}.type == "mig"', (MIG, NVIDIA_BARE)),
    "neither": (f'!({OF}.type == "mig" || !has({OF}.type))', (*WHOLE, VFIO)),
    "ternary": (f'has({OF}.type) ? {OF}.type == "mig" : true', (MIG, NVIDIA_BARE)),
    "ternary-not": (f'!has({OF}.type) ? true : {OF}.type == "mig"', (MIG, NVIDIA_BARE)),
    "in": (f'"profile" in {OF} && {OF}.profile == "3g.40gb"', (MIG,)),
    "has-value": (f'{OF}.?type.hasValue() && {OF}.?type.value() == "mig"', (MIG,)),
    "bind": (f'cel.bind(own, {OF}, has(own.type) && own.type == "mig")', (MIG,)),
    "bind-optional": (f'cel.bind(type, {OF}.?type, type.orValue("") == "mig")', (MIG,)),
    "item": (f'"mig" in [?{OF}.?type,]', (MIG,)),
    "driver": (f'device.driver == "{NVIDIA}" && true', EVERY),
    "standard": ('device.attributes["resource.kubernetes.io"].?numaNode.orValue(-1) == 0', WHOLE),
    "quotes": (
        f"{OF}.?type.orValue('') == '''mig''' && r\"\\\" != \"x\" && size(b'x') == 1 // \"",
        (MIG,),
    ),
    "literals": (
        "[1, 2,].exists(e, e == 0x2) && {'a': 1.5e3}.a > .5 && -(1 - 3) * 2 % 4 == 0 && !false",
        EVERY,
    ),
}

_OPTIONAL = f'{OF}.?productName.orValue("")'

COSTLY: Mapping[str, str] = {
    "contains": f'{_OPTIONAL}.contains("A30")',
    "find": f'{_OPTIONAL}.find("A30") != ""',
    "lowerAscii": f'{_OPTIONAL}.lowerAscii() == "x"',
    "matches": f'{_OPTIONAL}.matches("A30$")',
    "replace": f'{_OPTIONAL}.replace("a", "b") == "x"',
    "split": f'{_OPTIONAL}.split(" ")[0] == "NVIDIA"',
    "upperAscii": f'true && {_OPTIONAL}.upperAscii() == "x"',
}
"""Calls that the API server refuses for what they might cost."""

BROKEN: Mapping[str, str] = {
    '"mig': '" at character 1 is never closed',
    f'{OF}.?type.orValue("") == \'mig"': "' at character 58 is never closed",
    f"has({OF}.type": "something is missing at its end, such as a closing bracket",
    "true &&": "something is missing at its end, such as a closing bracket",
    "[1, 2": "something is missing at its end, such as a closing bracket",
    "true)": ") at character 5 is out of place",
    "true = true": "= at character 6 is out of place",
    "true and true": "and at character 6 is out of place",
    "true === false": "= at character 8 is out of place",
    "in": "in at character 1 is out of place",
    "device.": "something is missing at its end, such as a closing bracket",
    "true ? false": "something is missing at its end, such as a closing bracket",
    '{"a"}': "} at character 5 is out of place",
    '"a" "much longer text than is shown"': '"much longer text th… at character 5 is out of place',
}
"""What is no CEL, and what is said of it."""
