"""Reviews in storage, on SQLite and on PostgreSQL: claims, the second reviewer, the queue's order, races."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from infra.sql.database import Database
from schemas.cart import Cart, CartDraft, CartLine, HeardSpan, MenuRef, NoteDraft, NoteKind
from schemas.errors import Conflict, NotFound, StaleState
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.storage.base.tables import ReviewRow
from services.storage.orders.store import OrderStore
from services.storage.reviews.log import ReviewLog
from services.storage.reviews.store import ReviewStore
from tests.stand_ins import TESTER

LIMIT = 1000


def draft(sku: str, quantity: int = 1, heard: str = "a tea") -> CartDraft:
    line = {"kind": "item", "heard": heard, "sku": sku, "quantity": quantity}
    return CartDraft.model_validate({"lines": [line]})


def cart(total: int) -> Cart:
    line = CartLine(kind="item", heard=HeardSpan(text="a tea"), name="tea", quantity=1, confidence=1)
    return Cart(currency="USD", menu=MenuRef(id="cafe", version=1), lines=[line], total=total)


def wants(sku: str, total: int = 5000, **more: Any) -> Outcome:
    return Outcome(Event.APPROVED, draft=draft(sku, **more), cart=cart(total))


APPROVE, REFUSE = Outcome(Event.APPROVED), Outcome(Event.REFUSED)


class Desk:
    """Both stores and the log, and an order in review."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.orders, self.reviews, self.log = (
            OrderStore(database, "main"),
            ReviewStore(database, "main"),
            ReviewLog(database, "main"),
        )

    def doubt(self, total: int | None = 5000, words: str = "a tea") -> ReviewRecord:
        heard = Transcript(text=words, confidence=0.1)
        order, _ = self.orders.create(NewOrder("cafe", 1, "en", transcript=heard))
        proposed = None if total is None else cart(total)
        self.orders.commit(
            order, Outcome(Event.DOUBTED, cart=proposed, reasons=(ReviewReason.LOW_ASR_CONFIDENCE,))
        )
        review = self.reviews.by_order(order.id)
        assert review is not None
        return review

    def decide(self, review_id: str, who: str, outcome: Outcome, action: str = "correct") -> Any:
        held = self.reviews.claim(review_id, who, 60)
        return self.reviews.decide(
            review_id,
            reviewer=who,
            version=held.version,
            action=action,
            reason="why",
            outcome=outcome,
            second_above=LIMIT,
            by=TESTER,
        )

    def acts(self, review_id: str) -> list[tuple[str, str]]:
        return [(act.actor, act.action) for act in self.log.of(review_id)]


@pytest.fixture
def desk(database: Database) -> Desk:
    return Desk(database)


def test_only_a_live_claim_of_ones_own_is_renewed(desk: Desk) -> None:
    review = desk.doubt()
    with pytest.raises(Conflict, match="isn't assigned to you"):
        desk.reviews.renew(review.id, "ann", 60)
    held = desk.reviews.claim(review.id, "ann", 60)
    longer = desk.reviews.renew(review.id, "ann", 600)
    assert longer.version == held.version
    assert held.lease_until is not None
    assert longer.lease_until is not None
    assert longer.lease_until > held.lease_until
    with pytest.raises(Conflict, match="ann has this review"):
        desk.reviews.renew(review.id, "bob", 60)
    desk.reviews.renew(review.id, "ann", 0)
    with pytest.raises(Conflict, match="isn't assigned to you"):
        desk.reviews.renew(review.id, "ann", 60)
    desk.reviews.claim(review.id, "bob", 60)
    assert desk.acts(review.id) == [("ann", "claimed"), ("bob", "taken_over")]
    assert desk.log.of(review.id)[-1].detail == {"from": "ann"}
    with pytest.raises(NotFound):
        desk.reviews.renew("rev_none", "ann", 60)


def test_two_people_who_agree_settle_a_dear_order(desk: Desk) -> None:
    review = desk.doubt()
    opened, order = desk.decide(review.id, "ann", wants("tea"))
    assert (opened.status, opened.claimed_by, opened.decision) == ("open", None, None)
    assert opened.standing is not None
    assert (opened.standing.by, opened.standing.cart) == ("ann", draft("tea"))
    assert opened == desk.reviews.get(review.id)
    assert order.state is State.IN_REVIEW
    with pytest.raises(Conflict, match="already decided on this order"):
        desk.reviews.claim(review.id, "ann", 60)
    # The customer's words do not count: the second may have pointed at others.
    settled, order = desk.decide(review.id, "bob", wants("tea", heard="tea"))
    assert (settled.status, settled.decided_by) == ("decided", "bob")
    assert order.state is State.COMPLETED
    ends = [act for act in desk.log.of(review.id) if act.after is not None]
    assert [(act.actor, act.action, act.reason) for act in ends] == [
        ("ann", "awaits_second", "why"),
        ("bob", "decided", "why"),
    ]
    assert ends[-1].detail["first"] == "ann"
    assert ends[-1].before == ends[-1].after == cart(5000)


