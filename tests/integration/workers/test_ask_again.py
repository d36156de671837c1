"""Customers on a page are asked twice to repeat nonsense or silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from schemas.cart import CartDraft
from schemas.lifecycle import State
from schemas.records.orders import NewOrder, OrderRecord
from schemas.transcript import Transcript
from services.decoding.ports import DecodedCart
from services.pipeline.flow import FLOW
from tests.stand_ins import Pipeline, read_as, speech

SPACESHIP = "a spaceship and something strange"
OFF_MENU = CartDraft.model_validate(
    {"lines": [{"kind": "not_on_menu", "heard": "a spaceship", "quantity": 1}]}
)
EMPTY = CartDraft.model_validate({"lines": []})
AGAIN, PERSON = State.FAILED, State.IN_REVIEW
BROWSER, OTHER = "page:/6.6.6.6/one", "page:/6.6.6.6/two"


def unsure(draft: CartDraft) -> DecodedCart:
    """A decoded cart with low confidence."""
    return replace(read_as(draft), logprob=-3.0)


def settled(pipeline: Pipeline, new: NewOrder) -> OrderRecord:
    tools = replace(pipeline.runner().tools, times_asked_again=pipeline.orders.times_asked_again)
    runner = replace(pipeline.runner(), tools=tools)
    order = pipeline.orders.create(new)[0]
    while order.state in FLOW:
        runner.run(order.id, FLOW[order.state].name)
        order = pipeline.orders.get(order.id)
    return order


def typed(text: str = SPACESHIP, *, client: str = BROWSER, confirm: bool = True) -> NewOrder:
    said = speech(text).model_copy(update={"confidence": 1.0})
    return NewOrder("trap-cafe", 1, "en", transcript=said, client=client, confirm=confirm)


def silence(pipeline: Pipeline) -> NewOrder:
    key = pipeline.stored()
    pipeline.transcriber.script = [Transcript(text="", confidence=0.0)]
    return NewOrder("trap-cafe", 1, "en", audio_key=key, audio_format="wav", client=BROWSER, confirm=True)


@pytest.mark.parametrize(
    ("draft", "clients", "states"),
    [
        (OFF_MENU, (BROWSER,) * 3, [AGAIN, AGAIN, PERSON]),
        (EMPTY, (BROWSER,) * 3, [AGAIN, AGAIN, PERSON]),
        (OFF_MENU, (BROWSER, BROWSER, OTHER), [AGAIN] * 3),
        (OFF_MENU, [f"{BROWSER}{n}" for n in range(5)], [AGAIN] * 5),
    ],
    ids=["off the menu", "nothing", "another browser", "a new browser each time"],
)
def test_nonsense_is_asked_again_twice_then_reviewed(
    pipeline: Pipeline, draft: CartDraft, clients: Sequence[str], states: list[State]
) -> None:
    pipeline.decoder.script = [unsure(draft)]
    orders = [settled(pipeline, typed(client=client)) for client in clients]
    assert [order.state for order in orders] == states
    assert orders[0].error is not None
    assert (orders[0].error.code, orders[0].error.hint) == ("say_it_again", "Please say it again.")


def test_silence_is_asked_again_and_its_recording_deleted(pipeline: Pipeline) -> None:
    orders = [settled(pipeline, silence(pipeline)) for _ in range(3)]
    assert [order.state for order in orders] == [AGAIN, AGAIN, PERSON]
    assert [order.audio_key is None for order in orders] == [True, True, False]


def test_a_till_is_not_asked_again(pipeline: Pipeline) -> None:
    pipeline.decoder.script = [unsure(OFF_MENU)]
    assert settled(pipeline, typed(confirm=False, client="till")).state is PERSON
