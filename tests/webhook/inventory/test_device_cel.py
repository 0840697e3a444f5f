"""CEL about devices, as Kubernetes evaluates it for ResourceClaims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.cel import any_of, selectors
from tests.builders import Json, make_row, make_table
from tests.webhook.inventory.drivers import NVIDIA, device, pool
from webhook.inventory.claims import offered
from webhook.inventory.device_cel import ALL, CelError, Expressions, SlowError
from webhook.inventory.recogniser import Recogniser
from webhook.inventory.slice_facts import DeviceFacts, slice_facts

LIBRARY = Expressions()
A100: Json = {
    "attributes": {
        "productName": {"string": "NVIDIA A100"},
        "type": {"string": "gpu"},
        "cudaComputeCapability": {"version": "8.0.0"},
        "driverVersion": {"version": "580.1.0-rc.2"},
        "gpuModuleID": {"int": 4},
        "ecc": {"bool": True},
        "links": {"strings": ["a", "b"]},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:01"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "copyEngines": {"value": "7"}},
    "allowMultipleAllocations": True,
}
OF = 'device.attributes["gpu.nvidia.com"]'
MANY = str(list(range(105)))
HAS = 'device.capacity["gpu.nvidia.com"]'


def facts(one: Json) -> DeviceFacts:
    (found,) = slice_facts(pool(one)).devices
    return found


def holds(expression: str, one: Json = A100) -> bool:
    known = facts(one)
    compiled = LIBRARY.compiled(expression)
    return compiled.holds(NVIDIA, known.details, multiple=known.multiple)


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "gpu.nvidia.com"', True),
        ("device.allowMultipleAllocations", True),
        (f'{OF}.productName == "NVIDIA A100"', True),
        (f'{OF}["productName"].lowerAscii().contains("a100")', True),
        (f'{OF}.productName.matches("^NVIDIA A1?00$")', True),
        (f"{OF}.gpuModuleID >= 4 && {OF}.ecc", True),
        (f'"b" in {OF}.links', True),
        ('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:01"', True),
        (f"has({OF}.brand) || !has({OF}.type)", False),
        (f'{OF}.?brand.orValue("none") == "none"', True),
        ('device.attributes["gpu.amd.com"].?family.orValue("") == ""', True),
        ("has(device.attributes['gpu.amd.com'].family)", False),
        ('"gpu.amd.com" in device.attributes', False),
        (f'cel.bind(dra, {OF}, dra.type == "gpu" && dra.ecc)', True),
        (f'{OF}.exists(name, name == "ecc")', True),
        (f'{HAS}.memory.compareTo(quantity("40Gi")) == 0', True),
        (f'{HAS}.memory == quantity("42949672960")', True),
        (f'{HAS}.memory.isGreaterThan(quantity("39.5Gi"))', True),
        (f'{HAS}.memory.isLessThan(quantity("40G"))', False),
        (f'{HAS}.memory.sub(quantity("1Gi")).add(quantity("1Gi")) == {HAS}.memory', True),
        (f'{HAS}.?nothing.orValue(quantity("0")).sign() == 0', True),
        (f"{HAS}.copyEngines.isInteger() && {HAS}.copyEngines.asInteger() == 7", True),
        ('quantity("0.5").asApproximateFloat() == 0.5 && !quantity("0.5").isInteger()', True),
        ('isQuantity("12Gi") && !isQuantity("12 Gi")', True),
        (f'{OF}.cudaComputeCapability.isLessThan(semver("8.6.0"))', True),
        (f'{OF}.cudaComputeCapability.compareTo(semver("8.0.0")) == 0', True),
        (f"{OF}.cudaComputeCapability.major() == 8 && {OF}.driverVersion.minor() == 1", True),
        (f'{OF}.driverVersion.isLessThan(semver("580.1.0"))', True),
        (f'{OF}.driverVersion.isGreaterThan(semver("580.1.0-rc.1"))', True),
        (f'{OF}.driverVersion.isLessThan(semver("580.1.0-rc.10"))', True),
        (f'{OF}.driverVersion.isGreaterThan(semver("580.1.0-alpha"))', True),
        ('isSemver("1.2.3") && !isSemver("1.2")', True),
        (f'{OF}.nothing == "x" || device.driver == "gpu.nvidia.com"', True),
        (f'device.driver == "gpu.amd.com" && {OF}.nothing == "x"', False),
    ],
)
def test_expressions_about_a_device(expression: str, *, expected: bool) -> None:
    assert holds(expression) is expected


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (f'{OF}.brand == "Nvidia"', 'Key not found in map : "brand"'),
        ('device.attributes["gpu.amd.com"].family == ""', 'Key not found in map : "family"'),
        (f"{HAS}.memory > 5", "No matching overloads found : _>_(map, int64)"),
        (f'{OF}.cudaComputeCapability == "8.0.0" || {OF}.x', 'Key not found in map : "x"'),
        (f'{HAS}.memory.compareTo(semver("1.0.0")) == 0', "a version is no quantity"),
        (f"{HAS}.memory.major() == 1", "a quantity is no version"),
        (f'{HAS}.memory == quantity("forty")', "'forty' is no quantity"),
        (f'{OF}.driverVersion == semver("580")', "'580' is no semantic version"),
        (f"{OF}.productName", "it is neither true nor false"),
        (f"{MANY}.all(a, {MANY}.all(b, a + b >= 0))", "Iteration budget exceeded"),
    ],
)
def test_what_fails_on_a_device_says_why(expression: str, reason: str) -> None:
    with pytest.raises(CelError) as error:
        holds(expression)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (
            'device.driver == "gpu.nvidia.com',
            "Syntax error: token recognition error at: '\"gpu.nvidia.com'",
        ),
        ("device.driver == gpu", "undeclared reference to 'gpu'"),
        ("1 == 1.5", "found no matching overload for '_==_' applied to '(int, double)'"),
    ],
)
def test_what_cannot_be_read_says_why(expression: str, reason: str) -> None:
    with pytest.raises(CelError) as error:
        LIBRARY.compiled(expression)
    assert str(error.value) == reason


def test_an_amount_that_is_no_quantity_fails_as_an_expression_does() -> None:
    odd = A100 | {"capacity": {"memory": {"value": "forty"}}}
    with pytest.raises(CelError, match=r"^'forty' is no quantity$"):
        holds("true", odd)


def test_what_an_expression_reads() -> None:
    assert {"productName", "brand"} <= LIBRARY.compiled(f"{OF}.productName == {OF}.brand").reads
    assert "brand" not in LIBRARY.compiled(f'{OF}.productName == ""').reads
    assert LIBRARY.compiled(f"{OF}.all(name, true)").reads == ALL
    assert LIBRARY.compiled('"gpu.nvidia.com" in device.attributes').reads == ALL
    assert LIBRARY.compiled(f'{OF}["\\u0062rand"] == ""').reads == ALL


_DEVICES = st.builds(
    lambda product, memory, kind, drop: {
        "attributes": {
            name: value
            for name, value in device(product, memory, kind)["attributes"].items()
            if name not in drop
        },
        "capacity": {} if "memory" in drop else {"memory": {"value": memory}},
    },
    st.sampled_from(["NVIDIA A30", "NVIDIA A100", 'odd "one" \\ é']),
    st.sampled_from(["22543Mi", "22544Mi", "24Gi", "80Gi", "0", "23639097343"]),
    st.sampled_from(["gpu", "mig", "vfio", "amdgpu", "amdgpu-partition"]),
    st.sets(st.sampled_from(["productName", "type", "memory"])),
)


@pytest.mark.rule("C2", "G3")
@given(
    st.lists(_DEVICES, min_size=1, max_size=6),
    st.lists(st.sampled_from(["NVIDIA A30", 'odd "one" \\ é']), max_size=2, unique=True),
)
def test_rows_recognise_what_their_cel_lets_kubernetes_allocate(
    devices: list[Json], products: list[str]
) -> None:
    claim = {"deviceClassName": NVIDIA, "driver": NVIDIA, "products": products}
    if not products:
        del claim["products"]
    (row,) = make_table(make_row("a30-24gb", claim=claim)).rows
    one_slice = slice_facts(pool(*devices))
    found = Recogniser([row]).recognised(offered([one_slice]), lambda _: True)
    for expressions in (selectors(row), (any_of([row]),)):
        compiled = [LIBRARY.compiled(one) for one in expressions]
        allocatable = sum(
            all(one.holds(NVIDIA, device.details, multiple=False) for one in compiled)
            for device in one_slice.devices
        )
        assert found[row.id].devices == allocatable


def test_whatever_the_library_stumbles_over_is_an_error_of_the_expression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stumbling:
        def __getattr__(self, _: str) -> object:
            raise MemoryError("too much")

    library = Expressions()
    compiled = library.compiled("true")
    monkeypatch.setattr(library, "_env", Stumbling())
    monkeypatch.setattr(compiled, "_program", Stumbling())
    with pytest.raises(CelError, match=r"^too much$"):
        library.compiled("true")
    with pytest.raises(CelError, match=r"^too much$"):
        compiled.holds(NVIDIA, (), multiple=False)


class Clock:
    """Passes by as much as an evaluation is to take, each time it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_what_takes_long_is_not_evaluated_for_ever() -> None:
    clock = Clock()
    library = Expressions(clock)
    slow, quick = library.compiled("true"), library.compiled("1 == 1")
    clock.step = 1.0
    assert all(slow.holds(NVIDIA, (), multiple=False) for _ in range(6))  # five seconds and more
    with pytest.raises(SlowError, match=r"^it takes too long to evaluate$"):
        slow.holds(NVIDIA, (), multiple=False)
    clock.step = 0.0
    assert quick.holds(NVIDIA, (), multiple=False)
    clock.now += 60
    assert slow.holds(NVIDIA, (), multiple=False)


@pytest.mark.rule("C3")
def test_devices_of_a_row_whose_selector_takes_long_are_not_counted() -> None:
    clock = Clock()

    def claim(*selectors: str) -> Json:
        cel = [{"cel": {"expression": one}} for one in selectors]
        return {"deviceClassName": NVIDIA, "driver": NVIDIA, "selectors": cel}

    slow = make_row("a30-24gb", claim=claim(f"{OF}.all(name, true)"))
    recogniser = Recogniser(make_table(slow).rows, clock)
    clock.step = 1.0
    devices = [device("NVIDIA A30", f"{number}Gi") for number in range(1, 21)]
    for _ in range(2):
        found = recogniser.recognised(offered([slice_facts(pool(*devices))]), lambda _: True)
        assert found["a30-24gb"].unread == "it takes too long to evaluate"
    assert clock.now < 20
