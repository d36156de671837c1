"""The second reading: an order followed clause by clause, and what becomes of it beside the first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.cart import Amount
from schemas.evidence import Evidence
from services.reading.chart.mentions import names_of
from services.reading.chart.tokens import fluent, tokenize
from services.reading.clauses.clause import clauses
from services.reading.language.language import language
from services.reading.names.lexicons import lexicon
from services.reading.order import read_order
from tests.unit.test_spoken_forms import MENUS

CAFE, DINER, PIZZERIA = (MENUS[name] for name in ("harbor-coffee", "copper-skillet", "stone-oven"))
WORDS = (
    "two a latte lattes large oat milk no with and , . ? not make one of them it the same again instead "
    "scratch mocha muffin both all another small put back off small one whip three or bicycle that"
).split()


def shown(evidence: Evidence) -> str:
    """The cart that the words leave, briefly: `2 latte L oat, no foam`."""
    lines = []
    for line in evidence.lines:
        options = []
        for option in line.options:
            amount = {Amount.NORMAL: "", Amount.NONE: "no "}.get(
                option.amounts[0], f"{option.amounts[0].value} "
            )
            count = f"{option.counts[0]} " if option.counts[0] > 1 else ""
            options.append(f"{amount}{count}{option.id}")
        size = f" {line.sizes[0]}" if line.sizes else ""
        lines.append(
            f"{line.quantities[0]} {line.items[0]}{size}{' ' if options else ''}{', '.join(options)}"
        )
    lines += [f"{off.quantities[0]} off the menu" for off in evidence.off_menu if off.required]
    return "; ".join(lines)


@pytest.mark.parametrize(
    ("words", "cart"),
    [
        # One of several.
        ("three medium lattes, and make one of them a large", "1 latte L; 2 latte M"),
        ("two muffins, blueberry, just one of them warmed", "1 blueberry-muffin warmed; 1 blueberry-muffin"),
        ("three lattes, two large and a small, all with oat milk, and the small one decaf",
         "2 latte L oat; 1 latte S oat, decaf"),
        ("three americanos a small one with cream a large one with two sugars and a medium half caf",
         "1 americano S cream; 1 americano L 2 sugar; 1 americano M half-caf"),
        ("two lattes and a mocha, both medium", "2 latte M; 1 mocha M"),
        ("five cookies, three oatmeal and two chocolate chip", "3 oatmeal-cookie; 2 chocolate-chip-cookie"),
        ("four lattes, three green teas and a brownie", "4 latte; 3 green-tea; 1 brownie"),
        # Like another line, with a difference.
        ("a medium mocha with skim milk and no whip, and the same again but with whip",
         "1 mocha M skim, no whipped-cream; 1 mocha M skim, whipped-cream"),
        ("a small latte with caramel, another small one with vanilla",
         "1 latte S caramel; 1 latte S vanilla"),
        # Taken back, and brought back.
        ("a doppio and a quiche. No, wait, cancel the quiche. Actually, no, keep the quiche, lose the doppio",
         "1 quiche"),
        ("a medium cold brew and a muffin. Actually, scratch the muffin", "1 cold-brew M"),
        ("a large latte and a cookie, oh, forget it, cancel all of that", ""),
        ("a quiche and a mocha. Wait, switch the mocha to a large cold brew", "1 quiche; 1 cold-brew L"),
        ("an avocado toast and a cappuccino. Actually, instead of the cappuccino, an earl grey",
         "1 avocado-toast; 1 earl-grey"),
        # Said of a line by its name.
        ("a latte and a mocha, all medium. The latte with oat, and no whip on the mocha",
         "1 latte M oat; 1 mocha M no whipped-cream"),
        # Asked about, told about, off the menu.
        ("is the quiche good? Great, two of those", "2 quiche"),
        ("how big is the large? okay, just a medium iced chai", "1 iced-chai-latte M"),
        ("yesterday I had a mocha. Today a large latte", "1 latte L"),
        ("a small mocha and two burritos", "1 mocha S; 2 off the menu"),
        ("two breakfast burritos", "2 off the menu"),
        ("a latte. My little one has a recital", "1 latte"),
    ],
)  # fmt: skip
def test_an_order_is_followed(words: str, cart: str) -> None:
    assert shown(read_order(words, CAFE, 1)) == cart


@pytest.mark.parametrize(
    ("words", "cart"),
    [
        ("cheeseburger combo, onion rings and a coke, swap the rings for fries, and the coke for a lemonade",
         "1 cheeseburger-combo fries, lemonade"),
        ("a cheeseburger, medium rare. Actually, make it the combo", "1 cheeseburger-combo medium-rare"),
        ("two shakes, one strawberry and one vanilla, both large, with whipped cream on the vanilla one",
         "1 milkshake LG strawberry; 1 milkshake LG vanilla, whipped-cream"),
        ("four large fries and a cola, lose one of the fries", "3 fries LG; 1 cola"),
    ],
)  # fmt: skip
def test_an_order_at_a_diner_is_followed(words: str, cart: str) -> None:
    assert shown(read_order(words, DINER, 1)) == cart


def test_a_pizza_may_go_by_its_first_word() -> None:
    assert shown(read_order("a large pepperoni with thin crust", PIZZERIA, 1)).startswith(
        "1 pepperoni-pizza L"
    )


@pytest.mark.parametrize(
    "words", ["a latte with oat milk or soy", "lattes please", "swap the milk for a smile"]
)
def test_what_it_can_not_follow_stays_open(words: str) -> None:
    evidence = read_order(words, CAFE, 1)
    assert not evidence.plain
    assert not evidence.retold or evidence.lines


def test_a_proposal_lifts_no_doubt() -> None:
    for words in ("a latte and the same again with soy", "a latte, actually, a mocha"):
        evidence = read_order(words, CAFE, 1)
        assert all(line.settled(CAFE) for line in evidence.lines)
        assert not evidence.plain


def test_numbers_that_add_up_may_count_kinds_of_one_thing() -> None:
    assert not read_order("five cookies, three oatmeal and two chocolate chip", CAFE, 1).plain
    assert read_order("five cookies, three oatmeals and a brownie", CAFE, 1).plain


def test_two_readings_that_differ_are_a_doubt_and_the_other_cart_is_named() -> None:
    evidence = read_order("A root beer with no ice, and the root beer large.", DINER, 1)
    assert evidence.otherwise
    assert not evidence.plain


def test_where_both_agree_nothing_changes() -> None:
    evidence = read_order("two large lattes with oat milk and a blueberry muffin", CAFE, 1)
    assert evidence.otherwise == ""
    assert not evidence.retold


def test_clauses_end_at_pauses_joints_cues_and_the_next_item() -> None:
    text = "a latte two muffins with butter, no, make it three and the rest plain"
    names = lexicon(CAFE)
    tokens = fluent(tokenize(text, language("en")), names.words)
    found = clauses(text, tokens, names_of(tokens, names.find(text, tokens)))
    said = [" ".join(t.folded for t in tokens[clause.start : clause.end]) for clause in found]
    assert said == ["a latte", "2 muffin with butter", "no", "make it 3", "the rest plain"]
    assert [clause.cue for clause in found] == ["", "", "replace", "replace", ""]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_whatever_is_said_can_be_heard(words: list[str]) -> None:
    evidence = read_order(" ".join(words), CAFE, 1)
    assert all(1 <= n <= 99 for line in evidence.lines for n in line.quantities)
