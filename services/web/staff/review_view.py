"""What the review page shows of an order: its words, its doubts, its cart as a form, and what was changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from schemas import wording
from schemas.cart import Cart, CartDraft, CartLine, Finding
from schemas.compare import same_order
from schemas.menu import Menu
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord
from schemas.transcript import Transcript
from services.desk import Desk
from services.validation.judge import judge_chosen
from services.web.staff.review_controls import LineForm, NoteForm, controls_of, notes_controls
from services.web.staff.review_form import Read, draft_of, lines_of, most, notes_of

# Probability of a word under which it is marked, and under which it is marked twice.
UNSURE, DOUBTFUL = 0.85, 0.6


@dataclass(frozen=True, slots=True)
class WordView:
    """One word with its place in seconds; `level` is `sure`, `unsure` or `doubtful`."""

    text: str
    start_s: float
    end_s: float
    percent: int
    level: str


@dataclass(frozen=True, slots=True)
class LineView:
    """One line of the form with its price and what is wrong with it; `priced` is None while it can't be."""

    form: LineForm
    priced: CartLine | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CartView:
    """The form with its price. `removed` and `added` are what differs from the machine's proposal."""

    lines: tuple[LineView, ...]
    total: int
    total_is_minimum: bool
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
    """One review, its order and its menu, as read at one moment."""

    review: ReviewRecord
    order: OrderRecord
    menu: MenuVersion

    @property
    def heard(self) -> Transcript:
        return self.order.transcript or Transcript(text="", confidence=0.0)

    @property
    def start(self) -> CartDraft | None:
        """What the form begins with: what a first reviewer decided, else what the machine proposed."""
        standing = self.review.standing
        return standing.cart if standing and standing.cart else self.order.draft


def holder(review: ReviewRecord, now: datetime) -> str | None:
    """Who holds a review at `now`, None when it is free or the lease has run out."""
    held = review.status == "claimed" and review.lease_until is not None and review.lease_until > now
    return review.claimed_by if held else None


def case(box: Desk, review_id: str) -> Case:
    """Raises NotFound."""
    review = box.reviews.get(review_id)
    order = box.orders.get(review.order_id)
    return Case(review, order, box.menus.get(order.menu_id, order.menu_version))


def words(heard: Transcript) -> list[WordView]:
    """The words of a recording; empty for an order that came as text."""
    return [
        WordView(
            text=word.text.strip(),
            start_s=word.start_s,
            end_s=word.end_s,
            percent=round(word.probability * 100),
            level="sure"
            if word.probability >= UNSURE
            else "unsure"
            if word.probability >= DOUBTFUL
            else "doubtful",
        )
        for word in heard.words
    ]


def findings(order: OrderRecord) -> list[Finding]:
    """What the machine noticed, doubts first."""
    return sorted(order.findings, key=lambda found: not found.blocks)


def cart_view(shown: Case, filled: Read | None = None) -> CartView:
    """The form as filled in, or as it begins, priced from the order's menu version."""
    menu = shown.menu.menu
    now = filled or draft_of(lines_of(shown.start), notes_of(shown.start))
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
    """Whether two drafts are the same order."""
    return other is not None and same_order(one, other)


def compared(before: Cart | None, after: Cart | None, menu: Menu) -> tuple[list[str], list[str]]:
    """What is only in `before`, and what is only in `after`, in words."""
    old, new = _described(before, menu), _described(after, menu)
    return list((old - new).elements()), list((new - old).elements())


def price(shown: Case, draft: CartDraft) -> Cart:
    """The draft as a priced cart of the order's menu version."""
    return _priced(shown, draft)[0]


def _priced(shown: Case, draft: CartDraft) -> tuple[Cart, dict[int, list[str]]]:
    judged = judge_chosen(draft, shown.menu, shown.heard)
    problems: dict[int, list[str]] = {}
    for one in judged.findings:
        if one.blocks:
            problems.setdefault(-1 if one.line is None else one.line, []).append(one.message)
    return judged.cart, problems


def _described(cart: Cart | None, menu: Menu) -> Counter[str]:
    if cart is None:
        return Counter()
    sizes = {size.id: size.name for size in menu.sizes}
    told = [wording.line(line, sizes, menu.currency) for line in cart.lines]
    # Without its line, which may change with a note that stays as it is.
    notes = [note.model_copy(update={"line": None}) for note in cart.notes]
    return Counter([*told, *(wording.note(note, cart) for note in notes)])
