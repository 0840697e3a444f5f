"""What all parts of a SelectionTable document have in common, as pydantic sees them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """Strict, closed and frozen; keys in camelCase as everywhere in Kubernetes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=to_camel, validate_by_name=False
    )
