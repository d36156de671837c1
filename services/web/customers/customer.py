"""The customer's pages: `/` takes an order, `/orders/{id}` shows its progress.

Everything works with plain forms. With scripts, htmx updates the order's panel on server-sent events, and
`speak.js` adds the microphone.
"""

from __future__ import annotations

from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.cart import CartDraft
from schemas.errors import Conflict, InputError, NotFound, OtherTotal, SaycartError, StaleState
from schemas.lifecycle import STATUS
from schemas.order import Confirmation, TextOrder, TextUtterance
from schemas.question import CustomerAnswer
from schemas.records.orders import OrderRecord
from schemas.sentences.sentences import ENGLISH, sentences
from services.api.gate.bodies import media_type, validated
from services.api.intake import accept, accept_utterance
from services.api.receiving import Accepted, by_page
from services.api.routes.audio import Number, recording
from services.api.routes.events import stream
from services.api.routes.orders import read
from services.shop_scope import ShopScope
from services.validation.decide import judge_chosen
from services.web.customers import customer_view
from services.web.customers.order_access import (
    KIOSK_COOKIE,
    Acting,
    Holding,
    Opened,
    Visiting,
    grant_order,
    home,
    is_kiosk,
    looks,
    name_visitor,
    visitor_name,
)
from services.web.customers.order_form import read_draft
from services.web.pages import Fields, PageRoute, is_fragment, page, problem_page, read_form, redirect
from services.web.staff.staff import set_cookie

log = structlog.get_logger(__name__)

router = APIRouter(include_in_schema=False, route_class=PageRoute)

MAX_NAME_CHARS = 40


@router.get("/")
def start(request: Request, box: Visiting, menu: str | None = None) -> Response:
    """Choose a menu, then speak, send a file, or type."""
    shown = page(request, "customer/start.html", **_start(request, box, menu, kiosk=False))
    shown.delete_cookie(KIOSK_COOKIE)
    return name_visitor(request, shown, visitor_name(request))


@router.get("/kiosk/{shop}")
def kiosk(shop: str, request: Request, box: Visiting, menu: str | None = None) -> Response:
    """Speak, tap on the menu or type, on a screen that customers share."""
    if shop != box.shop:
        raise NotFound("No kiosk here.", hint="Open the shop's order page in this browser first.")
    shown = page(request, "customer/kiosk.html", **_start(request, box, menu, kiosk=True))
    set_cookie(request, shown, KIOSK_COOKIE, shop)
    return name_visitor(request, shown, visitor_name(request))


def _start(
    request: Request, box: ShopScope, menu_id: str | None, *, kiosk: bool | None = None
) -> dict[str, Any]:
    menus = box.menus.headers()
    newest = next((menu for menu in menus if menu.id == menu_id), menus[0] if menus else None)
    chosen = box.menus.get(newest.id, newest.version).menu if newest else None
    return {
        **looks(request, box, kiosk=kiosk),
        "menus": menus,
        "chosen": chosen,
        "say": sentences(chosen.language if chosen else ENGLISH),
        "max_audio_s": box.settings.max_audio_s,
        "typed": "",
    }


@router.post("/orders")
async def submit(request: Request, box: Visiting) -> Response:
    """Accept a recording (multipart) or a text (plain form), and show the order."""
    visitor = visitor_name(request)
    form, caller = None, by_page(request, box, visitor)
    try:
        if media_type(request) == "multipart/form-data":
            accepted = await accept(request, box, caller)
        else:
            form = await read_form(request)
            sentence: dict[str, Any] = {"transcript": form.get("transcript"), "menu": form.get("menu")}
            if name := form.get("name"):
                sentence["metadata"] = {"name": name[:MAX_NAME_CHARS]}
            accepted = await accept(request, box, caller, validated(TextOrder, sentence))
    except SaycartError as error:
        log.info("request.refused", code=error.code, detail=error.detail)
        shown = await run_in_threadpool(_start, request, box, form.get("menu") if form else None)
        shown["typed"] = form.get("transcript") if form else ""
        template = "customer/kiosk.html" if shown["kiosk"] else "customer/start.html"
        return problem_page(request, error, template, **shown)
    return name_visitor(request, _followed(request, box, accepted), visitor)


def _followed(request: Request, box: ShopScope, accepted: Accepted) -> Response:
    page_url = f"/orders/{accepted.order.id}"
    answer = grant_order(request, redirect(request, page_url), box.shop, accepted.order.id)
    if accepted.created:
        bell = request.app.state.bell
        answer.background = BackgroundTask(bell.ring, box.doorbell, accepted.order.id, accepted.order.state)
    return answer


