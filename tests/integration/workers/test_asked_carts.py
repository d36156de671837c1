"""Carts that the model is not sure of, through workers and API: asked, answered, priced, complete."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.blobs.folder import BlobFolder
from schemas.compare import canonical_draft
from schemas.decision import Basis, ModelAnswer
from tests.integration import api_world
from tests.integration.api_world import World, expect_problem
from tests.stand_ins import RIGHT, SAID, ScriptedDecoder, Works, read_as

world, own_world = api_world.world, api_world.own_world


def workers(world: World, folder: Path) -> Works:
    """The workers of that API, whose learned reader says what a test has it say."""
    return Works(world.parts.database, BlobFolder(folder))


@pytest.fixture
def works(world: World, tmp_path: Path) -> Works:
    return workers(world, tmp_path)


def read(world: World, works: Works) -> dict[str, Any]:
    """An order of whose cart the model is 70% sure, once the workers are through with it."""
    works.decoder = ScriptedDecoder([replace(read_as(RIGHT), logprob=math.log(0.7))])
    order_id = world.text(f"{SAID} zeppelin", menu="trap-cafe")["id"]
    works.until_settled(order_id)
    order: dict[str, Any] = world.http.get(f"/v1/orders/{order_id}").json()
    assert order["status"] == "needs_review"
    return order


def answer(world: World, order: dict[str, Any], given: str) -> dict[str, Any]:
    sent = {"question": order["question"]["id"], "answer": given}
    answered = world.http.post(f"/v1/orders/{order['id']}/answer", json=sent)
    assert answered.status_code == 200, answered.text
    found: dict[str, Any] = answered.json()
    return found


def test_a_cart_that_the_model_is_not_sure_of_is_confirmed_by_its_customer(
    world: World, works: Works
) -> None:
    order = read(world, works)
    assert order["question"]["id"] == "order/right"
    assert "1 × large latte (oat milk); 1 × blueberry muffin, $9.10 total" in order["question"]["text"]
    done = answer(world, order, "yes")
    assert (done["status"], done["cart"]["total"]) == ("completed", 910)
    assert done["review"]["status"] == "withdrawn"
    last = works.orders.events(order["id"])[-1]
    assert (last.type, last.detail["asked"]) == ("answered", order["question"]["text"])
    assert last.detail["answer"] == "yes"


def test_a_yes_to_a_cart_that_has_changed_since_is_a_conflict(own_world: World, tmp_path: Path) -> None:
    works = workers(own_world, tmp_path)
    seen = read(own_world, works)
    assert [choice["price"] for choice in seen["question"]["answers"]] == [910, None]
    url = f"/v1/orders/{seen['id']}"
    own_world.http.post(f"{url}/utterances", json={"transcript": "two of each"})
    works.until_settled(seen["id"])
    sent = {"question": "order/right", "answer": "yes", "version": seen["version"]}
    now = expect_problem(own_world.http.post(f"{url}/answer", json=sent), 409, "conflict")["order"]
    assert (now["status"], now["question"]["id"]) == ("needs_review", "order/right")
    done = own_world.http.post(f"{url}/answer", json=sent | {"version": now["version"]}).json()
    assert done["status"] == "completed"


def test_what_was_asked_is_erased_with_the_words(world: World, works: Works) -> None:
    order = read(world, works)
    assert order["decision"]["basis"]["unused"] == ["zeppelin"]
    answer(world, order, "yes")
    assert world.http.delete(f"/v1/orders/{order['id']}/data").status_code < 300
    kept = works.orders.get(order["id"])
    assert kept.answer == ModelAnswer(probability=0.7)
    assert kept.decision is not None
    assert (kept.decision.question, kept.decision.doubts) == (None, ())
    assert kept.decision.basis == Basis(transcript_confidence=1.0, cart_probability=0.7)
    assert "asked" not in works.orders.events(order["id"])[-1].detail


def test_a_no_goes_to_a_human_who_sees_what_was_asked(own_world: World, tmp_path: Path) -> None:
    works = workers(own_world, tmp_path)
    order = read(own_world, works)
    before = works.reviews.by_order(order["id"])
    assert before is not None
    still = answer(own_world, order, "no")
    assert (still["status"], still["question"]) == ("needs_review", None)
    details = {finding["code"]: finding["detail"] for finding in still["findings"]}
    assert "70% sure" in details["reading_unsure"]
    assert "1 × large latte (oat milk); 1 × blueberry muffin" in details["reading_declined"]
    event = works.orders.events(order["id"])[-1]
    assert (event.type, event.detail["answer"]) == ("declined", "no")
    again = {"question": "order/right", "answer": "yes"}
    expect_problem(own_world.http.post(f"/v1/orders/{order['id']}/answer", json=again), 409, "conflict")
    # It keeps its place in the queue, and a person who has read it sees that there is more to read.
    review = works.reviews.by_order(order["id"])
    assert review is not None
    assert (review.status, review.created_at) == ("open", before.created_at)
    assert review.version == before.version + 1
    claimed = own_world.http.post(f"/v1/reviews/{review.id}/claim").json()
    sent = {"version": claimed["version"], "action": "correct"}
    sent |= {"cart": RIGHT.model_dump(mode="json")}
    decided = own_world.http.post(f"/v1/reviews/{review.id}/decision", json=sent)
    assert decided.status_code == 200, decided.text
    final = works.orders.get(order["id"])
    assert canonical_draft(final.draft) == canonical_draft(RIGHT)
