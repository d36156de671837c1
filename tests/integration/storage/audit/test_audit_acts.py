"""What each act leaves in the audit log: in storage, by the API and the pages, and on the command line."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from sqlalchemy import text

from infra.sql.database import Database
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.records.orders import Outcome
from services.storage.audit.log import AuditLog, Verdict
from services.storage.people.staff import StaffStore
from services.storage.shops.menus import MenuStore
from tests.integration import api_world
from tests.integration.api_world import MENU, World
from tests.integration.audit_world import ANN, act, tamper
from tests.integration.storage.test_storage_review_rules import LIMIT, REFUSE, Desk, cart

lone_world = api_world.lone_world

PASSWORD = "correct horse battery"


def told(database: Database) -> list[tuple[str, str, Any, Any]]:
    """Action, object, before and after of every entry."""
    return [
        (e.action, f"{e.object_type} {e.object_id}", _parsed(e.before), _parsed(e.after))
        for e in AuditLog(database).entries()
    ]


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def dearer(**changes: Any) -> Menu:
    document = json.loads(json.dumps(MENU))
    document["items"][0] |= changes
    return Menu.parse(document)


def test_a_menu_is_told_by_what_differs(database: Database) -> None:
    menus = MenuStore(database, "main")
    first, _ = menus.put(Menu.parse(MENU), by=ANN)
    menus.put(Menu.parse(MENU), by=ANN)  # says the same: no act
    item = MENU["items"][0]
    prices = {"prices": {size: 1 for size in item["prices"]}} if item.get("prices") else {"price": 1}
    second, _ = menus.put(dearer(name="Renamed", **prices), by=ANN, after=1)
    assert [t[:2] for t in told(database)] == [
        ("menu.imported", f"menu {MENU['id']}"),
        ("menu.edited", f"menu {MENU['id']}"),
        ("price.changed", f"menu {MENU['id']}"),
    ]
    imported, edited, priced = told(database)
    assert imported[2] is None
    assert imported[3] == {
        "version": 1, "digest": first.digest, "items": len(MENU["items"]), "currency": MENU["currency"],
    }  # fmt: skip
    here = f"/items/{item['sku']}"
    assert edited[2] == {"version": 1, "digest": first.digest, f"{here}/name": item["name"]}
    assert edited[3] == {"version": 2, "digest": second.digest, f"{here}/name": "Renamed"}
    assert set(priced[3].values()) == {1, 2}
    assert priced[2].keys() == priced[3].keys() - {"version"}


def test_a_change_of_a_whole_menu_is_cut_and_counted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.storage.audit.menus.MAX_STEPS", 2)
    menus = MenuStore(database, "main")
    menus.put(Menu.parse(MENU), by=ANN)
    document = json.loads(json.dumps(MENU))
    document["items"] += [{"sku": f"new-{n}", "name": f"new thing {n}", "price": 100} for n in range(5)]
    menus.put(Menu.parse(document), by=ANN)
    _, (_, _, before, after) = told(database)
    assert before.keys() == {"version", "digest"}
    assert after["more"] == 3
    assert after["/items/new-0"] == {"sku": "new-0", "name": "new thing 0", "price": 100}
    assert "/items/new-2" not in after


def test_accounts_are_told_and_passwords_are_not(database: Database) -> None:
    staff = StaffStore(database)
    staff.add("ann", PASSWORD, by=ANN)
    staff.set_password("ann", PASSWORD + "!", by=ANN)
    staff.disable("ann")
    assert told(database) == [
        ("account.added", "account ann", None, {"disabled": False, "role": "reviewer"}),
        ("password.set", "account ann", None, None),
        ("account.disabled", "account ann", {"disabled": False}, {"disabled": True}),
    ]
    assert [e.actor for e in AuditLog(database).entries()] == [ANN.name, ANN.name, "unknown"]
    with database.read() as session:
        rows = str(session.execute(text("SELECT * FROM audit_log")).all())
    assert PASSWORD not in rows
    assert "argon2" not in rows


def decided(database: Database) -> str:
    """A review that ann has decided: 5.00 were proposed, she wants 4.10."""
    desk = Desk(database)
    review_id = desk.doubt(500).id
    desk.decide(review_id, "ann", Outcome(Event.APPROVED, cart=cart(410)))
    return review_id


def verdict(database: Database) -> Verdict:
    [found] = AuditLog(database).verify()
    return found


def test_a_decision_is_told_without_the_cart(database: Database) -> None:
    review_id = decided(database)
    [(action, about, before, after)] = told(database)
    assert (action, about) == ("review.decided", f"review {review_id}")
    assert before == {"total": 500}
    review = Desk(database).reviews.get(review_id)
    assert after == {"decision": "correct", "reviewer": "ann", "order": review.order_id, "total": 410}
    assert verdict(database).fault is None


def test_both_who_decide_on_a_dear_order_are_told(database: Database) -> None:
    desk = Desk(database)
    review_id = desk.doubt(LIMIT + 1).id
    desk.decide(review_id, "ann", REFUSE, "reject")
    desk.decide(review_id, "bob", REFUSE, "reject")
    assert [(t[0], t[3]["reviewer"], t[3]["total"]) for t in told(database)] == [
        ("review.awaits_second", "ann", None),
        ("review.decided", "bob", None),
    ]
    assert verdict(database).fault is None


def test_the_api_says_whose_request_it_was(lone_world: World) -> None:
    document = dearer(name="Renamed").model_dump(mode="json", exclude_none=True)
    headers = {"X-Request-ID": "a-request-of-mine"}
    answer = lone_world.http.put(f"/v1/menus/{MENU['id']}", json=document, headers=headers)
    assert answer.status_code == 201, answer.text
    entry = list(lone_world.parts.audit.entries())[-1]
    assert entry.action == "menu.imported"
    token = lone_world.people["ada"]["Authorization"]
    assert entry.actor == f"key:{token.split('_')[1]}"
    assert (entry.address, entry.request_id) == ("127.0.0.1", "a-request-of-mine")


def test_the_command_line_lists_and_verifies(saycart: Any, database: Database) -> None:
    assert saycart("audit", "verify").stdout == "No entries yet\n"
    for number in range(3):
        act(database, number)
    act(database, shop="other")
    heads = saycart("audit", "head").stdout.split()
    assert [head[:8] for head in heads] == ["main:3:" + heads[0][7], "other:1:"]
    whole = saycart("audit", "verify", "--head", heads[0], "--head", heads[1])
    assert (whole.exit_code, whole.stdout) == (0, "main: 3 entries, whole\nother: 1 entries, whole\n")

    rows = [json.loads(line) for line in saycart("audit", "list", "--json").stdout.splitlines()]
    assert [f"{row['shop_id']} {row['seq']}" for row in rows] == ["main 1", "main 2", "main 3", "other 1"]
    wanted = ("--shop", "other", "--since", "1h", "--action", "price")
    shown = saycart("audit", "list", *wanted)
    assert shown.exit_code == 0, shown.output
    assert "staff:ann" in shown.stdout
    assert "other 1" in shown.stdout
    assert "main" not in shown.stdout
    for since in ("2000-01-01", "2000-01-01T10:00", "2000-01-01T10:00+02:00"):
        assert saycart("audit", "list", "--json", "--since", since).stdout.count("\n") == 4
    assert saycart("audit", "list", "--since", "tomorrow").exit_code == 1
    assert saycart("audit", "verify", "--shop", "nowhere").exit_code == 1
    assert saycart("audit", "verify", "--head", "main").exit_code == 1

    tamper(database, "UPDATE audit_log SET actor = 'staff:bob' WHERE seq = 2")
    broken = saycart("audit", "verify", "--head", heads[0])
    assert broken.exit_code == 1
    assert "main: 3 entries, broken: entry 3, or one before it, is not as it was" in broken.stdout
    assert "other: 1 entries, whole" in broken.stdout
    tamper(database, "DELETE FROM audit_log WHERE shop_id = 'main'")
    cut = saycart("audit", "verify", "--head", heads[0])
    assert cut.exit_code == 1
    assert "entry 1 is missing: entry 3 was noted" in cut.stdout


def test_a_head_is_the_digest_of_what_is_listed(saycart: Any, database: Database) -> None:
    for number in range(3):
        act(database, number)
    listed = saycart("audit", "list", "--shop", "main", "--json").stdout
    digest = hashlib.sha256(listed.encode()).hexdigest()
    assert saycart("audit", "head").stdout == f"main:3:{digest}\n"
