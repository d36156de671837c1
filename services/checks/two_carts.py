"""The question that tells two readings of an order apart, made from where their carts differ.

"Oat milk or soy milk with 1 × latte?", or both carts whole where they differ in more than one place; and
where there is one cart alone, whether that is right; an empty one, whether nothing was ordered. Whoever finds
none right says so, and a human looks.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.cart import Amount, CartDraft, Finding, Portion
from schemas.compare import Chosen, LineKey, canonical_draft
from schemas.decision import Agreement, Readings
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.question import Choice, Question
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from schemas.wording import begun, drafted, drafted_line, money, on_part, so_much
from services.checks.facts import check_facts
from services.checks.judge import doubts_of
from services.checks.naming import option_name
from services.checks.price import price_cart
from services.checks.questions import HEARD, OF_HEARING, OF_WORDS
from services.checks.two_readers import findings_of
from services.reading.language.language import measured

WHICH, RIGHT, NOTHING = "order/which", "order/right", "order/nothing"
WHOLE = frozenset({WHICH, RIGHT, NOTHING, HEARD})
FIRST, SECOND, NEITHER, YES, NO = "first", "second", "neither", "yes", "no"
PROPOSED, OTHER, DECLINED = frozenset({FIRST, YES}), frozenset({SECOND}), frozenset({NEITHER, NO})
"""What each answer picks: the cart that is proposed, the other reading's, or none."""

ASK = 0.5
"""Probability of the learned reader's cart from which an order that the rules leave open is shown to its
customer: chosen on the tuned menus, with `two_readers.SURE` and `LIKELY`, so that with one customer of four
saying yes to a cart that is not theirs at most 1% of all orders are wrong and nobody saw it
(docs/training.md)."""

# Words that a yes to this cart would leave aside, and so are said with the question.
_LEFT_ASIDE = frozenset({"heard_but_missing", "unexplained_words"})
_MOST_SAID = 2


def question_about(
    readings: Readings,
    draft: CartDraft,
    findings: Sequence[Finding],
    menu: Menu,
    *,
    most: float,
    ask_at: float = ASK,
) -> Question | None:
    """What would settle the doubt that two readings left; None where only a human can.

    `draft` is the cart that is proposed. Only carts that the menu allows as they are, without a wish off it,
    and of a total of `most` minor units or less, are put to a customer. In a language whose readings were not
    measured nobody is asked of two of them: how often there is a right answer is not known.
    """
    if not _is_likely(readings, menu, ask_at):
        return None
    if readings.agreement is Agreement.CONFIDENT and not draft.lines:
        return _nothing(menu)
    settled, other = readings.settled, readings.other
    if settled and not _only_heard_badly(findings):
        return None
    price = _price(draft, menu, most)
    if price is None:
        return None
    if settled:
        return _confirming(HEARD, draft, findings, menu, price)
    if other is None:
        return _confirming(RIGHT, draft, findings, menu, price)
    its_price = _price(other, menu, most)
    if its_price is not None:
        return which_cart(draft, other, menu, (price, its_price))
    # Where the rules have no doubt, a reader that saw a wish off the menu may have seen more than they.
    if readings.agreement is Agreement.DIFFER and _wishes_off(other):
        return None
    return _confirming(RIGHT, draft, findings, menu, price)


def _is_likely(readings: Readings, menu: Menu, ask_at: float) -> bool:
    """Whether it is known, and often enough, that a cart which is shown is right."""
    if not measured(menu.language):
        return False
    return readings.agreement is not Agreement.UNSURE or readings.probability >= ask_at


def only_words(readings: Readings, draft: CartDraft, evidence: Evidence) -> bool:
    """Whether the doubt that two readings left is one to put to the customer, as far as words and menu go;
    `draft` as of `question_about`. Not where something of the menu was heard and is in no cart:
    it says nothing against what is there, but may be what was misheard."""
    codes = {found.code for found in doubts_of(draft, evidence.menu, evidence) if found.blocks}
    return _is_likely(readings, evidence.menu, ASK) and codes <= OF_WORDS - {"heard_but_missing"}


def _wishes_off(draft: CartDraft) -> bool:
    return any(line.kind == "not_on_menu" for line in draft.lines)


def which_cart(one: CartDraft, other: CartDraft, menu: Menu, prices: tuple[int, int]) -> Question | None:
    """Ask which of two carts it is, by the one place where they differ, or by showing both; None where they
    are called alike. `prices` are their totals in minor units."""
    say = sentences(menu.language)
    told = _in_one_place(one, other, menu)
    if told is None:
        carts = [_told(cart, menu, price) for cart, price in zip((one, other), prices, strict=True)]
        told = say("which_order"), carts[0], carts[1]
    text, first, second = told
    if first == second:
        return None
    answers = (
        Choice(id=FIRST, text=begun(first), price=prices[0]),
        Choice(id=SECOND, text=begun(second), price=prices[1]),
        Choice(id=NEITHER, text=say("neither")),
    )
    return Question(id=WHICH, text=begun(text), answers=answers)


def _nothing(menu: Menu) -> Question:
    say = sentences(menu.language)
    answers = Choice(id=YES, text=say("nothing_wanted")), Choice(id=NO, text=say("something_wanted"))
    return Question(id=NOTHING, text=say("nothing_right"), answers=answers)


