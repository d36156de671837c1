"""Doubt goes back to the customer who caused it: nonsense and silence from a page are said again, twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.lifecycle import State
from schemas.records.orders import NewOrder, OrderRecord
from schemas.transcript import Transcript
from services.decoding.ports import Reading
from services.pipeline.flow import FLOW
from tests.stand_ins import Works, read_as, speech

SPACESHIP = "a spaceship and something strange"
OFF_MENU = CartDraft.model_validate(
    {"lines": [{"kind": "not_on_menu", "heard": "a spaceship", "quantity": 1}]}
)
EMPTY = CartDraft.model_validate({"lines": []})
AGAIN, PERSON = State.FAILED, State.IN_REVIEW
BROWSER, OTHER = "page:/6.6.6.6/one", "page:/6.6.6.6/two"


def unsure(draft: CartDraft) -> Reading:
    """This cart, of which the model is not sure."""
    return replace(read_as(draft), logprob=-3.0)


@pytest.fixture
def works(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "blobs"))


def settled(works: Works, new: NewOrder) -> OrderRecord:
    tools = replace(works.runner().tools, times_asked_again=works.orders.times_asked_again)
    runner = replace(works.runner(), tools=tools)
    order = works.orders.create(new)[0]
    while order.state in FLOW:
        runner.run(order.id, FLOW[order.state].name)
        order = works.orders.get(order.id)
    return order


def typed(text: str = SPACESHIP, *, client: str = BROWSER, confirm: bool = True) -> NewOrder:
    said = speech(text).model_copy(update={"confidence": 1.0})
    return NewOrder("trap-cafe", 1, "en", transcript=said, client=client, confirm=confirm)


def silence(works: Works) -> NewOrder:
    key = works.stored()
    works.transcriber.script = [Transcript(text="", confidence=0.0)]
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
def test_nonsense_is_said_again_twice_by_each_browser_and_then_a_person_looks(
    works: Works, draft: CartDraft, clients: Sequence[str], states: list[State]
) -> None:
    works.decoder.script = [unsure(draft)]
    orders = [settled(works, typed(client=client)) for client in clients]
    assert [order.state for order in orders] == states
    assert orders[0].error is not None
    assert (orders[0].error.code, orders[0].error.hint) == ("say_it_again", "Please say it again.")


def test_silence_is_said_again_and_its_recording_goes(works: Works) -> None:
    orders = [settled(works, silence(works)) for _ in range(3)]
    assert [order.state for order in orders] == [AGAIN, AGAIN, PERSON]
    assert [order.audio_key is None for order in orders] == [True, True, False]


def test_a_till_is_not_asked_to_say_it_again(works: Works) -> None:
    works.decoder.script = [unsure(OFF_MENU)]
    assert settled(works, typed(confirm=False, client="till")).state is PERSON
