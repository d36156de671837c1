"""The customer's page in a real browser: what each state of an order says, and how a cart is confirmed.

Nothing runs behind `cafe`, so the tests move the orders themselves; `test_customer_stack.py` has the real
workers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import av
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from schemas.cart import CartDraft
from schemas.lifecycle import Event, State
from schemas.menu import Menu
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from services.api.routes.events import RECONNECT_MS
from services.pipeline import stages
from tests.browser.conftest import DESKTOP, PHONE, assert_usable, watched
from tests.browser.review_desk import SURE, decoded
from tests.integration.api_world import MENU, World, wav
from tests.stand_ins import TESTER

SCRIPT = "<script>document.title='owned'</script>"
HOSTILE = {
    **MENU,
    "id": "hostile",
    "name": f"Hostile {SCRIPT}",
    "items": [*MENU["items"], {"sku": "bomb", "name": SCRIPT, "price": 100, "aliases": ["<b>bold</b>"]}],
}
LATTE: dict[str, Any] = {"kind": "item", "heard": "a large latte", "sku": "latte", "quantity": 1, "size": "L"}


@pytest.fixture
def page(browser: Browser, cafe: World) -> Iterator[Page]:
    with watched(browser, cafe.url) as tab:
        yield tab


def placed(cafe: World, text: str = "a large latte", menu: dict[str, Any] = MENU) -> OrderRecord:
    """Return a new order as the page makes it, to be confirmed by its customer."""
    stored, _ = cafe.parts.menus.put(Menu.parse(menu), by=TESTER)
    new = NewOrder(
        menu_id=stored.menu.id,
        menu_version=stored.version,
        language="en",
        transcript=Transcript(text=text, confidence=1.0),
        confirm=True,
    )
    order: OrderRecord = cafe.parts.orders.create(new)[0]
    return order


def propose(
    cafe: World, order: OrderRecord, *lines: dict[str, Any], notes: Sequence[dict[str, str]] = ()
) -> OrderRecord:
    """Return the order with this draft, proposed to its customer."""
    order, cart, _ = decoded(cafe, order, lines, notes)
    final: OrderRecord = cafe.parts.orders.commit(order, Outcome(Event.PROPOSED, cart=cart))
    assert final.state is State.PROPOSED
    return final


def proposed(
    cafe: World, *lines: dict[str, Any], notes: Sequence[dict[str, str]] = (), **placing: Any
) -> OrderRecord:
    """Return a new order, proposed to its customer."""
    return propose(cafe, placed(cafe, **placing), *(lines or (LATTE,)), notes=notes)


def test_a_typed_order_moves_on_live_and_is_confirmed(page: Page, cafe: World) -> None:
    page.goto(f"/?menu={MENU['id']}")
    page.get_by_label("Your order").fill("a large latte")
    page.get_by_role("button", name="Send order").click()
    page.wait_for_url("**/orders/ord_*")
    expect(page.get_by_role("heading", name="One moment")).to_be_visible()
    order = cafe.parts.orders.get(page.url.rpartition("/")[2])
    assert order.confirm
    expect(page.locator("[aria-current=step]")).to_have_text(sentences("en")("step_decode"))
    draft = CartDraft.model_validate({"lines": [LATTE]})
    order = cafe.parts.orders.commit(order, Outcome(Event.DECODED, draft=draft, answer=SURE))
    expect(page.locator("[aria-current=step]")).to_have_text(sentences("en")("step_validate"))
    cafe.parts.orders.commit(order, stages.validate(order, cafe.parts.tools))
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
    page.get_by_role("button", name="Yes, order for $5.50").click()
    expect(page.get_by_role("heading", name="Thanks, your order is in")).to_be_visible()
    assert cafe.parts.orders.get(order.id).state is State.COMPLETED


def test_a_cart_is_corrected_by_tapping_with_the_menus_prices(page: Page, cafe: World) -> None:
    order = proposed(cafe)
    page.goto(cafe.link(order.id))
    page.get_by_text("Change something", exact=True).click()
    expect(page.get_by_role("button", name="Order with these changes")).to_be_visible()
    expect(page.get_by_role("button", name="Yes, order for")).to_be_hidden()
    page.get_by_label("small").check()
    expect(page.locator("#changed-total")).to_have_text("$4.50")
    page.locator("summary", has_text="Milk").click()
    page.get_by_label("oat milk").check()
    expect(page.locator("#changed-total")).to_have_text("$5.10")
    page.get_by_label("Add something").select_option("bagel")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#changed-total")).to_have_text("$9.09")
    page.get_by_label("How many").nth(1).fill("2")
    page.get_by_label("How many").nth(1).blur()
    expect(page.locator("#changed-total")).to_have_text("$13.08")
    assert cafe.parts.orders.get(order.id).version == order.version, "a look at the price stores nothing"
    page.get_by_role("button", name="Order with these changes").click()
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    done = cafe.parts.orders.get(order.id)
    assert done.state is State.COMPLETED
    assert done.cart.total == 1308
    assert [(x.sku, x.quantity, x.size, x.heard.text) for x in done.cart.lines] == [
        ("latte", 1, "S", "a large latte"),
        ("bagel", 2, None, "bagel"),
    ]
    assert cafe.parts.orders.events(order.id)[-1].detail == {"corrected": True}


def test_scripts_in_words_and_menus_are_shown_as_text(page: Page, cafe: World) -> None:
    bomb = {"kind": "item", "heard": SCRIPT, "sku": "bomb", "quantity": 1}
    order = proposed(cafe, bomb, text=f"one {SCRIPT}", menu=HOSTILE)
    page.goto(cafe.link(order.id))
    expect(page.locator(".name")).to_have_text(SCRIPT)
    expect(page.locator("blockquote")).to_have_text(f"one {SCRIPT}")
    page.get_by_text("Change something", exact=True).click()
    page.get_by_label("How many").fill("2")
    page.get_by_label("How many").blur()
    expect(page.locator("#changed-total")).to_have_text("$2.00")
    page.goto("/?menu=hostile")
    expect(page.locator(".menus a[aria-current]")).to_have_text(f"Hostile {SCRIPT}")
    assert "owned" not in page.title()


def test_a_bad_file_is_refused_in_words_without_scripts(browser: Browser, cafe: World) -> None:
    with watched(browser, cafe.url, java_script_enabled=False) as page:
        page.goto(f"/?menu={MENU['id']}")
        file = {"name": "a.wav", "mimeType": "audio/wav", "buffer": wav(1.0) + bytes(1_100_000)}
        page.get_by_label("Choose a recording").set_input_files([file])  # type: ignore[list-item]
        page.get_by_role("button", name="Send recording").click()
        expect(page.get_by_role("alert")).to_contain_text("too large")
        expect(page.get_by_role("heading", name="What would you like?")).to_be_visible()


def drop_file(page: Page, target: str, name: str, body: bytes) -> None:
    """Drop a file on `target`, as from the desktop."""
    made = page.evaluate_handle(
        """([name, bytes]) => {
            const dragged = new DataTransfer();
            dragged.items.add(new File([new Uint8Array(bytes)], name, { type: "audio/wav" }));
            return dragged;
        }""",
        [name, list(body)],
    )
    for kind in ("dragenter", "dragover"):
        page.dispatch_event(target, kind, {"dataTransfer": made})
    expect(page.locator("#drop")).to_have_class(re.compile("over"))
    page.dispatch_event(target, "drop", {"dataTransfer": made})


def test_a_dropped_file_is_sent(page: Page, cafe: World) -> None:
    page.goto(f"/?menu={MENU['id']}")
    drop_file(page, "h1", "notes.wav", b"this is no recording at all")
    expect(page.get_by_role("alert")).to_contain_text("Unsupported audio")
    # Checked here: an accepted file leads to another page, which has no such field.
    expect(page.locator("#drop")).not_to_have_class(re.compile("over"))
    body = wav(0.2)
    drop_file(page, "#drop", "order.wav", body)
    page.wait_for_url("**/orders/ord_*")
    order_id = page.url.rpartition("/")[2]
    assert cafe.http.get(f"/v1/orders/{order_id}/audio").content == body


@pytest.mark.parametrize("way", ["finger", "space"])
def test_a_tap_begins_and_another_ends_a_recording(browser: Browser, cafe: World, way: str) -> None:
    """Uses Chromium's own microphone, which beeps."""
    with watched(browser, cafe.url, viewport=PHONE, has_touch=True) as page:
        page.goto(f"/?menu={MENU['id']}")
        mic = page.get_by_role("button", name="Hold to talk")
        tap = mic.tap if way == "finger" else lambda: page.keyboard.press(" ")
        tap()
        expect(page.get_by_text("Listening…")).to_be_visible()
        expect(mic).to_have_attribute("aria-pressed", "true")
        page.wait_for_timeout(600)
        tap()
        page.wait_for_url("**/orders/ord_*")
        order = cafe.parts.orders.get(page.url.rpartition("/")[2])
        assert (order.state, order.confirm) == (State.RECEIVED, True)
        with av.open(str(cafe.parts.blobs.path(order.audio_key))) as heard:
            seconds = sum(frame.samples / frame.sample_rate for frame in heard.decode(audio=0))
        assert seconds >= 0.5, "it goes on after the first tap"


