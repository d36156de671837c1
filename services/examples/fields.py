"""Extract four fields, each with its own format: a phone number, a country, a date and a UUID."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from services.clients.masked.saycart_masked import OutputType
from services.decoding.tasks import Task
from services.examples.runner import Example

PROMPT = """\
You read what people write about themselves, and answer with one JSON object of four fields, in this order:

- phone: their phone number in E.164: a plus, the country's calling code and the number, digits only. A
  leading 00 is a plus. A number without a calling code belongs to the country where they live: drop its
  leading 0 and put the calling code in front (Germany 49, Austria 43,
  France 33, United Kingdom 44, Netherlands 31, USA 1).
- country: the country where they live, as its two-letter ISO 3166-1 code, such as DE.
- since: the day that they name, as YYYY-MM-DD. In 4.5.2021 the day comes first.
- reference: the UUID that they name, unchanged.

A field that they don't mention is null. Answer with the JSON alone."""

# ISO 3166-1 alpha-2, from the time zone database (iso3166.tab, public domain).
COUNTRIES = tuple(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT
    BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH
    ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT
    HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS
    LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI
    NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG
    SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG
    UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
    """.split()
)

Phone = Annotated[str, Field(pattern=r"^\+[1-9][0-9]{6,14}$", max_length=16)]
Country = Literal[COUNTRIES]  # type: ignore[valid-type]


class Contact(BaseModel):
    """What people write about themselves; null for what they don't mention."""

    phone: Phone | None
    country: Country | None
    since: date | None
    reference: UUID | None


TASK: Task[Contact] = Task(
    name="fields",
    about="Phone number (E.164), country code, date and UUID out of a sentence or two",
    output=OutputType.of(Contact),
    prompt=PROMPT,
    examples=(
        (
            "Hi, I'm in Portugal since 12 June 2018. Call +351 912 345 678.",
            '{"phone":"+351912345678","country":"PT","since":"2018-06-12","reference":null}',
        ),
        (
            "Case 5f0c7a52-9d1e-4b7e-8a53-2f6f1f0f3c11. My number here in Vienna: 0660 1234567",
            '{"phone":"+436601234567","country":"AT","since":null,'
            '"reference":"5f0c7a52-9d1e-4b7e-8a53-2f6f1f0f3c11"}',
        ),
    ),
)


EXAMPLE = Example(TASK, Path(__file__).with_suffix(".jsonl"))
