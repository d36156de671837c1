"""Screenshots for the documentation, from the running product:

    python -m tests.bench.screenshots [--out FOLDER]

Starts the embedded stack, orders as a customer, reviews as staff, and writes PNG files and a recording
(`recording.py`). Prints the first contentful paint of the order page and the queue without a browser cache.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, StorageState, ViewportSize, expect, sync_playwright

from infra.settings import REPOSITORY
from schemas.menu import Menu
from schemas.shops.access import Role
from services.bootstrap import bootstrap
from services.cli.samples import load_menus
from services.workers.stack import Stack
from tests.bench.recording import record
from tests.browser.conftest import FLAGS
from tests.browser.review_desk import PASSWORD, signed_in, take
from tests.processes.running_stack import RECORDINGS, connected, follower, settings_in

IMAGES = REPOSITORY / "docs" / "images"
MENU = "harbor-coffee"
DESKTOP: ViewportSize = {"width": 1000, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 780}
SETTLE_MS = 120_000
PAINT = "performance.getEntriesByName('first-contentful-paint')"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="screenshots")
    parser.add_argument("--out", type=Path, default=IMAGES)
    out = parser.parse_args(argv).out
    menus = [Menu.parse(document) for document in load_menus().values()]
    with tempfile.TemporaryDirectory(prefix="screenshots-") as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        with Stack(settings_in(Path(home)), menus=menus) as stack:
            _customers(browser, stack, out)
            _staff(browser, stack, out)
            record(playwright, stack, MENU, out / "order.webp")
        browser.close()
    return 0


def _customers(browser: Browser, stack: Stack, out: Path) -> None:
    """Order with a recording on desktop and phone; tap at the kiosk."""
    for name, size in (("customer", DESKTOP), ("customer-phone", PHONE)):
        page = browser.new_page(base_url=stack.base_url, viewport=size)
        page.goto(f"/?menu={MENU}")
        page.locator("#audio").set_input_files(RECORDINGS / "hc-05.flac")
        page.get_by_role("button", name="Send recording").click()
        expect(page.get_by_role("heading", name="Is this right?")).to_be_visible(timeout=SETTLE_MS)
        _shoot(page, out / f"{name}.png")
    page = browser.new_page(base_url=stack.base_url, viewport={"width": 1280, "height": 1000})
    page.goto(f"/kiosk/main?menu={MENU}")
    for tile in ("cappuccino", "latte"):
        page.locator(f".tile[data-name='{tile}']").click()
    _shoot(page, out / "kiosk.png")


def _staff(browser: Browser, stack: Stack, out: Path) -> None:
    """Review a doubtful recording, and open the menu."""
    container = bootstrap(stack.settings)
    container.staff.add("Ann", PASSWORD, role=Role.MANAGER)
    container.close()
    with connected(stack) as client, (RECORDINGS / "hc-12.flac").open("rb") as audio:
        sent = client.post("/v1/orders", files={"audio": audio}, data={"menu": MENU}).json()
        review = follower(client)(sent["id"])["review"]["id"]
    with signed_in(browser, stack.base_url, "Ann", viewport=DESKTOP) as page:
        take(page, review)
        page.wait_for_timeout(2000)  # until the waveform is drawn
        _shoot(page, out / "review.png")
        page.goto(f"/menu/{MENU}")
        _shoot(page, out / "menu.png")
        cookies = page.context.storage_state()
    for address in ("/", "/review"):
        print(
            f"{address} first contentful paint: {_painted_s(browser, stack.base_url, address, cookies):.2f} s"
        )


def _painted_s(browser: Browser, base_url: str, address: str, cookies: StorageState) -> float:
    """Return the median of nine first views without a cache, after one that warms up the API."""
    times = []
    for _ in range(10):
        context = browser.new_context(base_url=base_url, storage_state=cookies)
        page = context.new_page()
        page.goto(address, wait_until="load")
        page.wait_for_function(f"() => {PAINT}.length")
        times.append(float(page.evaluate(f"{PAINT}[0].startTime")) / 1000)
        context.close()
    return median(times[1:])


def _shoot(page: Page, file: Path) -> None:
    page.screenshot(path=file)
    print(file.name)


if __name__ == "__main__":
    raise SystemExit(main())
