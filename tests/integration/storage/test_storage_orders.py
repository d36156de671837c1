"""Orders in storage."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.errors import Conflict, IdempotencyMismatch, InputError, NotFound, StaleState
from schemas.lifecycle import TERMINAL, TRANSITIONS, WAITING, Event, State
from schemas.order import DecodedBy, OrderError
from schemas.priced_cart import Cart, Finding, MenuRef, Severity
from schemas.records.orders import Idempotency, NewOrder, OrderRecord, Outcome
from schemas.transcript import Transcript, Word
from services.storage.orders.store import OrderStore
from services.storage.reviews.store import ReviewStore
from tests.stand_ins import claim_order

SPOKEN = NewOrder("cafe", 1, "en", audio_key="ab" * 16, audio_format="flac", metadata={"table": 7})
HEARD = Transcript(
    text="a latte", confidence=0.9, words=(Word(text="a", start_s=0, end_s=0.1, probability=0.9),)
)
TYPED = NewOrder("cafe", 1, "en", transcript=HEARD)
CART = Cart(currency="USD", menu=MenuRef(id="cafe", version=1), lines=[], total=450)
FINDING = Finding(code="size_assumed", severity=Severity.INFO, message="said no size")
PATHS: dict[State, tuple[Event, ...]] = {
    State.RECEIVED: (),
    State.TRANSCRIBED: (Event.TRANSCRIBED,),
    State.DECODED: (Event.TRANSCRIBED, Event.DECODED),
    State.PROPOSED: (Event.TRANSCRIBED, Event.DECODED, Event.PROPOSED),
    State.IN_REVIEW: (Event.DOUBTED,),
    State.COMPLETED: (Event.TRANSCRIBED, Event.DECODED, Event.ACCEPTED),
    State.REJECTED: (Event.DOUBTED, Event.REFUSED),
    State.FAILED: (Event.BROKE,),
    State.CANCELLED: (Event.CANCELLED,),
}


def order_in(orders: OrderStore, state: State) -> OrderRecord:
    order, _ = orders.create(SPOKEN)
    for event in PATHS[state]:
        order = orders.commit(order, Outcome(event))
    assert order.state is state
    return order


def claimed(orders: OrderStore, state: State = State.TRANSCRIBED, lease_s: float = 60) -> OrderRecord:
    order = claim_order(orders, order_in(orders, state).id, state, owner="w1", lease_s=lease_s)
    assert order is not None
    return order


def test_stored_orders_round_trip(orders: OrderStore) -> None:
    spoken, created = orders.create(SPOKEN)
    assert created
    assert spoken == orders.get(spoken.id)
    assert (spoken.state, spoken.version, spoken.attempt) == (State.RECEIVED, 1, 0)
    assert (spoken.metadata, spoken.audio_key, spoken.transcript) == ({"table": 7}, "ab" * 16, None)
    assert str(spoken.created_at.tzinfo) == "UTC"

    typed, _ = orders.create(TYPED)
    assert typed == orders.get(typed.id)
    assert (typed.state, typed.transcript) == (State.TRANSCRIBED, HEARD)
    assert [event.type for event in orders.events(typed.id)] == ["received", "transcribed"]
    assert typed.id > spoken.id


@pytest.mark.parametrize("order_id", ["ord_none", "", "x" * 5000, "é'\"; --"])
def test_unknown_ids(orders: OrderStore, order_id: str) -> None:
    with pytest.raises(NotFound):
        orders.get(order_id)
    with pytest.raises(NotFound):
        orders.cancel(order_id)
    assert claim_order(orders, order_id, State.RECEIVED, owner="w", lease_s=1) is None
    assert orders.events(order_id) == []


def test_a_nul_character_is_an_input_error(orders: OrderStore) -> None:
    with pytest.raises(InputError):  # NotFound on SQLite; PostgreSQL rejects the query
        orders.get("ord_\0")


def test_exactly_the_transitions_of_the_table_are_possible(orders: OrderStore) -> None:
    for state, event in itertools.product(PATHS, Event):
        order = order_in(orders, state)
        history = orders.events(order.id)
        if (state, event) in TRANSITIONS:
            moved = orders.commit(order, Outcome(event, detail={"why": "test"}))
            assert moved.state is TRANSITIONS[state, event]
            assert moved == orders.get(order.id)
            assert moved.version == order.version + 1
            last = orders.events(order.id)[len(history) :]
            assert [(e.type, e.state, e.detail) for e in last] == [
                (event.value, moved.state, {"why": "test"})
            ]
        else:
            with pytest.raises(StaleState):
                orders.commit(order, Outcome(event))
            assert orders.get(order.id) == order
            assert orders.events(order.id) == history


def test_commit_merges_fields_and_releases_the_lease(orders: OrderStore) -> None:
    order = claimed(orders, State.RECEIVED)
    assert (order.attempt, order.lease_owner) == (1, "w1")
    heard = Outcome(Event.TRANSCRIBED, transcript=HEARD, timings={"transcribe": 1.5})
    order = orders.commit(order, heard)
    assert (order.attempt, order.lease_owner, order.lease_until) == (0, None, None)
    order = orders.commit(
        order,
        Outcome(
            Event.DECODED,
            draft=CartDraft(lines=()),
            cart=CART,
            findings=(FINDING,),
            error=OrderError(code="c", message="m", hint="h"),
            timings={"decode": 2.5},
            engine=DecodedBy(decoder="q"),
        ),
    )
    assert order == orders.get(order.id)
    assert (order.transcript, order.draft, order.cart) == (HEARD, CartDraft(lines=()), CART)
    assert (order.timings, order.engine) == ({"transcribe": 1.5, "decode": 2.5}, DecodedBy(decoder="q"))
    # None keeps a value; an empty tuple replaces the findings.
    order = orders.commit(order, Outcome(Event.DOUBTED, findings=()))
    assert (order.findings, order.cart) == ((), CART)


def test_a_commit_may_keep_the_lease_for_an_inline_stage(orders: OrderStore) -> None:
    order = orders.commit(claimed(orders, State.RECEIVED, lease_s=5), Outcome(Event.TRANSCRIBED), hold_s=600)
    assert (order.state, order.attempt, order.lease_owner) == (State.TRANSCRIBED, 1, "w1")
    assert order.lease_until is not None
    assert (order.lease_until - order.updated_at).total_seconds() == 600
    assert claim_order(orders, order.id, order.state, owner="w2", lease_s=60) is None
    assert orders.renew(order, 900)
    assert orders.commit(order, Outcome(Event.DECODED)).lease_owner is None


def test_a_stale_commit_is_refused(orders: OrderStore) -> None:
    late = claimed(orders, lease_s=0)
    again = claim_order(orders, late.id, late.state, owner="w2", lease_s=60)
    assert again is not None
    assert (again.attempt, again.lease_owner) == (2, "w2")
    for act in (
        lambda: orders.commit(late, Outcome(Event.DECODED, draft=CartDraft(lines=()))),
        lambda: orders.release(late, retry_in_s=0, code="internal"),
        lambda: orders.commit(replace(again, state=State.RECEIVED), Outcome(Event.TRANSCRIBED)),
    ):
        with pytest.raises(StaleState):
            act()
    assert orders.get(late.id) == again
    assert orders.commit(again, Outcome(Event.DECODED)).state is State.DECODED


def test_one_of_sixteen_claims_wins(orders: OrderStore, race: Any) -> None:
    order, _ = orders.create(TYPED)
    won = race(16, lambda n: claim_order(orders, order.id, State.TRANSCRIBED, owner=f"w{n}", lease_s=60))
    assert [type(result) for result in won if result] == [OrderRecord]
    assert orders.get(order.id).attempt == 1


def test_a_claim_waits_until_the_order_is_due(orders: OrderStore) -> None:
    order = claimed(orders)
    assert claim_order(orders, order.id, State.TRANSCRIBED, owner="w2", lease_s=60) is None
    orders.release(order, retry_in_s=60, code="engine_unavailable")
    waiting = orders.get(order.id)
    assert (waiting.attempt, waiting.lease_owner) == (1, None)
    assert waiting.next_attempt_at is not None
    assert 59 < (waiting.next_attempt_at - waiting.updated_at).total_seconds() < 61
    assert claim_order(orders, order.id, State.TRANSCRIBED, owner="w2", lease_s=60) is None
    assert orders.due(limit=9, idle_s=0) == []
    last = orders.events(order.id)[-1]
    assert (last.type, last.detail) == ("retry", {"code": "engine_unavailable"})

    orders.release(waiting, retry_in_s=0, code="internal")
    assert claim_order(orders, order.id, State.DECODED, owner="w2", lease_s=60) is None
    again = claim_order(orders, order.id, State.TRANSCRIBED, owner="w2", lease_s=60)
    assert again is not None
    assert again.attempt == 2


def test_due_finds_unclaimed_orders(orders: OrderStore) -> None:
    waiting = [order_in(orders, state).id for state in State if state in WAITING]
    claimed(orders)
    lapsed = claimed(orders, lease_s=0).id
    for state in PATHS:
        if state not in WAITING:
            order_in(orders, state)
    assert [order_id for order_id, _ in orders.due(limit=50, idle_s=0)] == [*waiting, lapsed]
    assert orders.due(limit=2, idle_s=0) == [(waiting[0], State.RECEIVED), (waiting[1], State.TRANSCRIBED)]
    assert orders.due(limit=50, idle_s=5) == []
    counts = orders.counts()
    assert set(counts) == set(State)
    assert (counts[State.TRANSCRIBED], counts[State.COMPLETED]) == (3, 1)
    assert sum(counts.values()) == len(PATHS) + 2


def test_cancel(orders: OrderStore, database: Database) -> None:
    for state in WAITING | {State.IN_REVIEW}:
        order = order_in(orders, state)
        done = orders.cancel(order.id)
        assert done.state is State.CANCELLED
        assert orders.cancel(order.id) == done
    for state in TERMINAL - {State.CANCELLED}:
        with pytest.raises(Conflict):
            orders.cancel(order_in(orders, state).id)

    worked_on = claimed(orders)
    orders.cancel(worked_on.id)
    with pytest.raises(StaleState):
        orders.commit(worked_on, Outcome(Event.DECODED))


def test_no_transition_to_review_without_a_review(
    orders: OrderStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = ReviewStore(database, "main").by_order(order_in(orders, State.IN_REVIEW).id)
    assert taken is not None
    order = order_in(orders, State.DECODED)
    monkeypatch.setattr("services.storage.base.changes.new_id", lambda _prefix: taken.id)
    with pytest.raises(IntegrityError):
        orders.commit(order, Outcome(Event.DOUBTED))
    assert orders.get(order.id) == order
    assert len(orders.events(order.id)) == 3


def test_a_key_makes_one_order(orders: OrderStore, race: Any) -> None:
    key = Idempotency("client", "key", "hash")
    made = race(20, lambda _n: orders.create(TYPED, idempotency=key))
    assert Counter(created for _, created in made) == {True: 1, False: 19}
    assert len({order.id for order, _ in made}) == 1
    assert sum(orders.counts().values()) == 1

    with pytest.raises(IdempotencyMismatch) as refused:
        orders.create(SPOKEN, idempotency=replace(key, body_hash="other"))
    assert refused.value.code == "idempotency_mismatch"
    for other in (replace(key, client="b"), replace(key, key="k2")):
        assert orders.create(TYPED, idempotency=other)[1]
    # A repeated request returns the current order.
    first = orders.cancel(made[0][0].id)
    assert orders.create(TYPED, idempotency=key) == (first, False)

    assert orders.forget_keys(60) == 0
    assert orders.forget_keys(-1) == 3
    assert orders.create(TYPED, idempotency=key)[1]


def test_nothing_is_stored_of_a_failed_order(orders: OrderStore) -> None:
    key = Idempotency("c", "k", "h")
    with pytest.raises(Exception, match="JSON compliant"):
        orders.create(replace(TYPED, metadata={"x": float("nan")}), idempotency=key)
    assert sum(orders.counts().values()) == 0
    assert orders.create(TYPED, idempotency=key)[1]
