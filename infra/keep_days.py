"""What `SAYCART_KEEP_DAYS` says."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Days = Annotated[int, Field(ge=1, le=36_500)] | Literal["forever"]


class KeepDays(BaseModel):
    """For how many days after an order's end each thing of it is kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recordings: Days = 30
    transcripts: Days = 90
    orders: Days = 730

    @classmethod
    def of(cls, text: str) -> KeepDays:
        """Read the setting; raises ValueError where it says nothing, or a thing twice."""
        pairs = [pair.partition("=") for pair in text.split(",")]
        given = {what.strip(): days.strip() for what, _, days in pairs}
        if len(given) < len(pairs):
            raise ValueError("one thing is there twice")
        return cls.model_validate(given)
