"""Templates of Helm that nobody has rendered: recognised as such, and judged as far as they can be.

Other tools leave placeholders in manifests, too (Argo's ``{{inputs.parameters.x}}``, alert rules'
``{{ $labels.node }}``): those are values, and what they stand in is judged.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from selection_spec.documents import Survey, Within
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.located import Text
from webhook.advice.findings.placeholders import rests_on
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


_ANY_ACTION: Final = re.compile(r"\{\{")

_SOURCE: Final = "# Source: "

_STRUCTURE: Final = (
    "this is a template of Helm that was not rendered; documents of this text that are no YAML "
    "before that are not judged"
)
_VALUES: Final = (
    "a value of this document is an action of Helm that was not rendered; Pods whose devices "
    "depend on such values are not judged"
)
_HINT: Final = (
    "judge what comes of it: helm template CHART | gpuspec validate -; and leave templates out by "
    "a line in .gpuspecignore"
)


@dataclass(frozen=True, slots=True)
class Templates:
    """What of a text is a template.

    Attributes:
        findings: They say so: one for all whose structure is a template's, and one for each
            document that can be read and has actions in its values.
        within: The numbers of the latter.
    """

    findings: Sequence[Finding] = ()
    within: AbstractSet[int] = frozenset()
    _begins: Sequence[int] = ()
    _parts: AbstractSet[int] = frozenset()

    def has(self, line: int, column: int) -> bool:
        """Tell whether a place of the text belongs to a document with a template's structure."""
        return _part(self._begins, line, column) in self._parts


def unrendered(text: Text, survey: Survey) -> Templates:
    """Return what of a text is a template.

    An action between the parts of YAML makes a template of its document: what that holds depends
    on it. So does one within a value where the document cannot be read. In one that can, only what
    rests on that value is not known. Within a text of several lines, such as a file in a
    ConfigMap, an action is that text's own affair.

    Args:
        text: The text.
        survey: What can be read of it.
    """
    begins = [number for number, line in enumerate(text.lines, 1) if line.startswith("---")]
    broken = {_part(begins, problem.line, problem.column) for problem in survey.problems}
    structures: dict[int, tuple[int, int]] = {}
    values: dict[int, tuple[int, int]] = {}
    for line, column, is_between in _actions(text):
        part = _part(begins, line, column)
        if is_between or part in broken:
            structures.setdefault(part, (line, column))
        else:
            values.setdefault(part, (line, column))
    first = [_finding(text, *at, _STRUCTURE) for at in list(structures.values())[:1]]
    inside = {part: at for part, at in values.items() if part not in structures}
    of_values = [_finding(text, *at, _VALUES) for at in inside.values()]
    numbers = (
        number
        for number, document in enumerate(survey.documents)
        if _part(begins, *document.position(())) in inside
    )
    return Templates((*first, *of_values), frozenset(numbers), begins, structures.keys())


def rendered_from(text: Text, line: int) -> str:
    """Return the template that Helm says a document was rendered from; "" where it says nothing.

    Args:
        text: The text.
        line: Where the document's content begins; Helm's comment stands above it.
    """
    above = line - 1
    while (said := text.line(above)).startswith("#"):
        if said.startswith(_SOURCE):
            return said.removeprefix(_SOURCE).strip()
        above -= 1
    return ""


def _part(begins: Sequence[int], line: int, column: int) -> int:
    """Return the number of the document that a place belongs to, empty ones counted.

    Whoever comes to the end of a document and misses something says so where the next one begins.
    """
    return (bisect_left if column == 1 else bisect_right)(begins, line)


def _actions(text: Text) -> Iterator[tuple[int, int, bool]]:
    """Yield the actions of a text of Helm's: line, column, and whether it is between YAML's parts.

    One that only Helm's templates have tells that the text is one; then all others are Helm's, too.
    """
    if any(is_sure for _, _, is_sure in _places(text, _ACTION)):
        for line, column, _ in _places(text, _ANY_ACTION):
            yield line, column, text.within(line, column) is Within.NO_SCALAR


def _places(text: Text, actions: re.Pattern[str]) -> Iterator[tuple[int, int, bool]]:
    """Yield what is no comment and in no text of several lines, and whether it must be Helm's."""
    of_comment = 0
    for match in actions.finditer(text.text):
        line, column = text.position(match.start())
        if line == of_comment:
            continue
        within = text.within(line, column)
        is_between = within is Within.NO_SCALAR
        if is_between and _is_in_comment(text.line(line)[: column - 1]):
            of_comment = line
        elif within is not Within.BLOCK:
            yield line, column, is_between or match.lastgroup == "helm"


def rests_on_actions(pod: object) -> bool:
    """Tell whether actions that nobody has rendered decide what devices a Pod gets.

    Args:
        pod: A Pod of a text that is known to be a template.
    """
    return rests_on(pod, lambda text: "{{" in text)


def _is_in_comment(before: str) -> bool:
    return before.startswith("#") or " #" in before or "\t#" in before


def _finding(text: Text, line: int, column: int, said: str) -> Finding:
    return Finding(
        UNRENDERED,
        text.place(line, column),
        said,
        _HINT,
        UNRENDERED.level,
        source=text.line(line),
    )
