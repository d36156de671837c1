"""The setting `SAYCART_KEEP_DAYS`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Days = Annotated[int, Field(ge=1, le=36_500)] | Literal["forever"]


class KeepDays(BaseModel):
    """How many days an order's data is kept after the order's end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recordings: Days = 30
    transcripts: Days = 90
    orders: Days = 730

    @classmethod
    def of(cls, text: str) -> KeepDays:
        """Parse the setting; raises ValueError if it is invalid."""
        pairs = [pair.partition("=") for pair in text.split(",")]
        values = {kind.strip(): days.strip() for kind, _, days in pairs}
        if len(values) < len(pairs):
            raise ValueError("an entry is repeated")
        return cls.model_validate(values)
