"""Staff accounts and the administration, on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.shops.access import Role
from tests.browser.conftest import PHONE, Watch, assert_usable, watched
from tests.browser.review_desk import PASSWORD, signed_in
from tests.integration.api_world import World, running
from tests.integration.oidc_world import bind
from tests.integration.signing import code_at
from tests.servers.oidc_provider import oidc_provider


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run the API with an account per test: Ann, an administrator; Bob, bound to a provider; and Cem."""
    home = tmp_path_factory.mktemp("desk")
    with (
        oidc_provider() as provider,
        running(home, webhook_endpoints="private", **provider.settings()) as world,
    ):
        world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        bind(world, provider, "Bob", "bob-1")
        world.parts.staff.add("Cem", PASSWORD)
        yield world


def press(page: Page, button: str) -> None:
    """Type the password into the button's form and press it."""
    form = page.locator("form").filter(has=page.get_by_role("button", name=button))
    form.get_by_label("Your password").fill(PASSWORD)
    form.get_by_role("button", name=button).click()
    assert_usable(page)


def test_the_four_pages_of_the_administration(desk: World, browser: Browser) -> None:
    with signed_in(browser, desk.url, "Ann", viewport=PHONE) as page:
        page.get_by_role("link", name="Admin").click()
        page.get_by_label("Name", exact=True).fill("till 3")
        page.get_by_label("orders:write").check()
        press(page, "Add key")
        expect(page.get_by_role("status")).to_contain_text("saycart_")
        page.get_by_text("Revoke till 3").click()
        press(page, "Revoke now")
        expect(page.get_by_text("revoked", exact=True)).to_be_visible()

        page.get_by_role("link", name="People").click()
        page.get_by_label("Name").fill("Ben")
        press(page, "Add person")
        expect(page.get_by_role("status")).to_contain_text("Password for Ben")
        page.get_by_text("Change Ben").click()
        press(page, "Block")
        expect(page.get_by_text("blocked", exact=True)).to_be_visible()

        page.get_by_role("link", name="Webhooks").click()
        page.get_by_label("URL").fill("http://127.0.0.1:9/hook")
        press(page, "Add endpoint")
        expect(page.get_by_role("status")).to_contain_text("whsec_")
        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_role("status")).to_contain_text("It didn't arrive")
        page.get_by_text("Remove http").click()
        press(page, "Remove endpoint")
        expect(page.get_by_text("No endpoints yet.")).to_be_visible()

        page.get_by_role("link", name="Settings").click()
        page.get_by_label("Colour").fill("red")
        press(page, "Save")
        expect(page.get_by_role("alert").last).to_contain_text("Write it as #0a7")
        page.get_by_label("Colour").fill("#0a7")
        press(page, "Save")
        expect(page.get_by_role("status")).to_have_text("Done.")


class Between(Watch):
    """Allow requests to the provider too, and ignore what its pages do."""

    def _on_request(self, url: str) -> None:
        pass

    def _on_console(self, kind: str, text: str) -> None:
        if "Content Security Policy" in text:
            self.faults.append(text)


def test_signing_in_by_a_provider_and_out_again(desk: World, browser: Browser) -> None:
    watch = Between(urlsplit(desk.url).netloc)
    context = browser.new_context(base_url=desk.url, viewport=PHONE)
    watch.follow(context)
    # The provider's own pages want a style sheet from elsewhere.
    context.route(lambda url: urlsplit(url).hostname != "127.0.0.1", lambda route: route.abort())
    page = context.new_page()
    page.goto("/review/stats")
    button = page.get_by_role("button", name="Sign in with Harbor Login")
    expect(button).to_be_visible()
    assert_usable(page)
    button.click()
    page.wait_for_url("**/oauth2/authorize?**")
    page.locator("input[name=sub]").fill("bob-1")
    page.locator("input[name=sub]").press("Enter")
    page.wait_for_url(re.compile(r"/review/stats$"))
    page.goto("/account")
    expect(page.get_by_text("You signed in with Harbor Login")).to_be_visible()
    expect(page.get_by_label("New password")).to_have_count(0)
    assert_usable(page)
    page.get_by_role("button", name="Sign out here").click()
    page.wait_for_url("**/oauth2/end_session?**")
    page.goto("/review")
    page.wait_for_url("**/sign-in?**")
    context.close()
    assert not watch.faults, "\n".join(watch.faults)


def name_and_password(page: Page) -> None:
    """The first step, up to where the second would begin."""
    page.goto("/sign-in?next=/account")
    page.get_by_label("Name").fill("Cem")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")


def test_setting_the_second_step_up_and_signing_in_with_a_code(desk: World, browser: Browser) -> None:
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
        page.get_by_label("Six-digit code").fill(code_at(desk.parts.database, secret, -1))
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
        expect(page.get_by_label("Six-digit code")).to_be_focused()
        page.keyboard.type("000000")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").last).to_contain_text("Wrong code")
        assert_usable(page)
        page.get_by_text("Don't have your phone?").click()
        page.get_by_label("Recovery code").fill(recovery)
        page.get_by_role("button", name="Sign in with a recovery code").click()
        expect(page.get_by_text("9 recovery codes left")).to_be_visible()
        assert_usable(page)
