"""The question whether a whole cart is right, for its customer, who knows what they said.

Asked where the language model is fairly sure of a cart and not quite, and where a line of it can't be had:
then the rest may stand. For an empty cart the question is whether nothing was ordered. A yes settles it, a no
is a person's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from schemas import wording
from schemas.cart import CartDraft, ItemLine, LineDraft
from schemas.decision import ModelAnswer, Trust
from schemas.menu import Item, Menu
from schemas.priced_cart import Cart, Finding
from schemas.question import Choice, Question
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.transcript import Transcript
from services.validation.facts import check_facts
from services.validation.price import price_cart, unit_price
from services.validation.questions import NOTHING, OPEN_CHOICES, REST, RIGHT

YES, NO = "yes", "no"
INSTEAD = "instead/"
"""Begins the id of an answer that names another item: `instead/SKU`."""
MOST_OFFERED, MOST_TRIED = 2, 20
UNSORTED = "other"
"""The category of items that have none."""
# Findings on a line that can be left out, so that the rest of the cart may stand.
_NOT_AVAILABLE = frozenset({"not_on_menu", "item_unavailable", "item_outside_hours"})


def with_question(
    answer: ModelAnswer,
    draft: CartDraft,
    findings: Sequence[Finding],
    menu: Menu,
    max_total: float,
    words: str,
    *,
    sure: bool,
    likely: bool,
) -> tuple[Finding, ...]:
    """Return `findings` with the doubt about the cart, and the question that would settle what is left in
    doubt, if one would; it first says that `words` were not understood. `sure` and `likely` are how far the
    cart is believed (`decide`)."""
    if sure and not draft.lines:
        nothing, detail = _nothing(menu), how_sure(answer)
        asked = _quoting(words, nothing, menu)
        doubt = Finding.blocking("nothing_ordered", nothing.text, question=asked, detail=detail)
        return (*findings, doubt)
    missing = {f.line: _offer(f, draft, menu) for f in findings if f.code in _NOT_AVAILABLE}
    if sure and not missing:
        return tuple(findings)
    asked = _quoting(words, _right(draft, missing, menu, max_total), menu) if likely else None
    # A line that is left out has no choices to make.
    found = [
        one.model_copy(update={"question": asked}) if one.blocks and one.line in missing else one
        for one in findings
    ]
    if not sure:
        message = sentences(menu.language)("reading_unsure")
        found.append(Finding.blocking("reading_unsure", message, question=asked, detail=how_sure(answer)))
    return tuple(found)


def _quoting(words: str, question: Question | None, menu: Menu) -> Question | None:
    """Return the question, which first says that `words`, if there are any, were not understood."""
    if question is None or not words:
        return question
    message = sentences(menu.language)("words_not_understood", words=words)
    return question.model_copy(update={"text": f"{message} {question.text}"})


def without_missing(draft: CartDraft, findings: Sequence[Finding], question: Question) -> CartDraft:
    """Return the draft that a yes to `question` stands for: without the lines that it leaves out."""
    return _without(draft, [finding.line for finding in findings if finding.question == question])


def _without(draft: CartDraft, numbers: Sequence[int | None]) -> CartDraft:
    lines = tuple(line for number, line in enumerate(draft.lines) if number not in numbers)
    return draft.model_copy(update={"lines": lines})


def how_sure(answer: ModelAnswer) -> str:
    """Describe to staff how sure the model is, of what least, and why that doesn't count where it doesn't."""
    described = f"The language model is {wording.percent(answer.probability)} sure of its cart."
    if answer.unsure:
        unsure = (f"“{piece.text}” ({wording.percent(piece.probability)})" for piece in answer.unsure)
        described += f" Least sure of: {', '.join(unsure)}."
    if answer.trust is not Trust.TRUSTED:
        described += f" {sentences(ENGLISH)(f'trust_{answer.trust}')}"
    return described


def _right(draft: CartDraft, missing: dict[int | None, str], menu: Menu, max_total: float) -> Question | None:
    """Ask whether the cart is right without the `missing` lines, with its total. None where it is not the
    customer's to say yes: the menu does not allow it, or it is too dear. Where nothing is left because all is
    sold out, ask what they would like instead."""
    rest, why = _without(draft, list(missing)), " ".join(dict.fromkeys(missing.values()))
    if missing and not rest.lines and all(isinstance(line, ItemLine) for line in draft.lines):
        return _nothing(menu, why, _offers(draft, menu))
    if any(found.blocks and found.code not in OPEN_CHOICES for found in check_facts(rest, menu)):
        return None
    # The menu's version and the words are shown with the cart and don't affect its price.
    cart = price_cart(rest, menu, 0, Transcript(text="", confidence=0.0), [])
    if cart.total > max_total:
        return None
    say = sentences(menu.language)
    order, price = wording.drafted(rest, menu, menu.language), wording.money(cart.total, menu.currency)
    order = say("order_with_total", order=order, total=price)
    text = say("order_rest", why=why, order=order) if missing else say("order_right", order=order)
    yes = Choice(id=YES, text=say("yes"), price=cart.total, price_is_minimum=cart.total_is_minimum)
    answers = yes, Choice(id=NO, text=say("no"))
    return Question(id=REST if missing else RIGHT, text=text, answers=answers)


def _offer(finding: Finding, draft: CartDraft, menu: Menu) -> str:
    """Say why a line can't be had, and what near it can."""
    say, offered = sentences(menu.language), []
    for item, line in _near(draft.lines[finding.line or 0], menu):
        price = unit_price(line, item, menu)
        costs = wording.least(price.amount, price.is_minimum, menu.currency, say)
        offered.append(say("offered_price", item=item.name, price=costs))
    return f"{finding.message} {say('offered', items=say.joined(offered))}" if offered else finding.message


