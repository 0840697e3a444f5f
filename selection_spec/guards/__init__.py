"""What is doubtful in outputs, claims and the CEL that admins write (semantics C2, C3, C7, D9)."""

from selection_spec.guards.claims import claim_smells
from selection_spec.guards.expression import Doubt, doubts
from selection_spec.guards.kinds import Seen
from selection_spec.guards.pools import several_pools

__all__ = ["Doubt", "Seen", "claim_smells", "doubts", "several_pools"]
