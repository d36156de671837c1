"""The content of the review page: words, doubts, the cart as a form, and its changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

from schemas import wording
from schemas.cart import CartDraft
from schemas.compare import same_order
from schemas.menu import Menu, MenuVersion
from schemas.open_questions import STAFF_ANSWERED, STAFF_ASK
from schemas.priced_cart import Cart, CartLine, CartTax, Finding
from schemas.records.orders import OrderRecord
from schemas.records.reviews import Queue, ReviewRecord
from schemas.review import HARD_TO_HEAR
from schemas.transcript import Transcript
from services.shop_scope import ShopScope
from services.validation.decide import judge_chosen
from services.web.staff.review_controls import LineForm, NoteForm, controls_of, notes_controls
from services.web.staff.review_form import FilledForm, draft_of, lines_of, most, notes_of

# A word is marked below the first probability, and marked strongly below the second.
UNSURE, DOUBTFUL = 0.85, HARD_TO_HEAR


@dataclass(frozen=True, slots=True)
class WordView:
    """One word with its times in the recording of an utterance; `level` is `sure`, `unsure` or `doubtful`."""

    text: str
    utterance: int
    start_s: float
    end_s: float
    percent: int
    level: str


@dataclass(frozen=True, slots=True)
class LineView:
    """One line of the form with its price and problems; `priced` is None if it can't be priced."""

    form: LineForm
    priced: CartLine | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CartView:
    """The form with its price. `removed` and `added` are its differences from the proposal."""

    lines: tuple[LineView, ...]
    total: int
    total_is_minimum: bool
    taxes: tuple[CartTax, ...]
    currency: str
    problems: tuple[str, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: bool
    full: bool
    notes: tuple[NoteForm, ...]
    notes_full: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One review with its order and menu."""

    review: ReviewRecord
    order: OrderRecord
    menu: MenuVersion

    @property
    def transcript(self) -> Transcript:
        return self.order.transcript or Transcript(text="", confidence=0.0)


def holder(review: ReviewRecord, now: datetime) -> str | None:
    """Return who holds a review at `now`; None if it is free or its claim has expired."""
    held = review.status == "claimed" and review.lease_until is not None and review.lease_until > now
    return review.claimed_by if held else None


def is_free(review: ReviewRecord, now: datetime) -> bool:
    """Return whether a review waits for a reviewer alone."""
    return holder(review, now) is None and not review.asks(now)


def shown_in(queue: Queue, who: str, show: str) -> Queue:
    """Return the queue with the entries that a filter leaves: `mine`, `free`, `allergy`, or all."""
    kept = {
        "mine": lambda entry: holder(entry.review, queue.now) == who,
        "free": lambda entry: is_free(entry.review, queue.now),
        "allergy": lambda entry: entry.allergy,
    }.get(show, lambda _: True)
    return replace(queue, entries=tuple(filter(kept, queue.entries)))


def case(box: ShopScope, review_id: str) -> Case:
    """Load a review with its order and menu; raises NotFound."""
    review = box.reviews.get(review_id)
    order = box.orders.get(review.order_id)
    return Case(review, order, box.menu_of(order))


def words(transcript: Transcript) -> list[WordView]:
    """Return the words of a recording; none for a text order."""
    return [
        WordView(
            text=word.text.strip(),
            utterance=word.utterance,
            start_s=word.start_s,
            end_s=word.end_s,
            percent=round(word.probability * 100),
            level="sure"
            if word.probability >= UNSURE
            else "unsure"
            if word.probability >= DOUBTFUL
            else "doubtful",
        )
        for word in transcript.words
    ]


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
    now = filled or draft_of(lines_of(shown.order.draft), notes_of(shown.order.draft))
    cart, problems = _priced(shown, now.draft) if now.draft is not None else (None, now.problems)
    before, after = _described(shown.review.proposed, menu), _described(cart, menu)
    forms = controls_of(now.lines, menu)
    return CartView(
        lines=tuple(
            LineView(form, cart.lines[form.index] if cart else None, tuple(problems.get(form.index, ())))
            for form in forms
        ),
        total=cart.total if cart else 0,
        total_is_minimum=cart is not None and cart.total_is_minimum,
        taxes=tuple(cart.taxes) if cart else (),
        currency=menu.currency,
        problems=tuple(problems.get(-1, ())),
        removed=tuple((before - after).elements()) if cart else (),
        added=tuple((after - before).elements()),
        changed=now.draft is None or not same(now.draft, shown.order.draft),
        full=len(now.lines) >= most("lines"),
        notes=notes_controls(now.notes, menu),
        notes_full=len(now.notes) >= most("notes"),
    )


def same(one: CartDraft, other: CartDraft | None) -> bool:
    """Return whether two drafts are the same order."""
    return other is not None and same_order(one, other)


def _priced(shown: Case, draft: CartDraft) -> tuple[Cart, dict[int, list[str]]]:
    cart, findings = judge_chosen(draft, shown.menu, shown.transcript)
    problems: dict[int, list[str]] = {}
    for finding in findings:
        if finding.blocks:
            line = -1 if finding.line is None else finding.line
            problems.setdefault(line, []).append(finding.message)
    return cart, problems


def _described(cart: Cart | None, menu: Menu) -> Counter[str]:
    if cart is None:
        return Counter()
    sizes = {size.id: size.name for size in menu.sizes}
    lines = [wording.line(line, sizes, menu.currency) for line in cart.lines]
    # Without its line number, which may change while the note stays the same.
    notes = [note.model_copy(update={"line": None}) for note in cart.notes]
    return Counter([*lines, *(wording.note(note, cart) for note in notes)])
