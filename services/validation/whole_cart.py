"""The question whether a whole cart is right, for its customer, who knows what they said.

Asked where the language model is fairly sure of a cart and not quite, and where a line of it can't be had:
then the rest may stand. For an empty cart the question is whether nothing was ordered. A yes settles it, a no
is a person's.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas import wording
from schemas.cart import CartDraft, ItemLine
from schemas.decision import ModelAnswer, Trust
from schemas.menu import Menu
from schemas.priced_cart import Finding
from schemas.question import Choice, Question
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.transcript import Transcript
from services.validation.facts import check_facts
from services.validation.price import price_cart, unit_price
from services.validation.questions import NOTHING, OPEN_CHOICES, REST, RIGHT

YES, NO = "yes", "no"
MOST_OFFERED = 2
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
    *,
    sure: bool,
    likely: bool,
) -> tuple[Finding, ...]:
    """Return `findings` with the model's doubt about its cart, and the question that would settle what is
    left in doubt, if one would. `sure` and `likely` are how far the model is believed (`decide`)."""
    if sure and not draft.lines:
        question = _nothing(menu)
        doubt = Finding.blocking("nothing_ordered", question.text, question=question, detail=how_sure(answer))
        return (*findings, doubt)
    missing = {f.line: _offer(f, draft, menu) for f in findings if f.code in _NOT_AVAILABLE}
    if sure and not missing:
        return tuple(findings)
    asked = _right(draft, missing, menu, max_total) if likely else None
    # A line that is left out has no choices to make.
    found = [
        one.model_copy(update={"question": asked}) if one.blocks and one.line in missing else one
        for one in findings
    ]
    if not sure:
        message = sentences(menu.language)("reading_unsure")
        found.append(Finding.blocking("reading_unsure", message, question=asked, detail=how_sure(answer)))
    return tuple(found)


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
        return _nothing(menu, why)
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
    """Say why a line can't be had, and which items of its category can: those with the most of its words."""
    line, say = draft.lines[finding.line or 0], sentences(menu.language)
    item = menu.item(line.sku) if isinstance(line, ItemLine) else None
    if item is None or item.category == UNSORTED:
        return finding.message
    words = {*item.name.split()}
    near = [one for one in menu.items if one.available and one.category == item.category]
    near.sort(key=lambda one: -len(words.intersection(one.name.split())))
    offered = []
    for one in near[:MOST_OFFERED]:
        price = unit_price(ItemLine(kind="item", heard=one.name, sku=one.sku, quantity=1), one, menu)
        costs = wording.least(price.amount, price.is_minimum, menu.currency, say)
        offered.append(say("answer_price", answer=one.name, price=costs))
    return f"{finding.message} {say('offered', items=say.joined(offered))}" if offered else finding.message


def _nothing(menu: Menu, why: str = "") -> Question:
    """Ask whether nothing was ordered; or what the customer would like instead, as `why` says."""
    say = sentences(menu.language)
    text = say("order_instead", why=why) if why else say("nothing_right")
    no = say("ask_us") if why else say("something_wanted")
    answers = Choice(id=YES, text=say("nothing_wanted")), Choice(id=NO, text=no)
    return Question(id=NOTHING, text=text, answers=answers)
