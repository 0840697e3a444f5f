"""``gpuspec explain``: which devices a Pod may use, and why not the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as File
from typing import Any

import click

from selection_spec.grammar import is_ours
from webhook.admission.messages import one_line
from webhook.admission.translate import Context
from webhook.cli import SETTINGS
from webhook.cli.basis import Basis, basis_of, basis_options
from webhook.cli.explanation import Explanation, as_json, difference, explained
from webhook.cli.explanation_text import as_text
from webhook.cli.inputs import (
    called,
    kueue_option,
    priority_options,
    read_manifests,
    refuse_second_reading,
    warn_of_strays,
)
from webhook.cli.outputs import json_text, output_option, styled, yaml_text
from webhook.cli.queues import namespace_at
from webhook.jsonpatch import Path, pointer
from webhook.workloads import pod_templates


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec explain any-24gb                       one GPU with at least 24 GB
  gpuspec explain any-24gb:4 --priority-class gpuspec-high
  gpuspec explain a100:4 any-40gb:2              two containers of one Pod
  gpuspec explain any-24gb --cluster             by the table of your cluster
  gpuspec explain -f job.yaml --table table.yaml
  kubectl get pod p -o yaml | gpuspec explain -f -

With -f, JSON and YAML are lists, one item a Pod template.
Exit status: 0 allowed, 1 denied, 2 wrong usage or unreadable input.""",
)
@click.argument("specs", nargs=-1, metavar="[SPEC[:COUNT]]...")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="MANIFEST",
    help="Explain every Pod template of a manifest; - reads standard input. May be repeated.",
)
@basis_options
@priority_options
@kueue_option
@output_option("text", "json", "yaml")
@click.option("--all", "show_all", is_flag=True, help="A line for each row, however many.")
@click.pass_context
def explain(
    ctx: click.Context,
    specs: tuple[str, ...],
    filenames: tuple[str, ...],
    table_file: str | None,
    kubeconfig: File | None,
    context: str | None,
    priority_class: str | None,
    priority: int | None,
    output: str,
    *,
    use_cluster: bool,
    kueue: bool,
    show_all: bool,
) -> None:
    """Explain which devices a spec stands for, and why not the others.

    SPEC is what stands under a container's limits, with or without the domain and the gpu-; each
    is one container of one Pod.
    """
    if bool(specs) == bool(filenames):
        raise click.UsageError("give either specs, such as any-24gb, or -f MANIFEST")
    refuse_second_reading(*filenames, table_file)
    basis = basis_of(table_file, use_cluster=use_cluster, kubeconfig=kubeconfig, context=context)
    known = Context(priority_class=priority_class, priority=priority, kueue=kueue)
    if specs:
        pod = _pod_of(specs, basis.snapshot.table.domain)
        known = basis.queues.of_pod(pod, known, basis.snapshot)
        found: list[tuple[str, Path, Explanation]] = [("", (), explained(pod, known, basis))]
    else:
        found = [one for filename in filenames for one in _of_manifest(filename, basis, known)]
    if output == "text":
        _show_text(found, basis.note, show_all=show_all)
    else:
        _show_data(found, output, is_list=bool(filenames))
    ctx.exit(0 if all(explanation.allowed for _, _, explanation in found) else 1)


def _pod_of(specs: tuple[str, ...], domain: str) -> dict[str, Any]:
    """Return a Pod with one container a spec."""
    containers = []
    for number, text in enumerate(specs, start=1):
        if File(text).exists():
            raise click.UsageError(f"{text} is a file; write -f {text} to explain what it holds")
        spec, _, count = text.partition(":")
        prefix, slash, name = spec.rpartition("/")
        if slash and prefix != domain:
            raise click.UsageError(f"{text}: the table's domain is {domain}, not {prefix}")
        key = name if is_ours(name) else f"gpu-{name}"
        amounts = {f"{domain}/{key}": count or "1"}
        containers.append(
            {
                "name": "main" if len(specs) == 1 else f"container-{number}",
                "resources": {"limits": amounts, "requests": dict(amounts)},
            }
        )
    return {"metadata": {}, "spec": {"containers": containers}}


def _of_manifest(
    file: str, basis: Basis, known: Context
) -> Iterator[tuple[str, Path, Explanation]]:
    """Yield every Pod template of a manifest; a DaemonSet's as its Pods would be judged (N8)."""
    documents = read_manifests(file)
    basis = basis.beside(documents)
    warn_of_strays(documents, basis.snapshot.table)
    templates = [
        (one.value, template) for one in documents for template in pod_templates(one.value)
    ]
    if not templates:
        click.echo(f"note: {called(file)} holds no Pod and no Pod template", err=True)
    for document, template in templates:
        name = template.owner.partition("/")[2]
        context = replace(
            known,
            is_template=template.kind != "Pod",
            daemon_set=name if template.kind == "DaemonSet" else None,
        )
        namespace = namespace_at(document, template.path)
        context = basis.queues.of_pod(template.pod, context, basis.snapshot, namespace)
        yield template.owner, template.path, explained(template.pod, context, basis)


def _show_text(found: list[tuple[str, Path, Explanation]], note: str, *, show_all: bool) -> None:
    texts = []
    for owner, _, explanation in found:
        head = [styled(one_line(owner), bold=True)] if owner else []
        texts.append("\n".join([*head, as_text(explanation, show_all=show_all)]))
    if texts:
        click.echo("\n\n".join([*texts, *([f"({note})"] if note else [])]))


def _show_data(found: list[tuple[str, Path, Explanation]], output: str, *, is_list: bool) -> None:
    shapes = []
    for owner, path, explanation in found:
        shape = as_json(explanation)
        shapes.append({"object": owner, "path": pointer(path), **shape} if is_list else shape)
        if text := difference(explanation):
            click.echo(f"note: {one_line(f'{owner}: {text}' if owner else text)}", err=True)
    value: Any = shapes if is_list else shapes[0]
    click.echo(json_text(value) if output == "json" else yaml_text([value]), nl=output == "json")
