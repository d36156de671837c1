"""Where a transcript names something of the menu, and what is no mention although it looks like one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.menu import Menu
from services.reading.chart.span import Span
from services.reading.chart.tokens import fold, tokenize
from services.reading.language.language import language
from services.reading.names.lexicon import Lexicon
from tests.charts import names_in
from tests.stand_ins import CAFE, big_menu

LEXICON, EN = Lexicon(CAFE), language("en")


def found(text: str, lexicon: Lexicon = LEXICON) -> list[Span]:
    return names_in(tokenize(text, EN), lexicon)


def named(text: str, lexicon: Lexicon = LEXICON) -> set[tuple[str, str]]:
    """Strong mentions as (kind, id)."""
    return {(m.kind, ref) for m in found(text, lexicon) if m.strong for ref in m.ids}


def menu_of(*items: str, options: tuple[str, ...] = (), sizes: tuple[str, ...] = ()) -> Lexicon:
    document: dict[str, Any] = {
        "id": "m", "name": "m", "currency": "USD",
        "sizes": [{"id": f"s{i}", "name": name} for i, name in enumerate(sizes)],
        "option_groups": [
            {"id": "g", "name": "g", "options": [{"id": f"o{i}", "name": n} for i, n in enumerate(options)]}
        ] if options else [],
        "items": [{"sku": name.replace(" ", "-"), "name": name, "price": 1} for name in items],
    }  # fmt: skip
    return Lexicon(Menu.parse(json.loads(json.dumps(document))))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # The longest mention wins over whatever lies inside it, whatever its kind.
        ("coffee with a medium roast", {("item", "coffee"), ("option", "medium-roast")}),
        ("coffee with mocha syrup", {("item", "coffee"), ("option", "mocha-syrup")}),
        ("an iced latte", {("item", "iced-latte")}),
        ("ten piece nuggets", {("size", "P10"), ("item", "nuggets")}),
        # One sound or letter off.
        ("a latte with skin milk", {("item", "latte"), ("option", "skim")}),
        ("a coffee, dark rose", {("item", "coffee"), ("option", "dark-roast")}),
        ("an ice mocha", {("item", "iced-mocha")}),
        ("an americana", {("item", "americano")}),
        ("a blue berry muffin", {("item", "muffin")}),
        ("latte with oatmilk", {("item", "latte"), ("option", "oat")}),
        # With a size or an option in the middle of the name.
        ("iced large latte", {("item", "iced-latte"), ("size", "L")}),
        ("iced oat latte", {("item", "iced-latte"), ("option", "oat")}),
        # Plural, possessive, case, punctuation, digits.
        ("LATTES!", {("item", "latte")}),
        ("two blueberry muffins", {("item", "muffin")}),
        ("the kid's meal", {("item", "kids-meal")}),
        ("a kid’s meal", {("item", "kids-meal")}),
        ("kids' meals", {("item", "kids-meal")}),
        ("10-piece nuggets", {("size", "P10"), ("item", "nuggets")}),
        ("10 pieces of nuggets", {("size", "P10"), ("item", "nuggets")}),
        # What is no mention.
        ("iced tea and a latte", {("item", "latte")}),
        ("a coat and a boat", set()),
        ("hello how are you", set()),
        ("", set()),
    ],
)
def test_what_is_named(text: str, wanted: set[tuple[str, str]]) -> None:
    assert named(text) == wanted


def test_a_size_inside_another_name_opens_no_size() -> None:
    assert not [m for m in found("a coffee with medium roast") if m.kind == "size"]
    assert [m.ids for m in found("a medium coffee with dark roast") if m.kind == "size"] == [("M",)]


def test_a_joint_parts_a_name_in_pieces() -> None:
    assert ("item", "iced-latte") not in named("something iced and a latte")
    assert ("item", "iced-latte") not in named("a bicycle iced. Large latte")


def test_a_mention_says_where_it_stands() -> None:
    text = "Hi, TWO iced  Large lattes!"
    for mention in found(text):
        assert text[mention.start : mention.end] == mention.text
    whole = next(m for m in found(text) if m.kind == "item")
    assert whole.text == "iced  Large lattes"
    assert whole.strong
    assert whole.score == pytest.approx(0.97)


def test_a_part_of_a_name_is_a_weak_mention_of_all_that_have_it() -> None:
    lexicon = menu_of("blueberry muffin", "chocolate muffin", "plain bagel")
    (muffin,) = found("a muffin please", lexicon)
    assert set(muffin.ids) == {"blueberry-muffin", "chocolate-muffin"}
    assert not muffin.strong
    (bagel,) = found("a bagel please", lexicon)
    assert (bagel.ids, bagel.strong) == (("plain-bagel",), False)
    assert bagel.score > muffin.score


def test_a_word_of_too_many_names_says_nothing() -> None:
    lexicon = menu_of(*(f"dish kind{chr(97 + i)}" for i in range(12)))
    assert found("a dish please", lexicon) == []


def test_a_name_said_whole_is_not_lost_to_a_longer_one_that_sounds_alike() -> None:
    """ "classic burger well" is one letter off "classic burger meal", but "well done" was said."""
    lexicon = menu_of("classic burger", "classic burger meal", options=("well done",))
    assert named("a classic burger well done", lexicon) == {("item", "classic-burger"), ("option", "o0")}
    assert named("a classic burger meal well done", lexicon) == {
        ("item", "classic-burger-meal"),
        ("option", "o0"),
    }


def test_the_same_words_may_name_two_things() -> None:
    lexicon = menu_of("cola", "burger", options=("cola",))
    assert named("a cola", lexicon) == {("item", "cola"), ("option", "o0")}


def test_options_of_two_groups_with_one_name_are_both_named() -> None:
    menu = Menu.parse(
        {
            "id": "m",
            "name": "m",
            "currency": "USD",
            "option_groups": [
                {"id": g, "name": g, "options": [{"id": "x", "name": "cream"}]} for g in ("in", "on")
            ],
            "items": [{"sku": "tea", "name": "tea", "price": 1, "option_groups": ["in", "on"]}],
        }
    )
    (cream,) = [m for m in found("tea with cream", Lexicon(menu)) if m.kind == "option"]
    assert set(zip(cream.groups, cream.ids, strict=True)) == {("in", "x"), ("on", "x")}


def test_none_lies_strictly_inside_another_of_its_words() -> None:
    for text in (
        "large iced oat latte with skin milk",
        "medium roast coffee mocha syrup",
        "ten piece nuggets",
    ):
        spans = [(m.start, m.end) for m in found(text) if m.score == 1.0]
        for a in spans:
            for b in spans:
                assert a == b or not (a[0] <= b[0] and b[1] <= a[1]), text


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Lattes", "latte"), ("glass", "glass"), ("sandwiches", "sandwich"), ("boxes", "box"),
        ("cookies", "cooky"), ("cookie", "cooky"), ("fries", "fry"), ("hummus", "hummus"), ("kid's", "kid"),
        ("kid’s", "kid"), ("Two", "2"), ("TEN", "10"), ("double", "double"), ("dozen", "dozen"),
        ("twice", "twice"), ("%", "percent"), ("ounces", "ounce"), ("oz", "ounce"), ("ice", "ice"),
    ],
)  # fmt: skip
def test_words_are_folded_by_sound(word: str, folded: str) -> None:
    assert fold(word, EN) == folded


def test_tokens_keep_their_place_and_what_follows() -> None:
    text = "A kid's 2% latte,  please."
    tokens = tokenize(text, EN)
    assert [t.folded for t in tokens] == ["a", "kid", "2", "percent", "latte", "please"]
    assert [text[t.start : t.end] for t in tokens] == ["A", "kid's", "2", "%", "latte", "please"]
    assert [t.after for t in tokens] == ["", "", "", "", ",", "."]
    assert list(tokenize("?!  …", EN)) == []


def test_a_sound_alike_does_not_reach_over_the_end_of_a_sentence() -> None:
    assert named("I like ice. Mocha is my dog") == {("option", "ice"), ("item", "mocha")}


def test_a_menu_of_five_thousand_items() -> None:
    lexicon = Lexicon(big_menu(5000))
    assert named("one dish number 4321 please", lexicon) == {("item", "i4321")}
