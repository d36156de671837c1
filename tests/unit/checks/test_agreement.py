"""Two readers: what they come to together, and what a human is told where they leave a doubt."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.cart import ItemLine
from schemas.compare import canonical_draft
from schemas.decision import Agreement, UnsurePiece
from schemas.menu import Menu
from services.checks.two_readers import LIKELY, SURE, compare, findings_of
from services.decoding.short_form import Names
from services.engines.ports import Reading
from services.reading.order import read_order

ROOT = Path(__file__).parents[3]
MENU = Menu.parse(json.loads((ROOT / "infra/samples/menus/harbor-coffee.json").read_text()))
NAMES = Names(MENU)


def reading(text: str, probability: float = 1.0, overruled: int = 0) -> Reading:
    lines = tuple(NAMES.read(text))
    return Reading(lines, text, math.log(probability), overruled, "test", 0, 0, 0, 0.0)


def agreement(said: str, text: str, probability: float = 1.0, overruled: int = 0) -> Agreement:
    return compare(reading(text, probability, overruled), read_order(said, MENU, 1)).readings.agreement


PLAIN, LATTE = "two large lattes with oat milk please", "2 large | latte + oat milk"


def test_both_one_cart_is_agreed_however_unsure_the_learned_reader_is() -> None:
    assert agreement(PLAIN, LATTE, 0.2) is Agreement.AGREED


@pytest.mark.parametrize(
    ("probability", "whose"), [(0.9, "small"), (0.2, "large")], ids=["likely", "unlikely"]
)
def test_sure_rules_and_another_cart_differ_and_the_likelier_is_proposed(
    probability: float, whose: str
) -> None:
    found = compare(reading("2 small | latte + oat milk", probability), read_order(PLAIN, MENU, 1))
    assert found.readings.agreement is Agreement.DIFFER
    line = found.draft.lines[0]
    assert isinstance(line, ItemLine)
    size = MENU.size(line.size or "")
    assert size is not None
    assert size.name == whose
    assert [f.code for f in findings_of(found.readings, MENU)] == ["readers_differ"]


# No rule knows what this is; the menu's cappuccino is meant by it only if somebody says so.
STRANGE = "one of those frothy italian things, the large one"


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(SURE, Agreement.CONFIDENT), (SURE - 0.01, Agreement.UNSURE), (LIKELY, Agreement.UNSURE)],
)
def test_what_no_rule_can_read_stands_only_where_the_reader_is_sure(
    probability: float, expected: Agreement
) -> None:
    assert agreement(STRANGE, "1 large | cappuccino", probability) is expected


def test_less_is_needed_where_the_rules_guess_the_same() -> None:
    said = "my friend Gordon wants two large lattes with oat milk"
    assert agreement(said, LATTE, LIKELY) is Agreement.CONFIDENT
    assert agreement(said, LATTE, LIKELY - 0.01) is Agreement.UNSURE
    assert agreement(said, "2 large | latte", LIKELY) is Agreement.UNSURE


def test_a_token_that_the_mask_chose_makes_it_unsure() -> None:
    assert agreement(STRANGE, "1 large | cappuccino", 1.0, overruled=1) is Agreement.UNSURE


def test_an_unsure_reading_is_told_with_how_sure_it_is() -> None:
    found = compare(reading("1 large | cappuccino", 0.5), read_order(STRANGE, MENU, 1))
    (finding,) = findings_of(found.readings, MENU)
    assert finding.code == "reading_unsure"
    assert finding.detail == "The language model is 50% sure of its cart."


def test_what_the_reader_was_least_sure_of_is_told_by_name() -> None:
    read = replace(
        reading("1 large | cappuccino", 0.5), pieces=(("1", 0.98), ("large", 0.95), ("cappuccino", 0.537))
    )
    found = compare(read, read_order(STRANGE, MENU, 1))
    assert found.readings.unsure == (UnsurePiece(text="cappuccino", probability=0.54),)
    (finding,) = findings_of(found.readings, MENU)
    assert (finding.detail or "").endswith(" Least sure of: “cappuccino” (54%).")


def test_each_line_has_words_of_the_customer() -> None:
    said = "can I get a large latte and a small mocha and a bicycle"
    read = reading("1 large | latte; 1 small | mocha; 1 ?")
    draft = compare(read, read_order(said, MENU, 1)).draft
    heard = [line.heard for line in draft.lines]
    assert all(words in said for words in heard)
    assert "latte" in heard[0]
    assert "mocha" in heard[1]
    assert "bicycle" in heard[2]


def test_the_draft_is_what_was_read() -> None:
    read = reading("3 medium | americano; 1 ?")
    draft = compare(read, read_order("something else entirely", MENU, 1)).draft
    written: list[dict[str, Any]] = draft.model_dump(mode="json")["lines"]
    assert NAMES.write(written) == read.text
    assert canonical_draft(draft)
