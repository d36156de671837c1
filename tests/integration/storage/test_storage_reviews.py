"""Reviews in storage: claims, queue order, races."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from infra.sql.database import Database
from schemas.errors import Conflict, NotFound, StaleState
from schemas.lifecycle import Event, State
from schemas.priced_cart import Cart, CartLine, Finding, HeardSpan, MenuRef
from schemas.records.orders import NewOrder, Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewDecision, ReviewReason
from schemas.transcript import Transcript
from services.storage.base.tables import ReviewRow
from services.storage.orders.store import OrderStore
from services.storage.reviews.store import ReviewStore
from tests.stand_ins import TESTER


def cart(total: int) -> Cart:
    line = CartLine(kind="item", heard=HeardSpan(text="a tea"), name="tea", quantity=1, confidence=1)
    return Cart(currency="USD", menu=MenuRef(id="cafe", version=1), lines=[line], total=total)


APPROVE, REFUSE = Outcome(Event.APPROVED), Outcome(Event.REFUSED)


class Desk:
    """The stores, and an order in review."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.orders, self.reviews = OrderStore(database, "main"), ReviewStore(database, "main")

    def doubt(
        self,
        total: int | None = 5000,
        words: str = "a tea",
        reasons: tuple[ReviewReason, ...] = (ReviewReason.LOW_ASR_CONFIDENCE,),
        findings: tuple[Finding, ...] = (),
    ) -> ReviewRecord:
        transcript = Transcript(text=words, confidence=0.1)
        order, _ = self.orders.create(NewOrder("cafe", 1, "en", transcript=transcript))
        proposed = None if total is None else cart(total)
        self.orders.commit(order, Outcome(Event.DOUBTED, cart=proposed, reasons=reasons, findings=findings))
        review = self.reviews.by_order(order.id)
        assert review is not None
        return review

    def decide(self, held: ReviewRecord, who: str, outcome: Outcome) -> Any:
        """Approve an order at the version that was read."""
        approved = ReviewDecision(version=held.version, action="approve", reason="why")
        return self.reviews.decide(held.id, approved, outcome, reviewer=who, by=TESTER)

    def acts(self, review_id: str) -> list[tuple[str, str]]:
        return [(act.actor, act.action) for act in self.reviews.acts(review_id)]


@pytest.fixture
def desk(database: Database) -> Desk:
    return Desk(database)


def test_only_ones_own_active_claim_is_renewed(desk: Desk) -> None:
    review = desk.doubt()
    with pytest.raises(Conflict, match="isn't assigned to you"):
        desk.reviews.claim(review.id, "ann", 60, held=True)
    held = desk.reviews.claim(review.id, "ann", 60)
    longer = desk.reviews.claim(review.id, "ann", 600, held=True)
    assert longer.version == held.version
    assert held.lease_until is not None
    assert longer.lease_until is not None
    assert longer.lease_until > held.lease_until
    with pytest.raises(Conflict, match="ann has this review"):
        desk.reviews.claim(review.id, "bob", 60, held=True)
    desk.reviews.claim(review.id, "ann", 0, held=True)
    with pytest.raises(Conflict, match="isn't assigned to you"):
        desk.reviews.claim(review.id, "ann", 60, held=True)
    desk.reviews.claim(review.id, "bob", 60)
    assert desk.acts(review.id) == [("ann", "claimed"), ("bob", "taken_over")]
    with pytest.raises(NotFound):
        desk.reviews.claim("rev_none", "ann", 60)


def test_a_decision_is_recorded_with_both_carts(desk: Desk) -> None:
    held = desk.reviews.claim(desk.doubt(5000).id, "ann", 60)
    settled, order = desk.decide(held, "ann", Outcome(Event.APPROVED, cart=cart(410)))
    assert (settled.status, settled.decision, settled.decided_by) == ("decided", "approve", "ann")
    assert order.state is State.COMPLETED
    act = desk.reviews.acts(held.id)[-1]
    assert (act.actor, act.action, act.reason) == ("ann", "decided", "why")
    assert (act.before, act.after) == (cart(5000), cart(410))


