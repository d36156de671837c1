"""Single fields by pattern: the mask's days are the days that there are, its countries those of ISO 3166."""

import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from llguidance import LLMatcher

from services.engines.masks.mask import BYTES
from services.examples.example import Row
from services.examples.fields.countries import CODES
from services.examples.fields.schema import DAYS, Contact
from services.examples.fields.task import CONTACT, EXAMPLE, judge

LISTED = Path("/usr/share/zoneinfo/iso3166.tab")
MATCHER = LLMatcher(BYTES, CONTACT.output.mask.lark)
NOTHING = {"phone": None, "country": None, "since": None, "reference": None}


def allowed(**fields: str) -> bool:
    MATCHER.reset()
    tokens = BYTES.tokenize_str(json.dumps({**NOTHING, **fields}, separators=(",", ":")))
    return MATCHER.try_consume_tokens(tokens) == len(tokens) and MATCHER.is_accepting()


def test_every_day_of_two_centuries_and_no_other() -> None:
    there_are = {(date(1900, 1, 1) + timedelta(days=n)).isoformat() for n in range(73_049)}
    assert max(there_are) == "2099-12-31"
    numbers = [
        f"{year}-{month:02}-{day:02}"
        for year in range(1890, 2110)
        for month in range(14)
        for day in range(33)
    ]
    assert {text for text in numbers if re.fullmatch(DAYS, text)} == there_are
    # The mask itself, where months end.
    ends = [text for text in numbers if text[:4] in ("1900", "2000", "2023", "2024") and text[8:] > "27"]
    assert {text for text in ends if allowed(since=text)} == {text for text in ends if text in there_are}


def test_every_country_and_no_other() -> None:
    pairs = [a + b for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    assert {pair for pair in pairs if allowed(country=pair)} == set(CODES)
    assert len(CODES) == 249
    assert not allowed(country="de")
    assert not allowed(country="Germany")


@pytest.mark.skipif(not LISTED.exists(), reason="this machine has no time zone database")
def test_the_countries_are_those_of_the_time_zone_database() -> None:
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    assert {line.split("\t")[0] for line in lines if not line.startswith("#")} == set(CODES)


@pytest.mark.parametrize("phone", ["+4915123456789", "+1234567", "+123456789012345"])
def test_phone_numbers(phone: str) -> None:
    assert allowed(phone=phone)


@pytest.mark.parametrize(
    "phone",
    ["4915123456789", "+0151234567", "+49 151 234567", "+123456", "+1234567890123456", "0151234567", ""],
)
def test_what_is_no_phone_number(phone: str) -> None:
    assert not allowed(phone=phone)


@pytest.mark.parametrize(
    "reference", ["5f0c7a52-9d1e-4b7e-8a53-2f6f1f0f3c1", "5f0c7a529d1e4b7e8a532f6f1f0f3c11", "unknown"]
)
def test_what_is_no_uuid(reference: str) -> None:
    assert not allowed(reference=reference)


def test_gold_is_sayable_and_right() -> None:
    gold = EXAMPLE.rows()
    assert len(gold) == len({row.id for row in gold}) == len({row.text for row in gold}) == 60
    assert not {row.text for row in gold} & {text for text, _ in CONTACT.examples}
    for row in gold:
        assert allowed(**{name: value for name, value in row.gold.items() if value is not None}), row.id
        contact = CONTACT.output.read(json.dumps(row.gold))
        assert judge(contact, row)["right"]
        for name, value in row.gold.items():
            assert (value is None) or (judge(contact.model_copy(update={name: None}), row)["right"] is False)


def test_a_field_counts_by_itself() -> None:
    row = Row("f", "", {**NOTHING, "country": "DE"}, {})
    marks = judge(Contact.model_validate({**NOTHING, "country": "DE", "since": "2021-05-03"}), row)
    assert marks == {"phone": True, "country": True, "since": False, "reference": True, "right": False}
