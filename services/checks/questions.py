"""The one good question: when a single doubt decides the cart, the customer can settle it.

A finding carries a question when its answers are a few known things of the menu, or whole carts
(`two_carts.py`). An order asks it only when nothing else is in doubt: not the recording as a whole, not
another line. The answer is checked and priced like any cart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from schemas.cart import CartDraft, Finding, ItemLine, LineDraft, OptionDraft
from schemas.menu import Item, Menu, OptionGroup
from schemas.question import Choice, Question
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.wording import begun

# More than can be held in mind by ear.
MAX_ANSWERS = 6
_PLACE = re.compile(r"(?P<line>\d{1,4})/(?:(?P<field>size|sku)|options/(?P<group>.+))", re.ASCII)
# What the rules could not make out of the words: who says of a whole cart that it is theirs has settled it.
# Not here are what the menu does not allow, what was hard to hear, what the customer asked of us, and an
# order past what a cart holds: no yes to a cart answers those.
OF_WORDS = frozenset(
    """read_once
    readers_differ reading_unsure item_unsaid size_unsaid_value quantity_unsaid option_unsaid vague_name
    heard_but_missing unexplained_words number_unused unclear_which left_open taken_back unclear_split weighed
    said_likewise said_twice nothing_ordered empty_cart""".split()
) | {"read_otherwise"}  # of an older release (ADR 37)


# What was hard to hear of an order that is in no other doubt, and the question that settles it: the customer
# knows what they said. A recording that was heard badly as a whole is a reason of its own, and asks nothing.
HEARD = "order/heard"
OF_HEARING = frozenset({"field_doubtful", "heard_again"})


def which_size(line: int, item: Item, menu: Menu) -> Question | None:
    """Ask for the size of the item on line `line`."""
    sizes = [size for size in menu.sizes if size.id in item.size_ids]
    return _question(f"{line}/size", [Choice(id=s.id, text=s.name) for s in sizes], menu, item.name)


def which_option(line: int, group: OptionGroup, menu: Menu) -> Question | None:
    """Ask for a choice of a group that the item can't go without."""
    open_ones = [option for option in group.options if option.available]
    return _question(f"{line}/options/{group.id}", [Choice(id=o.id, text=o.name) for o in open_ones], menu)


def which_item(line: int, skus: Sequence[str], menu: Menu) -> Question | None:
    """Ask which of several items was meant by words that fit them all."""
    items = [item for item in map(menu.item, skus) if item is not None and item.available]
    return _question(f"{line}/sku", [Choice(id=item.sku, text=item.name) for item in items], menu)


def open_question(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> Question | None:
    """The question that would settle the order; None when anything else is in doubt too."""
    blocking = [finding for finding in findings if finding.blocks]
    if set(reasons) - {ReviewReason.BLOCKING_FINDING}:
        return None
    whole = next((f.question for f in blocking if f.question is not None and f.question.whole), None)
    if whole is not None and all(settled_by(whole, finding) for finding in blocking):
        return whole
    return blocking[0].question if len(blocking) == 1 else None


def settled_by(question: Question | None, finding: Finding) -> bool:
    """Whether an answer to the order's question settles this finding too."""
    if question is None:
        return False
    if not question.whole:
        return finding.question == question
    return finding.code in (OF_HEARING if question.id == HEARD else OF_WORDS)


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
    changed: dict[str, object] = {field: answer}
    if group is not None:
        # "no sauce" was no answer to which sauce.
        others = tuple(option for option in line.options if option.group != group)
        changed = {"options": (*others, OptionDraft(group=group, id=answer))}
    lines[number] = line.model_copy(update=changed)
    return draft.model_copy(update={"lines": tuple(lines)})


def _question(place: str, answers: list[Choice], menu: Menu, of: str = "") -> Question | None:
    if not 2 <= len(answers) <= MAX_ANSWERS:
        return None
    say = sentences(menu.language)
    choices = say.joined((answer.text for answer in answers), "or")
    text = say("which_of_item", choices=choices, item=of) if of else say("which", choices=choices)
    return Question(id=place, text=begun(text), answers=tuple(answers))
