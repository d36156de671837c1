"""Two readings of an order in a real browser: its customer picks one, or a colleague sees both."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from schemas.lifecycle import State
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, assert_fits, watched
from tests.browser.review_desk import Desk
from tests.integration.api_world import World
from tests.integration.engines.test_two_readers import OTHER, SAME, STRANGE
from tests.integration.workers.test_asked_carts import read, workers
from tests.stand_ins import SAID

BOTH = "1 small | latte; 1 mocha"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_two_whole_carts_are_two_buttons(
    browser: Browser, cafe: World, tmp_path: Path, viewport: dict[str, int]
) -> None:
    works = workers(cafe, tmp_path)
    order = read(cafe, works, SAID, BOTH, 0.9)
    with watched(browser, cafe.url, viewport=viewport) as page:
        page.goto(cafe.link(order["id"]))
        expect(page.get_by_role("heading", level=1)).to_have_text("One question")
        expect(page.get_by_role("heading", name="Which one is your order?")).to_be_visible()
        # Nothing else is asked: what the rules could not make out of the words is in the question.
        expect(page.locator(".doubt")).to_have_count(0)
        assert_accessible(page)
        assert_fits(page)
        page.get_by_role("button", name="1 × large latte (oat milk); 1 × blueberry muffin, $9.10").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Thanks")
    settled = works.orders.get(order["id"])
    assert settled.state is State.COMPLETED
    assert settled.cart is not None
    assert settled.cart.total == 910


def test_a_cart_is_confirmed_beside_its_words(browser: Browser, cafe: World, tmp_path: Path) -> None:
    works = workers(cafe, tmp_path)
    order = read(cafe, works, STRANGE, SAME, 0.7)
    with watched(browser, cafe.url, viewport=PHONE) as page:
        page.goto(cafe.link(order["id"]))
        expect(page.locator("#question")).to_contain_text("Is this your order: 1 × large latte (oat milk)")
        expect(page.locator("blockquote").first).to_contain_text(STRANGE)
        assert_fits(page)
        page.get_by_role("button", name="Yes", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Thanks")


def test_neither_brings_a_colleague_who_sees_both(browser: Browser, cafe: World, tmp_path: Path) -> None:
    works = workers(cafe, tmp_path)
    order = read(cafe, works, SAID, OTHER, 0.9)
    with watched(browser, cafe.url) as page:
        page.goto(cafe.link(order["id"]))
        page.get_by_role("button", name="Neither").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("A team member is checking your order")
        expect(page.locator(".doubts")).to_contain_text("that's not right")
    review = works.reviews.by_order(order["id"])
    assert review is not None
    with Desk(cafe).staff(browser) as page:
        page.goto(f"/review/{review.id}")
        expect(page.locator(".findings")).to_contain_text("1 × large latte (oat milk); 1 × blueberry muffin")
        expect(page.locator(".findings")).to_contain_text("Asked: 2 or 1 × large latte (oat milk)?")
        assert_fits(page)
        page.locator("#history summary").click()
        expect(page.locator("#history")).to_contain_text("declined")
