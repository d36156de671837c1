"""Orders that the real workers doubt, settled by two people in real browsers, and learnt from.

`test_review.py` sets its orders' states itself; here each comes in by `POST /v1/orders`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from infra.settings import REPOSITORY
from services.workers.stack import Stack, as_environment
from tests.browser.conftest import PHONE, assert_accessible, assert_fits
from tests.browser.review_desk import PASSWORD, signed_in, take
from tests.processes.running_stack import RECORDINGS, connected, follower, started

pytestmark = [pytest.mark.models, pytest.mark.stack]
Order = dict[str, Any]
# The cart is right as proposed; only the last word is a doubt.
PLAIN = "a large latte with oat milk for my grandmother Zebulina"
PIZZA = "a medium latte and a pepperoni pizza"
# Ten at $5.95: above the value from which two people decide.
DEAR = "ten large lattes with oat milk for the firefighters"


def saycart(stack: Stack, *arguments: str, typed: str = "") -> str:
    """The command line against the stack's database."""
    done = subprocess.run(
        [sys.executable, "-m", "services.cli.main", *arguments],
        cwd=REPOSITORY,
        env=as_environment(stack.settings),
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One without the learned reader, which is sure of the orders that the rules doubt here. What doubts is
    the same with any model, so it has the smallest."""
    yield from started(tmp_path_factory, reader="off", llm_model="smollm2-135m-instruct-q4_1.gguf")


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[httpx.Client]:
    with connected(stack, "harbor-coffee") as client:
        yield client


@pytest.fixture(scope="module")
def settle(client: httpx.Client) -> Callable[[str], Order]:
    return follower(client)


@pytest.fixture(scope="module", autouse=True)
def staff(stack: Stack) -> None:
    for name in ("Ann", "Bob"):
        saycart(stack, "staff", "add", name, "--password-stdin", typed=f"{PASSWORD}\n")


@pytest.fixture(autouse=True)
def _empty_queue(client: httpx.Client) -> None:
    """What others left undecided would be the next order of somebody here."""
    for review in client.get("/v1/reviews").json()["reviews"]:
        client.post(f"/v1/orders/{review['order_id']}/cancel").raise_for_status()


@pytest.fixture
def doubted(client: httpx.Client, settle: Callable[[str], Order]) -> Callable[..., list[Order]]:
    """Send these words as orders and follow them into the review."""

    def send(*said: str) -> list[Order]:
        menu = {"menu": "harbor-coffee"}
        sent = [client.post("/v1/orders", json={"transcript": text, **menu}).json() for text in said]
        orders = [settle(order["id"]) for order in sent]
        assert [order["status"] for order in orders] == ["needs_review"] * len(said), orders
        return orders

    return send


def add_croissant(page: Page) -> None:
    """What the customer takes in place of a pizza."""
    page.keyboard.press("+")
    expect(page.locator("#line-1-sku")).to_be_focused()
    page.keyboard.type("butter c")
    expect(page.locator("#changes")).to_contain_text("1 × butter croissant")
    page.keyboard.press("Escape")


def test_a_doubted_recording_is_heard_corrected_and_exported(
    browser: Browser, stack: Stack, client: httpx.Client, settle: Callable[[str], Order], tmp_path: Path
) -> None:
    with (RECORDINGS / "hc-12.flac").open("rb") as sound:
        sent = client.post("/v1/orders", files={"audio": sound}, data={"menu": "harbor-coffee"}).json()
    order = settle(sent["id"])
    assert order["status"] == "needs_review", order
    with signed_in(browser, stack.base_url, "Ann") as page:
        take(page, order["review"]["id"])
        expect(page.locator("#clock")).to_contain_text(re.compile(r"/ [1-9]"))
        expect(page.locator(".words .word").first).to_be_visible()
        page.keyboard.press(" ")
        expect(page.locator(".findings")).to_contain_text("pizza")
        add_croissant(page)
        page.keyboard.press("a")
        page.wait_for_url(re.compile("after="))
    done = client.get(f"/v1/orders/{order['id']}").json()
    assert (done["status"], done["review"]["decided_by"]) == ("completed", "Ann")
    assert [line["sku"] for line in done["cart"]["lines"]] == ["latte", "butter-croissant"]
    saycart(stack, "reviews", "export", "--out", str(tmp_path / "gold.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text().splitlines()]
    row = next(row for row in rows if row["id"] == order["id"])
    assert [line["sku"] for line in row["cart"]["lines"]] == ["latte", "butter-croissant"]
    heard = (stack.settings.blobs / row["audio"]).read_bytes()
    assert heard == (RECORDINGS / "hc-12.flac").read_bytes()


def test_plain_cases_take_one_key_each_and_the_next_comes_by_itself(
    browser: Browser, stack: Stack, client: httpx.Client, doubted: Callable[..., list[Order]]
) -> None:
    first, second = doubted(PLAIN, PLAIN.replace("large", "small"))
    with signed_in(browser, stack.base_url, "Ann") as page:
        page.keyboard.press("n")
        for order in (first, second):
            page.wait_for_url(f"**/review/{order['review']['id']}*")
            expect(page.locator(".findings")).to_contain_text("zebulina", ignore_case=True)
            page.keyboard.press("a")
        expect(page.get_by_role("heading", name="All caught up")).to_be_visible()
    for order in (first, second):
        done = client.get(f"/v1/orders/{order['id']}").json()
        assert (done["status"], done["review"]["decision"]) == ("completed", "approve")
        assert done["cart"] == order["cart"]


def test_two_who_reach_for_one_order_at_once_do_not_both_get_it(
    browser: Browser, stack: Stack, client: httpx.Client, doubted: Callable[..., list[Order]]
) -> None:
    (order,) = doubted(PIZZA)
    with signed_in(browser, stack.base_url, "Ann") as ann, signed_in(browser, stack.base_url, "Bob") as bob:
        at = (time.time() + 2) * 1000
        for page in (ann, bob):
            page.goto(f"/review/{order['review']['id']}")
            click = "at => setTimeout(() => document.querySelector('[data-key=c]').click(), at - Date.now())"
            page.evaluate(click, at)
        for page in (ann, bob):
            expect(page.locator("#settle, #problem .notice")).to_be_visible()
            page.wait_for_load_state()
        quick, late = (ann, bob) if ann.locator("#settle").count() else (bob, ann)
        name = "Ann" if quick is ann else "Bob"
        expect(late.get_by_role("alert")).to_contain_text(f"{name} has this review")
        expect(late.locator("#settle")).to_have_count(0)
        add_croissant(quick)
        quick.keyboard.press("a")
        quick.wait_for_url(re.compile(r"/review\?after="))
        late.goto(f"/review/{order['review']['id']}")
        expect(late.locator("main")).to_contain_text(f"Corrected by {name}")
        expect(late.locator(".record").first.locator("li")).to_have_count(2)  # one claim, one decision
    done = client.get(f"/v1/orders/{order['id']}").json()
    assert (done["status"], done["review"]["decided_by"], done["cart"]["total"]) == ("completed", name, 850)


def test_a_lapsed_lease_is_taken_over_and_a_late_decision_shows_what_changed(
    browser: Browser, stack: Stack, client: httpx.Client, doubted: Callable[..., list[Order]]
) -> None:
    (order,) = doubted(PLAIN)
    review_id = order["review"]["id"]
    with signed_in(browser, stack.base_url, "Ann") as ann, signed_in(browser, stack.base_url, "Bob") as bob:
        ann.route("**/renew", lambda route: route.fulfill(status=204))  # her renewals get lost
        take(ann, review_id)
        ann.get_by_label("Size").select_option("S")
        expect(ann.locator("#total")).to_have_text("$4.95")
        expect(bob.locator(f"#open-{review_id}")).to_contain_text("Ann has it")
        expect(bob.locator(f"#open-{review_id}")).not_to_contain_text("has it", timeout=60_000)
        bob.keyboard.press("n")
        bob.wait_for_url(f"**/review/{review_id}")
        bob.get_by_label("Quantity").fill("2")
        expect(bob.locator("#total")).to_have_text("$11.90")
        bob.keyboard.press("Escape")
        bob.keyboard.press("a")
        bob.wait_for_url(re.compile(r"/review\?after="))
        ann.keyboard.press("Escape")
        ann.keyboard.press("a")
        told = ann.locator("#conflict")
        for words in ("Bob corrected it", "Saved: 2 × large latte", "Yours: 1 × small latte"):
            expect(told).to_contain_text(words)
        for words in ("Ann took it", "Bob took it over", "Bob settled it"):
            expect(told.locator(".record")).to_contain_text(words)
    done = client.get(f"/v1/orders/{order['id']}").json()
    assert (done["review"]["decided_by"], done["cart"]["total"]) == ("Bob", 1190)


def test_a_dear_order_is_settled_by_a_second_person_on_a_phone(
    browser: Browser, stack: Stack, client: httpx.Client, doubted: Callable[..., list[Order]]
) -> None:
    (order,) = doubted(DEAR)
    review_id = order["review"]["id"]
    with signed_in(browser, stack.base_url, "Ann") as ann:
        ann.keyboard.press("n")
        ann.wait_for_url(f"**/review/{review_id}")
        ann.keyboard.press("a")
        expect(ann.get_by_role("status").first).to_contain_text("needs a second approval")
    assert client.get(f"/v1/orders/{order['id']}").json()["status"] == "needs_review"
    with signed_in(browser, stack.base_url, "Bob", viewport=PHONE, has_touch=True) as bob:
        row = bob.locator(f"#open-{review_id}")
        expect(row).to_contain_text("second approval: Ann decided")
        assert_fits(bob)
        row.tap()
        bob.get_by_role("button", name="Take this order").tap()
        expect(bob.locator("main")).to_contain_text("Ann decided to approve this order")
        assert_fits(bob)
        assert_accessible(bob)
        bob.get_by_role("button", name="Approve").tap()
        bob.wait_for_url(re.compile(r"/review\?after="))
    done = client.get(f"/v1/orders/{order['id']}").json()
    assert (done["status"], done["review"]["decided_by"], done["cart"]["total"]) == ("completed", "Bob", 5950)