def test_the_queue_is_sorted_by_waiting_time(desk: Desk) -> None:
    first, second, old, last = (desk.doubt(total).id for total in (100, 300, 900, None))
    with desk.database.write() as session:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        session.execute(update(ReviewRow).where(ReviewRow.id == old).values(created_at=at))
    desk.reviews.claim(first, "ann", 60)
    desk.reviews.claim(second, "ann", 0)
    queue = desk.reviews.queue(10)
    assert [entry.review.id for entry in queue.entries] == [old, first, second, last]
    assert (queue.waiting, queue.held) == (4, 1)
    assert queue.entries[0].words == "a tea"
    assert len(desk.reviews.queue(2).entries) == 2
    assert desk.reviews.queue(2).waiting == 4


def test_the_queue_shows_allergies_first_and_filters(desk: Desk) -> None:
    plain = [desk.doubt().id for _ in range(51)]
    allergy = desk.doubt(reasons=(ReviewReason.BLOCKING_FINDING, ReviewReason.ALLERGY_SAID)).id
    desk.reviews.claim(plain[50], "ann", 60)
    desk.reviews.claim(plain[49], "bob", 60)
    kinds = {
        "": ([allergy, *plain[:49]], 2),
        "mine": ([plain[50]], 0),
        "free": ([allergy, *plain[:49]], 0),
        "allergy": ([allergy], 0),
    }
    for show, (shown, more) in kinds.items():
        queue = desk.reviews.queue(50, show, "ann")
        assert [entry.review.id for entry in queue.entries] == shown
        assert (queue.more, queue.waiting, queue.held) == (more, 52, 2)


def test_an_allergy_that_the_shop_accepts_is_first_in_the_queue(desk: Desk) -> None:
    other = desk.doubt(findings=(Finding.blocking("not_on_menu", 'No "allergy_said" here.'),)).id
    noted = desk.doubt(findings=(Finding.info("allergy_said", "We noted “no nuts”."),)).id
    assert [entry.review.id for entry in desk.reviews.queue(9).entries] == [noted, other]
    assert [entry.review.id for entry in desk.reviews.queue(9, "allergy").entries] == [noted]


def test_an_expired_claim_is_taken_over(desk: Desk) -> None:
    held = desk.reviews.claim(desk.doubt().id, "ann", 0)
    with pytest.raises(Conflict, match="isn't assigned to you"):
        desk.decide(held, "ann", APPROVE)
    taken = desk.reviews.claim(held.id, "bob", 60)
    assert (taken.claimed_by, taken.version) == ("bob", held.version + 1)
    with pytest.raises(Conflict, match="bob has this review"):
        desk.decide(held, "ann", APPROVE)
    with pytest.raises(Conflict, match="bob has this review"):
        desk.reviews.claim(held.id, "ann", 60)


def test_an_invalid_decision_is_not_stored(desk: Desk) -> None:
    held = desk.reviews.claim(desk.doubt().id, "ann", 60)
    with pytest.raises(StaleState):
        desk.decide(held, "ann", Outcome(Event.DECODED))
    assert desk.reviews.get(held.id) == held
    assert desk.orders.get(held.order_id).state is State.IN_REVIEW


def test_one_of_sixteen_decisions_wins(desk: Desk, race: Any) -> None:
    held = desk.reviews.claim(desk.doubt().id, "ann", 60)
    ends = race(16, lambda n: desk.decide(held, "ann", APPROVE if n % 2 else REFUSE))
    assert Counter(type(end) for end in ends) == {tuple: 1, Conflict: 15}
    [winner] = [end for end in ends if isinstance(end, tuple)]
    assert desk.orders.get(held.order_id) == winner[1]


def test_decision_against_cancellation(desk: Desk, race: Any) -> None:
    for _ in range(5):
        held = desk.reviews.claim(desk.doubt().id, "ann", 60)

        def act(number: int, held: ReviewRecord = held) -> Any:
            return desk.decide(held, "ann", APPROVE) if number % 2 else desk.orders.cancel(held.order_id)

        ends = race(4, act)
        state, status = desk.orders.get(held.order_id).state, desk.reviews.get(held.id).status
        assert (state, status) in {(State.COMPLETED, "decided"), (State.CANCELLED, "withdrawn")}
        assert {type(end) for end in ends if isinstance(end, Exception)} == {Conflict}
