"""What was taken back, shared out or told apart: read by rule where it is plain, a doubt where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.evidence import Evidence, LineEvidence
from services.reading.order import read_order
from tests.stand_ins import sample_menu

CAFE = sample_menu("harbor-coffee")
DINER = sample_menu("copper-skillet")
Line = tuple[Any, ...]


def plain(line: LineEvidence) -> Line:
    """Item, quantity, size and options of a line about which the mask leaves nothing open."""
    assert line.required
    assert len(line.items) == len(line.quantities) == 1
    assert line.size_required or not line.sizes
    assert all(option.required and len(option.amounts) == len(option.counts) == 1 for option in line.options)
    options = sorted(f"{o.amounts[0]} {o.id}" if o.amounts[0] != "normal" else o.id for o in line.options)
    return (line.items[0], line.quantities[0], *line.sizes, *options)


def read(text: str) -> Evidence:
    return read_order(text, CAFE, 1)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        # Numbers
        ("two, no, three lattes please", [("latte", 3)]),
        ("two lattes, no wait, make that three", [("latte", 3)]),
        ("two lattes, sorry, three lattes", [("latte", 3)]),
        ("two lattes and one, no, two croissants", [("latte", 2), ("butter-croissant", 2)]),
        # Sizes
        ("a small latte, oh, make that a large", [("latte", 1, "L")]),
        ("a small latte, no, a large latte", [("latte", 1, "L")]),
        ("a small latte and a muffin, actually make that a blueberry muffin",
         [("latte", 1, "S"), ("blueberry-muffin", 1)]),
        ("a latte, no, make that three", None),  # there was no number to replace
        ("a medium latte with oat milk. Actually, make that a large.", [("latte", 1, "L", "oat")]),
        # Items
        ("a mocha, no, sorry, a hot chocolate, medium", [("hot-chocolate", 1, "M")]),
        ("two mochas, no, two hot chocolates", [("hot-chocolate", 2)]),
        ("a latte and a quiche. Scratch the quiche.", [("latte", 1)]),
        ("a quiche with a large latte, forget the latte", None),  # one clause holds both
        ("an orange juice and a latte. No orange juice.", [("latte", 1)]),
        # Options
        ("a latte with oat milk, no, soy milk", [("latte", 1, "soy")]),
        ("a latte with whole milk. Can you swap the whole milk for skim milk?", [("latte", 1, "skim")]),
        ("a latte with oat milk instead of whole milk", [("latte", 1, "oat")]),
        ("a latte with whipped cream. Hold the whipped cream.", [("latte", 1)]),
        ("a mocha with no whipped cream", [("mocha", 1, "none whipped-cream")]),
        ("a latte, no foam, no, wait, extra foam", [("latte", 1, "extra foam")]),
        # Small talk
        ("sorry, can I get a latte", [("latte", 1)]),
        ("a latte please, no, that's it", [("latte", 1)]),
        ("a latte, actually, that is all, thanks", [("latte", 1)]),
    ],
)  # fmt: skip
def test_what_was_taken_back_is_gone(text: str, lines: list[Line] | None) -> None:
    evidence = read(text)
    assert evidence.corrected is (lines is None)
    if lines is not None:
        assert [plain(line) for line in evidence.lines] == lines


@pytest.mark.parametrize(
    "text",
    [
        "I don't want a latte",
        "no coffee, just a muffin",
        "a latte and a mocha, cancel it",
        "a latte, not a croissant",
        "a latte. Change it.",
        "a large latte with oat milk, no, a mocha",  # is the milk still meant?
        "a latte with foam, no, what is it, oat milk",  # something else lies between
        "a latte, actually, a mocha",  # another one, or in its place?
    ],
)
def test_what_is_not_plain_is_a_doubt(text: str) -> None:
    evidence = read(text)
    assert evidence.corrected
    assert not evidence.plain


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("two lattes, one large, one small", [("latte", 1, "L"), ("latte", 1, "S")]),
        ("two lattes, one large and one small", [("latte", 1, "L"), ("latte", 1, "S")]),
        ("three lattes, one large, the other two small", [("latte", 1, "L"), ("latte", 2, "S")]),
        ("three large lattes, one with oat milk", [("latte", 1, "L", "oat"), ("latte", 2, "L")]),
        ("two mochas, one with soy milk, the other with oat milk",
         [("mocha", 1, "soy"), ("mocha", 1, "oat")]),
        ("a small latte and a medium cappuccino, both with oat milk",
         [("latte", 1, "S", "oat"), ("cappuccino", 1, "M", "oat")]),
        ("a latte and two mochas, all large with oat milk",
         [("latte", 1, "L", "oat"), ("mocha", 2, "L", "oat")]),
        ("two lattes with oat milk each", [("latte", 2, "oat")]),
        ("a medium cold brew. And another one of those.", [("cold-brew", 2, "M")]),
        ("a medium latte and the same for my friend", [("latte", 2, "M")]),
    ],
)  # fmt: skip
def test_shared_and_split_lines(text: str, lines: list[Line]) -> None:
    evidence = read(text)
    assert not evidence.shared
    assert [plain(line) for line in evidence.lines] == lines


def test_a_split_of_options_counts_lines_and_not_options() -> None:
    bagels = read("three sesame bagels, please, two toasted, all with butter")
    assert [plain(line) for line in bagels.lines] == [
        ("sesame-bagel", 2, "butter", "toasted"),
        ("sesame-bagel", 1, "butter"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a fish sandwich and a crispy chicken sandwich, extra pickles only on the fish",
        "two cheeseburgers, but mine has bacon",
        "two cheeseburgers, half with bacon",
        "cheeseburgers please",
    ],
)
def test_what_speaks_of_one_of_several_is_a_doubt(text: str) -> None:
    assert not read_order(text, DINER, 1).plain


def test_a_number_of_pieces_is_a_size() -> None:
    (line,) = read_order("ten wings with buffalo", DINER, 1).lines
    assert plain(line) == ("chicken-wings", 1, "PC10", "buffalo")
    assert read_order("two wings", DINER, 1).lines[0].quantities == (2,)


def test_an_item_named_whole_stays_beside_an_unknown_word() -> None:
    for text in ("a pumpkin spice latte", "a large latte and a pumpkin"):
        evidence = read(text)
        assert evidence.lines[0].required
        assert "pumpkin" in evidence.unexplained


def test_more_lines_than_a_cart_holds_are_a_doubt() -> None:
    evidence = read(", ".join(["a latte"] * 14))
    assert evidence.crowded
    assert not any(line.required for line in evidence.lines)
