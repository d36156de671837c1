"""Names that customers use, found in real orders on either database, and what staff make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.blobs.folder import BlobFolder
from infra.settings import Settings
from infra.sql.database import Database
from schemas.cart import CartDraft, Finding, ItemLine
from schemas.errors import Conflict, NotFound
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.naming import Suggestion
from schemas.question import CustomerAnswer
from schemas.review import ReviewDecision, ReviewReason
from services.bootstrap import bootstrap
from services.checks.price import price_cart
from services.checks.questions import which_item
from services.cli import client
from services.cli.main import app
from services.naming.suggesting import Suggesting
from services.pipeline.kept_evidence import kept
from services.pipeline.review import settle, settle_by_answer
from services.reading.order import read_order
from services.storage.audit.log import AuditLog
from services.storage.base.records import Outcome
from services.storage.privacy.erasure import ErasureStore
from services.storage.shops.names import NameStore
from services.storage.shops.store import ShopStore
from tests.integration.marked import places
from tests.servers.staged_server import completion, staged_server
from tests.stand_ins import CAFE, TESTER, Works, speech

Line = dict[str, Any]
FLAT: Line = {"kind": "not_on_menu", "heard": "two flat whites", "quantity": 2}
LATTE: Line = {"kind": "item", "heard": "two flat whites", "sku": "latte", "quantity": 2, "size": "M"}
ICED: Line = {"kind": "item", "heard": "an iced", "sku": "iced-mocha", "quantity": 1}


@pytest.fixture
def works(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "recordings"))


def suggesting(works: Works, shop: str = "main") -> Suggesting:
    return Suggesting(NameStore(works.database, shop), works.menus.of(shop))


def found(works: Works, *sources: Any) -> list[Suggestion]:
    return list(suggesting(works).found(CAFE.id, *([sources] if sources else ())).suggestions)


def doubted(works: Works, said: str, lines: list[Line], *findings: Finding) -> str:
    """An order that the machine read so, and was unsure of."""
    order_id, heard = works.typed(said), speech(said)
    draft = CartDraft.model_validate({"lines": lines})
    cart = price_cart(draft, CAFE, 1, heard, [])
    evidence = kept(read_order(said, CAFE, 1))
    order = works.orders.commit(
        works.orders.get(order_id), Outcome(Event.SETTLED, draft=draft, cart=cart, evidence=evidence)
    )
    works.orders.commit(
        order, Outcome(Event.DOUBTED, findings=findings, reasons=(ReviewReason.BLOCKING_FINDING,))
    )
    return order_id


def corrected(works: Works, said: str, before: list[Line], after: list[Line]) -> str:
    """Such an order, which staff corrected."""
    order_id = doubted(works, said, before)
    review = works.reviews.by_order(order_id)
    assert review is not None
    held = works.reviews.claim(review.id, "ann", 60)
    decision = ReviewDecision.model_validate(
        {"reviewer": "ann", "version": held.version, "action": "correct", "cart": {"lines": after}}
    )
    outcome = settle(works.orders.get(order_id), decision, "ann", works.menus.get(CAFE.id))
    works.reviews.decide(
        review.id,
        reviewer="ann",
        version=held.version,
        action="correct",
        reason=None,
        outcome=outcome,
        by=TESTER,
    )
    return order_id


def flat_whites(works: Works, times: int = 2, sku: str = "latte") -> list[str]:
    after = LATTE | {"sku": sku}
    return [corrected(works, "two flat whites please", [FLAT], [after]) for _ in range(times)]


def answered(works: Works, sku: str) -> None:
    """An order in which only the customer could say which of two iced drinks it was."""
    question = which_item(0, ItemLine.model_validate(ICED), ["iced-latte", "iced-mocha"], CAFE)
    unclear = Finding.blocking("vague_name", "Which one?", 0, question)
    order_id = doubted(works, "an iced please", [ICED], unclear)
    answer = CustomerAnswer(question="0/sku", answer=sku)
    order = works.orders.get(order_id)
    works.orders.answer(order, settle_by_answer(order, answer, works.menus.get(CAFE.id)))


def test_what_two_orders_said_is_suggested_with_its_reason(works: Works) -> None:
    flat_whites(works, 1)
    assert found(works) == [], "one customer's own words"
    flat_whites(works, 1)
    (one,) = found(works)
    assert (one.thing, one.name, one.words) == ("item/latte", "latte", "flat whites")
    assert (one.source, one.count) == ("orders", 2)
    assert "2 orders said “flat whites”" in one.reason
    assert found(works, "orders") == [one]
    assert found(works, "corrections") == []


def test_an_option_that_staff_added_has_the_words_beside_it(works: Works) -> None:
    latte = LATTE | {"heard": "a latte with zingy", "quantity": 1}
    for _ in range(2):
        oat = latte | {"options": [{"group": "milk", "id": "oat"}]}
        corrected(works, "a medium latte with zingy", [latte], [oat])
    (one,) = found(works)
    assert (one.thing, one.words, one.source) == ("option/milk/oat", "zingy", "corrections")


def test_a_line_that_staff_added_has_the_words_that_no_other_line_holds(works: Works) -> None:
    latte = LATTE | {"heard": "a medium latte", "quantity": 1}
    added = {"kind": "item", "heard": "added by staff", "sku": "americano", "quantity": 1}
    for _ in range(2):
        corrected(works, "a medium latte and a cortado", [latte], [latte, added])
    (one,) = found(works)
    assert (one.thing, one.words) == ("item/americano", "cortado")


def test_words_that_came_out_as_two_things_are_nobodys_name(works: Works) -> None:
    flat_whites(works, 2)
    flat_whites(works, 2, sku="americano")
    assert found(works) == []


def test_customers_answers_count(works: Works) -> None:
    for _ in range(2):
        answered(works, "iced-mocha")
    (one,) = found(works)
    assert (one.thing, one.words, one.source, one.count) == ("item/iced-mocha", "iced", "orders", 2)


def test_an_accepted_name_is_an_edit_like_any_other(works: Works) -> None:
    flat_whites(works)
    names, published = suggesting(works), list[int]()

    def publish(menu: Menu, after: int) -> None:
        published.append(after)
        works.menus.put(menu, by=TESTER, after=after)

    suggested = names.found(CAFE.id)
    names.accept(suggested, [suggested.suggestions[0].id], publish=publish, by=TESTER)
    latte = works.menus.get(CAFE.id).menu.item("latte")
    assert (published, latte and latte.aliases) == ([1], ("flat whites",))
    assert found(works) == []
    assert read_order("two medium flat whites", works.menus.get(CAFE.id).menu, 2).items == {"latte"}
    assert list(AuditLog(works.database).entries())[-1].action == "menu.edited"
    with pytest.raises(NotFound, match="suggested"):
        names.accept(names.found(CAFE.id), [suggested.suggestions[0].id], publish=publish, by=TESTER)
    works.menus.put(CAFE, by=TESTER)
    assert found(works) == [], "whoever took it out again did not ask for it again"


def test_a_refused_name_never_comes_again_and_its_words_are_not_kept(works: Works) -> None:
    said = "two zyzzyva please"
    line = FLAT | {"heard": "two zyzzyva"}
    orders = [corrected(works, said, [line], [LATTE | {"heard": "two zyzzyva"}]) for _ in range(2)]
    (one,) = found(works)
    suggesting(works).refuse(suggesting(works).found(CAFE.id), [one.id], by=TESTER)
    orders += [corrected(works, said, [line], [LATTE | {"heard": "two zyzzyva"}]) for _ in range(2)]
    assert found(works) == []
    entry = list(AuditLog(works.database).entries())[-3]
    assert entry.action == "name.refused"
    assert json.loads(str(entry.after)) == {"thing": "item/latte", "source": "orders"}
    assert works.menus.get(CAFE.id).version == 1
    assert not {where for where in places(works.database) if where.startswith(("name_", "audit"))}
    for order_id in orders:
        ErasureStore(works.database, "main").erase(order_id, by=TESTER)
    assert places(works.database) == set()


def test_what_is_erased_is_suggested_no_more(works: Works) -> None:
    first, _ = flat_whites(works)
    ErasureStore(works.database, "main").erase(first, by=TESTER)
    assert found(works) == []


def test_names_are_the_shops_own_and_those_of_a_chain_belong_to_it(works: Works) -> None:
    flat_whites(works)
    ShopStore(works.database).add("pier", "Pier", by=TESTER, menus_of="main")
    theirs = suggesting(works, "pier")
    assert theirs.found(CAFE.id).suggestions == ()
    assert theirs.found(CAFE.id).chain == "main"
    assert suggesting(works).found(CAFE.id).chain is None
    with pytest.raises(Conflict, match="main"):
        theirs.accept(theirs.found(CAFE.id), [], publish=lambda *_: None, by=TESTER)


def test_a_models_names_wait_for_staff_apart(works: Works) -> None:
    """Latte is thought of as a clash, a nickname, and what the muffin is thought of too."""

    def say(body: dict[str, Any]) -> Any:
        asked = body["messages"][-1]["content"]
        thought = {"latte": ["mocha", "milky cloud", "soft thing"], "blueberry muffin": ["soft thing"]}
        found = next((thought[name] for name in thought if f"Thing: {name} (" in asked), [])
        return completion(json.dumps({"names": found}, separators=(",", ":")))

    names = suggesting(works)
    with staged_server(say) as server:
        names.ask(CAFE.id, server.decoder())
        names.ask(CAFE.id, server.decoder())
    assert found(works) == [], "nobody asked for a model's"
    (one,) = found(works, "model")
    assert (one.words, one.thing, one.count) == ("milky cloud", "item/latte", 0)
    names.refuse(names.found(CAFE.id, ("model",)), [one.id], by=TESTER)
    assert found(works, "model") == []
    assert "name_suggestions.words" not in places(works.database, "milky cloud")
    with staged_server(say) as server:
        names.ask(CAFE.id, server.decoder())
    assert found(works, "model") == []


def test_the_command_lists_accepts_and_refuses(
    works: Works, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat_whites(works)
    config = Settings(home=tmp_path / "home", database_url=database_url)
    monkeypatch.setattr(client, "settings", lambda: config)
    monkeypatch.setattr(client, "bootstrap", bootstrap)

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["menu", "suggest", CAFE.id, *words])
        return done.exit_code, done.output

    code, told = run("--json")
    one = json.loads(told)
    assert (code, one["words"], one["thing"]) == (0, "flat whites", "item/latte")
    assert "2 orders said" in run()[1]
    assert run("--accept", "nothing")[0] == 1
    assert run("--from", "hearsay")[0] == 1
    code, told = run("--accept", one["id"])
    assert (code, "version 2" in told) == (0, True), told
    item = works.menus.get(CAFE.id).menu.item("latte")
    assert item is not None
    assert item.aliases == ("flat whites",)
    entry = list(AuditLog(works.database).entries())[-1]
    assert (entry.action, entry.actor.split(":")[0]) == ("menu.edited", "operator")
    assert "no new name" in run()[1]
