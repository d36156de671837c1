"""A cart that the model isn't sure of, in a real browser: its customer says whether it is right."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from infra.blobs.folder import BlobFolder
from tests.browser.conftest import assert_accessible, assert_fits, watched
from tests.browser.review_desk import Desk
from tests.integration.api_world import World
from tests.stand_ins import RIGHT, SAID, ScriptedDecoder, Works, read_as

UNSURE = replace(read_as(RIGHT), logprob=math.log(0.7), pieces=(("latte", 0.71), ("oat milk", 0.99)))


def asked(cafe: World, folder: Path) -> tuple[Works, dict[str, Any]]:
    """The workers, and an order that they leave with a question."""
    works = Works(cafe.parts.database, BlobFolder(folder))
    works.decoder = ScriptedDecoder([UNSURE])
    order_id = cafe.text(SAID, menu="trap-cafe")["id"]
    works.until_settled(order_id)
    return works, cafe.http.get(f"/v1/orders/{order_id}").json()


def test_a_no_brings_a_colleague_who_sees_what_the_model_doubted(
    browser: Browser, cafe: World, tmp_path: Path
) -> None:
    works, order = asked(cafe, tmp_path)
    with watched(browser, cafe.url) as page:
        page.goto(cafe.link(order["id"]))
        page.get_by_role("button", name="No", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("A team member is checking your order")
        expect(page.locator(".doubts")).to_contain_text("that's not right")
    review = works.reviews.by_order(order["id"])
    assert review is not None
    with Desk(cafe).staff(browser) as page:
        page.goto(f"/review/{review.id}")
        expect(page.locator(".findings")).to_contain_text("Asked: Is this your order: 1 × large latte")
        page.keyboard.press("w")
        expect(page.locator("#why")).to_contain_text("70% sure of the whole cart. Least sure of: latte (71%)")
        assert_accessible(page)
        assert_fits(page)
