"""What a shop accepts without asking: orders from its pages at once, allergies as notes."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import CartDraft
from schemas.decision import ModelAnswer
from schemas.lifecycle import Event, State
from schemas.records.orders import OrderRecord
from services.pipeline import stages
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.notes import with_left_out
from tests.integration import api_world
from tests.integration.api_world import MENU, World
from tests.stand_ins import TESTER

own_world = api_world.own_world

SURE = ModelAnswer(text="…", probability=1.0)
LATTE, ANY_SIZE = {"sku": "latte", "size": "S"}, {"sku": "latte", "size": None}
SPACESHIP = {"kind": "not_on_menu", "heard": "a latte"}
NUTS = "I'm allergic to nuts"
ASKED, SHOWN, MADE = State.IN_REVIEW, State.PROPOSED, State.COMPLETED


def accepting(world: World, **accepts: bool) -> World:
    world.parts.shops.set_acceptance("main", accepts, by=TESTER)
    return world


def placed(world: World, said: str, *, page: bool = True, **fields: Any) -> str:
    if not page:
        return str(world.text(said, **fields)["id"])
    made = world.http.post("/orders", data={"transcript": said, "menu": MENU["id"]})
    return str(made.headers["location"].rpartition("/")[2])


def decided(world: World, order_id: str, **line: Any) -> OrderRecord:
    """Decode an order as this line and the notes of its words, and validate it with the real parts."""
    said = world.parts.orders.get(order_id).known_transcript.text
    lines = [{"kind": "item", "heard": "a latte", "quantity": 1, **line}] if line else []
    menu = world.parts.menus.get(MENU["id"]).menu
    draft = CartDraft.model_validate({"lines": lines})
    draft = with_left_out(draft, menu, said, retrieve(said, names_of(menu)))
    order = world.advance(order_id, Event.DECODED, draft=draft, answer=SURE)
    done: OrderRecord = world.parts.orders.commit(order, stages.validate(order, world.parts.tools))
    return done


def test_an_order_is_shown_first_once_the_setting_is_off(own_world: World) -> None:
    order_id = placed(accepting(own_world, at_once=True), "a latte")
    accepting(own_world, at_once=False)
    assert decided(own_world, order_id, **LATTE).state is SHOWN


@pytest.mark.parametrize(
    ("accepts", "source", "said", "line", "ends"),
    [
        ("", {}, "a latte", LATTE, SHOWN),
        ("at_once", {}, "a latte", LATTE, MADE),
        ("at_once", {"page": False, "confirm": True}, "a latte", LATTE, SHOWN),
        ("at_once", {}, "a latte", ANY_SIZE, ASKED),
        ("at_once", {}, f"a latte {NUTS}", LATTE, ASKED),
        ("allergies", {}, f"a latte {NUTS}", LATTE, SHOWN),
        ("allergies", {"page": False}, f"a latte {NUTS}", LATTE, MADE),
        ("allergies", {}, f"a latte, {NUTS}, is it gluten free", LATTE, ASKED),
        ("allergies", {}, f"a latte {NUTS} can I eat that", LATTE, ASKED),
        ("allergies", {}, f"a latte {NUTS}, any eggs?", LATTE, ASKED),
        ("allergies", {}, f"a latte {NUTS}, tree nuts, eggs, soy, fish and sesame", LATTE, ASKED),
        ("allergies", {}, NUTS, {}, ASKED),
        ("allergies", {}, f"a latte {NUTS}", SPACESHIP, ASKED),
        ("at_once allergies", {}, f"a latte {NUTS}", LATTE, SHOWN),
    ],
)
def test_each_kind_of_order_on_each_setting(
    own_world: World, accepts: str, source: dict[str, Any], said: str, line: dict[str, Any], ends: State
) -> None:
    world = accepting(own_world, **dict.fromkeys(accepts.split(), True))
    order_id = placed(world, said, **source)
    order = decided(world, order_id, **line)
    assert order.state is ends
    shown = world.http.get(f"/v1/orders/{order_id}").json()
    assert [note["kind"] for note in shown["cart"]["notes"]] == ["allergy"] * (NUTS in said)
    found = {one["code"]: one["severity"] for one in shown["findings"]}
    assert found.get("allergy_said") == (("blocking" if ends is ASKED else "info") if NUTS in said else None)
    assert [one.code for one in order.findings][:1] == ["allergy_said"] or NUTS not in said
    page = world.http.get(world.link(order_id), follow_redirects=True).text
    assert ('id="yes"' in page, "We&#39;re making it now" in page) == (ends is SHOWN, ends is MADE)


@pytest.mark.parametrize(
    ("then", "said"),
    [("answer", f"a latte {NUTS}"), ("add", "a latte"), ("correct", "a latte"), ("replay", "a latte")],
)
def test_what_was_asked_added_or_corrected_is_shown_first(own_world: World, then: str, said: str) -> None:
    world = accepting(own_world, at_once=True, allergies=True)
    order_id = placed(world, said)
    assert "right away" in world.http.get("/").text
    decided(world, order_id, **ANY_SIZE)
    if then == "answer":
        world.http.post(f"/v1/orders/{order_id}/answer", json={"question": "0/size", "answer": "S"})
    elif then == "add":
        world.http.post(f"/v1/orders/{order_id}/utterances", json={"transcript": "a small one"})
        decided(world, order_id, **LATTE)
    elif then == "correct":
        review = f"/v1/reviews/{world.parts.reviews.by_order(order_id).id}"
        cart = {"lines": [{"kind": "item", "heard": "a latte", "quantity": 1, **LATTE}]}
        sent = {"action": "correct", "version": world.http.post(f"{review}/claim").json()["version"]}
        world.http.post(f"{review}/decision", json=sent | {"cart": cart})
    else:
        world.parts.orders.replay(order_id)
        decided(world, order_id, **LATTE)
    assert world.parts.orders.get(order_id).state is SHOWN