def test_without_scripts_an_order_is_followed_and_confirmed(browser: Browser, cafe: World) -> None:
    order = proposed(cafe)
    waiting = placed(cafe)
    with watched(browser, cafe.url, java_script_enabled=False) as page:
        page.goto(cafe.link(waiting.id))
        assert page.locator("noscript meta[http-equiv=refresh]").get_attribute("content") == "2"
        page.goto(cafe.link(order.id))
        assert page.locator("meta[http-equiv=refresh]").count() == 0
        page.get_by_text("Change something", exact=True).click()
        page.get_by_label("small").check()
        page.get_by_role("button", name="Order with these changes").click()
        expect(page.locator("#changed-total")).to_have_text("$4.50")
        assert cafe.parts.orders.get(order.id).state is State.PROPOSED, "no total that was not shown"
        page.get_by_role("button", name="Order with these changes").click()
        expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    assert cafe.parts.orders.get(order.id).cart.total == 450


@pytest.mark.parametrize("viewport", [DESKTOP, {"width": 320, "height": 640}], ids=["desktop", "narrow"])
def test_the_pages_fit_and_are_accessible(browser: Browser, cafe: World, viewport: dict[str, int]) -> None:
    long = {**LATTE, "heard": "a large latte with " + "very " * 15}
    order = proposed(cafe, long, LATTE, text="a" * 300 + " large latte " * 20)
    with watched(browser, cafe.url, viewport=viewport) as page:
        own, error = cafe.link(placed(cafe).id), "/problems/not_found"
        for address in ("/", "/nowhere", "/orders/ord_nothing", own, "/docs", error, "/sign-in"):
            page.goto(address)
            assert_usable(page)
        page.goto(cafe.link(order.id))
        page.get_by_text("Change something", exact=True).click()
        assert_usable(page)


