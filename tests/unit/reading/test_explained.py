"""Why an order is read as it is: the rule of each span, what it was chosen over, and what follows."""

from __future__ import annotations

from typing import get_args

import pytest

from schemas.errors import TooMuchToRead
from schemas.explanation import LOSSES, RULES, ExplainedSpan, Explanation, Loss, Rule
from schemas.transcript import Transcript
from services.checks.explained import explain
from services.reading import explained as reading_explained
from services.reading.explained import explain_reading
from services.reading.order import read_order
from services.training.orders import shops
from tests.carts import MENUS
from tests.stand_ins import CAFE


def explained(text: str) -> Explanation:
    heard = Transcript(text=text, confidence=1.0)
    evidence = read_order(text, CAFE, 1)
    return explain(heard, evidence, asr_threshold=0.7, field_threshold=0.5, max_total=100_000)


def span(text: str, words: str, name: str) -> ExplainedSpan:
    """The one span of `words` that names something called `name`."""
    found = [s for s in explain_reading(text, CAFE).spans if s.text == words]
    (one,) = [s for s in found if name in {ref.name for ref in s.refs}]
    return one


@pytest.mark.parametrize(
    ("text", "words", "name", "rule"),
    [
        ("a coffee with mocha syrup", "mocha syrup", "mocha syrup", "whole_name"),
        ("iced large latte", "iced large latte", "iced latte", "name_in_pieces"),
        ("a muffin", "muffin", "blueberry muffin", "short_name"),
        ("coffee dark rose", "dark rose", "dark roast", "sounds_alike"),
        ("a maca please", "maca", "mocha", "guess"),
        ("two lattes", "two", "2", "number"),
        ("to lattes", "to", "2", "sounds_like_number"),
        ("ten nuggets", "ten", "ten piece", "so_many_pieces"),
    ],
)
def test_what_stands_tells_the_rule_that_found_it(text: str, words: str, name: str, rule: str) -> None:
    found = span(text, words, name)
    assert (found.rule, found.chosen, found.why) == (rule, True, None)


@pytest.mark.parametrize(
    ("text", "words", "name", "why", "lost_to"),
    [
        ("a coffee with mocha syrup", "mocha", "mocha", "longer", "mocha syrup"),
        ("small latte with oat milk", "oat", "oat milk", "longer", "oat milk"),
        ("two lattes, no, three lattes", "two", "2", "taken_back", "3"),
        ("a small latte, no, large", "small", "small", "taken_back", "large"),
        ("a latte with oat milk, no wait, soy milk", "oat milk", "oat milk", "taken_back", None),
        ("ten nuggets", "ten", "10", "counts_pieces", "ten piece"),
    ],
)
def test_what_does_not_stand_tells_why(
    text: str, words: str, name: str, why: str, lost_to: str | None
) -> None:
    found = span(text, words, name)
    assert (found.chosen, found.why) == (False, why)
    assert (found.lost_to.name if found.lost_to else None) == lost_to


def test_settled_words_need_no_model_and_are_completed() -> None:
    found = explained("a small latte with oat milk")
    (line,) = found.lines
    assert (line.settled, line.open, line.size_required) == (True, (), True)
    assert [(o.ref.name, o.required) for o in line.options] == [("oat milk", True)]
    to = found.destination
    assert (found.outcome, to.to, to.settled, to.total) == ("settled", "completed", True, 460)
    assert to.cart == ("1 × small latte, oat milk (+$0.60)",)


def test_a_missing_size_is_asked_of_the_customer() -> None:
    to = explained("a latte").destination
    assert (to.to, to.settled, [f.code for f in to.findings]) == ("review", True, ["missing_size"])
    assert to.question == "Small, medium or large latte?"


def test_a_wish_off_the_menu_goes_to_a_human() -> None:
    found = explained("a medium coffee and a pumpkin pie")
    assert found.reading.lost == [(5, "pumpkin pie")]
    assert found.off_menu == ("pumpkin",)
    assert [f.code for f in found.destination.findings] == ["unexplained_words"]
    assert not found.destination.settled


def test_what_is_left_to_the_model_is_said_line_by_line() -> None:
    found = explained("a small latte or a mocha")
    assert (found.outcome, found.destination.to, found.destination.cart) == ("open", "review", ())
    assert [line.open for line in found.lines] == [("whether it is ordered at all",)] * 2


def test_nothing_said_of_the_menu_is_told_too() -> None:
    found = explained("hello there")
    assert (found.outcome, found.lines, found.destination.to) == ("nothing", (), "review")
    assert [f.code for f in found.destination.findings] == ["empty_cart"]


def test_the_account_agrees_with_the_reading() -> None:
    """What is said to stand are just the names and numbers of the evidence, on told orders of many menus."""
    read = 0
    for shop in shops("tune"):
        for row in shop.rows[::40]:
            evidence = read_order(row.said, shop.menu, 1)
            chosen = explain_reading(row.said, shop.menu).chosen
            names = {(s.kind, ref.id) for s in chosen if s.kind != "number" for ref in s.refs}
            assert names == {(m.kind, ref) for m in evidence.mentions for ref in m.ids}, row.said
            numbers = [int(s.refs[0].id) for s in chosen if s.kind == "number" and s.score == 1]
            assert sorted(numbers) == sorted(number.value for number in evidence.numbers), row.said
            read += 1
    assert read > 20


def test_every_rule_and_loss_is_said_in_words() -> None:
    assert set(RULES) == set(get_args(Rule))
    assert set(LOSSES) == set(get_args(Loss))


def test_words_past_the_budget_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_explained, "ORDER_STEPS", 20)
    with pytest.raises(TooMuchToRead, match="to explain them"):
        explain_reading("a small latte with oat milk", CAFE)


@pytest.mark.parametrize(
    ("menu", "text", "words", "rule", "on"),
    [
        ("cafe", "ten nuggets", "ten", "so_many_pieces", ["nuggets"]),
        ("cafe", "to lattes", "to", "sounds_like_number", ["lattes"]),
        ("cafe", "two muffins", "muffins", "short_name", []),
        ("cafe", "a small latte, no, large", "large", "whole_name", ["small"]),
        ("chippy-lane", "two large cod and chips", "and chips", "called_by_choice", ["cod"]),
    ],
)
def test_what_is_told_by_other_words_names_them(
    menu: str, text: str, words: str, rule: str, on: list[str]
) -> None:
    spans = explain_reading(text, CAFE if menu == "cafe" else MENUS[menu]).chosen
    (one,) = [s for s in spans if s.text == words]
    assert (one.rule, [ground.text for ground in one.on]) == (rule, on)
    assert one.because.endswith(f"resting on “{on[0]}”" if on else "a short form of the name")
