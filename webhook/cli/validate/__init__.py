"""``gpuspec validate``: manifests are judged as admission will judge their Pods."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.admission.translate import Context
from webhook.advice.findings.fleet import sizes_of
from webhook.cli import SETTINGS
from webhook.cli.basis import basis_of, basis_options
from webhook.cli.inputs import kueue_option, priority_options, refuse_second_reading, shown
from webhook.cli.validate.catalogue import explain_option
from webhook.cli.validate.files import inputs
from webhook.cli.validate.fixing import fix_files
from webhook.cli.validate.fleets import nodes_of
from webhook.cli.validate.running import Run
from webhook.cli.validate.writing import LEVELS, Wanted, write
from webhook.settings import ClusterPlace


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec validate manifests/
  helm template charts/train | gpuspec validate -
  kustomize build . | gpuspec validate - --table table.yaml
  gpuspec validate . --format github --format sarif=gpuspec.sarif
  gpuspec validate jobs/*.yaml --fix
  gpuspec validate --explain GS104

\b
Of folders every .yaml, .yml and .json file is read that holds manifests, but
for what .gitignore and .gpuspecignore leave out. Nothing asks the network
without --cluster.

\b
A finding is not told where a comment on its line, or alone above it, says so
with a reason:
  # gpuspec: ignore GS104 -- it comes in March
The annotation gpuspec.preferred.jp/ignore says so for a whole object, a line
for each reason:
  gpuspec.preferred.jp/ignore: "GS104: it comes in March"

\b
Exit status: 0 fine, 1 a finding at or above --fail-on, 2 wrong usage, a file
that cannot be opened or a cluster that does not answer.""",
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="PATH",
    help="A PATH, said as to kubectl. May be given several times.",
)
@basis_options
@priority_options
@click.option(
    "--priority-class-file",
    "class_files",
    multiple=True,
    metavar="FILE",
    help="PriorityClasses that the Pods may name; those among the files are known by themselves.",
)
@click.option(
    "--fleet",
    "fleet_file",
    metavar="FILE",
    help="The nodes there are, saved by kubectl get nodes -o json: tells of workloads that ask for "
    "more at once, too. With --cluster its own are asked for.",
)
@kueue_option
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help="text, json, sarif, junit or github; several, all but one of them to files.  "
    "[default: text]",
)
@click.option(
    "--fail-on",
    type=click.Choice(list(LEVELS)),
    default="error",
    show_default=True,
    help="What makes the exit status 1.",
)
@click.option(
    "--force-exclude",
    "forces_ignore",
    is_flag=True,
    help="Leave out also named files that .gitignore or .gpuspecignore leaves out, for hooks.",
)
@click.option("--fix", "fixes", is_flag=True, help="Mend what one change certainly mends, first.")
@explain_option
@click.pass_context
def validate(
    ctx: click.Context,
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    table_file: str | None,
    kubeconfig: Path | None,
    context: str | None,
    priority_class: str | None,
    priority: int | None,
    class_files: tuple[str, ...],
    fleet_file: str | None,
    formats: tuple[str, ...],
    fail_on: str,
    *,
    use_cluster: bool,
    kueue: bool,
    forces_ignore: bool,
    fixes: bool,
) -> None:
    """Find in manifests what admission will refuse, and what asks for nothing.

    PATH is a file, a folder, a pattern or - for standard input. Pod templates are found in every
    kind of workload, custom ones too, and judged by the table with admission's own words.
    """
    paths = (*filenames, *paths)
    if not paths:
        raise click.UsageError("give a PATH: a file, a folder, or - for standard input")
    refuse_second_reading(*paths, *class_files, table_file, fleet_file)
    wanted = Wanted.of(formats)
    basis = basis_of(table_file, use_cluster=use_cluster, kubeconfig=kubeconfig, context=context)
    known = Context(priority_class=priority_class, priority=priority, kueue=kueue)
    place = ClusterPlace(kubeconfig, context) if use_cluster else None
    sizes = sizes_of(basis.snapshot.table, nodes_of(fleet_file, place))
    name = basis.snapshot.table.name
    called = f"the cluster's table {name}" if use_cluster else "the built-in table"
    if table_file is not None:
        called = f"table {name} in {Path(shown(table_file)).name}"
    files = list(inputs(paths, forces_ignore=forces_ignore))
    # A report that a folder has from the last time is written again.
    kept = [one.file for one in files if one.is_named or not one.file.endswith(".json")]
    wanted.spare([*kept, *class_files])
    run = Run(basis, known, files, class_files, sizes, called)
    report = run.report()
    if fixes and fix_files(report):
        report = run.report()
    failing = LEVELS[fail_on]
    write(report, wanted, fail_on=failing)
    if basis.note and wanted.is_for_people:
        click.echo(f"note: {basis.note}", err=True)
    ctx.exit(1 if any(one.level in wanted.at_least(failing) for one in report.told) else 0)
