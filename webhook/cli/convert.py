"""``gpuspec convert``: what manifests say by hand becomes a spec, or the other way round."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from selection_spec.documents import survey_manifests
from webhook.admission.messages import one_line
from webhook.admission.translate import Context, Verdict
from webhook.advice.convert import telling
from webhook.advice.convert.native import native_edits
from webhook.advice.convert.proposal import ByHand, Proposal, propose
from webhook.advice.convert.rewriting import Rewritten, Wanted, rewritten
from webhook.advice.convert.sight import in_document
from webhook.advice.findings.views import View, objects, views
from webhook.cli import SETTINGS
from webhook.cli.basis import Basis, basis_of, basis_options
from webhook.cli.edited_files import TextFile, each
from webhook.cli.explanation import difference, explained
from webhook.cli.inputs import UnreadableError, priority_options, refuse_second_reading
from webhook.cli.outputs import json_text, report, styled, yaml_text
from webhook.inventory.facts import mapping
from webhook.jsonpatch import write
from webhook.placement.templates import template, wanted
from webhook.shapes import unreadable

Json = dict[str, Any]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec convert -f job.yaml
  gpuspec convert -f job.yaml -f pod.yaml --table table.yaml --priority 0
  gpuspec convert -f job.yaml --widen --write
  gpuspec convert --to-native -f job.yaml -o yaml
  kustomize build . | gpuspec convert -f - -o yaml

A Pod is converted where a spec stands for the very rows of the table that the
Pod's resource, selectors and tolerations mean, under its priority, or under
every priority where that is not known. What the spec says is taken out; all
else stays as it is written, comments too. What stays by hand is told on
standard error, with the reason.

Exit status: 0 fine, or nothing to convert; 1 some Pod stays by hand; 2 wrong
usage or unreadable input.""",
)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="MANIFEST",
    help="A manifest; - reads standard input. May be given several times.",
)
@click.argument("files", nargs=-1, metavar="[MANIFEST]...")
@basis_options
@priority_options
@click.option(
    "--widen",
    is_flag=True,
    help="Take the smallest spec that includes what a Pod means, also where it means more.",
)
@click.option("--to-native", is_flag=True, help="Turn specs into what admission makes of them.")
@click.option("--write", "in_place", is_flag=True, help="Change the files instead of showing how.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["diff", "yaml"]),
    default="diff",
    show_default=True,
    help="What changes, or the whole of what comes of it.",
)
@click.pass_context
def convert(
    ctx: click.Context,
    filenames: tuple[str, ...],
    files: tuple[str, ...],
    table_file: str | None,
    kubeconfig: Path | None,
    context: str | None,
    priority_class: str | None,
    priority: int | None,
    output: str,
    *,
    use_cluster: bool,
    widen: bool,
    to_native: bool,
    in_place: bool,
) -> None:
    """Turn what manifests say by hand into specs, or specs into that.

    By hand is nvidia.com/gpu or the like, with a nodeSelector, node affinity and tolerations on
    labels and taints that the table knows. --to-native is for clusters without the webhook.
    """
    names = _each_once((*filenames, *files))
    if not names:
        raise click.UsageError("give a MANIFEST, or - for standard input")
    if widen and to_native:
        raise click.UsageError("--widen is for the way to specs; --to-native is the other one")
    if in_place and ("-" in names or output != "diff"):
        raise click.UsageError("--write changes files: it goes with neither - nor -o")
    refuse_second_reading(*names, table_file)
    basis = basis_of(table_file, use_cluster=use_cluster, kubeconfig=kubeconfig, context=context)
    if basis.note and sys.stderr.isatty():
        click.echo(f"note: {basis.note}", err=True)
    known = Context(priority_class=priority_class, priority=priority)
    # Nothing is written before everything could be read.
    read = each(TextFile.read, names)
    done = each(
        lambda file: _Conversion(file, basis, known, to_native=to_native, widen=widen), read
    )
    if output == "yaml":
        click.echo(_joined([one.text for one in done]), nl=False)
    elif in_place:
        each(_write, done)
    else:
        for one in done:
            _show(one)
    ctx.exit(1 if any(one.leaves_some for one in done) else 0)


