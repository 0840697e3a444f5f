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
            before, either, after = self.expression.rpartition(" || ")
            return f"{before}{either}{self.form.removesuffix('…')}{after}"
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
    "zero": attribute("%s == 0", "gpuModuleID", ""),
    "less": attribute("%s < 2", "gpuModuleID", "", *WHOLE),
    "more": attribute("2 > %s", "gpuModuleID", "", *WHOLE),
    "minus": attribute("%s > -1", "gpuModuleID", "", *WHOLE),
    "hexadecimal": attribute("%s >= 0x1", "gpuModuleID", "0", *WHOLE),
    "other": attribute('%s != "NVIDIA A30"', "productName", "", V100, A100, MIG),
    "false": attribute("%s == false", "iommuFDEnabled", ""),
    "empty-list": attribute('%s in ["", "x"]', "profile", ""),
    "not-newer": attribute('%s.isLessThan(semver("8.0.0"))', "cudaComputeCapability", "", V100),
    "not-older": attribute('semver("8.0.0").isGreaterThan(%s)', "cudaComputeCapability", "", V100),
    "below": attribute('%s.compareTo(semver("8.0.0")) < 0', "cudaComputeCapability", "", V100),
    "either": Unguarded(
        f'{OF}.?type.orValue("") == "vfio" || {OF}.profile.contains("g")',
        f"{OF}.profile",
        f"has({OF}.profile) && …",
        (MIG, VFIO),
    ),
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


@dataclass(frozen=True)
class Mistyped:
    """A comparison of what does not compare so: what is said, its form, and what that means.

    ``is_refused`` tells whether the API server does not take it; else it fails on a device.
    """

    expression: str
    said: str
    form: str
    devices: tuple[Device, ...]
    is_refused: bool


_VERSION = f"{OF}.cudaComputeCapability"
_IS_VERSION = "cudaComputeCapability is a version, compared by compareTo()"
_VERSION_FORM = f'{OF}.?cudaComputeCapability.orValue(semver("0.0.0")).compareTo(semver("%s")) %s 0'
_HAS_VERSION = f"has({OF}.cudaComputeCapability) && {_VERSION_FORM}"
_IS_QUANTITY = "memory is a quantity, compared by compareTo()"
_QUANTITY_FORM = f'{_CAPACITY}.?memory.orValue(quantity("0")).compareTo(quantity("%s")) %s 0'


def _version(expression: str, form: str, *devices: Device, is_refused: bool = False) -> Mistyped:
    return Mistyped(expression, _IS_VERSION, form, devices, is_refused)


def _quantity(expression: str, form: str, *devices: Device) -> Mistyped:
    return Mistyped(expression, _IS_QUANTITY, form, devices, is_refused=True)


MISTYPED: Mapping[str, Mistyped] = {
    "number": _version(f"{_VERSION} >= 8.0", _VERSION_FORM % ("8.0.0", ">="), A30, A100),
    "whole-number": _version(f"{_VERSION} > 7", _VERSION_FORM % ("7.0.0", ">"), A30, A100),
    "mirrored": _version(f"8.0 <= {_VERSION}", _VERSION_FORM % ("8.0.0", ">="), A30, A100),
    "text": _version(f'{_VERSION} < "7.5"', _HAS_VERSION % ("7.5.0", "<"), V100),
    "semver": _version(
        f'{_VERSION} >= semver("8.0.0")',
        _VERSION_FORM % ("8.0.0", ">="),
        A30,
        A100,
        is_refused=True,
    ),
    "default": _version(
        f"{OF}.?cudaComputeCapability.orValue(0) >= 8", _VERSION_FORM % ("8.0.0", ">="), A30, A100
    ),
    "quantity": _quantity(
        f'{_CAPACITY}.memory >= quantity("24Gi")', _QUANTITY_FORM % ("24Gi", ">="), A30, A100, MIG
    ),
    "quantity-text": _quantity(
        f'{_CAPACITY}.memory >= "24Gi"', _QUANTITY_FORM % ("24Gi", ">="), A30, A100, MIG
    ),
    "quantity-below": _quantity(
        f'{_CAPACITY}.memory < quantity("24Gi")',
        f"has({_CAPACITY}.memory) && {_QUANTITY_FORM % ('24Gi', '<')}",
        V100,
    ),
}

REFUSED: Mapping[str, tuple[str, str]] = {
    f'devce.driver == "{NVIDIA}"': ("there is no devce", "write device"),
    "devices": ("there is no devices", "write device"),
    f'device.atributes["{NVIDIA}"].?type.orValue("") == "gpu"': (
        "device has no atributes",
        "write attributes",
    ),
    "has(device.memory)": ("device has no memory", ""),
    'device.driver.startWith("gpu")': (
        "there is no function startWith()",
        "write startsWith()",
    ),
    'sts.contains(["a"], ["b"])': ("there is no sts", ""),
    "sum([1]) == 1": ("sum() is a method", "write x.sum()"),
    'quantity("1Gi").sign() == 1': ("sign() is no method", "write sign(x)"),
    '"1Gi".quantity().isInteger()': ("quantity() is no method", "write quantity(x)"),
    '"abc".reverse() == "cba"': ("reverse() does not go with string", ""),
    'true && "x"': ("&& does not go with bool and string", ""),
    '!"x"': ("! does not go with string", ""),
    '1 == "1"': ("== does not go with int and string", ""),
    "1 == 1.0": ("== does not go with int and double", ""),
    'true ? 1 == 1 : "x"': ("?: does not go with bool, bool and string", ""),
    '"a" in device.driver': ("in does not go with string and string", ""),
    f"{_CAPACITY}.memory >= 24": (">= does not go with quantity and int", ""),
    f"{_CAPACITY}.?memory.orValue(0) == 0": (
        "orValue() does not go with optional quantity and int",
        "",
    ),
    "device.driver": ("it is a string, neither true nor false", ""),
    f"{OF}.?type": ("it is an optional, neither true nor false", ""),
    "device.driver.length == 3": ("a string has no fields", ""),
    'semver("1.2.3").isGreaterThan("1.2.0")': (
        "isGreaterThan() does not go with version and string",
        "",
    ),
}
"""What is CEL and makes no sense to Kubernetes, and what is said of it: what, and what to do."""

