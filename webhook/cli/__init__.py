"""The command line, a module a verb. A verb is imported when it is called, so that help is quick.

Exit status: 0 fine; 1 denied, or findings; 2 wrong usage or unreadable input. Reports go to
standard output, reasons to standard error.
"""

from __future__ import annotations

from importlib import import_module

import click

from webhook import __version__

# Each verb says so itself: a command remembers the help option of its first call.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 80}

# What the list of commands says of each; its module says the same again, and more.
_VERBS = {
    "explain": "Explain which devices a spec stands for, and why not the others.",
    "mutate": "Print manifests as admission would store their Pods.",
    "serve": "Serve the admission webhook over TLS.",
}


class _Verbs(click.Group):
    """Finds a verb's command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _VERBS:
            return None
        command: click.Command = getattr(import_module(f"webhook.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


@click.command(
    cls=_Verbs,
    context_settings=SETTINGS,
    epilog="Start with: gpuspec explain any-24gb",
)
@click.version_option(__version__, prog_name="gpuspec", message="%(prog)s %(version)s")
def main() -> None:
    """One resource line becomes the right GPU.

    Users write preferred.jp/gpu-any-24gb: 1 under a container's limits; admission turns it into the
    real resource, node affinity and tolerations, by the admin's selection table and the Pod's
    priority. These commands show beforehand what will come of it.
    """