@router.get("/orders/{order_id}")
def order(order_id: str, request: Request, box: Opened) -> Response:
    """Show an order's progress, transcript and cart. A link's capability becomes a cookie first."""
    if isinstance(box, Response):
        return box
    shown = _order(request, box, order_id)
    if not is_fragment(request):
        return page(request, "customer/order.html", **shown)
    # The last fragment replaces the whole section, which ends the event stream.
    last = {"HX-Retarget": "#order", "HX-Reswap": "outerHTML"} if not shown["live"] else {}
    return page(request, "customer/section.html" if last else "customer/panel.html", headers=last, **shown)


@router.get("/orders/{order_id}/events")
async def events(
    order_id: str, request: Request, box: Holding, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Stream the order's events to its page."""
    return await stream(request, box, order_id, last_event_id)


@router.get("/orders/{order_id}/audio")
def audio(order_id: str, box: Holding, utterance: Number = None) -> Response:
    """Serve the order's recording to its page."""
    return recording(box, order_id, utterance)


def _order(request: Request, box: ShopScope, order_id: str) -> dict[str, Any]:
    record, review = read(box, order_id)
    menu = box.menu_of(record).menu
    shown = customer_view.of_order(record, review, menu) | looks(request, box)
    return {"max_audio_s": box.settings.max_audio_s, **shown}


@router.post("/orders/{order_id}/change")
def change(order_id: str, request: Request, box: Acting, form: Fields) -> Response:
    """Price the cart as changed in the form; nothing is stored."""
    record, _ = read(box, order_id)
    if record.draft is None or record.cart is None:
        raise Conflict("This order has no cart to change.")
    draft, keys = read_draft(form, record.draft, record.cart, box.menu_of(record).menu)
    return _changed(request, box, record, draft, keys)


def _changed(
    request: Request, box: ShopScope, record: OrderRecord, draft: CartDraft, keys: list[str]
) -> Response:
    """Return the form for changes with this cart and its price."""
    menu = box.menu_of(record)
    cart, _ = judge_chosen(draft, menu, record.known_transcript)
    changed = customer_view.changing(record, menu.menu, cart, keys)
    if is_fragment(request):
        into_form = {"HX-Retarget": "#change", "HX-Reswap": "outerHTML settle:0ms"}
        return page(request, "customer/change.html", headers=into_form, **changed)
    return page(request, "customer/order.html", **_order(request, box, record.id) | changed | {"open": True})


@router.post("/orders/{order_id}/confirm")
def confirmed(order_id: str, request: Request, box: Acting, form: Fields) -> Response:
    """Confirm the cart as proposed, or as changed in the form."""
    record, _ = read(box, order_id)
    given, keys = validated(Confirmation, {"version": form.version}), list[str]()
    try:
        if "line" in form and record.draft and record.cart:
            cart, keys = read_draft(form, record.draft, record.cart, box.menu_of(record).menu)
            total = form.get("total")
            shown = {"cart": cart, "total": int(total) if total.isdecimal() else -1}
            given = given.model_copy(update=shown)
        box.confirm_order(order_id, given)
    except OtherTotal:
        # Changed since the page was last priced: without scripts, or faster than they were.
        return _changed(request, box, record, cart, keys)
    except (Conflict, StaleState):
        raise _stale() from None
    return redirect(request, f"/orders/{order_id}")


def _stale() -> Conflict:
    return Conflict("Your order has changed since you opened this page", hint="Check it and try again.")


@router.post("/orders/{order_id}/answer")
def answered(order_id: str, request: Request, box: Acting, form: Fields) -> Response:
    """Answer the order's open question."""
    given = {name: form.get(name) for name in ("question", "answer")} | {"version": form.version}
    if form.version != box.orders.get(order_id).version:
        raise _stale()
    try:
        box.answer_order(order_id, validated(CustomerAnswer, given))
    except StaleState:
        raise _stale() from None
    return redirect(request, f"/orders/{order_id}")


@router.post("/orders/{order_id}/utterances")
async def add_utterance(order_id: str, request: Request, box: Acting) -> Response:
    """Add a recording (multipart) or a text (plain form) to the order."""
    caller, text = by_page(request, box, visitor_name(request)), None
    if media_type(request) != "multipart/form-data":
        form = await read_form(request)
        text = validated(TextUtterance, {"transcript": form.get("transcript")})
    return _followed(request, box, await accept_utterance(request, box, order_id, caller, text))


@router.post("/orders/{order_id}/again")
def again(order_id: str, request: Request, box: Acting) -> Response:
    """Cancel the order and start over. A finished order stays as it is."""
    record, _ = read(box, order_id)
    try:
        box.cancel_order(order_id)
    except (Conflict, StaleState):
        current, _ = read(box, order_id)
        if STATUS[current.state] == "completed":
            raise InputError(
                "This order is already being made and can't be cancelled here.", hint="Please ask our staff."
            ) from None
    return redirect(request, f"{home(box, kiosk=is_kiosk(request, box))}?menu={record.menu_id}")
