"""The outbox: written in the transition's transaction, claimed once, delivered in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import Result
from sqlalchemy import update

from infra.sql.database import Database
from schemas.errors import NotFound, StaleState
from schemas.lifecycle import SETTLED, Event
from schemas.order import OrderError
from schemas.priced_cart import Cart, CartLine, Finding, HeardSpan, MenuRef
from schemas.question import Choice, Question
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from schemas.review import ReviewDecision
from schemas.shops.webhook import TYPES, WebhookMessage
from schemas.transcript import Transcript
from services.storage.base import changes
from services.storage.base.tables import OutboxRow, WebhookEndpointRow
from services.storage.orders.store import OrderStore
from services.storage.outbox.store import Outbox
from services.storage.reviews.store import ReviewStore
from tests.endpoints import TILL
from tests.stand_ins import TESTER

CART = Cart(currency="USD", menu=MenuRef(id="cafe", version=1), lines=[], total=450)
TYPED = NewOrder(
    "cafe", 1, "en", transcript=Transcript(text="a latte", confidence=1.0), metadata={"table": 7}
)


def moved(orders: OrderStore, *events: Event) -> OrderRecord:
    order, _ = orders.create(TYPED)
    for event in events:
        order = orders.commit(order, Outcome(event, cart=CART))
    return order


def completed(orders: OrderStore) -> OrderRecord:
    return moved(orders, Event.DECODED, Event.ACCEPTED)


def proposed_and_confirmed(orders: OrderStore) -> OrderRecord:
    """An order with two messages."""
    return moved(orders, Event.DECODED, Event.PROPOSED, Event.CONFIRMED)


def claim(outbox: Outbox, limit: int = 10, lease_s: float = 60) -> list[OutboxRow]:
    return outbox.claim(limit=limit, lease_s=lease_s, endpoint_id=TILL)


def test_a_completed_order_has_one_complete_message(orders: OrderStore, outbox: Outbox) -> None:
    order = completed(orders)
    [message] = outbox.list(dead=False, limit=10)
    sent = WebhookMessage.model_validate(message.payload)
    assert message.id.startswith("msg_")
    assert (message.type, message.order_id, message.seq) == ("order.completed", order.id, order.version)
    assert sent.type == "order.completed"
    assert sent.timestamp == order.updated_at
    assert sent.data.model_dump() == {
        "order_id": order.id,
        "shop": "main",
        "seq": order.version,
        "status": "completed",
        "menu": {"id": "cafe", "version": 1},
        "cart": CART.model_dump(),
        "question": None,
        "changed": [],
        "metadata": {"table": 7},
        "error": None,
    }
    assert message.payload["data"]["cart"] == CART.model_dump(mode="json"), "as the API shows it"
    assert str(message.payload["timestamp"]).endswith("Z")


SIZE = Question(
    id="0/size", text="Small or large?", answers=(Choice(id="S", text="small"), Choice(id="L", text="large"))
)
LATTE = CartLine(
    kind="item", heard=HeardSpan(text="a latte"), name="latte", quantity=1, size="S", confidence=1
)


def cart_of(size: str) -> Cart:
    return CART.model_copy(update={"lines": [LATTE.model_copy(update={"size": size})]})


@pytest.mark.parametrize("asks", [True, False])
def test_questions_changes_and_taking_have_their_own_types(
    orders: OrderStore, outbox: Outbox, database: Database, asks: bool
) -> None:
    """An endpoint that subscribes only to the order's state gets that type."""
    if not asks:
        with database.everywhere().write() as session:
            session.execute(
                update(WebhookEndpointRow).values(events=["order.needs_review", "order.completed"])
            )
    order = orders.commit(orders.create(TYPED)[0], Outcome(Event.DECODED))
    asked = (Finding.blocking("missing_size", "Which?", line=0, question=SIZE),)
    order = orders.commit(order, Outcome(Event.DOUBTED, cart=cart_of("S"), findings=asked))
    order = orders.answer(order, Outcome(Event.CHOSEN, cart=cart_of("L"), findings=()))
    order = orders.answer(order, Outcome(Event.ANSWERED))
    orders.take(order.id)
    sent = {message.type: message.payload["data"] for message in outbox.list(dead=False, limit=10)}
    if not asks:
        assert list(sent) == ["order.needs_review", "order.completed"]
        return
    assert list(sent) == ["order.asks", "order.changed", "order.completed", "order.taken"]
    assert sent["order.asks"]["question"] == SIZE.model_dump(mode="json")
    assert [one["changed"] for one in sent.values()] == [[], ["another size of latte"], [], []]


