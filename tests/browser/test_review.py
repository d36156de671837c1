"""The review page in a real Chromium: by keys alone, two at once, stale, twice over, on a phone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from schemas.menu import Menu
from schemas.priced_cart import Finding
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewDecision, ReviewReason
from schemas.shops.access import Role, of_person
from services.shop_scope import ShopScope
from tests.browser.conftest import LONG_MENU, PHONE, assert_accessible, assert_light, assert_usable
from tests.browser.review_desk import LATTE, SAID, Desk, take
from tests.integration.api_world import World, running
from tests.stand_ins import TESTER
from tests.waiting import until

EVIL = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
PIZZA = {"kind": "not_on_menu", "heard": "a pepperoni pizza,", "quantity": 1}


@pytest.fixture(scope="module")
def shared(cafe: World) -> Desk:
    return Desk(cafe)


@pytest.fixture
def desk(shared: Desk) -> Iterator[Desk]:
    yield shared
    shared.clear()


@pytest.fixture
def page(desk: Desk, browser: Browser) -> Iterator[Page]:
    with desk.staff(browser) as page:
        yield page


def after(desk: Desk, review: ReviewRecord) -> ReviewRecord:
    found: ReviewRecord = desk.world.parts.reviews.get(review.id)
    return found


def sound_loaded(page: Page) -> None:
    expect(page.locator("#clock")).to_contain_text(re.compile(r"/ [1-9]"))


def test_plain_orders_are_approved_by_keys_alone(desk: Desk, page: Page) -> None:
    first, second = desk.order(), desk.order()
    expect(page.locator("#waiting")).to_have_text("2")
    page.keyboard.press("n")
    page.wait_for_url(f"**/review/{first.id}")
    page.keyboard.press("a")
    page.wait_for_url(f"**/review/{second.id}*")
    expect(page.get_by_role("status").first).to_contain_text("Approved · $5.95")
    page.keyboard.press("a")
    page.wait_for_url(re.compile(r"/review\?after="))
    expect(page.get_by_role("heading", name="All caught up")).to_be_visible()
    for review in (first, second):
        settled = after(desk, review)
        assert (settled.status, settled.decision, settled.decided_by) == ("decided", "approve", "Ann")
        assert desk.acts(review) == [("Ann", "claimed"), ("Ann", "decided")]


def test_the_queue_counts_by_itself(desk: Desk, page: Page) -> None:
    expect(page.locator("#waiting")).to_have_text("0")
    review = desk.order()
    expect(page.locator("#waiting")).to_have_text("1", timeout=10_000)
    expect(page.locator(f"#open-{review.id}")).to_contain_text("hard to hear")
    page.keyboard.press("j")
    expect(page.locator(f"#open-{review.id}")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/review/{review.id}")
    expect(page.get_by_role("button", name="Take this order")).to_be_visible()


def test_every_key_is_shown_and_esc_leaves(desk: Desk, page: Page) -> None:
    take(page, desk.order().id)
    page.keyboard.press("?")
    keys = page.locator("#keys dt")
    expect(keys.first).to_be_visible()
    declared = page.eval_on_selector_all(
        "[data-key]", "all => all.map(e => e.dataset.keyName ?? e.dataset.key)"
    )
    assert {*declared, "Esc"} == set(keys.all_inner_texts())
    assert {"space", "[", "]", "1", ",", ".", "a", "x", "e", "m", "r", "q", "+", "d1", "o1"} <= set(declared)
    page.keyboard.press("a")  # nothing behind a window is pressed
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    expect(page.locator("#settle")).to_be_visible()


def test_a_correction_by_keyboard_with_live_price(desk: Desk, page: Page) -> None:
    review = desk.order()
    take(page, review.id)
    expect(page.locator("#changes")).to_contain_text("As proposed")
    page.keyboard.press("e")
    expect(page.get_by_label("Item")).to_be_focused()
    page.get_by_label("Size").focus()
    page.keyboard.press("s")  # small; more letters may fall between two drawings of the form
    expect(page.locator("#total")).to_have_text("$4.95")
    expect(page.get_by_label("Size")).to_be_focused()
    page.get_by_label("Quantity").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("3")
    expect(page.locator("#total")).to_have_text("$14.85")
    page.keyboard.press("Enter")  # takes the value, approves nothing
    expect(page.locator("#changes li")).to_have_count(2)
    expect(page.locator("#changes")).to_contain_text("1 × large latte, oat milk")
    expect(page.locator("#changes")).to_contain_text("3 × small latte, oat milk")
    expect(page.get_by_role("button", name="Send correction")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    page.keyboard.type("heard it again")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_url(re.compile(r"/review\?after="))
    settled = after(desk, review)
    assert (settled.decision, settled.reason) == ("correct", "heard it again")
    order = desk.world.parts.orders.get(review.order_id)
    assert order.cart is not None
    assert order.cart.total == 1485
    act = desk.world.parts.reviews.acts(review.id)[-1]
    assert (act.actor, act.reason, act.before, act.after) == (
        "Ann",
        "heard it again",
        review.proposed,
        order.cart,
    )


def test_options_and_lines_come_and_go_by_keys_alone(desk: Desk, page: Page) -> None:
    review = desk.order(f"{SAID} and a pepperoni pizza,", [LATTE, PIZZA], reasons=(ReviewReason.NOT_ON_MENU,))
    take(page, review.id)
    expect(page.locator(".problem")).to_contain_text("Not on the menu: “a pepperoni pizza,”")
    page.keyboard.press("a")
    expect(page.get_by_role("alert")).to_contain_text("Not sent")
    assert after(desk, review).status == "claimed"
    sound_loaded(page)
    page.keyboard.press("Shift+Digit2")
    expect(page.locator(".problem")).to_have_count(0)
    page.keyboard.press("d")
    page.keyboard.press("1")
    expect(page.locator("#total")).to_have_text("$5.25")
    expect(page.locator(".option-controls")).to_have_count(0)
    page.keyboard.press("o")
    page.keyboard.press("1")
    expect(page.get_by_label("Add an option")).to_be_focused()
    page.keyboard.type("almond")  # all of it is waited for: "a" alone may be another option
    expect(page.get_by_label("Amount")).to_be_visible()
    for _ in range(3):  # back over the key that removes it and its count
        page.keyboard.press("Shift+Tab")
    expect(page.get_by_label("Amount")).to_be_focused()
    page.keyboard.type("extra")
    expect(page.locator("#changes")).to_contain_text("extra almond milk")
    page.keyboard.press("Escape")
    page.keyboard.press("+")
    expect(page.locator("#line-1-sku")).to_be_focused()
    expect(page.locator(".problem")).to_have_text("! Choose an item")
    page.keyboard.type("butter c")
    expect(page.locator("#changes .new")).to_contain_text(["extra almond milk", "1 × butter croissant"])
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_url(re.compile(r"/review\?after="))
    order = desk.world.parts.orders.get(review.order_id)
    assert [(line.sku, [(o.id, o.amount.value) for o in line.options]) for line in order.cart.lines] == [
        ("latte", [("almond", "extra")]),
        ("butter-croissant", []),
    ]


def test_a_decision_waits_for_what_was_just_taken_off(desk: Desk, page: Page) -> None:
    review = desk.order()
    take(page, review.id)

    def slow(route: Route) -> None:
        time.sleep(0.5)
        route.continue_()

    page.route("**/cart", slow)
    for key in ("d", "1", "a"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(r"/review\?after="))
    assert after(desk, review).decision == "correct"
    assert desk.world.parts.orders.get(review.order_id).cart.lines[0].options == []


def test_a_page_with_a_recording_and_a_long_menu_is_light(desk: Desk, page: Page) -> None:
    menu, _ = desk.world.parts.menus.put(Menu.parse(LONG_MENU), by=TESTER)
    dishes = [{"kind": "item", "heard": "a dish", "sku": f"dish-{n}", "quantity": 1} for n in range(12)]
    review = desk.order(lines=dishes, menu=menu)
    take(page, review.id)
    assert_light(page, f"/review/{review.id}")


def test_words_and_lines_are_played_by_click_and_by_keys(desk: Desk, page: Page) -> None:
    review = desk.order(sure={"latte": 0.41, "oat": 0.72})
    take(page, review.id)
    sound_loaded(page)
    expect(page.locator(".words .doubtful")).to_have_text(re.compile(r"latte\s*41%"))
    expect(page.locator(".words .unsure")).to_have_text("oat")
    page.get_by_text("Processing history").click()
    moves = page.locator("#history li strong").all_inner_texts()
    assert moves == ["received", "transcribed", "decoded", "in doubt"]
    page.locator(".words .word").nth(3).click()
    expect(page.locator("#clock")).not_to_have_text(re.compile(r"^0\.0 "))
    page.keyboard.press(".")
    expect(page.locator(".words .word").nth(4)).to_be_focused()
    page.keyboard.press("1")
    page.keyboard.press("]")
    expect(page.locator("#speed")).to_have_text("1.25×")
    page.keyboard.press(" ")


def test_a_stale_decision_shows_the_order_as_it_is_now(desk: Desk, browser: Browser) -> None:
    review = desk.order()
    parts = desk.world.parts
    with desk.staff(browser, "Ann") as ann:
        take(ann, review.id)
        ann.get_by_label("Size").select_option("S")
        expect(ann.locator("#total")).to_have_text("$4.95")
        # Her lease ran out at lunch; Bob took the order over and settled it.
        parts.reviews.claim(review.id, "Ann", 0)
        held = parts.reviews.claim(review.id, "Bob", 60)
        cart = {"lines": [LATTE | {"quantity": 2}]}
        bobs = ShopScope(parts, of_person("main", "Bob", Role.REVIEWER), TESTER)
        decision = {"version": held.version, "action": "correct", "cart": cart}
        bobs.decide_review(review.id, ReviewDecision.model_validate(decision))
        ann.keyboard.press("Escape")
        ann.keyboard.press("a")
        shown = ann.locator("body")
        for text in ("Not sent", "Corrected by Bob", "2 × large latte"):
            expect(shown).to_contain_text(text)
        assert_accessible(ann)
    settled = after(desk, review)
    assert (settled.decided_by, parts.orders.get(review.order_id).cart.total) == ("Bob", 1190)


def test_the_lease_is_renewed_while_the_page_is_open_and_ends_with_it(
    browser: Browser, tmp_path: Path
) -> None:
    with running(tmp_path, review_lease_s=3.0) as world:
        desk = Desk(world)
        review = desk.order()
        with desk.staff(browser, "Ann") as ann:
            take(ann, review.id)
            began = after(desk, review)
            assert began.lease_until is not None
            until(lambda: (after(desk, review).lease_until or began.created_at) > began.lease_until, 10)
            assert after(desk, review).version == began.version
            # Her renewals get lost for longer than the lease, while Bob is quick.
            ann.route("**/renew", lambda route: route.fulfill(status=204))
            with desk.staff(browser, "Bob") as bob:
                expect(bob.locator(f"#open-{review.id}")).not_to_contain_text("has it", timeout=15_000)
                take(bob, review.id)
                ann.unroute("**/renew")
                expect(ann.locator("#lease")).to_contain_text("This order is no longer yours", timeout=10_000)
                expect(ann.locator("#lease")).to_contain_text("Bob has this review")
        assert desk.acts(review) == [("Ann", "claimed"), ("Bob", "taken_over")]


def test_hostile_text_stays_text(desk: Desk, page: Page) -> None:
    document = desk.menu.menu.model_dump(mode="json") | {"id": "evil", "name": EVIL[:80]}
    document["items"][0]["name"] = "<script>alert(2)</script>"
    menu, _ = desk.world.parts.menus.put(Menu.parse(document), by=TESTER)
    sku = document["items"][0]["sku"]
    line = {"kind": "item", "heard": "<b>x</b>", "sku": sku, "quantity": 1}
    lines = [line, PIZZA | {"heard": "<i>y</i>"}]
    review = desk.order(f"{EVIL} <b>x</b> please", lines, menu=menu, second=f"{EVIL} please")
    page.goto("/review")
    expect(page.locator(f"#open-{review.id}")).to_contain_text("<script>document.title=")
    take(page, review.id)
    expect(page.locator(".words")).to_contain_text("<script>document.title=")
    expect(page.get_by_text("A second recognizer heard “<script>document.title=")).to_be_visible()
    expect(page.locator("#line-0-sku option[selected]")).to_have_text("<script>alert(2)</script>")
    expect(page.locator("#changes")).to_be_visible()
    page.get_by_label("Quantity").first.fill("2")
    expect(page.locator("#changes")).to_contain_text("2 × ")
    assert page.title() == "Check an order · saycart"
    assert page.locator("main script, main img, main b, main i").count() == 0


def test_a_row_says_what_is_in_doubt_and_who_has_it(desk: Desk, page: Page) -> None:
    nuts = Finding.blocking("allergy_said", "You said “I'm allergic to nuts”. One of our staff will check.")
    unsure = Finding.blocking("reading_unsure", "Is this your order? We're not sure we got all of it.")
    muffin = {"kind": "item", "heard": "a large latte", "sku": "blueberry-muffin", "quantity": 1}
    croissant = {"kind": "item", "heard": "a nitro,", "sku": "nitro-cold-brew", "quantity": 1, "size": "S"}
    orders = {
        "hard to hear: “latte”": desk.order(sure={"latte": 0.41, "oat": 0.72}),
        "allergy: nuts": desk.order(more=(nuts, unsure), reasons=(ReviewReason.ALLERGY_SAID,)),
        "sold out: nitro cold brew": desk.order(lines=[croissant], reasons=(ReviewReason.BLOCKING_FINDING,)),
        "“large”, “latte” unused": desk.order(
            lines=[muffin], more=(unsure,), reasons=(ReviewReason.BLOCKING_FINDING,)
        ),
        "not on the menu: “a pepperoni pizza,”": desk.order(
            lines=[PIZZA], reasons=(ReviewReason.NOT_ON_MENU,)
        ),
    }
    desk.world.parts.reviews.claim(orders["hard to hear: “latte”"].id, "Ann", 60)
    page.goto("/review")
    for doubt, review in orders.items():
        expect(page.locator(f"#open-{review.id} .badge").first).to_have_text(doubt)
    expect(page.get_by_text("you have it")).to_be_visible()
    for label, shown in (
        ("Mine", ["hard to hear"]),
        ("Allergy", ["allergy: nuts"]),
        ("Unclaimed", list("1234")),
    ):
        page.get_by_role("link", name=label).click()
        expect(page.locator(".queue-row")).to_have_count(len(shown))
        assert_accessible(page)
    expect(page.locator(".queue")).not_to_contain_text("hard to hear")


def test_staff_are_alerted_to_a_new_order_if_they_wish(desk: Desk, page: Page) -> None:
    page.add_init_script(
        "window.alerts = []; window.Notification = class { static permission = 'granted';"
        " constructor(title, more) { alerts.push(`${title}: ${more.body}`); } };"
        " Document.prototype.hasFocus = () => false; window.tones = [];"
        " const start = OscillatorNode.prototype.start; OscillatorNode.prototype.start = function () {"
        " tones.push(this.frequency.value); start.call(this); }"
    )
    page.goto("/review")
    desk.order(sure={"latte": 0.41})
    expect(page.locator("#waiting")).to_have_text("1", timeout=10_000)
    assert page.evaluate("[alerts, tones]") == [[], []]
    page.keyboard.press("b")
    expect(page.get_by_role("button", name="Alert me")).to_have_attribute("aria-pressed", "true")
    desk.order(sure={"oat": 0.2})
    expect(page.locator("#waiting")).to_have_text("2", timeout=10_000)
    assert page.evaluate("alerts") == ["An order to check: hard to hear: “oat”"]
    assert page.evaluate("tones") == [880, 880], "at the key, and at the order"


@pytest.mark.parametrize("size", [None, PHONE], ids=["desktop", "phone"])
def test_pages_are_accessible_and_fit(desk: Desk, browser: Browser, size: dict[str, int] | None) -> None:
    review = desk.order(
        "Hi, " * 9 + SAID + " and a pepperoni pizza,", [LATTE, PIZZA], sure={"latte": 0.3, "oat": 0.7}
    )
    desk.order("", [], reasons=(ReviewReason.NOTHING_HEARD,), recording=None)
    with desk.staff(browser, **({"viewport": size} if size else {})) as page:
        for address in ("/account", "/review", "/review/stats", f"/review/{review.id}"):
            page.goto(address)
            assert_usable(page)
        page.get_by_role("button", name="Take this order").click()
        sound_loaded(page)
        assert_usable(page)
        page.get_by_role("button", name="Reject").click()
        assert_usable(page)
        page.keyboard.press("Escape")
        if size:
            approve = page.get_by_role("button", name="Approve").bounding_box()
            assert approve is not None
            assert approve["y"] + approve["height"] <= size["height"]
