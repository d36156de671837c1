"""What a transcript gives reason to say: items, sizes, options, amounts, counts and quantities."""

from __future__ import annotations

import pytest

from schemas.cart import MAX_QUANTITY, Amount
from schemas.errors import TooMuchToRead
from schemas.evidence import Evidence, OptionEvidence
from schemas.menu import Menu
from services.reading.names.lexicons import lexicon
from services.reading.order import clean, read_order
from tests.stand_ins import CAFE, big_menu, sample_menu

NONE, LIGHT, NORMAL, EXTRA = Amount


def said(text: str) -> Evidence:
    return read_order(text, CAFE, 1)


def option(text: str, ref: str) -> OptionEvidence:
    """The one opening of an option in a transcript."""
    (found,) = {o for o in said(text).options if o.id == ref}
    return found


def required(text: str) -> set[str]:
    return {o.id for o in said(text).options if o.required}


@pytest.mark.parametrize(
    ("text", "items", "sizes", "options"),
    [
        ("a medium coffee", {"coffee"}, {"M"}, set()),
        ("coffee with a medium roast", {"coffee"}, set(), {"medium-roast"}),
        ("coffee with mocha syrup", {"coffee"}, set(), {"mocha-syrup"}),
        ("latte with skin milk", {"latte"}, set(), {"skim"}),
        ("coffee dark rose", {"coffee"}, set(), {"dark-roast"}),
        ("an ice mocha", {"iced-mocha"}, set(), set()),
        ("an americana", {"americano"}, set(), set()),
        ("iced large latte", {"iced-latte"}, {"L"}, set()),
        ("10-piece nuggets with ranch", {"nuggets"}, {"P10"}, {"ranch"}),
        ("ten piece nuggets with ranch", {"nuggets"}, {"P10"}, {"ranch"}),
        ("the kid's meal", {"kids-meal"}, set(), set()),
        ("a large latte and a blueberry muffin", {"latte", "muffin"}, {"L"}, set()),
        ("what can you do for me", set(), set(), set()),
        ("", set(), set(), set()),
    ],
)
def test_only_what_has_words_is_open(text: str, items: set[str], sizes: set[str], options: set[str]) -> None:
    evidence = said(text)
    assert set(evidence.items) == items
    assert set(evidence.sizes) == sizes
    assert {o.id for o in evidence.options} == options


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("a latte with foam", (NORMAL,)),
        ("a latte with no foam", (NONE,)),
        ("a latte without foam", (NONE,)),
        ("a latte hold the foam", (NONE,)),
        ("a latte with light foam", (LIGHT,)),
        ("a latte with a little bit of foam", (LIGHT,)),
        ("a latte with a touch of foam", (LIGHT,)),
        ("a latte with extra foam", (EXTRA,)),
        ("a latte with an extra foam", (NORMAL,)),
        ("a latte with a lot of the foam", (EXTRA,)),
        ("a latte with no more foam", (NONE,)),
        # After the option an amount may belong to it or not; with a comma after it "no" is an answer.
        ("a latte, no, foam", (NORMAL,)),
        ("a latte with foam extra", (NORMAL, EXTRA)),
        # Not beside it, not of it.
        ("extra hot and a latte with foam", (NORMAL,)),
    ],
)
def test_an_amount_opens_beside_its_option(text: str, amounts: tuple[Amount, ...]) -> None:
    assert option(text, "foam").amounts == amounts


def test_a_no_reaches_over_or() -> None:
    text = "coffee with no cream or sugar"
    assert option(text, "cream").amounts == (NONE,)
    assert option(text, "sugar").amounts == (NONE,)
    assert option("coffee with cream or sugar", "sugar").amounts == (NORMAL,)


def test_an_amount_of_one_option_is_not_the_next_ones() -> None:
    text = "a latte with extra foam and cream"
    assert option(text, "foam").amounts == (EXTRA,)
    assert option(text, "cream").amounts == (NORMAL,)


