"""The review pages: the queue, its statistics, and a page for each order. Changes use the same `ShopScope`
as `/v1/reviews`; the reviewer is the signed-in person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas import wording
from schemas.compare import same_order
from schemas.errors import Conflict, InputError, InvalidCart, NotFound, SaycartError, StaleState
from schemas.open_questions import question_of
from schemas.question import StaffQuestion
from schemas.review import ReviewDecision
from services.api.gate.bodies import validated
from services.pipeline.ask_customer import answers_so_far, ready_questions
from services.shop_scope import ShopScope
from services.validation.explained import explain
from services.web.pages import TEMPLATES, Fields, Form, PageRoute, filled, is_fragment, page, redirect
from services.web.staff import review_view as view
from services.web.staff.review_form import FilledForm, read
from services.web.staff.staff import ReviewScope

router = APIRouter(prefix="/review", include_in_schema=False, route_class=PageRoute)

TEMPLATES.filters |= {"reason": view.in_short, "lasted": wording.lasted, "percent": wording.percent}

SHOWN = 50
# Free reviews to try in turn: colleagues may claim some at the same moment.
CANDIDATES = 20
STATISTICS_DAYS = 30
COMMONEST = 8


@router.get("")
def queue(request: Request, box: ReviewScope, after: str = "", show: str = "") -> Response:
    """Show the queue: allergies, then the longest waiting. Its rows alone are polled every few seconds."""
    waiting = box.reviews.queue(SHOWN, show, box.person)
    doubts = {entry.review.id: view.row_doubts(entry, waiting.now) for entry in waiting.entries}
    template = "review/rows.html" if is_fragment(request) else "review/queue.html"
    return page(request, template, queue=waiting, show=show, doubts=doubts, last=_last(box, after))


@router.post("/next")
def claim_next(request: Request, box: ReviewScope) -> Response:
    """Claim the next free review, or continue with one already claimed."""
    return _to_next(request, box)


@router.get("/stats")  # before the page of a review, whose id it would be
def stats(request: Request, box: ReviewScope) -> Response:
    """Show when orders come, how long they take, what was in doubt, and what reviewers decided."""
    orders, decided = box.order_statistics(STATISTICS_DAYS), box.decided(STATISTICS_DAYS)
    return page(
        request,
        "review/stats.html",
        orders=orders,
        days=[
            (f"{d:%a %d %b}", f"{d:%d %b}" if d.isoweekday() == 1 else "", n) for d, n in orders.days.items()
        ],
        hours=[(f"{h:02}:00", f"{h:02}:00" if h % 6 == 0 else "", n) for h, n in enumerate(orders.hours)],
        asked_for=_commonest(orders.asked_for),
        to_staff_for=_commonest(orders.to_staff_for),
        items=orders.items.most_common(COMMONEST),
        waiting=box.reviews.queue(1).waiting,
        decided=decided,
        corrections=decided.changes.most_common(COMMONEST),
        people=decided.people.most_common(COMMONEST),
    )


@router.get("/{review_id}")
def one(request: Request, review_id: str, box: ReviewScope, after: str = "") -> Response:
    """Show one review."""
    return _screen(request, box, view.case(box, review_id), last=_last(box, after))


@router.post("/{review_id}/claim")
def claim(request: Request, review_id: str, box: ReviewScope) -> Response:
    """Claim this review; if a colleague was faster, the page says who."""
    try:
        box.reviews.claim(review_id, box.person, box.settings.review_lease_s)
    except Conflict as error:
        return _screen(request, box, view.case(box, review_id), error)
    return redirect(request, f"/review/{review_id}")


@router.post("/{review_id}/renew")
def renew(request: Request, review_id: str, box: ReviewScope) -> Response:
    """Renew the claim; the page does so while it is open."""
    lost: str | None = None
    try:
        box.reviews.claim(review_id, box.person, box.settings.review_lease_s, held=True)
    except Conflict as error:
        lost = error.detail
    return page(request, "review/lease.html", **_lease(box, view.case(box, review_id), lost))


@router.post("/{review_id}/release")
def release(request: Request, review_id: str, box: ReviewScope) -> Response:
    """Return the review to the queue."""
    box.reviews.release(review_id, box.person)
    return redirect(request, "/review")


@router.post("/{review_id}/cart")
def cart(request: Request, review_id: str, box: ReviewScope, fields: Fields) -> Response:
    """Price the cart in the form, with its problems and its differences from the proposal."""
    shown = view.case(box, review_id)
    return page(request, "review/cart.html", **_cart(shown, read(fields, shown.menu.menu)))


@router.get("/{review_id}/why")
def why(request: Request, review_id: str, box: ReviewScope) -> Response:
    """Explain the decision: what the words may mean, and the model's confidence."""
    shown = view.case(box, review_id)
    order, menu, text = shown.order, shown.menu, shown.order.known_transcript.text
    explanation = explain(text, menu.menu, menu.version, answer=order.answer, decision=order.decision)
    return page(request, "review/why.html", why=explanation)


