"""The question whether a whole cart is right, for its customer, who knows what they said.

Asked where the language model is fairly sure of a cart and not quite, and where a line of it can't be had:
then the rest may stand. For an empty cart the question is whether nothing was ordered. A yes settles it, a no
is a person's.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas import wording
from schemas.cart import CartDraft
from schemas.decision import ModelAnswer, Policy
from schemas.menu import Menu
from schemas.priced_cart import Finding
from schemas.question import Choice, Question
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from services.retrieval.words import MEASURED
from services.validation.facts import check_facts
from services.validation.price import price_cart
from services.validation.questions import NOTHING, OPEN_CHOICES, REST, RIGHT

YES, NO = "yes", "no"
# Findings on a line that can be left out, so that the rest of the cart may stand.
_NOT_AVAILABLE = frozenset({"not_on_menu", "item_unavailable", "item_outside_hours"})


def with_question(
    answer: ModelAnswer, draft: CartDraft, findings: Sequence[Finding], menu: Menu, policy: Policy
) -> tuple[Finding, ...]:
    """Return `findings` with the model's doubt about its cart, and the question that would settle what is
    left in doubt, if one would."""
    # In other languages it was not measured how far the model can be believed.
    probability = answer.probability if menu.language in MEASURED else 0.0
    sure = probability >= policy.accept_from
    if sure and not draft.lines:
        question = _nothing(menu)
        doubt = Finding.blocking("nothing_ordered", question.text, question=question, detail=_detail(answer))
        return (*findings, doubt)
    missing = {f.line: f.message for f in findings if f.code in _NOT_AVAILABLE}
    if sure and not missing:
        return tuple(findings)
    asked = _right(draft, missing, menu, policy) if probability >= policy.ask_from else None
    found = [_settled(finding, asked) if finding.line in missing else finding for finding in findings]
    if not sure:
        message = sentences(menu.language)("reading_unsure")
        found.append(Finding.blocking("reading_unsure", message, question=asked, detail=_detail(answer)))
    return tuple(found)


def without_missing(draft: CartDraft, findings: Sequence[Finding], question: Question) -> CartDraft:
    """Return the draft that a yes to `question` stands for: without the lines that it leaves out."""
    return _without(draft, [finding.line for finding in findings if finding.question == question])


def _without(draft: CartDraft, numbers: Sequence[int | None]) -> CartDraft:
    lines = tuple(line for number, line in enumerate(draft.lines) if number not in numbers)
    return draft.model_copy(update={"lines": lines})


def _settled(finding: Finding, question: Question | None) -> Finding:
    """The finding with `question` in place of its own: a line that is left out has no choices to make."""
    return finding.model_copy(update={"question": question}) if finding.blocks else finding


def _detail(answer: ModelAnswer) -> str:
    """Describe the model's doubt to a reviewer."""
    doubt = f"The language model is {wording.percent(answer.probability)} sure of its cart."
    if answer.unsure:
        unsure = (f"“{piece.text}” ({wording.percent(piece.probability)})" for piece in answer.unsure)
        doubt += f" Least sure of: {', '.join(unsure)}."
    return doubt


def _right(draft: CartDraft, missing: dict[int | None, str], menu: Menu, policy: Policy) -> Question | None:
    """Ask whether the cart is right without the `missing` lines, with its total. None where it is not the
    customer's to say yes: nothing is left, the menu does not allow it, or it is too dear."""
    rest = _without(draft, list(missing))
    if any(found.blocks and found.code not in OPEN_CHOICES for found in check_facts(rest, menu)):
        return None
    # The menu's version and the words are shown with the cart and don't affect its price.
    total = price_cart(rest, menu, 0, Transcript(text="", confidence=0.0), []).total
    if total > policy.max_total:
        return None
    say = sentences(menu.language)
    order, price = wording.drafted(rest, menu, menu.language), wording.money(total, menu.currency)
    order = say("order_with_total", order=order, total=price)
    why = " ".join(dict.fromkeys(missing.values()))
    text = say("order_rest", why=why, order=order) if missing else say("order_right", order=order)
    answers = Choice(id=YES, text=say("yes")), Choice(id=NO, text=say("no"))
    return Question(id=REST if missing else RIGHT, text=text, answers=answers)


def _nothing(menu: Menu) -> Question:
    say = sentences(menu.language)
    answers = Choice(id=YES, text=say("nothing_wanted")), Choice(id=NO, text=say("something_wanted"))
    return Question(id=NOTHING, text=say("nothing_right"), answers=answers)
