"""The kiosk and what all order pages share with it: tapping, adding to an order, reading aloud, the shop's
looks, and starting over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.lifecycle import State
from schemas.shops.settings import logo_url, parse_colour
from tests.browser.conftest import LONG_MENU, PHONE, assert_accessible, assert_light, assert_usable, watched
from tests.browser.test_customer import LATTE, placed, propose, proposed
from tests.browser.test_customer_questions import BURRITO, HORCHATAS, doubted
from tests.integration.api_world import MENU, World
from tests.stand_ins import TESTER

KIOSK = f"/kiosk/main?menu={MENU['id']}"
BAGEL: dict[str, Any] = {"kind": "item", "heard": "and a bagel", "sku": "bagel", "quantity": 1}
# Chromium has no voice here: record what it should say, and null for silence.
VOICE = (
    "window.spoken = []; Object.defineProperty(window, 'speechSynthesis',"
    " {value: {speak: (one) => spoken.push(one.text), cancel: () => spoken.push(null)}})"
)


@pytest.fixture
def page(browser: Browser, cafe: World) -> Iterator[Page]:
    placed(cafe)  # which imports the menu
    with watched(browser, cafe.url) as tab:
        tab.add_init_script(VOICE)
        yield tab


def spoken(page: Page) -> str:
    return " ".join(filter(None, page.evaluate("spoken")))


def test_a_kiosk_order_is_tapped_and_ends_with_its_number_and_name(browser: Browser, cafe: World) -> None:
    placed(cafe)
    with watched(browser, cafe.url, viewport=PHONE) as page:
        page.goto(KIOSK)
        expect(page.get_by_role("navigation", name="Pages")).to_have_count(0)
        for tile in ("latte", "bagel", "latte"):
            page.get_by_role("button", name=re.compile(rf"^{tile}")).click()
        expect(page.get_by_label("Your order")).to_have_value("2 lattes, one bagel")
        assert_usable(page)
        page.get_by_label("Your name").fill("Ann")
        page.get_by_role("button", name="Send order").click()
        page.wait_for_url("**/orders/ord_*")
        order = cafe.parts.orders.get(page.url.rpartition("/")[2])
        assert (order.transcript.text, order.metadata) == ("2 lattes, one bagel", {"name": "Ann"})
        propose(cafe, order, LATTE, BAGEL)
        page.get_by_role("button", name="Yes, order for $9.49").click()
        expect(page.locator("#number")).to_have_text(order.id[-4:].upper())
        expect(page.locator(".receipt")).to_contain_text("Ann")
        assert_usable(page)
        page.get_by_role("link", name="Order something else").click()
        page.wait_for_url(f"**{KIOSK}")


def test_other_order_pages_are_tapped_too(page: Page, cafe: World) -> None:
    page.goto(f"/?menu={MENU['id']}")
    page.get_by_role("button", name=re.compile("^bagel")).click()
    expect(page.get_by_label("Your order")).to_have_value("one bagel")
    assert_usable(page)
    order = proposed(cafe)
    page.goto(cafe.link(order.id))
    page.get_by_role("button", name=re.compile("^bagel")).click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", name="One moment")).to_be_visible()
    assert cafe.parts.orders.get(order.id).all_utterances[-1].transcript.text == "one bagel"


def test_a_kiosk_counts_down_before_it_cancels_and_starts_over(page: Page, cafe: World) -> None:
    page.clock.install()
    page.goto(KIOSK)
    order = proposed(cafe)
    page.goto(cafe.link(order.id))
    # Paused: a busy machine might look too late.
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    page.clock.run_for(46_000)
    expect(page.get_by_text("Starting over in")).to_have_text(re.compile("Starting over in 1[0-3] s"))
    page.clock.resume()
    assert_accessible(page)
    page.get_by_role("button", name="I'm still here").click()
    expect(page.locator("#idle")).to_be_hidden()
    page.clock.run_for(61_000)
    page.wait_for_url(f"**{KIOSK}")
    assert cafe.parts.orders.get(order.id).state is State.CANCELLED


def test_what_is_added_is_marked_and_read_aloud(page: Page, cafe: World) -> None:
    page.goto(KIOSK)
    order = proposed(cafe, notes=[{"kind": "other", "heard": "to go"}], text="a large latte to go")
    page.goto(cafe.link(order.id))
    assert spoken(page).endswith("1 large latte. Total: $5.50.")
    page.get_by_label("Or type it").fill("and a bagel, no latte")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", name="One moment")).to_be_visible()
    propose(cafe, cafe.parts.orders.get(order.id), BAGEL)
    expect(page.locator(".lines .badge")).to_have_text("new")
    expect(page.locator(".cart .doubt")).to_have_text("Left out: large latte, “to go”")
    words = "Is this right? 1 bagel. Changed: 1 bagel. Left out: large latte, “to go”. Total: $3.99."
    expect(page.locator("#news")).to_have_text(words)
    assert spoken(page).endswith(words)
    assert_usable(page)


def test_a_question_is_read_with_its_answers_until_the_toggle_is_off(page: Page, cafe: World) -> None:
    order = doubted(cafe, BURRITO, HORCHATAS)
    page.goto(cafe.link(order.id))
    assert spoken(page) == ""  # only a kiosk reads unasked
    page.get_by_role("button", name="Read aloud").focus()
    page.keyboard.press("Enter")
    assert "chicken, from $8.25 or steak, from $9.75?" in spoken(page)
    page.keyboard.press("Enter")
    assert page.evaluate("spoken.at(-1)") is None
    expect(page.get_by_role("button", name="Read aloud")).to_have_attribute("aria-pressed", "false")


def test_nothing_is_read_into_an_open_microphone_whose_level_is_shown(page: Page, cafe: World) -> None:
    page.goto(KIOSK)
    order = placed(cafe)
    page.goto(cafe.link(order.id))
    page.get_by_role("button", name="Hold to talk").hover()
    page.mouse.down()
    expect(page.get_by_text("Listening…")).to_be_visible()
    page.wait_for_function("() => document.querySelector('#level i').style.transform > 'scaleX(0.01)'")
    propose(cafe, order, LATTE)
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
    assert "Is this right?" not in spoken(page)
    page.mouse.up()


def test_one_of_two_sizes_and_a_new_note_are_marked(page: Page, cafe: World) -> None:
    small = LATTE | {"heard": "a small latte", "size": "S"}
    order = proposed(cafe, LATTE, small, text="a large latte and a small latte")
    cafe.http.post(f"/v1/orders/{order.id}/utterances", json={"transcript": "to go"})
    hot = [{"kind": "other", "heard": "to go"}]
    propose(cafe, cafe.parts.orders.get(order.id), LATTE, notes=hot)
    page.goto(cafe.link(order.id))
    expect(page.locator(".lines .badge")).to_have_count(0)
    expect(page.locator(".notes li")).to_have_text("latte, note: “to go” new")
    expect(page.locator(".cart p.doubt")).to_have_text("Left out: small latte")
    assert cafe.http.get(f"/v1/orders/{order.id}").json()["changed"] == [
        "latte taken off",
        "other note added",
    ]


def test_what_was_tapped_and_then_spoken_is_one_order(page: Page, cafe: World) -> None:
    page.goto(KIOSK)
    page.get_by_role("button", name=re.compile("^bagel")).click()
    page.get_by_role("button", name="Hold to talk").hover()
    page.mouse.down()
    expect(page.get_by_text("Listening…")).to_be_visible()
    page.wait_for_timeout(600)
    page.mouse.up()
    page.wait_for_url("**/orders/ord_*")
    order = cafe.parts.orders.get(page.url.rpartition("/")[2])
    said = [(one.kind, one.transcript and one.transcript.text) for one in order.all_utterances]
    assert said == [("text", "one bagel"), ("audio", None)]


def test_a_kiosk_shows_pictures_of_its_own_host_alone(page: Page, cafe: World) -> None:
    host = cafe.url.partition("//")[2]
    pictures = [f"https://{host}/static/icon.svg", "https://elsewhere.example/bagel.png"]
    items = [item | {"image": url} for item, url in zip(MENU["items"], pictures, strict=True)]
    placed(cafe, menu=MENU | {"id": "pictures", "items": items})
    page.goto("/kiosk/main?menu=pictures")
    assert page.locator(".tile img").evaluate_all("all => all.map(one => one.src)") == [
        f"{cafe.url}/static/icon.svg"
    ]


@pytest.mark.parametrize("colour", ["#fc0", "#000"])
def test_text_is_readable_in_any_colour_of_the_shop(page: Page, cafe: World, colour: str) -> None:
    looks = {"colour": parse_colour(colour), "logo": logo_url(b"<svg xmlns='http://www.w3.org/2000/svg'/>")}
    cafe.parts.shops.set_brand("main", looks, by=TESTER)
    try:
        for address in (KIOSK, cafe.link(proposed(cafe).id), "/"):
            page.goto(address)
            expect(page.locator("header .brand")).to_have_text("Main shop")
            assert_accessible(page)
    finally:
        cafe.parts.shops.set_brand("main", {"colour": None, "logo": None}, by=TESTER)


def test_a_customer_of_a_long_menu_sees_light_pages_and_no_way_to_the_review(page: Page, cafe: World) -> None:
    order = proposed(cafe, menu=LONG_MENU)
    for address in ("/kiosk/main?menu=long", "/?menu=long", cafe.link(order.id), "/menu/long"):
        assert_light(page, address)
        expect(page.get_by_role("link", name="Review")).to_have_count(0)