@router.post("/{review_id}/ask")
def ask(request: Request, review_id: str, box: ReviewScope, fields: Fields) -> Response:
    """Ask the customer and continue with the next review; on a conflict show the order as it is now."""
    values: dict[str, Any] = {"version": fields.version, "question": fields.get("question") or None}
    if "text" in fields:
        answers = [answer for answer in fields.all("answer") if answer.strip()]
        values |= {"text": fields.get("text"), "answers": answers}
    try:
        box.ask_customer(review_id, validated(StaffQuestion, values))
    except (InputError, StaleState) as error:
        return _screen(request, box, view.case(box, review_id), error)
    return _to_next(request, box, after=review_id)


@router.post("/{review_id}/decide")
def decide(request: Request, review_id: str, box: ReviewScope, fields: Fields) -> Response:
    """Store the decision and continue with the next review; on a conflict show the order as it is now."""
    shown = view.case(box, review_id)
    entered = None if fields.get("action") == "reject" else read(fields, shown.menu.menu)
    try:
        decision = _decision(shown, fields, entered)
        if entered is None and fields.get("all") == "yes":
            box.reject_visitor(review_id, decision.reason or "")
        else:
            box.decide_review(review_id, decision)
    except (Conflict, InvalidCart, StaleState) as error:
        return _screen(request, box, view.case(box, review_id), error, entered=entered)
    return _to_next(request, box, after=review_id)


def _decision(shown: view.Case, fields: Form, entered: FilledForm | None) -> ReviewDecision:
    """Parse the form's decision; raises InvalidCart or InputError for the reviewer."""
    values: dict[str, Any] = {"reason": fields.get("reason")[:500] or None, "version": fields.version}
    if entered is None:
        if not values["reason"]:
            raise InputError("A rejection needs a reason", hint="Say why in a few words.")
        return ReviewDecision(action="reject", **values)
    if entered.draft is None:
        raise InvalidCart([(f"line {n + 1}", text) for n, all_ in entered.problems.items() for text in all_])
    if same_order(entered.draft, shown.order.draft):
        return ReviewDecision(action="approve", **values)
    return ReviewDecision(action="correct", cart=entered.draft, **values)


def _to_next(request: Request, box: ShopScope, after: str = "") -> Response:
    who, back = box.person, f"?after={after}" if after else ""
    own, free = box.reviews.queue(1, "mine", who), box.reviews.queue(CANDIDATES, "free")
    for entry in own.entries + free.entries:
        try:
            box.reviews.claim(entry.review.id, who, box.settings.review_lease_s)
        except (Conflict, NotFound):
            continue  # a colleague was faster
        return redirect(request, f"/review/{entry.review.id}{back}")
    return redirect(request, f"/review{back}")


def _screen(
    request: Request,
    box: ShopScope,
    shown: view.Case,
    refused: SaycartError | None = None,
    *,
    entered: FilledForm | None = None,
    last: view.Case | None = None,
) -> Response:
    now = box.reviews.queue(1)
    return filled(
        request,
        "review/one.html",
        refused,
        mine=shown.review.holder(now.now) == box.person,
        holder=shown.review.holder(now.now),
        age_s=(now.now - shown.review.created_at).total_seconds(),
        words=shown.order.known_transcript.words,
        level=view.level,
        findings=view.findings(shown.order),
        unsaid=wording.unsaid(shown.review.reasons, shown.order.findings),
        doubt=view.doubt,
        unsure=view.unsure(shown.order),
        ready=ready_questions(shown.order, shown.menu.menu),
        answers=answers_so_far(shown.order),
        question=question_of(shown.order),
        asked=shown.review.asks(now.now),
        acts=box.reviews.acts(shown.review.id),
        history=box.orders.events(shown.order.id),
        threshold=box.settings.asr_threshold,
        refused=refused,
        last=last,
        of_visitor=len(box.reviews.of_visitor(shown.review.id)),
        **_cart(shown, entered),
        **_lease(box, shown, None),
    )


def _cart(shown: view.Case, entered: FilledForm | None) -> Mapping[str, Any]:
    return {"review_id": shown.review.id, "cart": view.cart_view(shown, entered)}


def _lease(box: ShopScope, shown: view.Case, lost: str | None) -> Mapping[str, Any]:
    every = max(1, round(box.settings.review_lease_s / 3))
    return {"shown": shown, "lost": lost, "renew_every_s": every, "waiting": box.reviews.queue(1).waiting}


def _last(box: ShopScope, review_id: str) -> view.Case | None:
    """Return the previously decided review, shown at the top of the next one."""
    if not review_id:
        return None
    try:
        return view.case(box, review_id)
    except NotFound:
        return None


def _commonest(codes: Counter[str]) -> list[tuple[str, int]]:
    """Return the most common doubts in staff's words, which several codes may share."""
    return Counter(view.in_short(code) for code in codes.elements()).most_common(COMMONEST)
