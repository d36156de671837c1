"""Staff corrections are exported as rows for `saycart eval`, and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schemas.cart import CartDraft
from schemas.lifecycle import Event
from schemas.records.orders import Outcome
from schemas.review import ReviewDecision, ReviewReason
from services.learning.evaluation.run import read_rows
from services.pipeline.review import settle
from services.validation.price import price_cart
from tests.processes.parts import python
from tests.stand_ins import CAFE, TESTER, Pipeline, speech

SAID = "um two large flat whites with oat milk and a muffin please"
FLAT = {"kind": "not_on_menu", "heard": "two large flat whites with oat milk", "quantity": 2}
MUFFIN = {"kind": "item", "heard": "a muffin", "sku": "muffin", "quantity": 1}
LATTE = {
    "kind": "item", "heard": FLAT["heard"], "sku": "latte", "quantity": 2, "size": "L",
    "options": [{"group": "milk", "id": "oat"}],
}  # fmt: skip


def settled(
    pipeline: Pipeline, action: str, lines: list[dict[str, Any]] | None = None, *, spoken: bool = True
) -> str:
    """An order decoded as an item off the menu, and decided by a person."""
    order_id = pipeline.spoken() if spoken else pipeline.typed(SAID)
    heard = speech(SAID)
    order = pipeline.orders.get(order_id)
    if spoken:
        order = pipeline.orders.commit(order, Outcome(Event.TRANSCRIBED, transcript=heard))
    draft = CartDraft.model_validate({"lines": [FLAT, MUFFIN]})
    cart = price_cart(draft, CAFE, 1, heard, [])
    order = pipeline.orders.commit(order, Outcome(Event.DECODED, draft=draft, cart=cart))
    pipeline.orders.commit(order, Outcome(Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,)))
    review = pipeline.reviews.by_order(order_id)
    assert review is not None
    held = pipeline.reviews.claim(review.id, "ann", 60)
    decision = ReviewDecision.model_validate(
        {"version": held.version, "action": action, "reason": "no"}
        | ({"cart": {"lines": lines}} if lines is not None else {})
    )
    outcome = settle(pipeline.orders.get(order_id), decision, "ann", pipeline.menus.get("trap-cafe"))
    pipeline.reviews.decide(review.id, decision, outcome, reviewer="ann", by=TESTER)
    return order_id


def test_corrections_are_exported_as_gold_rows(pipeline: Pipeline, database_url: str, tmp_path: Path) -> None:
    spoken = settled(pipeline, "correct", [LATTE, MUFFIN])
    typed = settled(pipeline, "correct", [MUFFIN], spoken=False)
    settled(pipeline, "reject")
    out = tmp_path / "gold.jsonl"
    environment = {"DATABASE_URL": database_url, "SAYCART_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = python("-m", "services.cli.main", "reviews", "export", "--out", out, env=environment)
    assert done.returncode == 0, done.stderr
    assert "2 corrected of 3 settled orders" in done.stdout
    assert ["error" in row for row in read_rows(out)] == [False, False]
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert set(rows) == {spoken, typed}
    assert rows[spoken]["utterance"] == SAID
    assert rows[spoken]["cart"]["lines"] == [
        {"sku": "latte", "quantity": 2, "size": "L",
         "options": [{"group": "milk", "id": "oat", "amount": "normal", "count": 1}]},
        {"sku": "muffin", "quantity": 1, "size": None, "options": []},
    ]  # fmt: skip
    assert (tmp_path / "recordings" / rows[spoken]["audio"]).read_bytes() == b"RIFF"
    assert "audio" not in rows[typed]
