"""What staff corrected comes out as rows that `saycart eval` reads, and as figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.blobs.folder import BlobFolder
from infra.settings import REPOSITORY
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.lifecycle import Event
from schemas.records.orders import Outcome
from schemas.review import ReviewDecision, ReviewReason
from services.learning.evaluation.run import read_rows
from services.pipeline.review import settle
from services.validation.price import price_cart
from tests.stand_ins import CAFE, TESTER, Works, speech

SAID = "um two large flat whites with oat milk and a muffin please"
FLAT = {"kind": "not_on_menu", "heard": "two large flat whites with oat milk", "quantity": 2}
MUFFIN = {"kind": "item", "heard": "a muffin", "sku": "muffin", "quantity": 1}
LATTE = {
    "kind": "item", "heard": FLAT["heard"], "sku": "latte", "quantity": 2, "size": "L",
    "options": [{"group": "milk", "id": "oat"}],
}  # fmt: skip


@pytest.fixture
def works(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "recordings"))


def settled(
    works: Works, action: str, lines: list[dict[str, Any]] | None = None, *, spoken: bool = True
) -> str:
    """An order that the machine proposed as flat whites that nobody has, and that a person settled."""
    order_id = works.spoken() if spoken else works.typed(SAID)
    heard = speech(SAID)
    order = works.orders.get(order_id)
    if spoken:
        order = works.orders.commit(order, Outcome(Event.TRANSCRIBED, transcript=heard))
    draft = CartDraft.model_validate({"lines": [FLAT, MUFFIN]})
    cart = price_cart(draft, CAFE, 1, heard, [])
    order = works.orders.commit(order, Outcome(Event.DECODED, draft=draft, cart=cart))
    works.orders.commit(order, Outcome(Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,)))
    review = works.reviews.by_order(order_id)
    assert review is not None
    held = works.reviews.claim(review.id, "ann", 60)
    decision = ReviewDecision.model_validate(
        {"version": held.version, "action": action, "reason": "no"}
        | ({"cart": {"lines": lines}} if lines is not None else {})
    )
    outcome = settle(works.orders.get(order_id), decision, "ann", works.menus.get("trap-cafe"))
    works.reviews.decide(review.id, decision, outcome, reviewer="ann", by=TESTER)
    return order_id


def test_the_command_writes_corrections_as_gold_rows_that_eval_reads(
    works: Works, database_url: str, tmp_path: Path
) -> None:
    spoken = settled(works, "correct", [LATTE, MUFFIN])
    typed = settled(works, "correct", [MUFFIN], spoken=False)
    settled(works, "reject")
    out = tmp_path / "gold.jsonl"
    command = [sys.executable, "-m", "services.cli.main", "reviews", "export", "--out", out]
    environment = {"DATABASE_URL": database_url, "SAYCART_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60
    )
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
