"""Reading YAML and JSON: our own documents strictly, users' manifests as kubectl reads them.

Every problem has a field path, a line, a column and a hint. Nothing but ``DocumentError`` is raised
for a text, whatever it holds.
"""

from selection_spec.documents.changes import Change, EditError, changed
from selection_spec.documents.loading import (
    Document,
    Survey,
    load_manifests,
    load_strict,
    survey_manifests,
)
from selection_spec.documents.nodes import Path, field_path
from selection_spec.documents.scalar_spans import ScalarSpans, Within
from selection_spec.documents.text import MAX_MANIFEST_BYTES
from selection_spec.documents.validation import problems_from_validation

__all__ = [
    "MAX_MANIFEST_BYTES",
    "Change",
    "Document",
    "EditError",
    "Path",
    "ScalarSpans",
    "Survey",
    "Within",
    "changed",
    "field_path",
    "load_manifests",
    "load_strict",
    "problems_from_validation",
    "survey_manifests",
]
