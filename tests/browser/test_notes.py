"""Notes and halves in a real browser: the customer sees them, a reviewer edits them and keeps the rest."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from schemas.menu import Menu
from tests.browser.conftest import PHONE, assert_fits, assert_usable, watched
from tests.browser.review_desk import Desk, take
from tests.browser.test_customer import proposed
from tests.integration.api_world import World
from tests.pizzeria import PIZZERIA, topped
from tests.stand_ins import TESTER

SAID = "a pizza with ham on the left and olives on the right well done I'm allergic to nuts"
PIZZA = topped(("topping", "ham", "left"), ("topping", "olives", "right"), ("crust", "thick-crust", "whole"))
NOTES = [
    {"kind": "preparation", "heard": "well done"},
    {"kind": "allergy", "heard": "I'm allergic to nuts"},
]
SHOWN = ["Allergy: “I'm allergic to nuts”", "cheese pizza, how to make it: “well done”"]


def test_a_customer_sees_notes_and_halves_and_keeps_them(browser: Browser, cafe: World) -> None:
    menu = PIZZERIA.model_dump(mode="json", exclude_none=True)
    order = proposed(cafe, PIZZA, text=SAID, notes=NOTES, menu=menu)
    with watched(browser, cafe.url, viewport=PHONE) as page:
        page.goto(cafe.link(order.id))
        expect(page.locator(".notes li")).to_have_text(SHOWN)
        expect(page.locator(".lines")).to_contain_text("ham on the first half (+$1.01)")
        assert_usable(page)
        page.get_by_text("Change something", exact=True).click()
        page.get_by_label("How many").fill("2")
        page.get_by_label("How many").blur()
        expect(page.locator("#changed-total")).to_have_text("$25.52")
        assert_fits(page)
        page.get_by_role("button", name="Order with these changes").click()
        expect(page.get_by_role("heading", name="Thanks, your order is in")).to_be_visible()
        expect(page.locator(".notes li")).to_have_text(SHOWN)
    cart = cafe.parts.orders.get(order.id).cart
    parts = {option.id: option.portion for option in cart.lines[0].options}
    assert parts == {"ham": "left", "olives": "right", "thick-crust": "whole"}


@pytest.fixture(scope="module")
def pizzas(cafe: World) -> Desk:
    desk = Desk(cafe)
    stored, _ = cafe.parts.menus.put(Menu.parse(PIZZERIA.model_dump(mode="json")), by=TESTER)
    desk.menu = stored
    return desk


def test_a_reviewer_edits_a_note_and_nothing_else_is_lost(pizzas: Desk, browser: Browser) -> None:
    review = pizzas.order(SAID, [PIZZA], notes=NOTES, recording=None)
    with pizzas.staff(browser, viewport=PHONE) as page:
        expect(page.locator(f"#open-{review.id}")).to_contain_text(SHOWN[0])
        expect(page.locator(f"#open-{review.id}")).to_contain_text(SHOWN[1])
        page.goto(f"/review/{review.id}")
        expect(page.locator(".receipt")).to_contain_text(SHOWN[0])
        assert_fits(page)
        take(page, review.id)
        expect(page.get_by_label("Part", exact=True)).to_have_count(2)
        assert_usable(page)
        page.get_by_label("Note for the kitchen", exact=True).first.fill("well done, cut in four")
        expect(page.locator("#changes .new")).to_contain_text("well done, cut in four")
        page.get_by_role("button", name="Send correction").click()
        page.wait_for_url("**/review?after=*")
    order = pizzas.world.parts.orders.get(review.order_id)
    assert [(note.kind, note.heard) for note in order.draft.notes] == [
        ("preparation", "well done, cut in four"),
        ("allergy", "I'm allergic to nuts"),
    ]
    assert [option.portion for option in order.draft.lines[0].options] == ["left", "right", "whole"]
    assert [note.text for note in order.cart.notes] == ["I'm allergic to nuts", "well done, cut in four"]