def test_every_settled_state_has_a_message() -> None:
    assert set(TYPES) == SETTLED
    assert len(set(TYPES.values())) == len(TYPES)


def test_every_way_to_settle_sends_a_message(orders: OrderStore, outbox: Outbox, database: Database) -> None:
    proposed_and_confirmed(orders)
    error = OrderError(code="invalid_input", message="no", hint="fix")
    broken, _ = orders.create(TYPED)
    orders.commit(broken, Outcome(Event.BROKE, error=error))
    orders.cancel(moved(orders).id)
    doubted = moved(orders, Event.DOUBTED)
    reviews = ReviewStore(database, "main")
    review = reviews.by_order(doubted.id)
    assert review is not None
    held = reviews.claim(review.id, "ann", 60)
    refused = ReviewDecision(version=held.version, action="reject", reason="a prank")
    reviews.decide(review.id, refused, Outcome(Event.REFUSED), reviewer="ann", by=TESTER)
    answered = moved(orders, Event.DOUBTED)
    orders.answer(answered, Outcome(Event.ANSWERED, cart=CART))
    sent = outbox.list(dead=False, limit=100)
    assert sorted(message.type for message in sent) == [
        "order.cancelled",
        "order.completed",
        "order.completed",
        "order.failed",
        "order.needs_confirmation",
        "order.needs_review",
        "order.needs_review",
        "order.rejected",
    ]
    failed = next(message for message in sent if message.type == "order.failed")
    assert failed.payload["data"]["error"] == error.model_dump(mode="json")


