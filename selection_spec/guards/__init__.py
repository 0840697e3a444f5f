"""What is doubtful in claims and in the CEL that admins write for them (semantics C2, C3, C7)."""

from selection_spec.guards.claims import claim_smells
from selection_spec.guards.reads import Doubt, doubts

__all__ = ["Doubt", "claim_smells", "doubts"]