def test_people_who_differ_leave_it_waiting(desk: Desk) -> None:
    review = desk.doubt()
    desk.decide(review.id, "ann", wants("tea"))
    opened, order = desk.decide(review.id, "bob", wants("tea", quantity=2))
    assert opened.status == "open"
    assert opened.standing is not None
    assert opened.standing.by == "bob"
    assert order.state is State.IN_REVIEW
    opened, _ = desk.decide(review.id, "ann", REFUSE, "reject")
    assert opened.standing is not None
    assert (opened.standing.action, opened.standing.cart) == ("reject", None)
    _, order = desk.decide(review.id, "cleo", REFUSE, "reject")
    assert order.state is State.REJECTED
    assert [action for _, action in desk.acts(review.id) if action != "claimed"] == [
        "awaits_second",
        "awaits_second",
        "awaits_second",
        "decided",
    ]


NOTED = draft("tea").model_copy(update={"notes": (NoteDraft(kind=NoteKind.ALLERGY, heard="no nuts"),)})


@pytest.mark.parametrize("other", [draft("tea", 2), draft("cake"), NOTED])
def test_a_difference_in_the_cart_leaves_it_waiting(desk: Desk, other: CartDraft) -> None:
    review = desk.doubt()
    desk.decide(review.id, "ann", wants("tea"))
    _, order = desk.decide(review.id, "bob", replace(wants("tea"), draft=other))
    assert order.state is State.IN_REVIEW


@pytest.mark.parametrize(
    ("proposed", "final", "waits"),
    [(LIMIT, LIMIT, False), (LIMIT + 1, 1, True), (1, LIMIT + 1, True), (None, 1, False)],
)
def test_either_value_may_ask_for_a_second(desk: Desk, proposed: int | None, final: int, waits: bool) -> None:
    review, order = desk.decide(desk.doubt(proposed).id, "ann", wants("tea", total=final))
    assert (review.standing is not None) is waits
    assert (order.state is State.IN_REVIEW) is waits


def test_one_of_two_second_reviewers_settles(desk: Desk, race: Any) -> None:
    review = desk.doubt()
    desk.decide(review.id, "ann", wants("tea"))
    ends = race(8, lambda n: desk.decide(review.id, f"r{n}", wants("tea")))
    assert Counter(type(end) for end in ends) == {tuple: 1, Conflict: 7}


def test_the_queue_goes_by_minutes_then_by_value(desk: Desk) -> None:
    old, small, dear, empty = (desk.doubt(total).id for total in (100, 300, 900, None))
    with desk.database.write() as session:
        for minute, ids in ((0, [old]), (2, [small, dear, empty])):
            at = datetime(2026, 1, 1, 10, minute, tzinfo=UTC)
            session.execute(update(ReviewRow).where(ReviewRow.id.in_(ids)).values(created_at=at))
    desk.reviews.claim(dear, "ann", 60)
    desk.reviews.claim(small, "ann", 0)
    queue = desk.reviews.queue(10)
    assert [entry.review.id for entry in queue.entries] == [old, dear, small, empty]
    assert (queue.waiting, queue.held) == (4, 1)
    assert queue.entries[0].words == "a tea"
    assert len(desk.reviews.queue(2).entries) == 2
    assert desk.reviews.queue(2).waiting == 4


def approve(desk: Desk, held: ReviewRecord, who: str, outcome: Outcome = APPROVE) -> Any:
    """Decide on a review as it was read, without claiming it."""
    return desk.reviews.decide(
        held.id, reviewer=who, version=held.version, action="approve", reason=None, outcome=outcome,
        by=TESTER,
    )  # fmt: skip


def test_a_lapsed_claim_is_taken_over(desk: Desk) -> None:
    held = desk.reviews.claim(desk.doubt().id, "ann", 0)
    with pytest.raises(Conflict, match="isn't assigned to you"):
        approve(desk, held, "ann")
    taken = desk.reviews.claim(held.id, "bob", 60)
    assert (taken.claimed_by, taken.version) == ("bob", held.version + 1)
    with pytest.raises(Conflict, match="bob has this review"):
        approve(desk, held, "ann")
    with pytest.raises(Conflict, match="bob has this review"):
        desk.reviews.claim(held.id, "ann", 60)


def test_a_decision_that_cannot_move_the_order_is_not_kept(desk: Desk) -> None:
    held = desk.reviews.claim(desk.doubt().id, "ann", 60)
    with pytest.raises(StaleState):
        approve(desk, held, "ann", Outcome(Event.DECODED))
    assert desk.reviews.get(held.id) == held
    assert desk.orders.get(held.order_id).state is State.IN_REVIEW


def test_one_of_sixteen_decisions_wins(desk: Desk, race: Any) -> None:
    held = desk.reviews.claim(desk.doubt().id, "ann", 60)
    ends = race(16, lambda n: approve(desk, held, "ann", APPROVE if n % 2 else REFUSE))
    assert Counter(type(end) for end in ends) == {tuple: 1, Conflict: 15}
    [winner] = [end for end in ends if isinstance(end, tuple)]
    assert desk.orders.get(held.order_id) == winner[1]


def test_decision_against_cancellation(desk: Desk, race: Any) -> None:
    for _ in range(5):
        held = desk.reviews.claim(desk.doubt().id, "ann", 60)

        def act(number: int, held: ReviewRecord = held) -> Any:
            return approve(desk, held, "ann") if number % 2 else desk.orders.cancel(held.order_id)

        ends = race(4, act)
        state, status = desk.orders.get(held.order_id).state, desk.reviews.get(held.id).status
        assert (state, status) in {(State.COMPLETED, "decided"), (State.CANCELLED, "withdrawn")}
        assert {type(end) for end in ends if isinstance(end, Exception)} == {Conflict}
