"""Templates of Helm that nobody has rendered: recognised as such, and never judged as manifests.

Other tools leave placeholders in manifests, too (Argo's ``{{inputs.parameters.x}}``, alert rules'
``{{ $labels.node }}``): those are values, and what they stand in is judged.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from selection_spec.documents import Survey, Within
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.located import Text
from webhook.advice.findings.rules_of_texts import UNRENDERED

# What only Helm's templates have, wherever it stands.
_OF_HELM: Final = (
    r"\.(?:Values|Release|Chart|Files|Capabilities|Template)\b|\$\.[A-Z]"
    r"|(?:include|tpl|toYaml|fromYaml|lookup)\s"
)
# What other languages of templates have as well, but not where YAML has its structure.
_OF_OTHERS: Final = r"/\*|(?:template|define|block|if|else|end|range|with|required|default|quote)\b"

# The bounds keep the search short in whatever lines there are.
_ACTION: Final = re.compile(
    rf"\{{\{{-?\s{{0,99}}(?:(?P<helm>[^{{}}\n]{{0,200}}?(?:{_OF_HELM}))|{_OF_OTHERS})"
)


def unrendered(text: Text, survey: Survey) -> tuple[Sequence[int], Sequence[Finding]]:
    """Return which documents of a text are templates, and the findings that say so.

    An action between the parts of YAML makes a template of the whole text: what it holds depends
    on it. One within a value makes one of its document; within a text of several lines, such as a
    file in a ConfigMap, it is that text's own affair.

    Args:
        text: The text.
        survey: What can be read of it.

    Returns:
        The numbers of the documents that are not to be judged, and why.
    """
    found: dict[int, tuple[int, int]] = {}
    begins = [document.line for document in survey.documents]
    of_comment = 0
    for match in _ACTION.finditer(text.text):
        line, column = text.position(match.start())
        within = text.within(line, column)
        if line == of_comment or within is Within.BLOCK:
            continue
        if within is Within.NO_SCALAR and _is_in_comment(text.line(line)[: column - 1]):
            of_comment = line
        elif within is Within.NO_SCALAR or (match["helm"] is not None and survey.problems):
            return range(len(begins)), (_finding(text, line, column, "this text"),)
        elif match["helm"] is not None:
            found.setdefault(max(bisect_right(begins, line) - 1, 0), (line, column))
    return tuple(found), [_finding(text, *at, "this document") for at in found.values()]


def _is_in_comment(before: str) -> bool:
    return before.startswith("#") or " #" in before or "\t#" in before


def _finding(text: Text, line: int, column: int, what: str) -> Finding:
    return Finding(
        UNRENDERED,
        text.place(line, column),
        f"{what} is a template of Helm that was not rendered, so it is not judged",
        "judge what comes of it: helm template CHART | gpuspec validate -",
        UNRENDERED.level,
        source=text.line(line),
    )
