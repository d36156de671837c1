"""The questions that a customer can settle: open choices of the menu in turn, then whether the cart is right.

A finding carries a question when its answers are known things of the menu, or about the whole cart
(`whole_cart.py`). An order asks only while nothing else is in doubt: not the recording as a whole, and no
finding that no question settles. Each answer says what it costs, and the cart that it makes is decided upon
like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.cart import MAX_COUNT, Amount, CartDraft, ItemLine, LineDraft, OptionDraft, Portion
from schemas.menu import Item, Menu, OptionGroup
from schemas.open_questions import PLACE
from schemas.priced_cart import Cart, Finding
from schemas.question import Choice, Question
from schemas.sentences.sentences import sentences
from schemas.wording import capitalized
from services.validation.portions import chosen_of, counted
from services.validation.price import unit_price

# More than can be held in mind by ear.
MAX_ANSWERS = 6
# Found again in each draft (`facts.py`): what an earlier draft left open says nothing about a later one.
OPEN_CHOICES = frozenset({"missing_size", "missing_required_option"})
RIGHT, REST, NOTHING = "order/right", "order/rest", "order/nothing"
WHOLE = frozenset({RIGHT, REST, NOTHING})
"""Ids of the questions about a whole cart: is it right, is it right without what can't be had, was nothing
ordered."""


def which_size(number: int, line: ItemLine, item: Item, menu: Menu) -> Question | None:
    """Ask for the size of the item on line `number`."""
    sizes = [size for size in menu.sizes if size.id in item.size_ids]
    answers = [_priced(s.id, s.name, line.model_copy(update={"size": s.id}), menu) for s in sizes]
    named = sentences(menu.language)("missing_size", item=item.name)
    return _question(f"{number}/size", answers, menu, "which_of_item", named, item=item.name)


def which_option(number: int, line: ItemLine, item: Item, group: OptionGroup, menu: Menu) -> Question | None:
    """Ask for a choice, or one more, of a group that the item can't go without. The question about one more
    names it by its number, so that an answer that is sent twice counts once."""
    more = _adds(line, group)
    answers = [
        _priced(option.id, option.name, _with_option(line, group.id, option.id, more), menu)
        for option in group.options
        if option.available and not (more and _is_taken(option.id, line, group))
    ]
    key = "missing_more_options" if counted(line, group) else "missing_required_option"
    sentence = sentences(menu.language)(key, group=group.name, item=item.name)
    place = f"{number}/options/{group.id}" + (f"/{1 + counted(line, group)}" if more else "")
    return _question(place, answers, menu, "which_with_line", sentence, line=item.name)


def _adds(line: ItemLine, group: OptionGroup) -> bool:
    """Whether an answer goes next to what the line has of a group: a choice, or a "no" that counts."""
    priced = any(option.amount_prices.get("none") for option in group.options)
    return bool(group.defaults or priced or chosen_of(line, group))


def _is_taken(option: str, line: ItemLine, group: OptionGroup) -> bool:
    """Whether one more of an option can't be added: it comes by itself, there is as much as there may be, or
    the customer wanted it in another way."""
    most = group.max_each or MAX_COUNT
    named = [one for one in line.options if (one.group, one.id) == (group.id, option)]
    plain = [one for one in named if (one.amount, one.portion) == (Amount.NORMAL, Portion.WHOLE)]
    return option in group.defaults or named != plain or any(one.count >= most for one in plain)


def answered(draft: CartDraft, question: Question, answer: str) -> CartDraft:
    """The draft with `answer`, one of the question's own, in the place that it asks about.

    Raises:
        ValueError: it asks about no place that is known here, as one of a later release may.
    """
    place = PLACE.fullmatch(question.id)
    lines: list[LineDraft] = list(draft.lines)
    if place is None or int(place["line"]) >= len(lines):
        raise ValueError(f"{question.id} is no place of the cart")
    number, field, group = int(place["line"]), place["field"], place["group"]
    line = lines[number]
    if not isinstance(line, ItemLine):
        raise ValueError(f"Line {number} names no item, so nothing of it can be asked")
    if group is not None:
        group_id, _, more = group.partition("/")
        lines[number] = _with_option(line, group_id, answer, bool(more))
    else:
        lines[number] = line.model_copy(update={field: answer})
    return draft.model_copy(update={"lines": tuple(lines)})


def with_kept_answers(draft: CartDraft, before: Cart, findings: Sequence[Finding]) -> CartDraft:
    """The draft of more utterances with the choices that the cart before had, where the same words leave them
    open again: an answer by a button is no utterance."""
    for question in dict.fromkeys(finding.question for finding in findings if finding.question is not None):
        place = PLACE.fullmatch(question.id)
        line = draft.lines[int(place["line"])] if place is not None else None
        if place is None or not isinstance(line, ItemLine):
            continue
        had = _had(before, line, place["group"])
        kept = next((choice.id for choice in question.answers if choice.id in had), None)
        draft = draft if kept is None else answered(draft, question, kept)
    return draft


def _had(cart: Cart, line: ItemLine, group: str | None) -> set[str | None]:
    """Ids of what the line of the same words had in a cart: options of the group, or without one its size."""
    lines = [old for old in cart.lines if (old.sku, old.heard.text) == (line.sku, line.heard)]
    if group is None:
        return {old.size for old in lines}
    return {option.id for old in lines for option in old.options if option.group == group}


def _with_option(line: ItemLine, group: str, option: str, more: bool) -> ItemLine:
    """The line with an option in the place of all others of its group: "no sauce" was no answer to which. Or
    with one `more` next to them."""
    if not more:
        others = tuple(chosen for chosen in line.options if chosen.group != group)
        return line.model_copy(update={"options": (*others, OptionDraft(group=group, id=option))})
    kept = list(line.options)
    for at, one in enumerate(kept):
        if (one.group, one.id) == (group, option):
            kept[at] = one.model_copy(update={"count": one.count + 1})
            break
    else:
        kept.append(OptionDraft(group=group, id=option))
    return line.model_copy(update={"options": tuple(kept)})


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
    return Question(id=place, text=capitalized(text), answers=tuple(answers))
