"""The review page: the queue, and one screen for one order. Every change goes through the same desk as
`/v1/reviews`; the reviewer is the person signed in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas import wording
from schemas.errors import Conflict, InputError, InvalidCart, NotFound, StaleState
from schemas.explanation import VERDICTS
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewDecision
from services.api.present import nickname
from services.api.routes.audio import recording
from services.desk import Desk
from services.validation.explained import explain
from services.web.pages import TEMPLATES, Fields, Form, PageRoute, go, page
from services.web.staff import review_view as view
from services.web.staff.review_form import Read, read
from services.web.staff.staff import ReviewDesk, Reviewer

router = APIRouter(prefix="/review", include_in_schema=False, route_class=PageRoute)

TEMPLATES.filters |= {"reason": wording.reason, "lasted": wording.lasted, "nickname": nickname}
TEMPLATES.filters |= {"percent": wording.percent}

SHOWN = 50
# Of those that wait longest so many are looked at for the next to take.
LOOKED_AT = 200


@router.get("")
def queue(request: Request, box: ReviewDesk, _staff: Reviewer, after: str = "") -> Response:
    """What waits, longest first."""
    return page(request, "review/queue.html", queue=box.reviews.queue(SHOWN), last=_last(box, after))


@router.get("/queue")
def queue_now(request: Request, box: ReviewDesk, _staff: Reviewer) -> Response:
    """The list alone, asked for every few seconds."""
    return page(request, "review/rows.html", queue=box.reviews.queue(SHOWN))


@router.post("/next")
def next_one(request: Request, box: ReviewDesk, staff: Reviewer) -> Response:
    """Take the next free order, or go on with the one that is held already."""
    return _to_next(request, box, staff.name)


@router.get("/{review_id}")
def one(request: Request, review_id: str, box: ReviewDesk, staff: Reviewer, after: str = "") -> Response:
    """One order: hear it, read it, settle it."""
    return _screen(request, box, staff.name, view.case(box, review_id), last=_last(box, after))


@router.post("/{review_id}/claim")
def claim(request: Request, review_id: str, box: ReviewDesk, staff: Reviewer) -> Response:
    """Take this order; when a colleague was faster, the page says who."""
    try:
        box.reviews.claim(review_id, staff.name, box.settings.review_lease_s)
    except Conflict as error:
        return _screen(request, box, staff.name, view.case(box, review_id), status=409, refused=error)
    return go(request, f"/review/{review_id}")


@router.post("/{review_id}/renew")
def renew(request: Request, review_id: str, box: ReviewDesk, staff: Reviewer) -> Response:
    """Hold it for longer; the page asks for as long as it is open."""
    lost: str | None = None
    try:
        box.reviews.renew(review_id, staff.name, box.settings.review_lease_s)
    except Conflict as error:
        lost = error.detail
    return page(request, "review/lease.html", **_lease(box, view.case(box, review_id), lost))


@router.post("/{review_id}/release")
def release(request: Request, review_id: str, box: ReviewDesk, staff: Reviewer) -> Response:
    """Put it back into the queue."""
    box.reviews.release(review_id, staff.name)
    return go(request, "/review")


@router.post("/{review_id}/cart")
def cart(request: Request, review_id: str, box: ReviewDesk, _staff: Reviewer, fields: Fields) -> Response:
    """The cart as it is filled in, with its price, its problems and what differs from the proposal."""
    shown = view.case(box, review_id)
    return page(request, "review/cart.html", **_cart(shown, read(fields, shown.menu.menu)))


@router.get("/{review_id}/why")
def why(request: Request, review_id: str, box: ReviewDesk, _staff: Reviewer) -> Response:
    """What its words may mean and how sure the model was, for the panel of this page."""
    shown = view.case(box, review_id)
    order, menu, text = shown.order, shown.menu, shown.heard.text
    found = explain(text, menu.menu, menu.version, answer=order.answer, decision=order.decision)
    return page(request, "review/why.html", why=found if text.strip() else None, verdicts=VERDICTS)


@router.get("/{review_id}/audio")
def audio(review_id: str, box: ReviewDesk) -> Response:
    """The order's recording, for the player of this page."""
    return recording(box, box.reviews.get(review_id).order_id)


@router.post("/{review_id}/played")
def played(review_id: str, box: ReviewDesk, staff: Reviewer, fields: Fields) -> Response:
    """Record that the recording was listened to, from and to which second."""
    try:
        start_s = float(fields.get("start_s"))
        end_s = float(fields.get("end_s")) if fields.get("end_s") else None
        if not 0 <= start_s <= (end_s or start_s) < float("inf"):
            raise ValueError
    except ValueError:
        raise InputError("Start and end must be seconds from 0, and the end not before the start") from None
    box.review_log.played(review_id, staff.name, start_s, end_s)
    return Response(status_code=204)


