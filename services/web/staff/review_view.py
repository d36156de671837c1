"""The content of the review pages: words, doubts in staff's words, the cart as a form, and its changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from schemas import cart as cart_schema
from schemas import wording
from schemas.cart import Amount, CartDraft, NoteKind
from schemas.compare import same_order
from schemas.menu import MenuVersion
from schemas.open_questions import STAFF_ANSWERED, STAFF_ASK
from schemas.priced_cart import Cart, Finding
from schemas.records.orders import OrderRecord
from schemas.records.reviews import QueueEntry, ReviewRecord
from schemas.review import HARD_TO_HEAR, ReviewReason
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.transcript import Word
from services.shop_scope import ShopScope
from services.validation.decide import judge_chosen
from services.validation.dietary import allergen_in
from services.web.pages import TEMPLATES
from services.web.staff.review_form import (
    FilledForm,
    Groups,
    LineView,
    NoteFields,
    filled_from,
    items,
    line_view,
)

TEMPLATES.globals |= {
    "cart_schema": cart_schema,
    "amounts": {amount.value: amount.value for amount in Amount},
    "kinds": {kind.value: kind.value for kind in NoteKind},
}

# A word is marked below this probability, and marked strongly below `HARD_TO_HEAR`.
UNSURE = 0.85
MOST_IN_ROW = 2
# Findings that quote the customer; what the others quote is on the menu.
_OF_CUSTOMER = frozenset({"allergy_said", "heard_quietly", "not_on_menu", "reading_unsure", STAFF_ANSWERED})
# Findings whose sentence names a group or a number that staff need to fix the line.
COUNTED = {
    "missing_required_option",
    "missing_more_options",
    "too_many_choices",
    "too_many_in_group",
    "option_over_limit",
}


@dataclass(frozen=True, slots=True)
class CartView:
    """The form with its price. `removed` and `added` are its differences from the proposal."""

    lines: tuple[LineView, ...]
    notes: Sequence[NoteFields]
    items: Groups
    priced: Cart | None
    currency: str
    problems: tuple[str, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One review with its order and menu."""

    review: ReviewRecord
    order: OrderRecord
    menu: MenuVersion


def case(box: ShopScope, review_id: str) -> Case:
    """Load a review with its order and menu; raises NotFound."""
    review = box.reviews.get(review_id)
    order = box.orders.get(review.order_id)
    return Case(review, order, box.menu_of(order))


def level(word: Word) -> str:
    """Return how sure the recognizer was of a word: `sure`, `unsure` or `doubtful`."""
    if word.probability >= UNSURE:
        return "sure"
    return "unsure" if word.probability >= HARD_TO_HEAR else "doubtful"


def unsure(order: OrderRecord) -> list[str]:
    """Return what the model was least sure of."""
    return [piece.text for piece in order.answer.unsure[:2]] if order.answer else []


def findings(order: OrderRecord) -> list[Finding]:
    """Return the order's findings, blocking ones first, without what staff asked and its answers."""
    found = [one for one in order.findings if one.code not in (STAFF_ASK, STAFF_ANSWERED)]
    return sorted(found, key=lambda finding: not finding.blocks)


def cart_view(shown: Case, filled: FilledForm | None = None) -> CartView:
    """Return the form as filled in, or its initial state, priced from the order's menu version."""
    menu = shown.menu.menu
    now = filled or filled_from(shown.order.draft or CartDraft(lines=()))
    cart, problems = _priced(shown, now.draft) if now.draft is not None else (None, now.problems)
    unchosen = {number for number, line in enumerate(now.lines) if line.unchosen}
    if cart is not None:
        problems |= {number: ["choose an item"] for number in unchosen}
    before, after = _described(shown.review.proposed), _described(cart, unchosen)
    return CartView(
        lines=tuple(
            line_view(line, menu, cart.lines[number] if cart else None, problems.get(number, ()))
            for number, line in enumerate(now.lines)
        ),
        notes=now.notes,
        items=items(menu),
        priced=cart,
        currency=menu.currency,
        problems=tuple(problems.get(-1, ())),
        removed=tuple((before - after).elements()) if cart else (),
        added=tuple((after - before).elements()),
        changed=now.draft is None or not same_order(now.draft, shown.order.draft),
    )


def _priced(shown: Case, draft: CartDraft) -> tuple[Cart, dict[int, list[str]]]:
    cart, findings = judge_chosen(draft, shown.menu, shown.order.known_transcript)
    problems: dict[int, list[str]] = {}
    for finding in findings:
        if finding.blocks:
            line = -1 if finding.line is None else finding.line
            said = finding.message if finding.code in COUNTED else doubt(finding)
            problems.setdefault(line, []).append(said)
    return cart, problems


def _described(cart: Cart | None, without: Set[int] = frozenset()) -> Counter[str]:
    if cart is None:
        return Counter()
    lines = [wording.line(line, cart.currency) for n, line in enumerate(cart.lines) if n not in without]
    # Without its line number, which may change while the note stays the same.
    notes = [note.model_copy(update={"line": None}) for note in cart.notes]
    return Counter([*lines, *(wording.note(note, cart) for note in notes)])


def in_short(code: str) -> str:
    """Return a reason or finding in a few words of English, for staff."""
    texts = sentences(ENGLISH).texts
    return texts.get(f"doubt_{code}", texts["doubt_blocking_finding"])


def doubt(found: Finding, unsure: Sequence[str] = ()) -> str:
    """Return a finding in a few words, as in `sold out: flan`. `unsure` are the model's least sure words."""
    words = re.findall("“([^”]+)”", found.message)[:1]
    if found.code == "allergy_said" and words and (allergen := allergen_in(words[0])):
        return f"allergy: {allergen}"
    if found.code == "reading_unsure":
        words = list(unsure)
    short = in_short(found.code)
    return _quoting(short, words) if found.code in _OF_CUSTOMER else ": ".join([short, *words])


def row_doubts(entry: QueueEntry, now: datetime) -> list[str]:
    """Return the doubts that a row of the queue has room for: the customer's answer, then allergies."""
    by_customer = {STAFF_ANSWERED} if entry.review.asks(now) else {STAFF_ANSWERED, STAFF_ASK}
    shown = [doubt(found) for found in entry.findings if found.code in by_customer][:1]
    for found in entry.findings:
        if found.code == "reading_unsure" and entry.unused:
            shown.append(f"{_quoted(entry.unused[:2])} unused")
        elif found.blocks:
            shown.append(doubt(found, entry.unsure))
    for cause in wording.unsaid(entry.review.reasons, entry.findings):
        unheard = cause is ReviewReason.LOW_ASR_CONFIDENCE
        shown.append(_quoting(in_short(cause), entry.unsure if unheard else ()))
    return list(dict.fromkeys(shown))[:MOST_IN_ROW]


def _quoting(doubt: str, words: Sequence[str]) -> str:
    return f"{doubt}: {_quoted(words)}" if words else doubt


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{one}”" for one in words)
