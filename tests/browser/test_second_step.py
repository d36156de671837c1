"""Setting the second step up and signing in with a code, in a real browser; the account's page on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PHONE, assert_usable, watched
from tests.browser.review_desk import PASSWORD
from tests.integration.api_world import World, running
from tests.integration.signing import code_at


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[World]:
    """A café of the test's own, since whoever enrols changes an account for good."""
    with running(tmp_path) as world:
        world.parts.staff.add("Ann", PASSWORD)
        yield world


def name_and_password(page: Page) -> None:
    """The first step, up to where the second would begin."""
    page.goto("/sign-in?next=/account")
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")


def test_enrolling_and_signing_in_with_a_code(desk: World, browser: Browser) -> None:
    with watched(browser, desk.url, viewport=PHONE) as page:
        name_and_password(page)
        page.wait_for_url(re.compile(r"^[^?]*/account$"))  # and not /sign-in?next=/account
        assert_usable(page)
        page.get_by_role("link", name="Set it up").click()
        expect(page.get_by_label("Current password")).to_be_visible()
        assert_usable(page)
        page.get_by_label("Current password").fill(PASSWORD)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("svg.qr")).to_be_visible()
        page.get_by_text("Can't scan it?").click()
        secret = page.locator(".secret").inner_text().replace(" ", "")
        assert_usable(page)
        page.get_by_label("Six digits").fill(code_at(desk.parts.database, secret, -1))
        page.keyboard.press("Enter")
        expect(page.locator(".recovery li")).to_have_count(10)
        assert_usable(page)
        recovery = page.locator(".recovery li").first.inner_text()
        page.get_by_role("link", name="I've saved them").click()
        page.wait_for_url("**/review")
        page.goto("/account")
        expect(page.get_by_text("10 recovery codes left")).to_be_visible()
        assert_usable(page)
        page.get_by_role("button", name="Sign out here").click()
        page.wait_for_url("**/sign-in")

        name_and_password(page)
        expect(page.get_by_label("Six digits")).to_be_focused()
        page.keyboard.type("000000")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").last).to_contain_text("Wrong code")
        assert_usable(page)
        page.get_by_text("Don't have your phone?").click()
        page.get_by_label("Recovery code").fill(recovery)
        page.get_by_role("button", name="Sign in with a recovery code").click()
        expect(page.get_by_text("9 recovery codes left")).to_be_visible()
        assert_usable(page)
