"""Guesses propose, and never spare a review."""

from __future__ import annotations

import pytest

from schemas.cart import CartDraft
from schemas.menu import Menu
from services.checks.evidence import check_evidence
from services.reading.names.finding.guesses import guess, sounds
from services.reading.order import read_order

MENU = Menu.parse(
    {
        "id": "cafe",
        "name": "Cafe",
        "currency": "EUR",
        "sizes": [{"id": "M", "name": "medium"}],
        "option_groups": [
            {"id": "roast", "name": "roast", "options": [{"id": "dark", "name": "dark roast"}]},
        ],
        "items": [
            {"sku": "mocha", "name": "mocha", "prices": {"M": 450}, "option_groups": ["roast"]},
            {"sku": "latte", "name": "latte", "prices": {"M": 400}, "option_groups": ["roast"]},
        ],
    }
)


@pytest.mark.parametrize(
    ("said", "item"), [("a medium maca please", "mocha"), ("a medium mocca please", "mocha")]
)
def test_a_word_that_sounds_like_an_item_opens_it(said: str, item: str) -> None:
    evidence = read_order(said, MENU, 1)
    assert item in evidence.items
    assert evidence.unexplained == (said.split()[2],)


def test_a_guess_at_an_option_is_open_and_forced_on_nobody() -> None:
    evidence = read_order("a latte with dark crow's please", MENU, 1)
    assert [(o.id, o.required) for o in evidence.options] == [("dark", False)]


def test_what_rests_on_a_guess_is_always_reviewed() -> None:
    evidence = read_order("a medium maca", MENU, 1)
    line = {"kind": "item", "heard": "medium maca", "sku": "mocha", "quantity": 1, "size": "M"}
    findings = check_evidence(CartDraft.model_validate({"lines": [line]}), evidence)
    assert {"unexplained_words", "vague_name"} <= {finding.code for finding in findings}


def test_nothing_is_guessed_where_every_word_is_accounted_for() -> None:
    evidence = read_order("can I get a medium latte with dark roast please, thank you", MENU, 1)
    assert not any(mention.guessed for mention in evidence.mentions)
    assert evidence.unexplained == ()


@pytest.mark.parametrize("said", ["a medium bicycle", "a pizza with pepperoni", "xqzt"])
def test_what_is_like_nothing_stays_off_the_menu(said: str) -> None:
    assert not any(mention.guessed for mention in read_order(said, MENU, 1).mentions)


def test_the_likeliest_name_wins_and_runs_do_not_overlap() -> None:
    words = ["dark", "crow", "mucha"]
    found = guess(words, {0, 1, 2}, ["darkroast", "mocha", "latte"])
    assert sorted(found) == [(0, 2, 0), (2, 3, 1)]


def test_ch_is_also_read_as_k() -> None:
    assert {"MX", "MK"} <= sounds("mocha")