def _each_once(names: Iterable[str]) -> list[str]:
    """Return names of files, of several that lead to one file the first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name if name == "-" else os.path.realpath(name), name)
    return list(found.values())


def _write(one: _Conversion) -> None:
    """Change a file, and say so.

    Raises:
        UnreadableError: It cannot be written.
    """
    if one.text != one.file.survey.text:
        one.file.replace(one.text)
        click.echo(f"changed: {one.file.called}", err=True)


def _show(one: _Conversion) -> None:
    if one.text == one.file.survey.text:
        return
    for line in one.file.diff(one.text):
        colour = {"-": "red", "+": "green"}.get(line[:1])
        click.echo(styled(line, fg=colour) if colour else line, nl=False)


def _joined(texts: Sequence[str]) -> str:
    """Return texts as one stream of documents."""
    whole = texts[0]
    for text in texts[1:]:
        whole += "" if whole.endswith("\n") or not whole else "\n"
        whole += text if text.startswith("---") else f"---\n{text}"
    return whole


@dataclass(slots=True)
class _Plan:
    """One Pod that is to change.

    Attributes:
        view: The Pod.
        place: Its file and line.
        wanted: Its edits.
        told: What is told of it once they are made.
        templates: The ResourceClaimTemplates that it needs then.
    """

    view: View
    place: str
    wanted: Wanted
    told: list[str]
    templates: list[Json] = field(default_factory=list)


class _Conversion:
    """One file's conversion; ``leaves_some`` where a Pod could not be converted."""

    def __init__(
        self, file: TextFile, basis: Basis, known: Context, *, to_native: bool, widen: bool
    ) -> None:
        self.file = file
        self.leaves_some = False
        self._basis = basis.beside(file.survey.documents)
        self._known = known
        self._widen = widen
        plan = self._to_native if to_native else self._to_spec
        found = [
            plan(number, view, f"{file.called}:{document.position(view.object)[0]}")
            for number, document in enumerate(file.survey.documents)
            for view in views(document.value)
        ]
        plans = [one for one in found if isinstance(one, _Plan)]
        made = rewritten(file.survey, [one.wanted for one in plans])
        failed = {id(plans[number]): why for number, why in made.failed.items()}
        templates: list[Json] = []
        for one in found:
            if not isinstance(one, _Plan):
                _tell(one)
            elif id(one) in failed:
                self.leaves_some = True
                _tell(telling.of_failure(one.view, one.place, failed[id(one)]))
            else:
                _tell(one.told)
                templates += one.templates
        self.text = _with_templates(made, templates, file)

    def _context(self, view: View) -> Context:
        return replace(
            self._known,
            is_template=view.kind != "Pod",
            nodes_first=view.kind == "DaemonSet",
        )

    def _to_spec(self, document: int, view: View, place: str) -> _Plan | list[str]:
        """Return how a Pod is to change, or what is told of one that is not."""
        if unreadable(view.pod):
            return []
        context = self._basis.priorities.of_pod(view.pod, self._context(view))
        found = propose(view, self._basis.snapshot.table, context, widen=self._widen)
        if isinstance(found, Proposal):
            told = list(telling.of_proposal(view, place, found))
            return _Plan(view, place, Wanted(document, tuple(in_document(view, found.edits))), told)
        return [] if found is None else self._left(view, place, found)

    def _to_native(self, document: int, view: View, place: str) -> _Plan | list[str]:
        """Return how a Pod is to change, or what is told of one that is not."""
        basis, namespace = self._basis, mapping(view.item.get("metadata")).get("namespace")
        context = basis.queues.of_pod(
            view.pod, self._context(view), basis.snapshot, str(namespace or "")
        )
        explanation = explained(view.pod, context, basis)
        outcome = explanation.outcome
        where = f"{place}: {view.owner}"
        report(outcome.warnings, "warning", where)
        if outcome.verdict is Verdict.DENIED:
            report(outcome.problems, "error", where)
            self.leaves_some = True
            return []
        if outcome.verdict is Verdict.UNCHANGED:
            return []
        if text := difference(explanation):
            click.echo(f"note: {one_line(f'{where}: {text}')}", err=True)
        edits = native_edits(view, outcome)
        if isinstance(edits, ByHand):
            return self._left(view, place, edits)
        needed = wanted(write(view.pod, outcome.edits).after)
        return _Plan(
            view,
            place,
            Wanted(document, tuple(in_document(view, edits))),
            list(telling.of_native(view, place, outcome)),
            [template(name, spec, namespace) for name, spec in needed.items()],
        )

    def _left(self, view: View, place: str, found: ByHand) -> list[str]:
        self.leaves_some |= not all(one.is_right for one in found.stays)
        return list(telling.of_hand(view, place, found))


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)


def _with_templates(made: Rewritten, templates: Sequence[Json], file: TextFile) -> str:
    """Return a text with the templates before it that its Pods name, as kubectl applies them.

    Raises:
        UnreadableError: The whole cannot be read as that.
    """
    there = [one.value for document in made.values for one in objects(document)]
    new: list[Json] = []
    for one in templates:
        if one not in new and not any(_is_called_as(one, other) for other in there):
            new.append(one)
    if not new:
        return made.text
    if made.text.lstrip().startswith("{"):
        text = "".join(f"{json_text(one)}\n" for one in new) + made.text
    else:
        text = yaml_text(new) + ("" if made.text.startswith("---") else "---\n") + made.text
    values = [document.value for document in survey_manifests(text).documents]
    if json.dumps(values) != json.dumps([*new, *made.values]):
        raise UnreadableError(f"{file.called}: templates of claims cannot be put before it")
    return text


def _is_called_as(one: Json, other: Json) -> bool:
    names = (mapping(each.get("metadata")) for each in (one, other))
    mine, theirs = ((name.get("namespace"), name.get("name")) for name in names)
    return other.get("kind") == one["kind"] and mine == theirs
