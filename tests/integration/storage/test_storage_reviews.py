"""The review queue in storage, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from infra.sql.database import Database
from schemas.cart import Cart, MenuRef
from schemas.errors import Conflict, StaleState
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.storage.orders.store import OrderStore
from services.storage.reviews.store import ReviewStore
from tests.stand_ins import TESTER

APPROVE = Outcome(Event.APPROVED)
REFUSE = Outcome(Event.REFUSED)


@pytest.fixture
def orders(database: Database) -> OrderStore:
    return OrderStore(database, "main")


@pytest.fixture
def reviews(database: Database) -> ReviewStore:
    return ReviewStore(database, "main")


@pytest.fixture
def doubt(orders: OrderStore, reviews: ReviewStore) -> Callable[[], ReviewRecord]:
    def make() -> ReviewRecord:
        order, _ = orders.create(NewOrder("cafe", 1, "en", transcript=Transcript(text="hm", confidence=0.1)))
        orders.commit(order, Outcome(Event.DOUBTED, reasons=(ReviewReason.LOW_ASR_CONFIDENCE,)))
        review = reviews.by_order(order.id)
        assert review is not None
        return review

    return make


def decide(reviews: ReviewStore, review: ReviewRecord, reviewer: str, outcome: Outcome = APPROVE) -> Any:
    return reviews.decide(
        review.id,
        reviewer=reviewer,
        version=review.version,
        action="approve",
        reason=None,
        outcome=outcome,
        by=TESTER,
    )


def test_a_lapsed_claim_is_taken_over(reviews: ReviewStore, doubt: Any) -> None:
    held = reviews.claim(doubt().id, "ann", 0)
    with pytest.raises(Conflict, match="isn't assigned to you"):
        decide(reviews, held, "ann")
    taken = reviews.claim(held.id, "bob", 60)
    assert (taken.claimed_by, taken.version) == ("bob", held.version + 1)
    with pytest.raises(Conflict, match="bob has this review"):
        decide(reviews, held, "ann")
    with pytest.raises(Conflict, match="bob has this review"):
        reviews.claim(held.id, "ann", 60)


def test_decide_moves_the_order_too(orders: OrderStore, reviews: ReviewStore, doubt: Any) -> None:
    held = reviews.claim(doubt().id, "ann", 60)
    cart = Cart(currency="USD", menu=MenuRef(id="cafe", version=1), lines=[], total=0)
    review, order = reviews.decide(
        held.id,
        reviewer="ann",
        version=held.version,
        action="correct",
        reason="misheard",
        outcome=Outcome(Event.APPROVED, cart=cart, detail={"by": "ann"}),
        by=TESTER,
    )
    assert (review.status, review.decision, review.decided_by, review.reason) == (
        "decided",
        "correct",
        "ann",
        "misheard",
    )
    assert review.decided_at is not None
    assert review == reviews.get(held.id)
    assert (order.state, order.cart) == (State.COMPLETED, cart)
    assert order == orders.get(order.id)
    assert orders.events(order.id)[-1].detail == {"by": "ann"}
    for act in (
        lambda: decide(reviews, review, "ann"),
        lambda: reviews.claim(held.id, "ann", 60),
        lambda: reviews.release(held.id, "ann"),
    ):
        with pytest.raises(Conflict, match="decided"):
            act()


def test_decide_only_what_one_holds_and_has_read(reviews: ReviewStore, doubt: Any) -> None:
    review = doubt()
    with pytest.raises(Conflict, match="isn't assigned to you"):
        decide(reviews, review, "ann")
    held = reviews.claim(review.id, "ann", 60)
    with pytest.raises(Conflict, match="version 2, not 1"):
        decide(reviews, review, "ann")
    with pytest.raises(Conflict, match="ann has this review"):
        decide(reviews, held, "bob")
    assert reviews.get(review.id) == held


def test_a_decision_that_cannot_move_the_order_is_not_kept(
    orders: OrderStore, reviews: ReviewStore, doubt: Any
) -> None:
    held = reviews.claim(doubt().id, "ann", 60)
    with pytest.raises(StaleState):
        decide(reviews, held, "ann", Outcome(Event.DECODED))
    assert reviews.get(held.id) == held
    assert orders.get(held.order_id).state is State.IN_REVIEW


def test_one_of_sixteen_decisions_wins(
    orders: OrderStore, reviews: ReviewStore, doubt: Any, race: Any
) -> None:
    held = reviews.claim(doubt().id, "ann", 60)
    ends = race(16, lambda n: decide(reviews, held, "ann", APPROVE if n % 2 else REFUSE))
    assert Counter(type(end) for end in ends) == {tuple: 1, Conflict: 15}
    winner = next(end for end in ends if isinstance(end, tuple))
    assert orders.get(held.order_id) == winner[1]
    assert len(orders.events(held.order_id)) == 4


def test_one_of_sixteen_reviewers_wins(reviews: ReviewStore, doubt: Any, race: Any) -> None:
    review = doubt()
    ends = race(16, lambda n: reviews.claim(review.id, f"reviewer {n}", 60))
    assert Counter(type(end) for end in ends) == {ReviewRecord: 1, Conflict: 15}


def test_decision_against_cancellation(
    orders: OrderStore, reviews: ReviewStore, doubt: Any, race: Any
) -> None:
    for _ in range(5):
        held = reviews.claim(doubt().id, "ann", 60)

        def act(number: int, held: ReviewRecord = held) -> Any:
            return decide(reviews, held, "ann") if number % 2 else orders.cancel(held.order_id)

        ends = race(4, act)
        state, status = orders.get(held.order_id).state, reviews.get(held.id).status
        assert (state, status) in {(State.COMPLETED, "decided"), (State.CANCELLED, "withdrawn")}
        assert {type(end) for end in ends if isinstance(end, Exception)} == {Conflict}
