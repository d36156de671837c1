"""From a voice in front of a microphone to a confirmed cart, through the real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from services.workers.stack import Stack
from tests.browser.conftest import PHONE, assert_usable, spoken_wav, watched

pytestmark = [pytest.mark.models, pytest.mark.stack]
# A bound only: the stages take seconds on a small machine.
SETTLE_MS = 300_000


@pytest.fixture
def speaking(
    launch: Callable[..., Browser], tmp_path: Path
) -> Iterator[Callable[[str], tuple[Browser, float]]]:
    """Return a function that starts Chromium with a shipped recording, and returns its seconds."""
    started: list[Browser] = []

    def start(name: str) -> tuple[Browser, float]:
        spoken = spoken_wav(name, tmp_path)
        with av.open(str(spoken)) as file:
            seconds = float((file.duration or 0) / av.time_base)
        started.append(launch(spoken))
        return started[-1], seconds

    yield start
    for browser in started:
        browser.close()


def confirmed(page: Page, client: httpx.Client) -> dict[str, Any]:
    """Say yes on the order's page, and return the order by the API."""
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible(timeout=SETTLE_MS)
    page.get_by_role("button", name="Yes, order for").click()
    expect(page.get_by_role("heading", name="Thanks, your order is in")).to_be_visible()
    order: dict[str, Any] = client.get(f"/v1/orders/{page.url.rpartition('/')[2]}").json()
    assert order["status"] == "completed"
    return order


def test_an_order_is_spoken_into_the_microphone(
    speaking: Callable[[str], tuple[Browser, float]], stack: Stack, client: httpx.Client
) -> None:
    # No word in it has a neighbour on the menu: "oat milk", played back in pieces, may be heard as "oatmeal".
    browser, seconds = speaking("hc-05")
    with watched(browser, stack.base_url, viewport=PHONE) as page:
        page.goto("/?menu=harbor-coffee")
        mic = page.get_by_role("button", name="Hold to talk")
        mic.hover()
        page.mouse.down()
        expect(page.get_by_text("Listening…")).to_be_visible()
        page.wait_for_timeout(int(seconds * 1000) + 700)
        page.mouse.up()
        page.wait_for_url("**/orders/ord_*")
        expect(page.get_by_role("heading", name="Is this right?")).to_be_visible(timeout=SETTLE_MS)
        assert_usable(page)
        play = page.locator("button.play").first
        start = float(play.get_attribute("data-start") or "nan")
        play.click()
        page.wait_for_function("s => document.getElementById('recording').currentTime > s", arg=start)
        order = confirmed(page, client)
    assert order["source"] == "audio"
    assert [line["sku"] for line in order["cart"]["lines"]] == ["cold-brew"]