def test_the_policy_is_strict_on_every_page(cafe: World) -> None:
    for address in ("/", f"/orders/{placed(cafe).id}", "/orders/ord_nothing", "/menu"):
        answer = cafe.http.get(address)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "microphone=(self)" in answer.headers["permissions-policy"]
        assert "<style" not in answer.text
        assert " style=" not in answer.text


def test_a_panel_that_comes_late_asks_again(page: Page, cafe: World) -> None:
    """An event that arrives while a panel is being loaded isn't lost."""
    order = placed(cafe, "a large latte")
    page.goto(cafe.link(order.id))
    expect(page.locator("[aria-current=step]")).to_have_text(sentences("en")("step_decode"))
    draft = CartDraft.model_validate({"lines": [LATTE]})
    moved: list[OrderRecord] = []

    def late(route: Route) -> None:
        """Answer with the old panel, after the next event."""
        panel = route.fetch()
        if len(moved) == 1:
            moved.append(cafe.parts.orders.commit(moved[0], stages.validate(moved[0], cafe.parts.tools)))
            page.wait_for_timeout(500)
        route.fulfill(response=panel)

    page.route(f"**/orders/{order.id}", late)
    moved.append(cafe.parts.orders.commit(order, Outcome(Event.DECODED, draft=draft, answer=SURE)))
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
    assert [one.state for one in moved] == [State.DECODED, State.PROPOSED]


def test_the_end_of_the_events_is_no_fault(page: Page, cafe: World) -> None:
    order = placed(cafe)
    listened: list[str] = []
    held: list[Route] = []
    page.on("request", lambda request: listened.append(request.url) if "/events" in request.url else None)
    page.goto(cafe.link(order.id))
    expect(page.get_by_role("heading", name="One moment")).to_be_visible()
    page.route(f"**/orders/{order.id}", lambda route: held.append(route))
    with page.expect_request(f"**/orders/{order.id}"):
        cafe.parts.orders.cancel(order.id)
    # The server ends its stream now, and a browser would reconnect after a second; no panel has come.
    page.wait_for_timeout(RECONNECT_MS + 1_500)
    assert (len(held), len(listened)) == (1, 1)
    held[0].continue_()
    expect(page.get_by_role("heading", name="This order was cancelled")).to_be_visible()
