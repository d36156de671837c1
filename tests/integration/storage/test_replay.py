"""Replay of orders that failed, or that went to review because of a fault."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from click.testing import Result

from schemas.errors import Conflict, DecodeTruncated, InputError, NotFound
from schemas.lifecycle import Event, State
from schemas.records.orders import Outcome
from schemas.review import ReviewDecision, ReviewReason
from services.validation.price import price_cart
from tests.stand_ins import AWAY, CAFE, RIGHT, SAID, TESTER, Pipeline, speech


def in_review(world: Pipeline, *, spoken: bool = False) -> str:
    """An order in review because the decoder was unavailable."""
    world.decoder.script = [AWAY]
    order_id = world.spoken() if spoken else world.typed()
    assert world.until_settled(order_id).state is State.IN_REVIEW
    world.decoder.script = [RIGHT]
    return order_id


def failed(world: Pipeline) -> str:
    world.transcriber.script = [InputError("This menu has no such version")]
    order_id = world.spoken()
    assert world.until_settled(order_id).state is State.FAILED
    world.transcriber.script = [speech(SAID)]
    return order_id


def test_a_failed_order_is_transcribed_again_and_completes(world: Pipeline) -> None:
    order_id = failed(world)
    again = world.orders.replay(order_id)
    assert (again.state, again.error, again.transcript, again.attempt) == (State.RECEIVED, None, None, 0)
    assert world.until_settled(order_id).state is State.COMPLETED
    assert world.types(order_id) == [
        "received", "broke", "replayed_from_audio", "transcribed", "decoded", "accepted",
    ]  # fmt: skip


@pytest.mark.parametrize("spoken", [True, False])
def test_an_order_in_review_is_decoded_again_from_its_transcript(world: Pipeline, spoken: bool) -> None:
    order_id = in_review(world, spoken=spoken)
    again = world.orders.replay(order_id)
    assert again.state is State.TRANSCRIBED
    assert (again.draft, again.cart, again.findings, again.reasons) == (None, None, (), ())
    review = world.reviews.by_order(order_id)
    assert review is not None
    assert review.status == "withdrawn"
    heard = len(world.transcriber.heard)
    assert world.until_settled(order_id).state is State.COMPLETED
    assert len(world.transcriber.heard) == heard, "its transcript was there"
    assert "replayed" in world.types(order_id)


def test_an_order_without_a_transcript_is_transcribed_again(world: Pipeline) -> None:
    world.transcriber.script = [speech("", confidence=0.0)]
    order_id = world.spoken()
    assert world.until_settled(order_id).state is State.IN_REVIEW
    assert world.orders.replay(order_id).state is State.RECEIVED


def test_a_replayed_order_keeps_its_review_with_new_reasons(world: Pipeline) -> None:
    order_id = in_review(world)
    first = world.reviews.by_order(order_id)
    assert first is not None
    world.orders.replay(order_id)
    world.decoder.script = [DecodeTruncated("cut")]
    world.until_settled(order_id)
    assert world.reasons(order_id) == {ReviewReason.DECODE_TRUNCATED}
    again = world.reviews.by_order(order_id)
    assert again is not None
    assert again.id == first.id
    assert again.version == first.version + 2
    assert again.created_at > first.created_at
    # It can be settled like any other.
    mine = world.reviews.claim(again.id, "ann", 60)
    cart = price_cart(RIGHT, CAFE, 1, speech(SAID), [])
    decision = ReviewDecision(version=mine.version, action="correct", cart=RIGHT)
    outcome = Outcome(Event.APPROVED, draft=RIGHT, cart=cart)
    world.reviews.decide(mine.id, decision, outcome, reviewer="ann", by=TESTER)
    assert world.orders.get(order_id).state is State.COMPLETED


def test_a_claimed_review_is_not_replayed(world: Pipeline) -> None:
    order_id = in_review(world)
    review = world.reviews.by_order(order_id)
    assert review is not None
    world.reviews.claim(review.id, "ann", 60)
    with pytest.raises(Conflict, match="reviewer has claimed"):
        world.orders.replay(order_id)
    assert world.orders.doubted(ReviewReason.DECODER_UNAVAILABLE) == []
    world.reviews.release(review.id, "ann")
    assert world.orders.doubted(ReviewReason.DECODER_UNAVAILABLE) == [order_id]
    # An expired claim blocks nothing.
    other = in_review(world)
    lapsed = world.reviews.by_order(other)
    assert lapsed is not None
    world.reviews.claim(lapsed.id, "ann", 0)
    assert world.orders.replay(other).state is State.TRANSCRIBED


def test_orders_in_other_states_are_not_replayed(world: Pipeline) -> None:
    done = world.typed()
    world.until_settled(done)
    waiting = world.typed()
    cancelled = world.typed()
    world.orders.cancel(cancelled)
    for order_id, status in ((waiting, "processing"), (done, "completed"), (cancelled, "cancelled")):
        with pytest.raises(Conflict, match=f"is {status}") as refused:
            world.orders.replay(order_id)
        assert "in error or in review" in refused.value.hint
    with pytest.raises(NotFound):
        world.orders.replay("ord_nobody")


def test_the_command_replays_and_reports(world: Pipeline, saycart: Callable[..., Result]) -> None:
    command = partial(saycart, "replay")
    broken, done = failed(world), world.typed()
    world.until_settled(done)
    one = command(broken, done)
    assert one.exit_code == 1, "one could not be replayed"
    assert f"{broken}: restarted from received" in one.stdout
    assert f"skipped {done}" in one.stdout
    assert "1 of 2 orders replayed" in one.stdout
    assert world.orders.get(broken).state is State.RECEIVED

    again, doubted = failed(world), in_review(world)
    assert "0 of 0" in command("--failed", "--since", "0s").stdout
    all_failed = command("--failed", "--since", "2h")
    assert (all_failed.exit_code, world.orders.get(again).state) == (0, State.RECEIVED)
    because = command("--reviews-because", "decoder_unavailable")
    assert because.exit_code == 0, because.stderr
    assert world.orders.get(doubted).state is State.TRANSCRIBED


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "What should be replayed"),
        (["ord_1", "--failed"], "What should be replayed"),
        (["--failed", "--since", "soon"], "not a duration"),
        (["--reviews-because", "not_on_menu"], "Unknown reason 'not_on_menu'"),
    ],
)
def test_the_command_rejects_invalid_arguments(
    saycart: Callable[..., Result], words: list[str], said: str
) -> None:
    done = saycart("replay", *words)
    assert done.exit_code == 1
    assert said in done.stderr
    assert "hint" in done.stderr
