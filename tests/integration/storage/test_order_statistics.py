"""Order statistics."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.decision import Basis, Decision, Doubt, ModelAnswer, UnsurePiece, Verdict
from schemas.lifecycle import Event
from schemas.records.orders import OrderRecord, Outcome
from schemas.records.statistics import Duration, OrderCount
from schemas.review import ReviewReason
from services.storage.base.tables import EventRow, OrderRow
from services.storage.statistics import order_statistics
from services.validation.facts import check_facts
from services.validation.price import price_cart
from tests.integration.api.test_corrections import LATTE, MUFFIN, settled
from tests.stand_ins import CAFE, Pipeline, speech

KATHMANDU = "Asia/Kathmandu"  # 5 h 45 min before UTC
UNSURE = ModelAnswer(probability=0.9, unsure=(UnsurePiece(text="blueberry muffin", probability=0.8),))
DRAFT = CartDraft.model_validate({"lines": [{**LATTE, "size": None}, MUFFIN]})


def decoded(pipeline: Pipeline) -> OrderRecord:
    order = pipeline.orders.get(pipeline.typed())
    return pipeline.orders.commit(order, Outcome(Event.DECODED, draft=DRAFT, answer=UNSURE))


def answered(pipeline: Pipeline) -> str:
    findings, codes = check_facts(DRAFT, CAFE), ("missing_size", "reading_unsure")
    asks = Outcome(
        Event.DOUBTED,
        cart=price_cart(DRAFT, CAFE, 1, speech("two lattes"), findings),
        reasons=(ReviewReason.BLOCKING_FINDING,),
        decision=Decision(
            verdict=Verdict.ASKS,
            doubts=tuple(Doubt(code=code, message="?") for code in codes),
            basis=Basis(transcript_confidence=1),
        ),
    )
    return pipeline.orders.answer(pipeline.orders.commit(decoded(pipeline), asks), Outcome(Event.ANSWERED)).id


MAKE: dict[str, Callable[[Pipeline], str]] = {
    "accepted": lambda pipeline: pipeline.orders.commit(decoded(pipeline), Outcome(Event.ACCEPTED)).id,
    "answered": answered,
    "cancelled": lambda pipeline: pipeline.orders.cancel(pipeline.typed()).id,
    "corrected": lambda pipeline: settled(pipeline, "correct", [LATTE, MUFFIN], spoken=False),
}
# Days ago and time in Kathmandu, outcome, seconds to the cart and to the end.
ORDERS = [
    (30, "23:59", "accepted", 90, 90),
    (29, "00:01", "accepted", 2, 2),
    (1, "12:00", "accepted", 4, 4),
    (1, "12:20", "answered", 3, 30),
    (1, "12:59", "corrected", 5, 300),
    (1, "13:00", "cancelled", 1, 1),
]


@pytest.fixture
def pipeline(database: Database, tmp_path: Path) -> Pipeline:
    pipeline, zone = Pipeline(database, BlobFolder(tmp_path)), ZoneInfo(KATHMANDU)
    with database.read() as session:
        today = database.now(session).astimezone(zone).date()
    for days_ago, at, what, to_cart_s, to_end_s in ORDERS:
        came = datetime.combine(today - timedelta(days=days_ago), time.fromisoformat(at), zone)
        order_id = MAKE[what](pipeline)
        with pipeline.database.write() as session:
            session.get_one(OrderRow, order_id).created_at = came
            for event in session.scalars(select(EventRow).where(EventRow.order_id == order_id)):
                ends = event.state in ("completed", "cancelled")
                event.at = came + timedelta(seconds=to_end_s if ends else to_cart_s)
    return pipeline


def test_orders_are_counted_in_the_shops_time_zone(pipeline: Pipeline) -> None:
    found = order_statistics(pipeline.database, "main", 30, KATHMANDU)
    days = list(found.days.values())
    assert (len(days), days[0], days[-2]) == (30, OrderCount(1, 1), OrderCount(4, 3))
    busy = {hour: count for hour, count in enumerate(found.hours) if count.orders}
    assert busy == {0: OrderCount(1, 1), 12: OrderCount(3, 3), 13: OrderCount(1, 0)}
    assert (found.to_cart, found.to_settled) == (Duration(3.5, 5), Duration(17, 300))


def test_doubts_are_counted_by_order(pipeline: Pipeline) -> None:
    found = order_statistics(pipeline.database, "main", 30, KATHMANDU)
    assert (found.asked, found.asked_for) == (1, {"missing_size": 1, "reading_unsure": 1})
    assert (found.to_staff, found.to_staff_for) == (1, {"not_on_menu": 1})
    assert found.items == {"latte": 1, "blueberry muffin": 1}