def with_question(
    readings: Readings,
    draft: CartDraft,
    findings: Sequence[Finding],
    menu: Menu,
    question: Question | None,
) -> tuple[Finding, ...]:
    """What was found, and what two readers left in doubt, with the `question` on what it is about; `draft`
    is the cart that is proposed."""
    if question is None or question.id != HEARD:
        return (*findings, *findings_of(readings, menu, question, draft))
    asked = next(f for f in findings if f.code in OF_HEARING and f.blocks)
    return tuple(f.model_copy(update={"question": question}) if f is asked else f for f in findings)


def _only_heard_badly(findings: Sequence[Finding]) -> bool:
    """Whether all that is in doubt is that some of the order was hard to hear."""
    codes = {found.code for found in findings if found.blocks}
    return bool(codes) and codes <= OF_HEARING


def _confirming(
    asked: str, draft: CartDraft, findings: Sequence[Finding], menu: Menu, price: int
) -> Question:
    say = sentences(menu.language)
    aside = [found.message for found in findings if found.code in _LEFT_ASIDE and found.blocks][:_MOST_SAID]
    text = " ".join([*aside, say("order_right", order=_told(draft, menu, price))])
    answers = (Choice(id=YES, text=say("yes")), Choice(id=NO, text=say("no")))
    return Question(id=asked, text=text, answers=answers)


def _price(draft: CartDraft, menu: Menu, most: float) -> int | None:
    """What a cart costs; None where it is not a customer's to say yes to."""
    if any(found.blocks for found in check_facts(draft, menu)):
        return None
    # The menu's version and the words are what the cart shows, and no part of its price.
    total = price_cart(draft, menu, 0, Transcript(text="", confidence=0.0), []).total
    return total if total <= most else None


def _in_one_place(one: CartDraft, other: CartDraft, menu: Menu) -> tuple[str, str, str] | None:
    """The question, and what either cart has there; None where they differ in more than one place."""
    ours, theirs = canonical_draft(one), canonical_draft(other)
    differ = [key for key in {*ours, *theirs} if ours[key] != theirs[key]]
    if len(differ) == 1:
        (key,) = differ
        return _of_one_count(key, ours[key], theirs[key], menu)
    if len(differ) != 2:
        return None
    here, there = sorted(differ, key=lambda key: not ours[key])
    count = ours[here]
    if theirs[here] or ours[there] or theirs[there] != count:
        return None
    return _of_one_line(here, there, count, menu)


def _of_one_count(key: LineKey, mine: int, its: int, menu: Menu) -> tuple[str, str, str]:
    """A line that only one of the carts has, or so often."""
    say = sentences(menu.language)
    if mine and its:
        name = drafted_line(key, mine, menu, menu.language).partition(" × ")[2]
        counts = say.joined((str(mine), str(its)), "or")
        return say("how_many", counts=counts, item=name), f"{mine} × {name}", f"{its} × {name}"
    line = drafted_line(key, mine or its, menu, menu.language)
    first, second = say("with", what=line), say("without")
    return say("line_too", line=line), *((first, second) if mine else (second, first))


def _of_one_line(here: LineKey, there: LineKey, count: int, menu: Menu) -> tuple[str, str, str]:
    """Two accounts of one line: by its size or by one option, where that is all; else by both as a whole."""
    say = sentences(menu.language)
    (kind, sku, size, options), (_, its_sku, its_size, its_options) = here, there
    if sku == its_sku and options == its_options and size and its_size:
        first, second = (_size(one, menu) for one in (size, its_size))
        plain = drafted_line((kind, sku, None, options), count, menu, menu.language)
        return say("which_for_line", choices=say.joined((first, second), "or"), line=plain), first, second
    mine, others = options - its_options, its_options - options
    if sku == its_sku and size == its_size and len(mine) <= 1 and len(others) <= 1:
        line = drafted_line((kind, sku, size, options & its_options), count, menu, menu.language)
        if mine and others:
            first, second = (_option(next(iter(one)), menu) for one in (mine, others))
            return say("which_with_line", choices=say.joined((first, second), "or"), line=line), first, second
        return _of_one_option(next(iter(mine or others)), bool(mine), line, menu)
    first, second = (drafted_line(key, count, menu, menu.language) for key in (here, there))
    return say("one_or_other", first=first, second=second), first, second


def _of_one_option(which: Chosen, ours: bool, line: str, menu: Menu) -> tuple[str, str, str]:
    """An option that only one of the two accounts has: ours, or the other."""
    say, chosen = sentences(menu.language), _option(which, menu)
    refused = chosen.startswith(so_much(Amount.NONE, "", menu.language))
    said = chosen if refused else say("with", what=chosen)
    unsaid = say("as_it_comes") if refused else say("without")
    first, second = (said, unsaid) if ours else (unsaid, said)
    return say("line_either_way", line=line, first=first, second=second), first, second


def _told(draft: CartDraft, menu: Menu, price: int) -> str:
    order, total = drafted(draft, menu, menu.language), money(price, menu.currency)
    return sentences(menu.language)("order_with_total", order=order, total=total)


def _option(chosen: Chosen, menu: Menu) -> str:
    group, ref, amount, times, portion = chosen
    counted = f"{times} × " * (times > 1) + option_name(group, ref, menu, Amount(amount))
    return on_part(Portion(portion), counted, menu.language)


def _size(size: str, menu: Menu) -> str:
    known = menu.size(size)
    return known.name if known is not None else size
