"""``gpuspec doctor``: what is wrong with an installation, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook import __version__
from webhook.advice.doctor.checkup import examine
from webhook.advice.doctor.findings import Level, Report
from webhook.advice.doctor.questions import first_questions, further_questions
from webhook.advice.doctor.report import as_json, as_text, summary
from webhook.advice.doctor.seen import Ago, Answer, Answers, Place, Question, Refused, Seen
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, place_options
from webhook.cli.inputs import UnreadableError
from webhook.cli.outputs import json_text, output_option, styled
from webhook.cli.saved import progress
from webhook.settings import ClusterPlace
from webhook.terms import DEFAULT_TABLE

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster, Json

_FAILING = {"error": {Level.ERROR}, "warning": {Level.ERROR, Level.WARNING}}
_COLOURS = {Level.FINE: "green", Level.WARNING: "yellow", Level.ERROR: "red", Level.UNKNOWN: "cyan"}

# Of one answer. A list of a large cluster takes its time; a replica that is gone takes it all.
_PATIENCE_S = 10.0
_AT_ONCE = 8


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec doctor
  gpuspec doctor --try-in team-a            do Pods of that namespace work?
  gpuspec doctor --fail-on warning -o json

Nothing is changed: Pods are created in dry runs only. What could not be looked
at is marked ? and says which permission is missing.

Exit status: 0 fine, 1 something at or above --fail-on, 2 wrong usage, or no
cluster answers.""",
)
@click.option(
    "--namespace",
    default="gpuspec-system",
    show_default=True,
    metavar="NAME",
    help="Where gpuspec is installed.",
)
@click.option(
    "--table-name",
    default=DEFAULT_TABLE,
    show_default=True,
    metavar="NAME",
    help="The SelectionTable that the webhook serves.",
)
@click.option(
    "--try-in",
    default="default",
    show_default=True,
    metavar="NAMESPACE",
    help="Where to create Pods in dry runs.",
)
@place_options
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="What makes the exit status 1.",
)
@output_option("text", "json")
@click.pass_context
def doctor(
    ctx: click.Context,
    namespace: str,
    table_name: str,
    try_in: str,
    kubeconfig: Path | None,
    context: str | None,
    fail_on: str,
    output: str,
) -> None:
    """Check an installation, and say in plain words what is wrong.

    Asks the cluster of the kubeconfig: is the webhook reached and believed, do
    its replicas agree, does a controller lead, is anything in the way?
    """
    place = Place(namespace, table_name, try_in, __version__)
    with asked(ClusterPlace(kubeconfig, context)) as connected:
        cluster: Cluster = connected.with_patience(_PATIENCE_S)
        # Whoever does not answer this answers nothing else either: one message, not thirty.
        kubernetes = str(cluster.get("/version").get("gitVersion"))
        first = _ask(cluster, first_questions(place))
        _require_any(first)
        seen = Seen.begin(place, first, _since(datetime.now(UTC)))
        seen = seen.learn(_ask(cluster, further_questions(seen)))
    reports = examine(seen)
    if output == "json":
        about = {
            "server": cluster.server,
            "kubernetes": kubernetes,
            "namespace": namespace,
            "version": __version__,
        }
        click.echo(json_text(as_json(reports, about)))
    else:
        click.echo(f"gpuspec {__version__} in {namespace}, {cluster.server}, {kubernetes}\n")
        click.echo(as_text(reports, _mark))
        click.echo(f"\n{summary(reports)}", err=True)
    ctx.exit(_status(reports, fail_on))


def _status(reports: tuple[Report, ...], fail_on: str) -> int:
    levels = {finding.level for report in reports for finding in report.findings}
    return 1 if levels & _FAILING[fail_on] else 0


def _require_any(answers: Answers) -> None:
    """Refuse to report on a cluster that has gone, or whose storage has: all would be unknown."""
    refusals = [one for one in answers.values() if isinstance(one, Refused) and not one.code]
    if len(refusals) == len(answers):
        raise UnreadableError(refusals[0].message)


def _ask(cluster: Cluster, questions: Mapping[str, Question]) -> Answers:
    """Ask all of it, some at once: a replica that does not answer delays no other."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(lambda one: _answer(cluster, one), questions.values())
        with progress(answers, "Asking the cluster", len(questions)) as bar:
            return dict(zip(questions, bar, strict=True))


def _answer(cluster: Cluster, question: Question) -> Answer:
    from webhook.kube.errors import ApiError, UnreachableError  # noqa: PLC0415 -- slow to import

    try:
        return [question.keep(one) for one in _objects(cluster, question)]
    except ApiError as error:
        if question.single and error.is_not_found and question.body is None:
            return []
        return Refused(error.code, error.message, question.permission)
    except UnreachableError as error:
        return Refused(0, str(error), question.permission)


def _objects(cluster: Cluster, question: Question) -> list[Json]:
    if question.body is not None:
        return [cluster.create(question.path, question.body, **question.query)]
    if question.single:
        return [cluster.get(question.path, **question.query)]
    return list(cluster.items(question.path, **question.query))


def _since(now: datetime) -> Ago:
    """Measure by a present that is the same for all checks."""

    def ago(text: str) -> float | None:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return None
        return None if time.tzinfo is None else (now - time).total_seconds()

    return ago


def _mark(level: Level, text: str) -> str:
    return styled(text, fg=_COLOURS[level])
