"""The names that Kubernetes' CEL of devices knows, for CEL's own type checker.

Beyond CEL's standard: Kubernetes' libraries as of 1.37. Macros of two variables and ``sortBy``,
which no library for Python has, are named in ``MACROS`` only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from typing import Any, Final

FIELDS: Final = ("allowMultipleAllocations", "attributes", "capacity", "driver")
"""Fields of a device."""

KINDS: Final = {"bool": "bool", "int": "int", "string": "string", "version": "Semver"}
"""Kinds of attributes, and how a type of theirs is called below."""

VARIABLE: Final = "gpuspec_{}"
"""What a variable of a kind is called that an expression may have in place of an attribute."""

MACROS: Final = frozenset({"sortBy", "transformList", "transformMap", "transformMapEntry"})
"""What is known to Kubernetes and not to the checker."""

_LABELS = ("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue")
_PREFIXES = ("dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix")
_FORMATS = (*_LABELS, *_PREFIXES, "uri", "uuid", "byte", "date", "datetime")

# A name with a dot before it is a method of its first parameter.
_FUNCTIONS = """
quantity(string) Quantity
isQuantity(string) bool
sign(Quantity) int
.isInteger(Quantity) bool
.asInteger(Quantity) int
.asApproximateFloat(Quantity) double
.isGreaterThan(Quantity, Quantity) bool
.isLessThan(Quantity, Quantity) bool
.compareTo(Quantity, Quantity) int
.add(Quantity, Quantity) Quantity
.add(Quantity, int) Quantity
.sub(Quantity, Quantity) Quantity
.sub(Quantity, int) Quantity
semver(string) Semver
semver(string, bool) Semver
isSemver(string) bool
isSemver(string, bool) bool
.isGreaterThan(Semver, Semver) bool
.isLessThan(Semver, Semver) bool
.compareTo(Semver, Semver) int
.major(Semver) int
.minor(Semver) int
.patch(Semver) int
.charAt(string, int) string
.format(string, list) string
.indexOf(string, string) int
.indexOf(string, string, int) int
.lastIndexOf(string, string) int
.lastIndexOf(string, string, int) int
.join(list) string
.join(list, string) string
.lowerAscii(string) string
.upperAscii(string) string
.replace(string, string, string) string
.replace(string, string, string, int) string
.split(string, string) list
.split(string, string, int) list
.substring(string, int) string
.substring(string, int, int) string
.trim(string) string
strings.quote(string) string
.find(string, string) string
.findAll(string, string) list
.findAll(string, string, int) list
.isSorted(list) bool
.sum(list) dyn
.min(list) dyn
.max(list) dyn
.indexOf(list, dyn) int
.lastIndexOf(list, dyn) int
.includes(dyn, dyn) bool
.slice(list, int, int) list
.flatten(list) list
.flatten(list, int) list
.sort(list) list
.distinct(list) list
.reverse(list) list
lists.range(int) list
sets.contains(list, list) bool
sets.equivalent(list, list) bool
sets.intersects(list, list) bool
url(string) URL
isURL(string) bool
.getScheme(URL) string
.getHost(URL) string
.getHostname(URL) string
.getPort(URL) string
.getEscapedPath(URL) string
.getQuery(URL) map
ip(string) IP
isIP(string) bool
ip.isCanonical(string) bool
.family(IP) int
.isUnspecified(IP) bool
.isLoopback(IP) bool
.isLinkLocalMulticast(IP) bool
.isLinkLocalUnicast(IP) bool
.isGlobalUnicast(IP) bool
cidr(string) CIDR
isCIDR(string) bool
.containsIP(CIDR, string) bool
.containsIP(CIDR, IP) bool
.containsCIDR(CIDR, string) bool
.containsCIDR(CIDR, CIDR) bool
.ip(CIDR) IP
.prefixLength(CIDR) int
.masked(CIDR) CIDR
format.named(string) optional
.validate(Format, string) optional
"""
_SIGNATURE = re.compile(r"(\.?)([a-zA-Z.0-9]+)\((.*)\) (\w+)")

FUNCTIONS: Final = tuple(
    (bool(match[1]), match[2], tuple(filter(None, match[3].split(", "))), match[4])
    for match in _SIGNATURE.finditer(_FUNCTIONS)
) + tuple((False, f"format.{name}", (), "Format") for name in _FORMATS)
"""For each overload: whether it is a method, its name, types of its parameters and its result."""


@cache
def environment() -> Any:  # noqa: ANN401 -- the library has no types of its own
    """Return what compiles an expression about a device; made once, for it takes memory."""
    # Twenty megabytes that a table without CEL of its own does not need.
    from cel_expr_python import cel  # type: ignore[import-untyped] # noqa: PLC0415
    from cel_expr_python.ext import (  # type: ignore[import-untyped] # noqa: PLC0415
        ext_bindings,
        ext_optional,
    )

    kinds = cel.Type
    types = {
        **{name: getattr(kinds, name.upper()) for name in ("bool", "double", "int", "string")},
        "dyn": kinds.DYN,
        "list": kinds.LIST,
        "map": kinds.MAP,
        "optional": kinds.DYN,
        **{name: kinds.AbstractType(name) for name in ("CIDR", "Format", "IP", "Quantity")},
        **{name: kinds.AbstractType(name) for name in ("Semver", "URL")},
    }
    overloads: dict[str, list[Any]] = defaultdict(list)
    for member, name, parameters, result in FUNCTIONS:
        overloads[name].append(
            cel.Overload(
                f"gpuspec_{name}_{len(overloads[name])}",
                parameters=[types[one] for one in parameters],
                return_type=types[result],
                is_member=member,
            )
        )
    of_maps = {"attributes": kinds.DYN, "capacity": types["Quantity"]}
    return cel.NewEnv(
        variables={
            # What a variable is bound to has no known type; a field that is named has one.
            "device": kinds.Map(kinds.STRING, kinds.DYN),
            "device.driver": kinds.STRING,
            "device.allowMultipleAllocations": kinds.BOOL,
            **{
                f"device.{name}": kinds.Map(kinds.STRING, kinds.Map(kinds.STRING, value))
                for name, value in of_maps.items()
            },
            **{VARIABLE.format(kind): types[name] for kind, name in KINDS.items()},
        },
        extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings()],
        functions=[cel.FunctionDecl(name, found) for name, found in overloads.items()],
    )