@pytest.mark.parametrize(
    ("text", "ref", "count"),
    [
        ("a latte with two shots", "shot", 2),
        ("a latte with a double shot", "shot", 2),
        ("a double shot latte", "shot", 2),
        ("a latte with three pumps of vanilla", "vanilla", 3),
        ("a latte with vanilla twice", "vanilla", 2),
        ("a latte with 4 vanilla", "vanilla", 4),
        ("a latte with a hundred shots", "shot", 12),
    ],
)
def test_a_number_beside_an_option_counts_it(text: str, ref: str, count: int) -> None:
    found = option(text, ref)
    assert count in found.counts
    assert set(found.counts) <= {1, count}
    assert found.amounts == (NORMAL,)


def test_without_a_number_an_option_counts_once() -> None:
    assert option("a latte with vanilla", "vanilla").counts == (1,)


def test_a_number_before_an_option_that_leads_to_its_item_counts_the_item() -> None:
    assert option("two oat lattes", "oat").counts == (1,)
    assert 2 in said("two oat lattes").quantities


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("two lattes", 2),
        ("to lattes", 2),
        ("for lattes", 4),
        ("12 lattes", 12),
        ("a dozen blueberry muffins", 12),
        ("half a dozen blueberry muffins", 6),
        ("half dozen blueberry muffins", 6),
        ("two dozen blueberry muffins", 24),
        ("twenty five lattes", 25),
        ("twenty lattes", 20),
        ("a couple of lattes", 2),
        ("two hundred lattes", 200),
        (f"{MAX_QUANTITY} lattes", MAX_QUANTITY),
    ],
)
def test_a_number_is_a_quantity(text: str, value: int) -> None:
    assert set(said(text).quantities) <= {1, value}
    assert value in said(text).quantities


@pytest.mark.parametrize("number", ["0", "1000", "4321", "000001234567", "1" * 5000, "٣"])
def test_a_number_out_of_bounds_is_none(number: str) -> None:
    assert set(said(f"{number} lattes").quantities) == {1}


def test_a_number_inside_a_name_counts_nothing() -> None:
    assert said("ten piece nuggets with ranch").numbers == ()


def test_a_homophone_counts_only_before_a_plural() -> None:
    assert said("to lattes").numbers[0].value == 2
    assert said("can I get to latte").numbers == ()
    assert 2 in said("can I get to latte").quantities
    for text in ("I want to latte", "I go to the place"):
        assert set(said(text).quantities) == {1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hi could I please get a large latte with two pumps of vanilla thanks", ()),
        ("a latte and a bicycle", ("bicycle",)),
        ("a Latte, and a Rocket-Ship please", ("Rocket", "Ship")),
        ("uh um I'd like, you know, a latte for my friend", ()),
        # Names of groups and categories say nothing new.
        ("a coffee with vanilla syrup and milk", ()),
        ("zwei Kaffee bitte", ("zwei", "Kaffee", "bitte")),
    ],
)
def test_words_that_nothing_accounts_for(text: str, words: tuple[str, ...]) -> None:
    assert said(text).unexplained == words


def test_what_is_plainly_said_of_one_item_is_required() -> None:
    assert required("a latte with oat milk and no foam") == {"oat", "foam"}


def test_of_two_wishes_for_one_choice_neither_is_required() -> None:
    assert required("a latte with oat milk or soy") == set()
    assert required("a latte with oat milk or soy and vanilla") == {"vanilla"}
    # Of a group that takes many, both are.
    assert required("a coffee with vanilla and mocha syrup") == {"vanilla", "mocha-syrup"}


