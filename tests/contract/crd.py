"""The text of ``manifests/base/crd.yaml``: ``python -m tests.contract.crd`` prints it."""

from __future__ import annotations

from selection_spec.crd import definition
from webhook.cli.outputs import yaml_text

_HEAD = """\
# SelectionTables as the API server knows them. Made from the model by `make manifests`.
"""


def text() -> str:
    """The whole file."""
    return _HEAD + yaml_text([definition()])


if __name__ == "__main__":
    print(text(), end="")
