"""``gpuspec mutate``: manifests as admission would store their Pods."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as File
from typing import Any, cast

import click

from selection_spec.documents import Document
from webhook.admission.messages import one_line
from webhook.admission.translate import Context, Verdict
from webhook.cli import SETTINGS
from webhook.cli.basis import Basis, basis_of, basis_options
from webhook.cli.claim_templates import beside, named_by
from webhook.cli.explanation import difference, explained
from webhook.cli.inputs import (
    kueue_option,
    priority_options,
    read_manifests,
    refuse_second_reading,
    warn_of_strays,
)
from webhook.cli.outputs import json_text, report, yaml_text
from webhook.cli.queues import namespace_at
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
@kueue_option
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
    kueue: bool,
) -> None:
    """Print manifests as admission would store their Pods.

    Every Pod template of every document is translated, those of DaemonSets too (they have to be
    applied translated). All else stays as it is; comments are lost. Where devices are claimed
    (DRA), the ResourceClaimTemplates come first, so that it can be applied as it is.
    """
    refuse_second_reading(filename, table_file)
    basis = basis_of(table_file, use_cluster=use_cluster, kubeconfig=kubeconfig, context=context)
    # A person may have meant another table; a program has been told once.
    if basis.note and sys.stderr.isatty():
        click.echo(f"note: {basis.note}", err=True)
    documents = read_manifests(filename)
    basis = basis.beside(documents)
    warn_of_strays(documents, basis.snapshot.table)
    known = Context(priority_class=priority_class, priority=priority, kueue=kueue)
    patches = [_translate(document, basis, known) for document in documents]
    if any(patch is None for patch in patches):
        ctx.exit(1)
    done = [patch for patch in patches if patch is not None]
    if output == "patch":
        click.echo(_one_or_list([patch.operations for patch in done]))
        _tell_templates(done)
    else:
        objects = beside([patch.after for patch in done])
        click.echo(yaml_text(objects) if output == "yaml" else _as_json(objects), nl=False)


def _translate(document: Document, basis: Basis, known: Context) -> Patch | None:
    """Return a document's patch; None, and the reasons on stderr, where a Pod is denied."""
    edits: list[Edit] = []
    denied = False
    for template in pod_templates(document.value):
        context = replace(
            known,
            is_template=template.kind != "Pod",
            nodes_first=template.kind == "DaemonSet",
        )
        namespace = namespace_at(document.value, template.path)
        context = basis.queues.of_pod(template.pod, context, basis.snapshot, namespace)
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


def _as_json(objects: Sequence[dict[str, Any]]) -> str:
    """Return the one object, or what kubectl calls a List of them; it reads none within another."""
    if len(objects) == 1:
        return json_text(objects[0]) + "\n"
    items = [
        item
        for one in objects
        for item in (one.get("items") or () if one.get("kind") == "List" else (one,))
    ]
    return json_text({"apiVersion": "v1", "kind": "List", "items": items}) + "\n"


def _one_or_list(patches: Sequence[object]) -> str:
    return json_text(patches[0] if len(patches) == 1 else patches)


def _tell_templates(patches: Sequence[Patch]) -> None:
    """Say what a patch needs that is no part of it."""
    names = dict.fromkeys(name for patch in patches for name in named_by(patch.after))
    if names:
        text = (
            f"the patched Pods need ResourceClaimTemplate {', '.join(names)}, which the controller "
            "makes; -o yaml prints it"
        )
        click.echo(f"note: {text}", err=True)
