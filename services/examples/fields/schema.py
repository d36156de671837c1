"""Four single fields, each held by its form: a phone number, a country, a day and a UUID."""

from __future__ import annotations

from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from services.examples.fields.countries import CODES

# Days that there are, from 1900 to 2099: a format `date` would let 29 February 2023 pass, and the year 0.
DAYS = (
    "^((19|20)[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))|((19|20)(0[48]|[2468][048]|[13579][26])|2000)-02-29)$"
)


def _known(code: str) -> str:
    if code not in CODES:
        raise ValueError(f"{code!r} is no code of a country, such as DE")
    return code


Phone = Annotated[str, Field(pattern=r"^\+[1-9][0-9]{6,14}$", max_length=16)]
"""E.164: a plus, the country's calling code and the number, 7 to 15 digits in all."""
Country = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(CODES)})]
Day = Annotated[date, WithJsonSchema({"type": "string", "pattern": DAYS, "maxLength": 10})]


class Contact(BaseModel):
    """What somebody says of themselves; null for what they don't say."""

    phone: Phone | None = Field(description="their number, in E.164")
    country: Country | None = Field(description="where they live, ISO 3166-1 alpha-2")
    since: Day | None = Field(description="the day from which something holds, YYYY-MM-DD")
    reference: UUID | None = Field(description="a UUID that they name")
