"""Audit entries of acts in storage, the API, the pages and the command line."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy import text

from infra.sql.database import Database
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.records.orders import Outcome
from services.storage.audit.log import AuditLog
from services.storage.people.staff import StaffStore
from services.storage.shops.menus import MenuStore
from tests.integration import api_world
from tests.integration.api_world import MENU, World
from tests.integration.audit_world import ANN, act, tamper
from tests.integration.storage.test_storage_reviews import Desk, cart

lone_world = api_world.lone_world

PASSWORD = "correct horse battery"


def logged(database: Database) -> list[tuple[str, str, Any, Any]]:
    """Return action, object, before and after of all entries."""
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


def test_a_new_version_is_logged_by_the_digests_of_both(database: Database) -> None:
    menus = MenuStore(database, "main")
    first, _ = menus.put(Menu.parse(MENU), by=ANN)
    menus.put(Menu.parse(MENU), by=ANN)  # unchanged: not an act
    second, _ = menus.put(dearer(name="Renamed"), by=ANN, after=1, edited=True)
    was, is_now = ({"version": one.version, "digest": one.digest} for one in (first, second))
    about = f"menu {MENU['id']}"
    assert logged(database) == [("menu.imported", about, None, was), ("menu.edited", about, was, is_now)]


def test_accounts_are_audited_without_passwords(database: Database) -> None:
    staff = StaffStore(database)
    staff.add("ann", PASSWORD, by=ANN)
    staff.set_password("ann", PASSWORD + "!", by=ANN)
    staff.disable("ann")
    assert logged(database) == [
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
    """A review in which Ann corrected 5.00 to 4.10."""
    desk = Desk(database)
    held = desk.reviews.claim(desk.doubt(500).id, "ann", 60)
    desk.decide(held, "ann", Outcome(Event.APPROVED, cart=cart(410)))
    return held.id


def test_a_decision_is_logged_without_the_cart(database: Database) -> None:
    review_id = decided(database)
    [(action, about, before, after)] = logged(database)
    assert (action, about) == ("review.decided", f"review {review_id}")
    assert before == {"total": 500}
    review = Desk(database).reviews.get(review_id)
    assert after == {"decision": "approve", "reviewer": "ann", "order": review.order_id, "total": 410}


def test_the_api_names_the_actor(lone_world: World) -> None:
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
    assert saycart("audit", "verify").stdout == ""
    for number in range(3):
        act(database, number)
    act(database, shop="other")
    listed = saycart("audit", "list", "--shop", "main", "--json").stdout
    main = f"main:3:{hashlib.sha256(listed.encode()).hexdigest()}"
    whole = saycart("audit", "verify", "--head", main)
    assert (whole.exit_code, whole.stdout.split()[0]) == (0, main)

    rows = [json.loads(line) for line in saycart("audit", "list", "--json").stdout.splitlines()]
    assert [f"{row['shop_id']} {row['seq']}" for row in rows] == ["main 1", "main 2", "main 3", "other 1"]
    shown = saycart("audit", "list", "--shop", "other", "--since", "1h", "--action", "price")
    assert shown.exit_code == 0, shown.output
    assert "staff:ann" in shown.stdout
    assert "other 1" in shown.stdout
    assert "main" not in shown.stdout
    assert saycart("audit", "list", "--json", "--since", "9d").stdout.count("\n") == 4
    assert saycart("audit", "list", "--json", "--since", "0s").stdout == ""
    assert saycart("audit", "list", "--since", "tomorrow").exit_code == 1

    tamper(database, "UPDATE audit_log SET actor = 'staff:bob' WHERE seq = 2")
    broken = saycart("audit", "verify", "--head", main)
    assert (broken.exit_code, f"broken: {main}: an entry up to" in broken.stdout) == (1, True)
