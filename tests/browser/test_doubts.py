"""What is doubted, in a real browser: in words and once for the customer, with its number for a reviewer."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Browser, expect

from schemas.cart import CartDraft, Finding
from schemas.lifecycle import Event, State
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from services.validation.facts import check_facts
from services.validation.price import price_cart
from services.validation.triage import doubts
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, assert_fits, watched
from tests.browser.review_desk import Desk
from tests.browser.test_customer import LATTE, placed
from tests.integration.api_world import World


def doubted(cafe: World, *lines: dict[str, Any], text: str) -> OrderRecord:
    """An order in review."""
    order = placed(cafe, text)
    menu = cafe.parts.menus.get(order.menu_id, order.menu_version).menu
    draft = CartDraft.model_validate({"lines": lines})
    findings = check_facts(draft, menu)
    cart = price_cart(draft, menu, order.menu_version, order.transcript, findings)
    order = cafe.parts.orders.commit(order, Outcome(Event.DECODED, draft=draft))
    reasons = doubts(order.transcript, findings, asr_threshold=cafe.parts.settings.asr_threshold)
    outcome = Outcome(Event.DOUBTED, cart=cart, findings=tuple(findings), reasons=reasons)
    order = cafe.parts.orders.commit(order, outcome)
    assert order.state is State.IN_REVIEW
    return order


def test_a_customer_reads_what_is_doubted_once_and_in_words(browser: Browser, cafe: World) -> None:
    unicorn = {"kind": "not_on_menu", "heard": "a unicorn", "quantity": 1}
    order = doubted(cafe, LATTE, unicorn, text="a large latte and a unicorn")
    with watched(browser, cafe.url) as page:
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            page.goto(cafe.link(order.id))
            expect(page.get_by_role("heading", name="A team member is checking your order")).to_be_visible()
            first, second = page.locator(".lines li").all()
            expect(first.locator(".doubt")).to_have_count(0)
            expect(second.locator(".doubt")).to_have_text(["“a unicorn” isn't on the menu."])
            expect(page.locator(".doubt")).to_have_count(1)
            shown = page.locator("main").inner_text()
            assert shown.count("isn't on the menu") == 1
            assert not re.search(r"0\.\d|_| line \d", shown)
            assert_fits(page)
        assert_accessible(page)


def test_a_reviewer_sees_the_number_beside_the_doubt(browser: Browser, cafe: World) -> None:
    desk = Desk(cafe)
    with desk.staff(browser) as page:
        finding = Finding.blocking(
            "heard_quietly", "Did you say “latte”? It was hard to hear.", 0, detail="0.41"
        )
        both = (ReviewReason.LOW_ASR_CONFIDENCE, ReviewReason.BLOCKING_FINDING)
        review = desk.order(reasons=both, more=(finding,))
        page.goto(f"/review/{review.id}")
        told = page.locator(".findings li.blocking", has_text="Did you say “latte”?")
        expect(told).to_contain_text("0.41")
        expect(page.locator("h1 + .row .badge")).to_have_count(0)
        bare = desk.order(reasons=(ReviewReason.LOW_ASR_CONFIDENCE,))
        page.goto(f"/review/{bare.id}")
        expect(page.locator("h1 + .row .badge")).to_have_text(["hard to hear"])