def test_a_failed_transition_leaves_no_message(
    orders: OrderStore, outbox: Outbox, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = moved(orders, Event.DECODED)
    with pytest.raises(OSError, match="staged"):
        _move_and_break(database, order)
    assert orders.get(order.id) == order
    orders.commit(order, Outcome(Event.DOUBTED))
    with pytest.raises(StaleState):
        orders.commit(order, Outcome(Event.ACCEPTED))
    assert [message.type for message in outbox.list(dead=False, limit=10)] == ["order.needs_review"]
    # Conversely: no transition without its message.
    waiting = moved(orders, Event.DECODED)
    monkeypatch.setattr(changes, "add_messages", Mock(side_effect=OSError("staged")))
    with pytest.raises(OSError, match="staged"):
        orders.commit(waiting, Outcome(Event.ACCEPTED))
    assert orders.get(waiting.id) == waiting


def _move_and_break(database: Database, order: OrderRecord) -> None:
    with changes.writing(database) as (session, now):
        changes.move(session, now, order, Outcome(Event.ACCEPTED))
        raise OSError("staged")


def test_one_claim_wins_and_counts(
    orders: OrderStore, outbox: Outbox, database_url: str, race: Callable[..., list[Any]]
) -> None:
    ids = {completed(orders).id for _ in range(12)}
    couriers = [Outbox(Database(database_url)) for _ in range(4)]
    taken = [
        message
        for messages in race(4, lambda n: couriers[n].claim(limit=12, lease_s=60, endpoint_id=TILL))
        for message in messages
    ]
    assert len(taken) == len({message.id for message in taken}) == 12
    assert {message.order_id for message in taken} == ids
    assert {(message.attempt, message.version) for message in taken} == {(1, 2)}
    for courier in couriers:
        courier._database.close()


def test_a_later_message_waits_for_the_earlier_ones_of_its_order(orders: OrderStore, outbox: Outbox) -> None:
    order = proposed_and_confirmed(orders)
    other = completed(orders)
    first, another = claim(outbox)
    assert (first.order_id, first.type) == (order.id, "order.needs_confirmation")
    assert another.order_id == other.id, "orders do not wait for each other"
    assert claim(outbox) == [], "held is not delivered"
    assert outbox.failed(first, "answered 500", retry_in_s=3600)
    assert claim(outbox) == [], "nor is put off"
    outbox.replay([first.id])
    [again] = claim(outbox)
    assert outbox.delivered(again)
    [second] = claim(outbox)
    assert (second.order_id, second.type) == (order.id, "order.completed")
    assert second.seq > first.seq


def test_a_dead_message_does_not_block_later_ones(orders: OrderStore, outbox: Outbox) -> None:
    proposed_and_confirmed(orders)
    [first] = claim(outbox)
    assert outbox.failed(first, "answered 410", retry_in_s=None)
    [second] = claim(outbox)
    assert second.type == "order.completed"
    [dead] = outbox.list(dead=True, limit=10)
    assert (dead.id, dead.last_error) == (first.id, "answered 410")
    assert outbox.counts() == {"delivered": 0, "waiting": 1, "dead": 1}


def test_an_expired_lease_frees_a_message_and_a_late_result_is_dropped(
    orders: OrderStore, outbox: Outbox
) -> None:
    completed(orders)
    [slow] = claim(outbox, lease_s=0)
    [quick] = claim(outbox)
    assert (quick.id, quick.attempt) == (slow.id, 2)
    assert not outbox.failed(slow, "no answer", retry_in_s=None)
    assert outbox.delivered(quick)
    assert not outbox.delivered(slow)
    assert outbox.counts() == {"delivered": 1, "waiting": 0, "dead": 0}


def test_replay_restores_dead_and_delivered_messages(orders: OrderStore, outbox: Outbox) -> None:
    for _ in range(3):
        completed(orders)
    one, two, three = claim(outbox)
    outbox.failed(one, "no", retry_in_s=None)
    outbox.failed(two, "no", retry_in_s=None)
    outbox.delivered(three)
    with pytest.raises(NotFound, match="msg_none"):
        outbox.replay([one.id, "msg_none"])
    assert outbox.counts()["dead"] == 2, "all or nothing"
    assert outbox.replay([three.id]) == [three.id]
    assert outbox.replay() == sorted([one.id, two.id])
    assert {(m.id, m.attempt) for m in claim(outbox)} == {(m.id, 1) for m in (one, two, three)}


def test_only_old_delivered_messages_are_deleted(orders: OrderStore, outbox: Outbox) -> None:
    for _ in range(3):
        completed(orders)
    one, two, _ = claim(outbox)
    outbox.delivered(one)
    outbox.failed(two, "no", retry_in_s=None)
    assert outbox.forget(3600) == 0
    assert outbox.forget(-1) == 1
    assert outbox.counts() == {"delivered": 0, "waiting": 1, "dead": 1}


def test_the_command_line_lists_and_replays(
    saycart: Callable[..., Result], orders: OrderStore, outbox: Outbox
) -> None:
    for _ in range(2):
        orders.cancel(moved(orders).id)
    one, two = claim(outbox)
    outbox.failed(one, "answered 500: [/nonsense]", retry_in_s=None)

    def run(*words: str) -> str:
        return saycart("webhooks", *words).output

    listed = run("list", "--dead")
    assert "answered 500: [/nonsense]" in listed
    assert (one.id in listed, two.id in listed) == (True, False)
    assert "0 delivered, 1 waiting, 1 dead" in listed
    assert two.id in run("list")
    assert "Which messages?" in run("replay")
    assert "Which messages?" in run("replay", "--dead", one.id)
    assert "No message msg_none" in run("replay", "msg_none")
    assert run("replay", "--dead") == f"{one.id} will be sent again\n"
    assert run("replay", two.id) == f"{two.id} will be sent again\n"
    assert outbox.counts() == {"delivered": 0, "waiting": 2, "dead": 0}
