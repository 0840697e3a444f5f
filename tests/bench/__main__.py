"""How fast it is, on the machine that this is run on: ``python -m tests.bench``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from tests.bench import claims, cold_start, controller, create, mutate, resolve, validate
from tests.bench.machine import header
from tests.cluster.binaries import MINORS

_BENCHES = ("mutate", "create", "resolve", "cold-start", "controller", "claims", "validate")
_MANY = click.IntRange(min=1)


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  python -m tests.bench                        everything; several minutes
  python -m tests.bench mutate --seconds 30    longer, so steadier
  python -m tests.bench cold-start --profile""",
)
@click.argument("benches", nargs=-1, type=click.Choice(_BENCHES), metavar="[BENCH]...")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="How long to measure each thing.",
)
@click.option(
    "--table",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="mutate: The selection table.  [default: built-in]",
)
@click.option(
    "--creates", type=_MANY, default=10_000, show_default=True, help="create: Pods in a burst."
)
@click.option(
    "--in-flight",
    type=_MANY,
    default=500,
    show_default=True,
    help="create: How many of them at one time.",
)
@click.option(
    "--kubernetes",
    type=click.Choice(MINORS),
    default=MINORS[-1],
    show_default=True,
    help="create, controller, claims: Its minor version.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=controller.ROWS),
    default=5_000,
    show_default=True,
    help="controller: Nodes.",
)
@click.option("--pods", type=_MANY, default=20_000, show_default=True, help="controller: GPU Pods.")
@click.option("--mix", type=_MANY, default=2_000, show_default=True, help="claims: Pods.")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="claims: What the mix comes from."
)
@click.option("--profile", is_flag=True, help="cold-start: Show which imports take how long.")
def main(  # noqa: PLR0913 -- one for each option
    *,
    benches: tuple[str, ...],
    seconds: float,
    table: Path | None,
    creates: int,
    in_flight: int,
    kubernetes: str,
    nodes: int,
    pods: int,
    mix: int,
    seed: int,
    profile: bool,
) -> None:
    """Measure how fast it is, on this machine.

    \b
    BENCH, all of them by default:
      mutate       /mutate of the real service against a fixed answer
      create       creating Pods through a real API server, and bursts of them
      resolve      resolving a demand on a table of a thousand rows
      cold-start   gpuspec explain as a whole process
      controller   the controller beside a large cluster
      claims       a mix of Pods on a fleet, by claims and by a device plugin
      validate     gpuspec validate on a tree of manifests, beside reading its YAML

    Ratios within one run count; absolute figures are those of the machine and of
    whatever else it does meanwhile. Nothing here fails for being slow.
    """
    runs: dict[str, Callable[[], None]] = {
        "mutate": lambda: mutate.bench(seconds, table_file=table),
        "create": lambda: create.bench(
            seconds, creates=creates, in_flight=in_flight, version=kubernetes
        ),
        "resolve": lambda: resolve.bench(seconds),
        "cold-start": lambda: cold_start.bench(seconds, profile=profile),
        "controller": lambda: controller.bench(seconds, nodes=nodes, pods=pods, version=kubernetes),
        "claims": lambda: claims.bench(seed=seed, pods=mix, version=kubernetes),
        "validate": lambda: validate.bench(seconds),
    }
    click.echo(header(sys.argv[1:]))
    for name in dict.fromkeys(benches or _BENCHES):
        click.echo(f"\n== {name} ==\n")
        runs[name]()


if __name__ == "__main__":
    main(prog_name="python -m tests.bench")
