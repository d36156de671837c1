"""Signing in by a provider in a real browser: the strict policy lets it go there and come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import PHONE, Watch, assert_usable
from tests.integration.api_world import World, running
from tests.integration.oidc_world import bind
from tests.servers.oidc_provider import OidcProvider, oidc_provider


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with oidc_provider() as started:
        yield started


@pytest.fixture(scope="module")
def desk(provider: OidcProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("oidc"), **provider.settings()) as world:
        bind(world, provider, "Bob", "bob-1")
        yield world


class Between(Watch):
    """Two sites are asked here, ours and the provider's; what the other does is its own business."""

    def _asked(self, url: str) -> None:
        pass

    def _said(self, kind: str, text: str) -> None:
        if "Content Security Policy" in text:
            self.faults.append(text)


def test_there_and_back_and_out_again(desk: World, browser: Browser) -> None:
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
