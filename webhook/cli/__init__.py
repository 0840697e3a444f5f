"""The command line, a module a verb. A verb is imported when it is called, so that help is quick.

Exit status: 0 fine; 1 denied, or findings; 2 wrong usage or unreadable input. Reports go to
standard output, reasons to standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from webhook import __version__

# Each verb says so itself: a command remembers the help option of its first call.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 80}

# What the list of commands says of each; its module says the same again, and more.
_VERBS = {
    "controller": "Run the loops that keep a cluster right.",
    "convert": "Turn what manifests say by hand into specs, or specs into that.",
    "doctor": "Check an installation, and say what is wrong.",
    "explain": "Explain which devices a spec stands for, and why not the others.",
    "health": "Show what is not healthy in a cluster, and what is done about it.",
    "mutate": "Print manifests as admission would store their Pods.",
    "offers": "Show what a user can ask for here and now.",
    "serve": "Serve the admission webhook over TLS.",
    "validate": "Find in manifests what admission will refuse.",
    "table": "Check, show, make and compare selection tables.",
}


class Verbs(click.Group):
    """Finds a verb's command in the module of its name.

    Args:
        package: The package that has these modules.
        verbs: What the list of commands says of each verb.
    """

    def __init__(self, *args: Any, package: str, verbs: Mapping[str, str], **kwargs: Any) -> None:  # noqa: ANN401 - click's signature
        super().__init__(*args, **kwargs)
        self._package = package
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the verbs."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the verb's module and return its command; None where there is no such verb."""
        if cmd_name not in self._verbs:
            return None
        command: click.Command = getattr(import_module(f"{self._package}.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._verbs.items()))


@click.command(
    cls=Verbs,
    package=__name__,
    verbs=_VERBS,
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
