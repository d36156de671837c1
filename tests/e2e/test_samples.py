"""Real audio over HTTP to the running stack: plain orders come out right, doubtful ones reach a human."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from schemas.order import Order
from services.cli.samples import same_cart
from tests.processes.running_stack import RECORDINGS, gold_rows

pytestmark = [pytest.mark.models, pytest.mark.stack]
Settle = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def done(client: httpx.Client, settle: Settle) -> dict[str, dict[str, Any]]:
    """Every shipped recording, sent at once and followed to its end."""
    sent = {}
    for row in gold_rows():
        with (RECORDINGS / row["audio"]).open("rb") as audio:
            answer = client.post("/v1/orders", files={"audio": audio}, data={"menu": row["menu"]})
        assert answer.status_code == 202, answer.text
        sent[row["id"]] = answer.json()["id"]
    return {row_id: settle(order_id) for row_id, order_id in sent.items()}


def test_no_recording_ends_in_an_error(done: dict[str, dict[str, Any]]) -> None:
    assert {row_id: order["error"] for row_id, order in done.items() if order["status"] == "error"} == {}


@pytest.mark.parametrize("row", [r for r in gold_rows() if r["expect"] == "review"], ids=lambda r: r["id"])
def test_a_doubtful_recording_reaches_a_human(row: dict[str, Any], done: dict[str, Any]) -> None:
    order = done[row["id"]]
    assert order["status"] == "needs_review"
    assert order["review"]["reasons"]


def test_plain_recordings_come_out_right(done: dict[str, dict[str, Any]]) -> None:
    """No wrong cart may be accepted; of the plain samples at most two may be sent to a human."""
    plain = [row for row in gold_rows() if row["expect"] == "accept"]
    accepted = [row for row in plain if done[row["id"]]["status"] == "completed"]
    wrong = [
        (row["id"], done[row["id"]]["cart"])
        for row in accepted
        if not same_cart(Order.model_validate(done[row["id"]]).cart, row["cart"])  # type: ignore[arg-type]
    ]
    assert wrong == []
    reviewed = {row["id"]: done[row["id"]]["findings"] for row in plain if row not in accepted}
    assert len(reviewed) <= 2, reviewed
