"""The customer's pages: `/` takes an order, `/orders/{id}` shows what becomes of it.

Every step works by plain forms. With scripts, htmx swaps the order's panel as server-sent events come in,
and `speak.js` adds the microphone.
"""

from __future__ import annotations

from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.cart import Cart
from schemas.errors import Conflict, InputError, SaycartError, StaleState
from schemas.lifecycle import STATUS, State
from schemas.order import TextOrder
from schemas.question import CustomerAnswer
from services.api.gate.bodies import media_type, validated
from services.api.intake import Accepted, accept, accept_text, by_page
from services.api.routes.audio import recording
from services.api.routes.events import stream
from services.api.routes.orders import read
from services.desk import Desk
from services.pipeline.review import confirm
from services.validation.judge import judge_chosen
from services.web.customers import customer_view
from services.web.customers.order_access import (
    Acting,
    Holding,
    Opened,
    Visiting,
    hand_over,
    name_visitor,
    visitor_name,
)
from services.web.customers.order_form import read_draft
from services.web.pages import Fields, PageRoute, go, is_fragment, page, problem_page, read_form
from services.web.staff import staff

log = structlog.get_logger(__name__)

router = APIRouter(include_in_schema=False, route_class=PageRoute)

LINKED = 12
"""So many menus are shown as links side by side; more are a list to choose from."""


@router.get("/")
def start(request: Request, box: Visiting, menu: str | None = None) -> Response:
    """Choose a menu, then speak, send a file, or type."""
    shown = page(request, "customer/start.html", **_start(request, box, menu))
    return name_visitor(request, shown, visitor_name(request))


def _start(request: Request, box: Desk, wanted: str | None) -> dict[str, Any]:
    menus = box.menus.headers()
    chosen = next((menu for menu in menus if menu.id == wanted), menus[0] if menus else None)
    return {
        "menus": menus,
        "linked": LINKED,
        "chosen": box.menus.get(chosen.id, chosen.version).menu if chosen else None,
        "max_audio_s": box.settings.max_audio_s,
        "staff": staff.visitor(request),
        "typed": "",
    }


@router.post("/orders")
async def submit(request: Request, box: Visiting) -> Response:
    """Take in a recording (multipart) or a sentence (a plain form), and show the order."""
    visitor = visitor_name(request)
    form, caller = None, by_page(request, box, visitor)
    try:
        if media_type(request) == "multipart/form-data":
            accepted = await accept(request, box, caller)
        else:
            form = await read_form(request)
            sentence = {"transcript": form.get("transcript"), "menu": form.get("menu")}
            accepted = await accept_text(request, box, validated(TextOrder, sentence), caller)
    except SaycartError as error:
        log.info("request.refused", code=error.code, detail=error.detail)
        shown = await run_in_threadpool(_start, request, box, form.get("menu") if form else None)
        shown["typed"] = form.get("transcript") if form else ""
        return problem_page(request, error, "customer/start.html", **shown)
    return name_visitor(request, _followed(request, box, accepted), visitor)


def _followed(request: Request, box: Desk, accepted: Accepted) -> Response:
    answer = hand_over(request, go(request, f"/orders/{accepted.order.id}"), box.shop, accepted.order.id)
    if accepted.created:
        bell = request.app.state.bell
        answer.background = BackgroundTask(bell.ring, box.doorbell, accepted.order.id, accepted.order.state)
    return answer


@router.get("/orders/{order_id}")
def order(order_id: str, request: Request, box: Opened) -> Response:
    """One order: where it is, what was heard, and the cart. A link's capability becomes a cookie first."""
    if isinstance(box, Response):
        return box
    shown = _order(request, box, order_id)
    if not is_fragment(request):
        return page(request, "customer/order.html", **shown)
    # The last fragment takes the place of the whole section, and with it the event stream ends.
    last = {"HX-Retarget": "#order", "HX-Reswap": "outerHTML"} if not shown["live"] else {}
    return page(request, "customer/section.html" if last else "customer/panel.html", headers=last, **shown)