@router.post("/{review_id}/decide")
def decide(request: Request, review_id: str, box: ReviewDesk, staff: Reviewer, fields: Fields) -> Response:
    """Settle it as the form says, then go on with the next; a stale decision is shown what changed."""
    shown = view.case(box, review_id)
    filled = None if fields.get("action") == "reject" else read(fields, shown.menu.menu)
    try:
        decision = _decision(shown, fields, filled)
        if filled is None and fields.get("all") == "yes":
            box.reject_visitor(review_id, decision.reason or "")
        else:
            box.decide_review(review_id, decision)
    except InvalidCart as error:
        return _screen(request, box, staff.name, shown, status=422, refused=error, filled=filled)
    except (Conflict, StaleState) as error:
        return _conflict(request, box, view.case(box, review_id), error, filled)
    return _to_next(request, box, staff.name, after=review_id)


def _decision(shown: view.Case, fields: Form, filled: Read | None) -> ReviewDecision:
    """Raises InvalidCart or InputError, in words for the one who filled it in."""
    said: dict[str, Any] = {"reason": fields.get("reason")[:500] or None}
    try:
        said["version"] = int(fields.get("version"))
    except ValueError:
        raise InputError("The form has no version") from None
    if filled is None:
        if not said["reason"]:
            raise InputError("A rejection needs a reason", hint="Say why in a few words.")
        return ReviewDecision(action="reject", **said)
    if filled.draft is None:
        raise InvalidCart([(f"line {n + 1}", text) for n, all_ in filled.problems.items() for text in all_])
    if view.same(filled.draft, shown.order.draft):
        return ReviewDecision(action="approve", **said)
    return ReviewDecision(action="correct", cart=filled.draft, **said)


def _to_next(request: Request, box: Desk, who: str, after: str = "") -> Response:
    back = f"?after={after}" if after else ""
    waiting = box.reviews.queue(LOOKED_AT)
    free = [e.review for e in waiting.entries if _may_take(e.review, who, waiting.now)]
    for review in sorted(free, key=lambda review: review.claimed_by != who):  # one's own first
        try:
            box.reviews.claim(review.id, who, box.settings.review_lease_s)
        except (Conflict, NotFound):
            continue  # a colleague was faster
        return go(request, f"/review/{review.id}{back}")
    return go(request, f"/review{back}")


def _may_take(review: ReviewRecord, who: str, now: datetime) -> bool:
    """Whether a claim has a chance: not held by another, and not waiting for a second person."""
    if review.standing is not None and review.standing.by == who:
        return False
    return view.holder(review, now) in (None, who)


def _screen(
    request: Request,
    box: Desk,
    who: str,
    shown: view.Case,
    *,
    status: int = 200,
    refused: InputError | None = None,
    filled: Read | None = None,
    last: view.Case | None = None,
) -> Response:
    now = box.reviews.queue(1)
    return page(
        request,
        "review/one.html",
        status=status,
        mine=view.holder(shown.review, now.now) == who,
        holder=view.holder(shown.review, now.now),
        age_s=(now.now - shown.review.created_at).total_seconds(),
        words=view.words(shown.heard),
        findings=view.findings(shown.order),
        unsaid=wording.unsaid(shown.review.reasons, shown.order.findings),
        acts=box.review_log.of(shown.review.id),
        history=box.orders.events(shown.order.id),
        threshold=box.settings.asr_threshold,
        refused=refused,
        last=last,
        of_visitor=len(box.reviews.of_visitor(shown.review.id)),
        **_cart(shown, filled),
        **_lease(box, shown, None),
    )


def _conflict(
    request: Request, box: Desk, shown: view.Case, error: InputError | StaleState, filled: Read | None
) -> Response:
    wanted = view.price(shown, filled.draft) if filled and filled.draft else None
    stands = shown.order.cart if shown.review.status == "decided" else None
    theirs, yours = view.compared(stands, wanted, shown.menu.menu)
    return page(
        request,
        "review/conflict.html",
        status=409,
        shown=shown,
        error=error,
        theirs=theirs,
        yours=yours,
        acts=box.review_log.of(shown.review.id),
    )


def _cart(shown: view.Case, filled: Read | None) -> Mapping[str, Any]:
    sizes = {size.id: size.name for size in shown.menu.menu.sizes}
    return {"review_id": shown.review.id, "cart": view.cart_view(shown, filled), "sizes": sizes}


def _lease(box: Desk, shown: view.Case, lost: str | None) -> Mapping[str, Any]:
    every = max(1, round(box.settings.review_lease_s / 3))
    return {"shown": shown, "lost": lost, "renew_every_s": every, "waiting": box.reviews.queue(1).waiting}


def _last(box: Desk, review_id: str) -> view.Case | None:
    """The order that was settled just before, to say so at the top of the next."""
    if not review_id:
        return None
    try:
        return view.case(box, review_id)
    except NotFound:
        return None