def _near(line: LineDraft, menu: Menu) -> list[tuple[Item, ItemLine]]:
    """Return available items of the line's category that can be had as it was said, each with the line for
    it; first those that share the most words with its item."""
    if not isinstance(line, ItemLine) or (item := menu.item(line.sku)) is None or item.category == UNSORTED:
        return []
    words = {*item.name.split()}
    near = [one for one in menu.items if one.available and one.category == item.category]
    near.sort(key=lambda one: -len(words.intersection(one.name.split())))
    lines = ((one, _with_item(line, one, menu)) for one in near[:MOST_TRIED])
    return list(islice(((one, other) for one, other in lines if _as_said(other, line, menu)), MOST_OFFERED))


def _as_said(other: ItemLine, line: ItemLine, menu: Menu) -> bool:
    """Return True if the menu allows a line that has the size and options of `line`."""
    if (other.size, len(other.options)) != (line.size, len(line.options)):
        return False
    draft = CartDraft(lines=(other,))
    return all(found.code in OPEN_CHOICES for found in check_facts(draft, menu) if found.blocks)


def _offers(draft: CartDraft, menu: Menu) -> list[Choice]:
    """Return what an order of one line may have instead, with the order's total."""
    if len(draft.lines) > 1:
        return []
    offers = []
    for item, line in _near(draft.lines[0], menu):
        other = draft.model_copy(update={"lines": (line,)})
        cart = price_cart(other, menu, 0, Transcript(text="", confidence=0.0), [])
        least = cart.total_is_minimum
        answer = f"{INSTEAD}{item.sku}"
        offers.append(Choice(id=answer, text=item.name, price=cart.total, price_is_minimum=least))
    return offers


def with_instead(draft: CartDraft, answer: str, menu: Menu) -> CartDraft:
    """Return a draft of one line with the item that `answer` names, as far as it has the size and options."""
    line, item = draft.lines[0], menu.item(answer.removeprefix(INSTEAD))
    assert isinstance(line, ItemLine)
    assert item is not None
    return draft.model_copy(update={"lines": (_with_item(line, item, menu),)})


def with_kept_items(draft: CartDraft, before: Cart, menu: Menu) -> CartDraft:
    """Return the draft of more utterances with the earlier cart's items for words whose own can't be had."""
    lines = tuple(_kept(line, before, menu) for line in draft.lines)
    return draft.model_copy(update={"lines": lines})


def _kept(line: LineDraft, before: Cart, menu: Menu) -> LineDraft:
    if not isinstance(line, ItemLine) or (item := menu.item(line.sku)) is None or item.available:
        return line
    had = (menu.item(old.sku) for old in before.lines if old.sku and old.heard.text == line.heard)
    kept = next((one for one in had if one is not None and one.available), None)
    other = None if kept is None else _with_item(line, kept, menu)
    return line if other is None or not _as_said(other, line, menu) else other


def _with_item(line: ItemLine, item: Item, menu: Menu) -> ItemLine:
    """Return the line with another item, without the size and options that it doesn't have."""
    groups = {group.id for group in menu.groups_of(item)}
    options = tuple(option for option in line.options if option.group in groups)
    size = line.size if line.size in item.size_ids else None
    return line.model_copy(update={"sku": item.sku, "size": size, "options": options})


def _nothing(menu: Menu, why: str = "", offers: Sequence[Choice] = ()) -> Question:
    """Ask whether nothing was ordered; or, because of `why`, what the customer would like instead."""
    say = sentences(menu.language)
    nothing = Choice(id=YES, text=say("nothing_wanted"))
    if why:
        answers = *offers, Choice(id=NO, text=say("ask_us")), nothing
        return Question(id=NOTHING, text=say("order_instead", why=why), answers=answers)
    something = Choice(id=NO, text=say("something_wanted"))
    return Question(id=NOTHING, text=say("nothing_right"), answers=(nothing, something))
