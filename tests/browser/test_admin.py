"""One walk through the four pages of the administration, on a desktop and on a phone."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.shops.access import Role
from tests.browser.conftest import DESKTOP, PHONE, assert_usable
from tests.browser.review_desk import PASSWORD, signed_in
from tests.integration.api_world import running


def press(page: Page, button: str) -> None:
    """Type the password into the button's form and press it."""
    form = page.locator("form").filter(has=page.get_by_role("button", name=button))
    form.get_by_label("Your password").fill(PASSWORD)
    form.get_by_role("button", name=button).click()
    assert_usable(page)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_the_four_pages(tmp_path: Path, browser: Browser, viewport: dict[str, int]) -> None:
    with running(tmp_path, webhook_endpoints="private") as world, ExitStack() as stack:
        world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        page = stack.enter_context(signed_in(browser, world.url, "Ann", viewport=viewport))
        page.get_by_role("link", name="Admin").click()
        page.get_by_label("Name").fill("till 3")
        page.get_by_label("orders:write").check()
        press(page, "Add the key")
        expect(page.get_by_role("status")).to_contain_text("saycart_")
        page.get_by_text("Revoke till 3").click()
        press(page, "Revoke now")
        expect(page.get_by_text("revoked", exact=True)).to_be_visible()

        page.get_by_role("link", name="People").click()
        page.get_by_label("Name").fill("Ben")
        press(page, "Add the person")
        expect(page.get_by_role("status")).to_contain_text("The password of Ben")
        page.get_by_text("Change Ben").click()
        press(page, "Block")
        expect(page.get_by_text("blocked", exact=True)).to_be_visible()

        page.get_by_role("link", name="Webhooks").click()
        page.get_by_label("URL").fill("http://127.0.0.1:9/hook")
        press(page, "Add the endpoint")
        expect(page.get_by_role("status")).to_contain_text("whsec_")
        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_role("status")).to_contain_text("It didn't arrive")
        page.get_by_text("Remove http").click()
        press(page, "Remove it")
        expect(page.get_by_text("No endpoints yet.")).to_be_visible()

        page.get_by_role("link", name="Settings").click()
        page.get_by_label("Colour").fill("red")
        press(page, "Save")
        expect(page.get_by_role("alert").last).to_contain_text("Write it as #0a7")
        page.get_by_label("Colour").fill("#0a7")
        press(page, "Save")
        expect(page.get_by_role("status")).to_have_text("Done.")
