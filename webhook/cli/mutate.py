"""``gpuspec mutate``: manifests as admission would store their Pods."""

from __future__ import annotations

import sys
from pathlib import Path as File
from typing import Any, cast

import click

from selection_spec.documents import Document
from webhook.admission.messages import one_line
from webhook.admission.translate import Context, Verdict
from webhook.cli import SETTINGS
from webhook.cli.basis import Basis, basis_of, basis_options
from webhook.cli.explanation import difference, explained
from webhook.cli.inputs import (
    priority_options,
    read_manifests,
    refuse_second_reading,
    warn_of_strays,
)
from webhook.cli.outputs import json_text, report, yaml_text
from webhook.jsonpatch import Drop, Edit, Extend, Patch, Path, Put, write
from webhook.workloads import pod_templates


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec mutate -f job.yaml
  gpuspec mutate -f daemonset.yaml --cluster | kubectl apply -f -
  kustomize build . | gpuspec mutate -f - --table table.yaml
  gpuspec mutate -f pod.yaml -o patch

Nothing is printed if any Pod is denied. Exit status: 0 fine, 1 denied,
2 wrong usage or unreadable input.""",
)
@click.option(
    "-f",
    "--filename",
    required=True,
    metavar="MANIFEST",
    help="The manifest; - reads standard input.",
)
@basis_options
@priority_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "patch"]),
    default="yaml",
    show_default=True,
    help="The documents, or the JSON Patch that makes them.",
)
@click.pass_context
def mutate(
    ctx: click.Context,
    filename: str,
    table_file: str | None,
    kubeconfig: File | None,
    context: str | None,
    priority_class: str | None,
    priority: int | None,
    output: str,
    *,
    use_cluster: bool,
) -> None:
    """Print manifests as admission would store their Pods.

    Every Pod template of every document is translated, those of DaemonSets too (they have to be
    applied translated). All else stays as it is; comments are lost.
    """
    refuse_second_reading(filename, table_file)
    basis = basis_of(table_file, use_cluster=use_cluster, kubeconfig=kubeconfig, context=context)
    # A person may have meant another table; a program has been told once.
    if basis.note and sys.stderr.isatty():
        click.echo(f"note: {basis.note}", err=True)
    documents = read_manifests(filename)
    basis = basis.beside(documents)
    warn_of_strays(documents, basis.snapshot.table.domain)
    patches = [_translate(document, basis, priority_class, priority) for document in documents]
    if any(patch is None for patch in patches):
        ctx.exit(1)
    done = [patch for patch in patches if patch is not None]
    click.echo(_rendered(documents, done, output), nl=False)


def _translate(
    document: Document, basis: Basis, priority_class: str | None, priority: int | None
) -> Patch | None:
    """Return a document's patch; None, and the reasons on stderr, where a Pod is denied."""
    edits: list[Edit] = []
    denied = False
    for template in pod_templates(document.value):
        context = Context(
            is_template=template.kind != "Pod", priority_class=priority_class, priority=priority
        )
        explanation = explained(template.pod, context, basis)
        outcome = explanation.outcome
        report(outcome.warnings, "warning", template.owner)
        if outcome.verdict is Verdict.DENIED:
            report(outcome.problems, "error", template.owner)
            denied = True
        if text := difference(explanation):
            click.echo(f"note: {one_line(f'{template.owner}: {text}')}", err=True)
        edits += [_below(template.path, edit) for edit in outcome.edits]
    return None if denied else write(cast("dict[str, Any]", document.value), edits)


def _below(path: Path, edit: Edit) -> Edit:
    """Return an edit of a template as one of the document that it stands in."""
    match edit:
        case Put(rest, value, rule):
            return Put(path + rest, value, rule)
        case Drop(rest, rule):
            return Drop(path + rest, rule)
        case Extend(rest, values, rule):
            return Extend(path + rest, values, rule)


def _rendered(documents: tuple[Document, ...], patches: list[Patch], output: str) -> str:
    if output == "yaml":
        return yaml_text(patch.after for patch in patches)
    if output == "patch":
        shapes: list[Any] = [patch.operations for patch in patches]
    else:
        shapes = [patch.after for patch in patches]
    return json_text(shapes[0] if len(documents) == 1 else shapes) + "\n"
