"""Orders that the real workers doubt, settled by two people in real browsers, and learnt from.

`test_review.py` sets its orders' states itself; here each comes in by `POST /v1/orders`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from infra.settings import REPOSITORY
from services.workers.stack import Stack, as_environment
from tests.browser.review_desk import PASSWORD, signed_in, take
from tests.processes.running_stack import RECORDINGS

pytestmark = [pytest.mark.models, pytest.mark.stack]
Order = dict[str, Any]


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


@pytest.fixture(scope="module", autouse=True)
def staff(stack: Stack) -> None:
    for name in ("Ann", "Bob"):
        saycart(stack, "staff", "add", name, "--password-stdin", typed=f"{PASSWORD}\n")


@pytest.fixture(autouse=True)
def _empty_queue(client: httpx.Client) -> None:
    """What others left undecided would be the next order of somebody here."""
    for review in client.get("/v1/reviews").json()["reviews"]:
        client.post(f"/v1/orders/{review['order_id']}/cancel").raise_for_status()


def add_croissant(page: Page) -> None:
    """What the customer takes in place of a pizza."""
    page.locator("#line-1-sku").focus()
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
