"""``gpuspec``, ``kubectl gpuspec`` and ``python -m webhook``."""

from __future__ import annotations

import sys
from pathlib import Path

from webhook import cli


def main() -> None:
    """Run the command line under the name that was typed: kubectl starts ``kubectl-gpuspec``."""
    is_plugin = Path(sys.argv[0]).stem == "kubectl-gpuspec"
    cli.main(prog_name="kubectl gpuspec" if is_plugin else "gpuspec")


if __name__ == "__main__":
    main()
