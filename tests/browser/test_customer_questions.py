"""Open choices and corrections on the customer's page: nothing is made at a total that wasn't shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.cart import CartDraft
from schemas.decision import ModelAnswer
from schemas.lifecycle import Event, State
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from services.pipeline import stages
from tests.browser.conftest import DESKTOP, PHONE, assert_usable, watched
from tests.browser.review_desk import SURE, Desk, decoded, take
from tests.browser.test_customer import LATTE, placed
from tests.integration.api_world import MENU, World
from tests.stand_ins import options

TAQUERIA: dict[str, Any] = {
    "id": "taqueria",
    "name": "Taqueria",
    "currency": "USD",
    "language": "en",
    "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
    "option_groups": [
        {"id": "filling", "name": "filling", "required": True, "options": [
            *options("chicken", price=0), *options("steak", price=150)]},
        {"id": "salsa", "name": "salsa", "required": True, "options": options(
            *(f"salsa number {n}" for n in range(1, 9)), price=0)},
    ],
    "items": [
        {"sku": "burrito", "name": "burrito", "price": 825, "option_groups": ["filling", "salsa"]},
        {"sku": "horchata", "name": "horchata", "prices": {"S": 300, "L": 450}},
    ],
}  # fmt: skip
BURRITO: dict[str, Any] = {"kind": "item", "heard": "a burrito", "sku": "burrito", "quantity": 1}
HORCHATAS: dict[str, Any] = {"kind": "item", "heard": "two horchatas", "sku": "horchata", "quantity": 2}
CHICKEN = {"options": [{"group": "filling", "id": "chicken"}, {"group": "salsa", "id": "salsa-number-1"}]}
BAGEL: dict[str, Any] = {"kind": "item", "heard": "a bagel", "sku": "bagel", "quantity": 1}
SOLD_OUT = MENU | {"id": "sold-out", "items": [
    *MENU["items"][:1], {"sku": "scone", "name": "scone", "price": 300},
    {"sku": "bagel", "name": "bagel", "price": 399, "category": "bakery", "available": False},
    {"sku": "everything-bagel", "name": "everything bagel", "price": 425, "category": "bakery"},
]}  # fmt: skip
SAID = "a burrito and two horchatas"
UNCLEAR = (ReviewReason.BLOCKING_FINDING,)


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def page(browser: Browser, cafe: World, request: pytest.FixtureRequest) -> Iterator[Page]:
    with watched(browser, cafe.url, viewport=request.param) as tab:
        yield tab


@pytest.fixture(scope="module")
def desk(cafe: World) -> Desk:
    return Desk(cafe)


def doubted(
    cafe: World,
    *lines: dict[str, Any],
    reasons: tuple[ReviewReason, ...] = UNCLEAR,
    menu: dict[str, Any] = TAQUERIA,
    text: str = SAID,
) -> OrderRecord:
    """Return an order in review, with the choices that these lines leave open."""
    order, cart, findings = decoded(cafe, placed(cafe, text, menu), lines)
    outcome = Outcome(Event.DOUBTED, cart=cart, findings=findings, reasons=reasons)
    final: OrderRecord = cafe.parts.orders.commit(order, outcome)
    return final


def judged(cafe: World, order: OrderRecord, *lines: dict[str, Any], sure: ModelAnswer = SURE) -> OrderRecord:
    """Return the order with this cart, decided by the pipeline."""
    draft = CartDraft.model_validate({"lines": lines})
    order = cafe.parts.orders.commit(order, Outcome(Event.DECODED, draft=draft, answer=sure))
    final: OrderRecord = cafe.parts.orders.commit(order, stages.validate(order, cafe.parts.tools))
    return final


def press(page: Page, answer: str) -> None:
    page.locator("#question").get_by_role("button", name=answer, exact=True).click()


def total(page: Page) -> str:
    return page.locator(".cart .total").inner_text().replace("\n", " ")


def test_several_open_choices_are_asked_in_turn_each_with_its_cost(page: Page, cafe: World) -> None:
    order = doubted(cafe, BURRITO, HORCHATAS)
    page.goto(cafe.link(order.id))
    shown = []
    for answer in ("steak, from $9.75", "salsa number 7, $9.75", "small, $3.00 each"):
        shown.append((page.locator("h1").inner_text(), total(page)))
        assert_usable(page)
        press(page, answer)
        page.wait_for_load_state()
    assert shown == [
        ("A few questions", "So far from $14.25"),
        ("A few questions", "So far from $15.75"),
        ("One question", "So far from $15.75"),
    ]
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
    assert total(page) == "Total $15.75"
    done = cafe.parts.orders.get(order.id)
    assert done.state is State.PROPOSED
    assert [line.line_total for line in done.cart.lines] == [975, 600]
    assert cafe.parts.reviews.by_order(order.id).status == "withdrawn"
    page.get_by_role("button", name="Yes, order for $15.75").click()
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()


def test_a_correction_goes_back_to_the_customer_who_waits(
    page: Page, browser: Browser, cafe: World, desk: Desk
) -> None:
    lines = {**BURRITO, **CHICKEN}, {**HORCHATAS, "size": "L"}
    order = doubted(cafe, *lines, reasons=(ReviewReason.LOW_ASR_CONFIDENCE,))
    page.goto(cafe.link(order.id))
    expect(page.get_by_role("heading", name="A team member is checking your order")).to_be_visible()
    with desk.staff(browser) as tab:
        review = cafe.parts.reviews.by_order(order.id)
        take(tab, review.id)
        tab.get_by_label("Quantity").first.fill("2")
        expect(tab.locator("#total")).to_have_text("$25.50")
        tab.get_by_role("button", name="Remove line 2").click()
        expect(tab.locator("#total")).to_have_text("$16.50")
        tab.get_by_role("button", name="Send correction").click()
        expect(tab.get_by_role("status").first).to_contain_text("waiting for the customer to confirm")
    expect(page.get_by_role("heading", name="We changed your order")).to_be_visible()
    expect(page.locator(".lines .badge")).to_have_text("changed by us")
    expect(page.locator(".cart .doubt")).to_have_text("Left out: large horchata")
    assert total(page) == "Total $16.50"
    assert_usable(page)
    page.get_by_role("button", name="Yes, order for $16.50").click()
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    assert cafe.parts.orders.get(order.id).state is State.COMPLETED


def test_the_rest_of_an_order_is_priced_and_what_is_near_the_sold_out_is_offered(
    page: Page, cafe: World
) -> None:
    order = judged(cafe, placed(cafe, "a large latte and a bagel", SOLD_OUT), LATTE, BAGEL)
    page.goto(cafe.link(order.id))
    offer = "“bagel” is sold out right now. We have everything bagel ($4.25)."
    expect(page.locator("#question h2")).to_have_text(
        f"{offer} Is the rest right: 1 × large latte, $5.50 total?"
    )
    expect(page.locator(".lines .price")).to_have_text(["$5.50", "–"])
    expect(page.locator(".lines .doubt")).to_have_count(0)  # the question says it
    expect(page.locator(".cart .total")).to_have_count(0)
    expect(page.get_by_label("Or type it")).to_be_visible()
    assert_usable(page)
    press(page, "Yes, $5.50")
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    assert total(page) == "Total $5.50"
    alone = judged(cafe, placed(cafe, "a bagel", SOLD_OUT), BAGEL)
    page.goto(cafe.link(alone.id))
    expect(page.locator("#question h2")).to_have_text(f"{offer} What would you like instead?")
    assert_usable(page)
    answers = page.locator("#question").get_by_role("button")
    expect(answers).to_have_text(["everything bagel, $4.25", "Ask our staff", "Nothing, thanks"])
    press(page, "everything bagel, $4.25")
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
    expect(page.locator(".lines .name")).to_have_text("everything bagel")
    cafe.http.post(f"/v1/orders/{alone.id}/utterances", json={"transcript": "and a large latte"})
    judged(cafe, cafe.parts.orders.get(alone.id), BAGEL, LATTE)
    page.reload()
    expect(page.locator(".lines .name")).to_contain_text(["everything bagel", "large latte"])
    page.get_by_role("button", name="Yes, order for $9.75").click()
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    none = judged(cafe, placed(cafe, "a bagel", SOLD_OUT), BAGEL)
    page.goto(cafe.link(none.id))
    press(page, "Nothing, thanks")
    expect(page.get_by_role("heading", name="This order was cancelled")).to_be_visible()


def test_a_yes_to_a_cart_that_has_changed_since_orders_nothing(page: Page, cafe: World) -> None:
    order = judged(cafe, placed(cafe, "a large latte and a bagel", SOLD_OUT), LATTE, BAGEL)
    page.goto(cafe.link(order.id))
    page.route(f"**/orders/{order.id}", lambda _: None)  # no newer panel comes
    cafe.http.post(f"/v1/orders/{order.id}/utterances", json={"transcript": "make it ten"})
    judged(cafe, cafe.parts.orders.get(order.id), LATTE | {"quantity": 10}, BAGEL)
    press(page, "Yes, $5.50")
    expect(page.get_by_text("Your order has changed since you opened this page")).to_be_visible()
    expect(page.get_by_role("link", name="Back to your order")).to_be_visible()
    assert cafe.parts.orders.get(order.id).state is State.IN_REVIEW


def test_nonsense_is_asked_for_again_twice_and_then_goes_to_a_person(browser: Browser, cafe: World) -> None:
    placed(cafe)  # which imports the menu
    with watched(browser, cafe.url) as page:
        for heading in ("Please type it again", "Please type it again", "A team member is checking"):
            page.goto(f"/?menu={MENU['id']}")
            page.get_by_label("Your order").fill("asdf qwer")
            page.get_by_role("button", name="Send order").click()
            page.wait_for_url("**/orders/ord_*")
            judged(cafe, cafe.parts.orders.get(page.url.rpartition("/")[2]), sure=ModelAnswer())
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
            assert_usable(page)


def test_a_customer_reads_what_is_doubted_once_and_in_words(page: Page, cafe: World) -> None:
    unicorn = {"kind": "not_on_menu", "heard": "a unicorn", "quantity": 1}
    order = doubted(cafe, LATTE, unicorn, menu=MENU, text="a large latte and a unicorn")
    page.goto(cafe.link(order.id))
    expect(page.get_by_role("heading", name="A team member is checking your order")).to_be_visible()
    first, second = page.locator(".lines li").all()
    expect(first.locator(".doubt")).to_have_count(0)
    expect(second.locator(".doubt")).to_have_text(["“a unicorn” isn't on the menu."])
    expect(page.locator(".doubt")).to_have_count(1)
    shown = page.locator("main").inner_text()
    assert shown.count("isn't on the menu") == 1
    assert not re.search(r"0\.\d|_| line \d", shown)
    assert_usable(page)


def test_staff_ask_the_customer_who_waits(page: Page, browser: Browser, cafe: World, desk: Desk) -> None:
    desk.clear()
    order = doubted(cafe, BURRITO, HORCHATAS, reasons=(ReviewReason.LOW_ASR_CONFIDENCE,))
    review = cafe.parts.reviews.by_order(order.id)
    page.goto(cafe.link(order.id))
    expect(page.get_by_role("heading", name="A team member is checking your order")).to_be_visible()
    with desk.staff(browser) as tab:
        row = tab.locator(f"#open-{review.id}")
        take(tab, review.id)
        tab.keyboard.press("k")
        expect(tab.get_by_label("Your question")).to_be_focused()
        assert_usable(tab)
        for label, text in (("Your question", "Warm or cold?"), ("Answer 1", "Warm"), ("Answer 2", "Cold")):
            tab.get_by_label(label).fill(text)
        tab.get_by_role("button", name="Ask this").click()
        tab.wait_for_url("**/review?after=*")
        expect(row).to_contain_text("waiting for the customer")
        assert_usable(tab)
        expect(page.get_by_role("heading", name="Warm or cold?")).to_be_visible()
        assert "Warm or cold? Warm or Cold?" in page.evaluate("wordsOfPage()")
        assert_usable(page)
        press(page, "Cold")
        expect(page.get_by_role("heading", name="A team member is checking your order")).to_be_visible()
        expect(row.locator(".badge").first).to_have_text("customer answered: “Cold”", timeout=10_000)
        expect(row).not_to_contain_text("waiting for the customer")

        take(tab, review.id)
        expect(tab.locator(".answered")).to_have_text(
            "We asked: “Warm or cold?” The customer answered: “Cold”"
        )
        tab.keyboard.press("k")
        tab.get_by_role("button", name="Small or large horchata?").click()
        tab.wait_for_url("**/review?after=*")
        press(page, "small, $3.00 each")
        expect(page.locator(".cart .total")).to_contain_text("from $14.25")

        take(tab, review.id)
        expect(tab.locator("#line-1-size")).to_have_value("S")
        tab.keyboard.press("k")
        tab.get_by_role("button", name="Please say your whole order again").click()
        expect(page.get_by_role("heading", name="Please say your whole order again.")).to_be_visible()
        expect(page.locator("#more-title")).to_be_hidden()
        assert_usable(page)
        page.get_by_label("Or type it").fill("one steak burrito")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("heading", name="One moment")).to_be_visible()
    assert cafe.parts.orders.get(order.id).transcript.text == "one steak burrito"
    asked = [act.reason for act in cafe.parts.reviews.acts(review.id) if act.action == "asked"]
    assert asked == ["Warm or cold?", "Small or large horchata?", "Please say your whole order again."]
