"""A Spanish recording over HTTP, heard by the real Whisper, to a priced cart; and one for a human."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from schemas.evidence import Evidence
from schemas.order import Order
from services.cli.samples import same_cart
from services.engines.ports import Reading
from services.pipeline.flow import FLOW
from services.pipeline.runner import Runner
from tests.integration.api_world import World, running
from tests.stand_ins import ScriptedDecoder, read_as

pytestmark = pytest.mark.models
SPANISH = REPOSITORY / "infra" / "samples" / "spanish"
ROWS = {
    row["id"]: row
    for row in map(json.loads, (SPANISH / "recordings" / "gold.jsonl").read_text().splitlines())
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A stack whose decoder is a stand-in: only hearing and the rules are Spanish."""
    home = tmp_path_factory.mktemp("spanish")
    with running(home) as made:
        for menu in (SPANISH / "menus").glob("*.json"):
            answer = made.http.put(f"/v1/menus/{menu.stem}", json=json.loads(menu.read_text()))
            assert answer.is_success, answer.text
        yield made


class Agreeing(ScriptedDecoder):
    """Comes to the cart that the rules expect, if there is one."""

    def decode(self, _evidence: Evidence, _gone: Any = None, expected: Any = None, **_how: Any) -> Reading:
        return read_as(expected or CartDraft(lines=()))


def ordered(world: World, row: dict[str, Any]) -> dict[str, Any]:
    """The order of a recording, once workers can do no more for it."""
    file: Path = SPANISH / "recordings" / row["audio"]
    sent = {"audio": (file.name, file.read_bytes())}
    answer = world.http.post("/v1/orders", files=sent, data={"menu": row["menu"]})
    assert answer.status_code == 202, answer.text
    order_id = answer.json()["id"]
    tools = replace(world.parts.tools, decoder=lambda: Agreeing([]))
    runner = Runner(world.parts.orders, world.parts.bell, tools, "worker-1", 1, 60)
    while (state := world.parts.orders.get(order_id).state) in FLOW:
        runner.run(order_id, FLOW[state].name)
    found: dict[str, Any] = world.http.get(f"/v1/orders/{order_id}").json()
    return found


def test_a_correction_in_spanish_comes_out_as_it_was_meant(world: World) -> None:
    order = ordered(world, ROWS["taqueria-luna-21"])
    assert order["status"] == "completed", order["findings"]
    assert same_cart(Order.model_validate(order).cart, ROWS["taqueria-luna-21"]["cart"])
    assert order["cart"]["currency"] == "MXN"
    heard = order["transcript"]
    assert heard["language"] == "es"
    assert heard["source"].endswith("/es")
    assert heard["witness"] is None, "the second recogniser hears English alone"


def test_what_no_spanish_menu_has_reaches_a_human(world: World) -> None:
    order = ordered(world, ROWS["cafe-sol-26"])
    assert order["status"] == "needs_review"
    assert order["review"]["reasons"]
