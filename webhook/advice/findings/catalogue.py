"""Every rule that a finding can be of; ids are never given twice."""

from __future__ import annotations

from typing import Final

from selection_spec.errors import Level
from webhook.advice.findings import rules_of_admission, rules_of_objects, rules_of_texts
from webhook.advice.findings.rule import Rule

RULES: Final = (*rules_of_texts.RULES, *rules_of_admission.RULES, *rules_of_objects.RULES)
"""All of them, by id."""

BY_ID: Final = {one.id: one for one in RULES}

_BY_SEMANTICS: Final = {
    number: one for one in RULES if one.level is Level.ERROR for number in one.semantics
}


def of_denial(semantics: str) -> Rule:
    """Return the rule that stands for a denial by a rule of the semantics.

    Raises:
        KeyError: Admission denies nobody by that rule.
    """
    return _BY_SEMANTICS[semantics]
