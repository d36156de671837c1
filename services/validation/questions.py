"""The questions that a customer can settle: open choices of the menu in turn, then whether the cart is right.

A finding carries a question when its answers are known things of the menu, or about the whole cart
(`whole_cart.py`). An order asks only while nothing else is in doubt: not the recording as a whole, and no
finding that no question settles. Each answer says what it costs, and the cart that it makes is decided upon
like any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from schemas.cart import CartDraft, Finding, ItemLine, LineDraft, OptionDraft
from schemas.menu import Item, Menu, OptionGroup
from schemas.question import Choice, Question
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.wording import begun
from services.validation.price import unit_price

# More than can be held in mind by ear.
MAX_ANSWERS = 6
# Found again in each draft (`facts.py`): what an earlier draft left open says nothing about a later one.
OPEN_CHOICES = frozenset({"missing_size", "missing_required_option"})
_PLACE = re.compile(r"(?P<line>\d{1,4})/(?:(?P<field>size)|options/(?P<group>.+))", re.ASCII)
RIGHT, REST, NOTHING = "order/right", "order/rest", "order/nothing"
WHOLE = frozenset({RIGHT, REST, NOTHING})
"""Ids of the questions about a whole cart: is it right, is it right without what can't be had, was nothing
ordered."""
# What a yes to a whole cart settles. Not what the menu does not allow, and nothing past a limit.
OF_WORDS = frozenset({"reading_unsure", "nothing_ordered", "empty_cart"})
# Reasons for a review that an answer can remove.
_ASKABLE = frozenset({ReviewReason.BLOCKING_FINDING, ReviewReason.NOT_ON_MENU})


def which_size(number: int, line: ItemLine, item: Item, menu: Menu) -> Question | None:
    """Ask for the size of the item on line `number`."""
    sizes = [size for size in menu.sizes if size.id in item.size_ids]
    answers = [_priced(s.id, s.name, line.model_copy(update={"size": s.id}), menu) for s in sizes]
    named = sentences(menu.language)("missing_size", item=item.name)
    return _question(f"{number}/size", answers, menu, "which_of_item", named, item=item.name)


def which_option(number: int, line: ItemLine, item: Item, group: OptionGroup, menu: Menu) -> Question | None:
    """Ask for a choice of a group that the item can't go without."""
    answers = [
        _priced(option.id, option.name, _with_option(line, group.id, option.id), menu)
        for option in group.options
        if option.available
    ]
    named = sentences(menu.language)("missing_required_option", group=group.name, item=item.name)
    place = f"{number}/options/{group.id}"
    return _question(place, answers, menu, "which_with_line", named, line=item.name)


def open_questions(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> list[Question]:
    """All that the customer is asked, in order: choices, then the whole cart that they make. Empty when
    anything is in doubt that no answer settles."""
    blocking = [finding for finding in findings if finding.blocks]
    asked = dict.fromkeys(finding.question for finding in blocking if finding.question is not None)
    settled = all(any(settled_by(question, finding) for question in asked) for finding in blocking)
    return sorted(asked, key=_turn) if settled and _ASKABLE.issuperset(reasons) else []


def open_question(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> Question | None:
    """The question to ask now; None where only a person can settle the order."""
    return next(iter(open_questions(findings, reasons)), None)


def _turn(question: Question) -> tuple[float, int]:
    """Line by line, the size first; the whole cart last."""
    place = _PLACE.fullmatch(question.id)
    if place is None:
        return math.inf, 0
    return int(place["line"]), int(place["field"] is None)


def line_of(question: Question) -> int | None:
    """The cart line that a question is about; None of the whole order."""
    place = _PLACE.fullmatch(question.id)
    return int(place["line"]) if place else None


def settled_by(question: Question | None, finding: Finding) -> bool:
    """Whether an answer to the order's question settles this finding too."""
    if question is None:
        return False
    return finding.question == question or (question.whole and finding.code in OF_WORDS)


def answered(draft: CartDraft, question: Question, answer: str) -> CartDraft:
    """The draft with `answer`, one of the question's own, in the place that it asks about.

    Raises:
        ValueError: it asks about no place that is known here, as one of a later release may.
    """
    place = _PLACE.fullmatch(question.id)
    lines: list[LineDraft] = list(draft.lines)
    if place is None or int(place["line"]) >= len(lines):
        raise ValueError(f"{question.id} is no place of the cart")
    number, field, group = int(place["line"]), place["field"], place["group"]
    line = lines[number]
    if not isinstance(line, ItemLine):
        raise ValueError(f"Line {number} names no item, so nothing of it can be asked")
    lines[number] = (
        _with_option(line, group, answer) if group is not None else line.model_copy(update={field: answer})
    )
    return draft.model_copy(update={"lines": tuple(lines)})


def _with_option(line: ItemLine, group: str, option: str) -> ItemLine:
    """The line with an option in the place of all others of its group: "no sauce" was no answer to which."""
    others = tuple(chosen for chosen in line.options if chosen.group != group)
    return line.model_copy(update={"options": (*others, OptionDraft(group=group, id=option))})


def _priced(answer: str, text: str, line: ItemLine, menu: Menu) -> Choice:
    """An answer with what one of the line costs with it."""
    item = menu.item(line.sku)
    assert item is not None
    price = unit_price(line, item, menu)
    return Choice(id=answer, text=text, price=price.amount, price_is_minimum=price.is_minimum)


def _question(
    place: str, answers: list[Choice], menu: Menu, by_name: str, otherwise: str = "", **about: str
) -> Question | None:
    """Ask by naming all answers (the sentence `by_name`), or `otherwise` where there are too many to hear."""
    if len(answers) < 2:
        return None
    say = sentences(menu.language)
    choices = say.joined((answer.text for answer in answers), "or")
    text = say(by_name, choices=choices, **about) if len(answers) <= MAX_ANSWERS else otherwise
    return Question(id=place, text=begun(text), answers=tuple(answers))
