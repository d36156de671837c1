"""A spoken order that the real workers doubt is settled by a real person's clicks, and learnt from."""

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
from playwright.sync_api import Browser, expect

from infra.settings import REPOSITORY
from services.workers.stack import Stack, as_environment
from tests.browser.review_desk import PASSWORD, signed_in
from tests.running_stack import RECORDINGS

pytestmark = [pytest.mark.models, pytest.mark.stack]


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


def test_a_doubted_recording_is_heard_corrected_and_exported(
    browser: Browser,
    stack: Stack,
    client: httpx.Client,
    settle: Callable[[str], dict[str, Any]],
    tmp_path: Path,
) -> None:
    with (RECORDINGS / "hc-12.flac").open("rb") as sound:
        sent = client.post("/v1/orders", files={"audio": sound}, data={"menu": "harbor-coffee"}).json()
    order = settle(sent["id"])
    assert order["status"] == "needs_review", order
    saycart(stack, "staff", "add", "Ann", "--password-stdin", typed=f"{PASSWORD}\n")
    with signed_in(browser, stack.base_url, "Ann") as page:
        page.goto(f"/review/{order['review']['id']}")
        page.keyboard.press("c")
        expect(page.locator("#clock")).to_contain_text(re.compile(r"/ [1-9]"))
        expect(page.locator(".words .word").first).to_be_visible()
        page.keyboard.press(" ")
        wrong = page.locator(".cart-line.wrong")
        expect(wrong).to_contain_text("is not on the menu")
        wrong.get_by_role("button", name="Remove line").click()
        expect(wrong).to_have_count(0)
        page.keyboard.press("a")
        page.wait_for_url(re.compile("after="))
    done = client.get(f"/v1/orders/{order['id']}").json()
    assert (done["status"], done["review"]["decided_by"]) == ("completed", "Ann")
    assert [line["sku"] for line in done["cart"]["lines"]] == ["latte"]
    saycart(stack, "reviews", "export", "--out", str(tmp_path / "gold.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text().splitlines()]
    row = next(row for row in rows if row["id"] == order["id"])
    assert [line["sku"] for line in row["cart"]["lines"]] == ["latte"]
    heard = (stack.settings.blobs / row["audio"]).read_bytes()
    assert heard == (RECORDINGS / "hc-12.flac").read_bytes()
