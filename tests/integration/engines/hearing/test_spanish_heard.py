"""A Spanish recording over HTTP, transcribed by the real Whisper: a priced cart, which a person accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from schemas.order import Order
from services.cli.samples import same_cart
from services.pipeline.flow import FLOW
from services.pipeline.runner import Runner
from tests.integration.api_world import World, running
from tests.stand_ins import ScriptedDecoder

pytestmark = pytest.mark.models
SPANISH = REPOSITORY / "infra" / "samples" / "spanish"
ROWS = {
    row["id"]: row
    for row in map(json.loads, (SPANISH / "recordings" / "gold.jsonl").read_text().splitlines())
}
CORRECTED = ROWS["taqueria-luna-21"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A stack whose decoder is a stand-in: only transcription is Spanish."""
    home = tmp_path_factory.mktemp("spanish")
    with running(home) as made:
        for menu in (SPANISH / "menus").glob("*.json"):
            answer = made.http.put(f"/v1/menus/{menu.stem}", json=json.loads(menu.read_text()))
            assert answer.is_success, answer.text
        yield made


def ordered(world: World, row: dict[str, Any]) -> dict[str, Any]:
    """The order of a recording that is decoded as its gold cart, once workers can do no more for it."""
    file: Path = SPANISH / "recordings" / row["audio"]
    sent = {"audio": (file.name, file.read_bytes())}
    answer = world.http.post("/v1/orders", files=sent, data={"menu": row["menu"]})
    assert answer.status_code == 202, answer.text
    order_id = answer.json()["id"]
    lines = [{**line, "heard": row["utterance"]} for line in row["cart"]["lines"]]
    decoder = ScriptedDecoder([CartDraft.model_validate({"lines": lines})])
    tools = replace(world.parts.tools, decoder=lambda: decoder)
    runner = Runner(world.parts.orders, world.parts.bell, tools, "worker-1", 1, 60)
    while (state := world.parts.orders.get(order_id).state) in FLOW:
        runner.run(order_id, FLOW[state].name)
    found: dict[str, Any] = world.http.get(f"/v1/orders/{order_id}").json()
    return found


def test_a_spanish_order_is_heard_and_priced_and_a_persons_to_accept(world: World) -> None:
    """How sure the model is of a cart was measured in English alone."""
    order = ordered(world, CORRECTED)
    assert order["status"] == "needs_review"
    assert [found["code"] for found in order["findings"] if found["severity"] == "blocking"] == [
        "reading_unsure"
    ]
    assert same_cart(Order.model_validate(order).cart, CORRECTED["cart"])
    assert order["cart"]["currency"] == "MXN"
    transcript = order["transcript"]
    assert transcript["language"] == "es"
    assert transcript["source"].endswith("/es")
    assert "burrito" in transcript["text"].casefold()
    assert transcript["second"] is None, "the second recognizer knows English alone"
