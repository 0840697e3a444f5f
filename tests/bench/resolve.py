"""``resolve`` on a table of a thousand rows, beside one of ten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import perf_counter

from selection_spec.demand import Demand, Kind, Need, Term
from selection_spec.grammar import parse_spec
from selection_spec.labels import Operator, Requirement
from selection_spec.resolve import resolve
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.bench.figures import table
from tests.builders import make_row, make_table

ROWS = (10, 1000)
TARGET_US = 200

_BATCH = 50
_SIZES = (16, 24, 32, 40, 48, 80, 96, 141, 180, 288)
_ON_AMD64 = Requirement("kubernetes.io/arch", Operator.IN, ("amd64",))
_ON_SOME = Requirement("gpu-model", Operator.IN, ("m0-40gb", "m0-48gb", "m0-80gb"))


def bench(seconds: float) -> None:
    """Measure and print every demand, for so many seconds each."""
    tables = [table_of(count) for count in ROWS]
    lines = []
    for name, (demand, policy) in demands().items():
        few, many = _medians([partial(resolve, given, demand, policy) for given in tables], seconds)
        kept = len(resolve(tables[-1], demand, policy).candidates)
        lines.append((name, f"{few:.1f}", f"{many:.1f}", f"{many / few:.1f}", f"{kept:,}"))
    print("Resolving one demand, microseconds (median).\n")
    print(table(("", *(f"{count:,} rows" for count in ROWS), "ratio", "candidates"), lines))
    print(f"  target on {ROWS[-1]:,} rows: at most {TARGET_US}; candidates are those of them")


def demands() -> dict[str, tuple[Demand, Policy]]:
    """Return what Pods may ask, by what it is called."""
    own_terms = ((_ON_AMD64, _ON_SOME), (_ON_SOME,))
    return {
        "any": (_demand("gpu-any"), Policy.EVERY_FIT),
        "any, SmallestFit": (_demand("gpu-any-24gb"), Policy.SMALLEST_FIT),
        "a name and a size": (_demand("gpu-m0-40gb"), Policy.EVERY_FIT),
        "any, and own selectors": (_demand("gpu-any-24gb", terms=own_terms), Policy.EVERY_FIT),
        "two containers": (_demand("gpu-any-24gb", "gpu-any-40gb"), Policy.SMALLEST_FIT),
        "nothing fits": (_demand("gpu-m0-300gb"), Policy.EVERY_FIT),
    }


def table_of(rows: int) -> Table:
    """Return a table with so many rows, a multiple of ten: models that come in every size."""
    return make_table(
        *(
            make_row(f"m{model}-{size}gb", cost=cost)
            for cost, size in enumerate(_SIZES)
            for model in range(rows // len(_SIZES))
        )
    )


def _demand(*specs: str, terms: tuple[Term, ...] = ((),)) -> Demand:
    needs = (
        Need(f"container-{number}", Kind.MAIN, f"spec.containers[{number}]", parse_spec(spec), 1)
        for number, spec in enumerate(specs)
    )
    return Demand(tuple(needs), terms)


def _medians(actions: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """Do all actions in turns, so many seconds each, and return the microseconds that each takes.

    A median over many short batches passes over those in which the machine did something else.
    """
    took: list[list[float]] = [[] for _ in actions]
    end = perf_counter() + seconds * len(actions)
    while not took[0] or perf_counter() < end:
        for times, action in zip(took, actions, strict=True):
            started = perf_counter()
            for _ in range(_BATCH):
                action()
            times.append((perf_counter() - started) / _BATCH)
    return [median(times) * 1e6 for times in took]
