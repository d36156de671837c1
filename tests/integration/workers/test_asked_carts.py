"""Carts with low confidence through workers and API: asked, answered, priced, completed."""

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
from tests.stand_ins import RIGHT, SAID, Pipeline, ScriptedDecoder, read_as

world, own_world = api_world.world, api_world.own_world


def workers(world: World, folder: Path) -> Pipeline:
    """Workers of the API with a scripted decoder."""
    return Pipeline(world.parts.database, BlobFolder(folder))


@pytest.fixture
def pipeline(world: World, tmp_path: Path) -> Pipeline:
    return workers(world, tmp_path)


def read(world: World, pipeline: Pipeline) -> dict[str, Any]:
    """Run an order whose cart has a probability of 0.7."""
    pipeline.decoder = ScriptedDecoder([replace(read_as(RIGHT), logprob=math.log(0.7))])
    order_id = world.text(f"{SAID} zeppelin", menu="trap-cafe")["id"]
    pipeline.until_settled(order_id)
    order: dict[str, Any] = world.http.get(f"/v1/orders/{order_id}").json()
    assert order["status"] == "needs_review"
    return order


def answer(world: World, order: dict[str, Any], given: str) -> dict[str, Any]:
    sent = {"question": order["question"]["id"], "answer": given}
    answered = world.http.post(f"/v1/orders/{order['id']}/answer", json=sent)
    assert answered.status_code == 200, answered.text
    found: dict[str, Any] = answered.json()
    return found


def test_an_uncertain_cart_is_confirmed_by_the_customer(world: World, pipeline: Pipeline) -> None:
    order = read(world, pipeline)
    assert order["question"]["id"] == "order/right"
    assert "1 × large latte (oat milk); 1 × blueberry muffin, $9.10 total" in order["question"]["text"]
    done = answer(world, order, "yes")
    assert (done["status"], done["cart"]["total"]) == ("completed", 910)
    assert done["review"]["status"] == "withdrawn"
    last = pipeline.orders.events(order["id"])[-1]
    assert (last.type, last.detail["asked"]) == ("answered", order["question"]["text"])
    assert last.detail["answer"] == "yes"


def test_confirming_an_outdated_cart_is_a_conflict(own_world: World, tmp_path: Path) -> None:
    pipeline = workers(own_world, tmp_path)
    seen = read(own_world, pipeline)
    assert [choice["price"] for choice in seen["question"]["answers"]] == [910, None]
    url = f"/v1/orders/{seen['id']}"
    own_world.http.post(f"{url}/utterances", json={"transcript": "two of each"})
    pipeline.until_settled(seen["id"])
    sent = {"question": "order/right", "answer": "yes", "version": seen["version"]}
    now = expect_problem(own_world.http.post(f"{url}/answer", json=sent), 409, "conflict")["order"]
    assert (now["status"], now["question"]["id"]) == ("needs_review", "order/right")
    done = own_world.http.post(f"{url}/answer", json=sent | {"version": now["version"]}).json()
    assert done["status"] == "completed"


def test_erasure_removes_the_question(world: World, pipeline: Pipeline) -> None:
    order = read(world, pipeline)
    assert order["decision"]["basis"]["unused"] == ["zeppelin"]
    answer(world, order, "yes")
    assert world.http.delete(f"/v1/orders/{order['id']}/data").status_code < 300
    kept = pipeline.orders.get(order["id"])
    assert kept.answer == ModelAnswer(probability=0.7)
    assert kept.decision is not None
    assert (kept.decision.question, kept.decision.doubts) == (None, ())
    assert kept.decision.basis == Basis(transcript_confidence=1.0, cart_probability=0.7)
    assert "asked" not in pipeline.orders.events(order["id"])[-1].detail


def test_a_no_is_reviewed_with_its_question(own_world: World, tmp_path: Path) -> None:
    pipeline = workers(own_world, tmp_path)
    order = read(own_world, pipeline)
    before = pipeline.reviews.by_order(order["id"])
    assert before is not None
    still = answer(own_world, order, "no")
    assert (still["status"], still["question"]) == ("needs_review", None)
    details = {finding["code"]: finding["detail"] for finding in still["findings"]}
    assert "70% sure" in details["reading_unsure"]
    assert "1 × large latte (oat milk); 1 × blueberry muffin" in details["reading_declined"]
    event = pipeline.orders.events(order["id"])[-1]
    assert (event.type, event.detail["answer"]) == ("declined", "no")
    again = {"question": "order/right", "answer": "yes"}
    expect_problem(own_world.http.post(f"/v1/orders/{order['id']}/answer", json=again), 409, "conflict")
    # It keeps its place in the queue, and a reviewer who has read it sees that there is more.
    review = pipeline.reviews.by_order(order["id"])
    assert review is not None
    assert (review.status, review.created_at) == ("open", before.created_at)
    assert review.version == before.version + 1
    claimed = own_world.http.post(f"/v1/reviews/{review.id}/claim").json()
    sent = {"version": claimed["version"], "action": "correct"}
    sent |= {"cart": RIGHT.model_dump(mode="json")}
    decided = own_world.http.post(f"/v1/reviews/{review.id}/decision", json=sent)
    assert decided.status_code == 200, decided.text
    final = pipeline.orders.get(order["id"])
    assert canonical_draft(final.draft) == canonical_draft(RIGHT)
