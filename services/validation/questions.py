"""Questions that a customer can settle: open choices in turn, then whether the cart is right.

A finding has a question if its answers are sizes or options of the menu, or about the whole cart
(`whole_cart.py`). An order asks only if questions settle all that is in doubt. Each answer shows its price,
and the resulting cart is decided like any other.
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

# More can't be remembered by ear.
MAX_ANSWERS = 6
# Checked for each draft (`facts.py`), so findings about an earlier draft don't apply to a later one.
OPEN_CHOICES = frozenset({"missing_size", "missing_required_option"})
RIGHT, REST, NOTHING = "order/right", "order/rest", "order/nothing"
WHOLE = frozenset({RIGHT, REST, NOTHING})
"""Ids of the questions about a whole cart: is it right, is it right without what is unavailable, was nothing
ordered."""


def which_size(text: str, number: int, line: ItemLine, item: Item, menu: Menu) -> Question | None:
    """Ask by `text` for the size of the item on line `number`."""
    sizes = [size for size in menu.sizes if size.id in item.size_ids]
    answers = [_priced(s.id, s.name, line.model_copy(update={"size": s.id}), menu) for s in sizes]
    return _question(f"{number}/size", answers, menu, text, of=item.name)


def which_option(text: str, number: int, line: ItemLine, group: OptionGroup, menu: Menu) -> Question | None:
    """Ask by `text` for one (more) option of a required group. The question's id has the number of the
    option, so that an answer sent twice counts once."""
    more = _adds(line, group)
    answers = [
        _priced(option.id, option.name, _with_option(line, group.id, option.id, more), menu)
        for option in group.options
        if option.available and not (more and _is_taken(option.id, line, group))
    ]
    place = f"{number}/options/{group.id}" + (f"/{1 + counted(line, group)}" if more else "")
    return _question(place, answers, menu, text)


def _adds(line: ItemLine, group: OptionGroup) -> bool:
    """Return True if an answer is added to the group's options rather than replacing them."""
    priced = any(option.amount_prices.get("none") for option in group.options)
    return bool(group.defaults or priced or chosen_of(line, group))


def _is_taken(option: str, line: ItemLine, group: OptionGroup) -> bool:
    """Return True if no more of an option can be added: it is a default, at its limit, or wanted in another
    amount or portion."""
    most = group.max_each or MAX_COUNT
    named = [one for one in line.options if (one.group, one.id) == (group.id, option)]
    plain = [one for one in named if (one.amount, one.portion) == (Amount.NORMAL, Portion.WHOLE)]
    return option in group.defaults or named != plain or any(one.count >= most for one in plain)


def answered(draft: CartDraft, question: Question, answer: str) -> CartDraft:
    """Return the draft with the question's `answer` filled in.

    Raises:
        ValueError: the question is about an unknown field, perhaps one of a later release.
    """
    place = PLACE.fullmatch(question.id)
    lines: list[LineDraft] = list(draft.lines)
    number = int(place["line"]) if place is not None else len(lines)
    line = lines[number] if number < len(lines) else None
    if place is None or not isinstance(line, ItemLine):
        raise ValueError(f"{question.id} is not a field of an item of the cart")
    if place["group"] is None:
        lines[number] = line.model_copy(update={"size": answer})
    else:
        group, _, more = place["group"].partition("/")
        lines[number] = _with_option(line, group, answer, bool(more))
    return draft.model_copy(update={"lines": tuple(lines)})


def with_kept_answers(draft: CartDraft, before: Cart, findings: Sequence[Finding]) -> CartDraft:
    """Return the draft of more utterances with the earlier cart's answers to the same open choices: an answer
    by button is not an utterance."""
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
    """Return the ids that a line with the same words had in a cart: the group's options, or the size."""
    lines = [old for old in cart.lines if (old.sku, old.heard.text) == (line.sku, line.heard)]
    if group is None:
        return {old.size for old in lines}
    return {option.id for old in lines for option in old.options if option.group == group}


def _with_option(line: ItemLine, group: str, option: str, more: bool) -> ItemLine:
    """Return the line with an option in place of its group's others ("no sauce" doesn't say which), or with
    one `more`."""
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
    """Return an answer with the resulting unit price."""
    item = menu.item(line.sku)
    assert item is not None
    price = unit_price(line, item, menu)
    return Choice(id=answer, text=text, price=price.amount, price_is_minimum=price.is_minimum)


def _question(
    place: str, answers: list[Choice], menu: Menu, text: str, of: str | None = None
) -> Question | None:
    """Ask with `text` and all answers, or of the item `of` by its answers; with `text` alone if there are too
    many."""
    if len(answers) < 2:
        return None
    say = sentences(menu.language)
    choices = say.joined((answer.text for answer in answers), "or")
    if len(answers) <= MAX_ANSWERS and of is not None:
        text = say("which_of_item", choices=choices, item=of)
    elif len(answers) <= MAX_ANSWERS:
        text = say("read_choices", question=text, choices=capitalized(choices))
    return Question(id=place, text=capitalized(text), answers=tuple(answers))
