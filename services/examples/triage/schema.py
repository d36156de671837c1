"""What is decided of a ticket. "urgent" is no priority here, so that none can be given."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Category = Literal["billing", "login", "delivery", "returns", "bug", "feature_request", "product", "other"]
Priority = Literal["low", "medium", "high"]


class Triage(BaseModel):
    """One decision on one ticket. What each value means is in `prompt.md`."""

    category: Category
    priority: Priority
    needs_human: bool
    confidence: float = Field(ge=0, le=1, multiple_of=0.05, description="how sure the model says it is")


class ReasonedTriage(BaseModel):
    """The same, with some words to think in before anything is decided."""

    why: str = Field(max_length=160, description="the reason, in a short sentence")
    category: Category
    priority: Priority
    needs_human: bool
    confidence: float = Field(ge=0, le=1, multiple_of=0.05, description="how sure the model says it is")