FUNCTIONS: Mapping[str, str] = {
    "numbers": "1 < 1.5 && 2u > 1 && [1, 2].sum() == 3 && [2, 1].max() == 2 && [2, 1].min() == 1",
    "lists": "[1].isSorted() && [1].indexOf(1) == 0 && [1].lastIndexOf(1) == 0",
    "more-lists": "[2, 1].sort() == [1, 2] && [1].distinct() == [1].reverse()",
    "ranges": "lists.range(1) == [0] && [1][?0].hasValue()",
    "of-lists": "[[1]].flatten() == [1, 2].slice(0, 1) && [1].first() == optional.of(1) && "
    "[1].last() == optional.of(1)",
    "sets": "sets.contains([1], [1]) && sets.equivalent([1], [1]) && sets.intersects([1], [1])",
    "texts": '"a".indexOf("a") == 0 && "a".charAt(0) == "a" && "%s".format(["a"]) == "a"',
    "trim": '" a ".trim() == "a" && "ab".substring(1) == "b"',
    "cases": '"A".lowerAscii() == "a" && "a".upperAscii() == "A" && "a".replace("a", "b") == "b"',
    "search": '"a1".find("[0-9]") == "1" && "a".findAll("a") == "a b".split(" ", 1)',
    "quote": 'strings.quote("a") == "\\"a\\"" && "a".matches("a") && matches("a", "a")',
    "quantities": 'isQuantity("1") && quantity("1").add(1).sub(quantity("1")).asInteger() == 1',
    "of-quantities": 'sign(quantity("1")) == 1 && quantity("1").isInteger() && '
    'quantity("1").asApproximateFloat() > 0.5 && quantity("1").isLessThan(quantity("2"))',
    "versions": 'isSemver("v1", true) && semver("v1.2", true).patch() < semver("1.2.0").major()',
    "urls": 'isURL("https://a.example") && url("https://a.example/b").getHost() == "a.example"',
    "of-urls": 'url("https://a.example/b?c=d").getQuery()["c"] == ["d"] && '
    'url("https://a.example").getPort() == "" && url("https://a.example").getScheme() == "https"',
    "addresses": 'isIP("::1") && ip("::1").family() == 6 && ip("::1").isLoopback() && '
    'ip.isCanonical("::1") && string(ip("::1")) == "::1"',
    "networks": 'isCIDR("10.0.0.0/8") && cidr("10.0.0.0/8").containsIP("10.1.1.1") && '
    'cidr("10.0.0.0/8").masked().prefixLength() == 8 && cidr("10.0.0.0/8").ip() == ip("10.0.0.0")',
    "formats": '!format.dns1123Label().validate("a").hasValue() && format.named("uuid").hasValue()',
    "kinds-of-addresses": 'ip("::").isUnspecified() && ip("::1").isGlobalUnicast() || '
    'ip("::1").isLinkLocalMulticast() || ip("::1").isLinkLocalUnicast()',
    "inner-networks": 'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")',
    "parts-of-urls": 'url("https://a.example/b").getHostname() == "a.example" && '
    'url("https://a.example/b").getEscapedPath() == "/b"',
    "parts-of-versions": 'semver("1.2.3").minor() == 2',
    "compared": 'semver("1.0.0").compareTo(semver("1.0.0")) == 0 && '
    'quantity("1").isGreaterThan(quantity("0"))',
    **{
        f"format-{name}": f'!format.{name}().validate("a").hasValue() || true'
        for name in (
            *("dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri", "uuid"),
            *("dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix"),
            *("byte", "date", "datetime"),
        )
    },
    "macros": "[1].all(e, e == 1) && [1].exists_one(e, e == 1) && [1].map(e, e + 1) == [2]",
    "two-variables": '{"a": 1}.all(key, value, value == 1) && [1].exists(at, value, at < value)',
    "transforms": "[3].transformList(at, value, at + value) == [3] && "
    '{"a": 1}.transformMap(key, value, value + 1) == {"a": 2}',
    "sort-by": '["bb", "a"].sortBy(text, text.size())[0] == "a"',
    "optional-map": f'{OF}.?type.optMap(type, type == "gpu").orValue(false)',
    "either-optional": f'{OF}.?profile.or({OF}.?type).orValue("") == "gpu"',
    "device": f'cel.bind(one, device, one.driver == "{NVIDIA}" && has(one.driver))',
    "own-names": f'"{NVIDIA}" in device.attributes && {OF}.size() > 0',
    "time": 'duration("1m") > duration("1s") && timestamp(1).getFullYear() == 1970',
    "conversions": 'int("1") == 1 && double(1) == 1.0',
    "to-text": 'string(1) == "1"',
}
"""What Kubernetes' CEL knows; nothing is to be said of it."""

DEAR: Mapping[str, str] = {"join": '["a"].join("-") == "a"', "type": "type(1) == int"}
"""What it knows, too, but takes to cost too much whatever it is given."""

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
