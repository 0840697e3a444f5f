"""``gpuspec``, ``kubectl gpuspec`` and ``python -m webhook``."""

from __future__ import annotations

from webhook.cli import main

if __name__ == "__main__":
    main(prog_name="gpuspec")