@router.get("/orders/{order_id}/events")
async def events(
    order_id: str,
    request: Request,
    box: Holding,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """The order's events, for its page."""
    return await stream(request, box, order_id, last_event_id)


@router.get("/orders/{order_id}/audio")
def audio(order_id: str, box: Holding) -> Response:
    """The order's recording, for its page."""
    return recording(box, order_id)


def _order(request: Request, box: Desk, order_id: str) -> dict[str, Any]:
    record, review = read(box, order_id)
    menu = box.menus.get(record.menu_id, record.menu_version).menu
    return {"staff": staff.visitor(request), **customer_view.of_order(record, review, menu)}


@router.post("/orders/{order_id}/change")
def change(order_id: str, request: Request, box: Acting, form: Fields) -> Response:
    """The cart as the form would make it, priced; nothing is stored."""
    record, _ = read(box, order_id)
    if record.draft is None or record.cart is None:
        raise Conflict("This order has no cart to change.")
    menu = box.menus.get(record.menu_id, record.menu_version)
    draft, keys = read_draft(form, record.draft, record.cart, menu.menu)
    cart = judge_chosen(draft, menu, record.transcript or customer_view.NOTHING_HEARD).cart
    return _changed(request, box, order_id, cart, keys)


def _changed(request: Request, box: Desk, order_id: str, cart: Cart, keys: list[str]) -> Response:
    """The form for changes with this cart and its price."""
    record, _ = read(box, order_id)
    menu = box.menus.get(record.menu_id, record.menu_version).menu
    changed = customer_view.changing(record, menu, cart, keys)
    if is_fragment(request):
        into_form = {"HX-Retarget": "#change", "HX-Reswap": "outerHTML"}
        return page(request, "customer/change.html", headers=into_form, **changed)
    return page(request, "customer/order.html", **_order(request, box, order_id) | changed | {"open": True})


@router.post("/orders/{order_id}/confirm")
def confirmed(order_id: str, request: Request, box: Acting, form: Fields) -> Response:
    """The customer says yes: to the cart as proposed, or as their form has it."""
    record, _ = read(box, order_id)
    menu = box.menus.get(record.menu_id, record.menu_version)
    corrected = None
    try:
        if form.get("version") != str(record.version) or record.state is not State.PROPOSED:
            raise StaleState("Your order has changed since you opened this page")
        if "line" in form and record.draft and record.cart:
            corrected, keys = read_draft(form, record.draft, record.cart, menu.menu)
        outcome = confirm(record, corrected, menu)
        if corrected and outcome.cart and form.get("total") != str(outcome.cart.total):
            # Changed since the page was last priced: without scripts, or quicker than they are.
            return _changed(request, box, order_id, outcome.cart, keys)
        box.orders.commit(record, outcome)
    except StaleState as error:
        raise Conflict(error.detail, hint="Check your order and try again.") from None
    log.info("order.confirmed", order_id=order_id, corrected=corrected is not None)
    return go(request, f"/orders/{order_id}")


@router.post("/orders/{order_id}/answer")
def answered(order_id: str, request: Request, box: Acting, form: Fields) -> Response:
    """The customer answers the question that is asked now."""
    given = CustomerAnswer(question=form.get("question") or "", answer=form.get("answer") or "")
    try:
        box.answer_order(order_id, given)
    except StaleState as error:
        raise Conflict(error.detail, hint="Check your order and try again.") from None
    return go(request, f"/orders/{order_id}")


@router.post("/orders/{order_id}/again")
def again(order_id: str, request: Request, box: Acting) -> Response:
    """Take the order back and speak again. One that has ended stays as it is."""
    record, _ = read(box, order_id)
    try:
        box.cancel_order(order_id)
    except (Conflict, StaleState):
        current, _ = read(box, order_id)
        if STATUS[current.state] == "completed":
            raise InputError(
                "This order is already being made and can't be cancelled here.", hint="Please ask our staff."
            ) from None
    return go(request, f"/?menu={record.menu_id}")
