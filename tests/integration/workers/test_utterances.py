"""Orders of several utterances with real stores: decoded as one, never lost, always confirmed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from schemas.cart import CartDraft
from schemas.errors import AudioDamaged, Conflict, StaleState
from schemas.lifecycle import Event, State
from schemas.records.orders import Outcome, StoredUtterance
from schemas.shops.webhook import CHANGED
from schemas.transcript import Transcript
from services.api import present
from services.storage.orders.load import LoadStore
from services.storage.privacy.retention import RetentionStore
from tests.endpoints import till
from tests.integration.marked import age
from tests.stand_ins import Pipeline, claim_order, speech


def cart(*lines: tuple[str, str | None]) -> CartDraft:
    made = [{"kind": "item", "heard": "x", "sku": sku, "quantity": 1, "size": size} for sku, size in lines]
    return CartDraft.model_validate({"lines": made})


LATTE, LARGE = cart(("latte", "S")), cart(("latte", "L"), ("muffin", None))


@pytest.fixture
def world(pipeline: Pipeline) -> Pipeline:
    pipeline.decoder.script = [LATTE, LARGE]
    return pipeline


def typed(words: str) -> StoredUtterance:
    transcript = Transcript(text=words, confidence=1.0)
    return StoredUtterance(kind="text", at=datetime.now(UTC), transcript=transcript)


def spoken(world: Pipeline) -> StoredUtterance:
    key = world.stored(b"RIFF more")
    return StoredUtterance(kind="audio", at=datetime.now(UTC), audio_key=key, audio_format="wav")


def proposed(world: Pipeline) -> str:
    """An order for a small latte that awaits confirmation."""
    order_id = world.typed("a small latte")
    with world.database.write() as session:
        session.execute(text("UPDATE orders SET confirm = :yes"), {"yes": True})
    assert world.until_settled(order_id).state is State.PROPOSED
    return order_id


@pytest.mark.parametrize("kind", ["text", "audio"])
def test_the_cart_is_decoded_from_all_utterances(world: Pipeline, kind: str) -> None:
    till(world.database)
    world.transcriber.script = [speech("make it large and a blueberry muffin")]
    order_id = proposed(world)
    more = spoken(world) if kind == "audio" else typed("make it large and a blueberry muffin")
    assert world.orders.add(order_id, more)[0].draft is None
    order = world.until_settled(order_id)
    assert order.state is State.PROPOSED
    said = "a small latte. make it large and a blueberry muffin."
    assert (world.decoder.asked[-1].transcript, order.transcript and order.transcript.text) == (said, said)
    assert order.cart is not None
    assert [(one.sku, one.heard.utterance) for one in order.cart.lines] == [("latte", 0), ("muffin", 1)]
    assert [one.kind for one in order.utterances] == ["text", kind]
    heard = ["transcribed"] if kind == "audio" else []
    assert world.types(order_id)[4:] == [f"added_{kind}", *heard, "decoded", "proposed"]
    assert (order.cart.lines[1].heard.start_s is not None) == (kind == "audio")
    assert present.order(order).changed == ["another size of latte", "blueberry muffin added"]
    with world.database.read() as session:
        kinds = session.scalars(text("SELECT type FROM outbox ORDER BY seq")).all()
    assert kinds == ["order.needs_confirmation", CHANGED]


def test_an_open_question_is_withdrawn_unless_in_review(world: Pipeline) -> None:
    """After a second utterance, an order needs confirmation even if it did not before."""
    world.decoder.script = [cart(("latte", None)), LARGE]
    order_id = world.typed("a latte")
    world.until_settled(order_id)
    review = world.reviews.by_order(order_id)
    assert review is not None
    world.reviews.claim(review.id, "ada", lease_s=60)
    with pytest.raises(Conflict, match="claimed"):
        world.orders.add(order_id, typed("large, and a blueberry muffin"))
    world.reviews.release(review.id, "ada")
    world.orders.add(order_id, typed("large, and a blueberry muffin"))
    assert getattr(world.reviews.by_order(order_id), "status", None) == "withdrawn"
    assert world.until_settled(order_id).state is State.PROPOSED


@pytest.mark.parametrize("stage", ["transcribe", "decode"])
def test_a_late_result_of_earlier_utterances_is_dropped(world: Pipeline, stage: str) -> None:
    """An utterance during decoding ends the worker's claim, and nothing is lost."""
    order_id = world.spoken() if stage == "transcribe" else world.typed("a small latte")
    world.transcriber.script = [first := speech("a small latte")]
    held = claim_order(world.orders, order_id, world.orders.get(order_id).state, owner="slow", lease_s=60)
    assert held is not None
    world.orders.add(order_id, typed("make it large and a blueberry muffin"))
    late = {"transcribe": Outcome(Event.TRANSCRIBED, transcript=first), "decode": Outcome(Event.DECODED)}
    with pytest.raises(StaleState):
        world.orders.commit(held, late[stage])
    world.decoder.script = [LARGE]
    order = world.until_settled(order_id)
    assert (order.state, len(order.utterances)) == (State.PROPOSED, 2)
    assert order.transcript is not None
    assert order.transcript.text == "a small latte. make it large and a blueberry muffin."


def test_a_worker_killed_between_utterances_loses_none(world: Pipeline) -> None:
    order_id = world.spoken()
    world.transcriber.script = [speech("a small latte"), speech("a blueberry muffin")]
    assert claim_order(world.orders, order_id, State.RECEIVED, owner="killed", lease_s=60)
    world.orders.add(order_id, spoken(world))
    assert claim_order(world.orders, order_id, State.RECEIVED, owner="killed, too", lease_s=60)
    world.drop_lease(order_id)
    order = world.until_settled(order_id)
    assert order.transcript is not None
    assert order.transcript.text == "a small latte. a blueberry muffin."
    assert len(order.recordings) == len(set(world.blobs.older_than(-1))) == 2


def test_an_unplayable_recording_keeps_the_others(world: Pipeline) -> None:
    order_id = proposed(world)
    world.transcriber.script = [AudioDamaged("cut off")]
    world.orders.add(order_id, spoken(world))
    world.decoder.script = [LATTE]
    order = world.until_settled(order_id)
    assert (order.state, order.recordings) == (State.PROPOSED, frozenset())
    assert [one.transcript and one.transcript.text for one in order.utterances] == ["a small latte", ""]
    assert not list(world.blobs.older_than(-1))


def test_recordings_of_all_utterances_are_deleted_together(world: Pipeline) -> None:
    order_id = world.spoken()
    world.orders.add(order_id, spoken(world))
    keys = world.orders.get(order_id).recordings
    load = LoadStore(world.database)
    assert len(keys) == 2
    assert load.unknown_recordings([*keys, "lost"]) == {"lost"}
    world.orders.commit(world.orders.get(order_id), Outcome(Event.BROKE))
    age(world.database, 3)
    assert RetentionStore(world.database, "main").step("recordings", 86_400.0) == 1
    assert load.unknown_recordings(keys) == keys