def test_options_stand_in_the_order_of_the_words() -> None:
    assert [o.id for o in said("a latte with vanilla, foam and oat milk").options] == [
        "vanilla",
        "foam",
        "oat",
    ]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("  two\tlattes\r\nplease ", "two lattes please"),
        ("a\x00b\x1b[2Jc\x7f\x85d", "a b [2Jc d"),
        ("a\u2028b\u2029c\ufeffd", "a b c d"),
        ("a\u202eb\u200bc", "a b c"),
        ("\u3000latte\u00a0", "latte"),
        ("<|im_end|> a latte", "< |im_end| > a latte"),
        ("a latte</s><file_sep>", "a latte< /s>< file_sep>"),
        ("cafe\u0301", "café"),
        ("I <3 lattes, 1 < 2", "I <3 lattes, 1 < 2"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_clean_leaves_one_line_without_controls(raw: str, text: str) -> None:
    assert clean(raw) == text
    assert clean(text) == text
    assert said(raw).transcript == text


def test_mentions_point_into_the_cleaned_transcript() -> None:
    evidence = said("a \x00 large\n\nlatte")
    assert evidence.mentions
    for mention in evidence.mentions:
        assert evidence.transcript[mention.start : mention.end] == mention.text


def test_the_same_words_give_the_same_evidence() -> None:
    text = "two large lattes with oat milk and extra foam and an iced mocha"
    assert said(text) == said(text)


def test_a_lexicon_is_one_for_all_menus_of_the_same_words_and_never_mixed_up() -> None:
    first, second = CAFE, CAFE.model_copy(update={"items": CAFE.items[:1]})
    items = tuple(
        item.model_copy(
            update={
                "available": not item.available,
                "price": None if item.price is None else item.price + 10,
                "prices": item.prices and {size: price + 20 for size, price in item.prices.items()},
            }
        )
        for item in first.items
    )
    elsewhere = first.model_copy(update={"id": "elsewhere", "name": "Elsewhere", "items": items})
    assert lexicon(first) is lexicon(first.model_copy(deep=True)) is lexicon(elsewhere)
    assert lexicon(first) is not lexicon(second)
    assert set(read_order("a mocha", second, 7).items) == set()
    assert set(read_order("a mocha", first, 7).items) == {"mocha"}
    assert read_order("a mocha", elsewhere, 7).menu is elsewhere  # whose prices the cart will have


@pytest.mark.parametrize(
    "text",
    [
        # As long as an order may be. Ten thousand characters of names are past the work budget (ADR 3).
        ("two large lattes with oat milk and " * 300)[:2000],
        "x" * 10_000,
        "a " * 5000,
        "é🍵" * 5000,
    ],
)
def test_thousands_of_characters_are_read(text: str) -> None:
    evidence = said(text)
    assert evidence.menu is CAFE
    assert sum(line.copies for line in evidence.lines) + max(1, len(evidence.off_menu)) <= 12


def test_ten_thousand_characters_of_names_are_left_to_a_human() -> None:
    with pytest.raises(TooMuchToRead):
        said(("two large lattes with oat milk and " * 300)[:10_000])


def test_a_menu_of_five_thousand_items_is_read() -> None:
    evidence = read_order("two dish number 4321 with part 1 3", big_menu(5000), 1)
    assert set(evidence.items) == {"i4321"}
    assert {(o.group, o.id) for o in evidence.options} == {("g1", "o3")}


@pytest.mark.parametrize("name", ["harbor-coffee", "copper-skillet"])
def test_every_name_of_a_sample_menu_is_heard_alone(name: str) -> None:
    menu: Menu = sample_menu(name)
    for item in menu.items:
        for spoken in (item.name, *item.aliases):
            for order in ("can I get {} please", "I want two {}", "one fresh {} and that's it"):
                assert item.sku in read_order(order.format(spoken), menu, 1).items, spoken


def test_a_part_of_a_name_said_again_is_no_item_of_its_own() -> None:
    menu = sample_menu("copper-skillet")
    said = "a copper burger combo with onion rings and a root beer, please. No pickles on the burger."
    evidence = read_order(said, menu, 1)
    assert [line.items for line in evidence.lines] == [("copper-burger-combo",)]
    assert ("pickles", (Amount.NONE,)) in [(o.id, o.amounts) for o in evidence.lines[0].options]
    assert evidence.unexplained == ()
