"""Rows written by a later release: unknown values are dropped or shown as unknown, and break neither lists
nor workers. The rest of the row and all other rows remain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from sqlalchemy import JSON, select, text, update

from schemas.cart import CartDraft
from schemas.errors import Conflict
from schemas.lifecycle import Event, State
from schemas.order import OrderError
from schemas.priced_cart import Cart, Finding
from schemas.review import ReviewReason
from schemas.shops.access import Role, Scope
from services.storage.base.table_base import Base, Stored
from services.storage.privacy.erasure import ErasureStore
from services.storage.privacy.retention import RetentionStore
from services.storage.statistics import decided
from tests.integration import api_world
from tests.integration.api_world import World
from tests.integration.signing import PASSWORD, cheap
from tests.stand_ins import TESTER, claim_order

own_world = api_world.own_world
NEW = "from_a_later_release"
LINE = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1, "size": "S"}
DRAFT = CartDraft.model_validate({"lines": [LINE]})
MENU = {"id": "corner-cafe", "version": 1}
PRICED = LINE | {"heard": {"text": "a latte"}, "name": "latte", "line_total": 450, "confidence": 1.0}
CART = Cart.model_validate({"currency": "USD", "menu": MENU, "total": 450, "lines": [PRICED]})
MADE = {"draft": DRAFT, "cart": CART}
FOUND = {"findings": (Finding.blocking("odd", "Odd"),), "reasons": (ReviewReason.BLOCKING_FINDING,)}


CART_OF, DRAFT_OF = CART.model_dump(mode="json"), DRAFT.model_dump(mode="json")
ODD_CART = CART_OF | {"lines": [CART_OF["lines"][0] | {"kind": NEW}]}
FINDING = {"code": NEW, "severity": NEW, "message": "?"}
# Values that a later release may write, in groups tested together.
ROUNDS: list[dict[str, Any]] = [
    {"orders.state": NEW},
    {
        "orders.reasons": [NEW, "stage_failed"],
        "orders.findings": [FINDING],
        "orders.cart": ODD_CART,
        "orders.draft": DRAFT_OF | {"more": NEW},
        "orders.transcript": {"text": "tea", "confidence": 1, "source": NEW, "more": 1},
        "orders.answer": {NEW: NEW},
        "orders.error": {"code": NEW, "message": "?", "hint": "?", "more": 1},
        "orders.timings": {NEW: 0.5},
        "orders.engine": {NEW: [NEW]},
        "order_events.type": NEW,
        "reviews.decision": NEW,
        "reviews.reasons": [NEW],
        "reviews.proposed": ODD_CART,
        "review_records.action": NEW,
    },
    {
        "orders.cart": CART_OF | {"more": NEW},
        "orders.transcript": {"said": NEW},
        "orders.error": {NEW: 1},
        "order_events.state": NEW,
        "reviews.status": NEW,
        "review_records.before": ODD_CART,
        "review_records.after": ODD_CART,
        "review_records.decision": NEW,
        "api_keys.scopes": [NEW, *Scope],
    },
    {"staff.role": NEW},
]
TABLES = Base.metadata.tables


class Shop:
    """A shop with an order in each state, and a signed-in admin."""

    def __init__(self, world: World) -> None:
        self.world, self.database = world, world.parts.database.everywhere()
        world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        signed = world.http.post("/sign-in", data={"name": "Ann", "password": PASSWORD, "next": "/review"})
        assert signed.status_code == 303
        move = world.advance
        waits, drafted, shown, doubted, claimed, decided, done, failed, held = (
            world.text()["id"] for _ in range(9)
        )
        move(drafted, Event.DECODED, draft=DRAFT)
        for order_id in (shown, done):
            move(order_id, Event.DECODED, draft=DRAFT)
        move(shown, Event.PROPOSED, **MADE)
        move(done, Event.ACCEPTED, **MADE)
        for order_id in (doubted, claimed, decided):
            move(order_id, Event.DOUBTED, **MADE, **FOUND)
        move(failed, Event.BROKE, error=OrderError(code="internal", message="?", hint="?"))
        claim_order(world.parts.orders, held, State.TRANSCRIBED, owner="w", lease_s=600)
        self.orders = {waits, drafted, shown, doubted, claimed, decided, done, failed, held}
        self.held = held
        self.shown, self.reviewed = (shown, doubted, done, failed), (doubted, claimed, decided)
        self.reviews = [world.parts.reviews.by_order(order).id for order in self.reviewed]
        for review in self.reviews[1:]:
            self._asked("claim", review, {})
        version = world.http.get(f"/v1/reviews/{self.reviews[-1]}").json()["version"]
        self._asked("decision", self.reviews[-1], {"version": version, "action": "approve"})

    def _asked(self, what: str, review: str, body: dict[str, Any]) -> None:
        answer = self.world.http.post(f"/v1/reviews/{review}/{what}", json=body)
        assert answer.status_code == 200, answer.text

    def addresses(self) -> list[str]:
        """Return every list and page, and one order and review of each kind."""
        lists = [
            "/v1/orders",
            "/metrics/database",
            "/review",
        ]
        pages = ["/review/stats", "/account", "/staff/admin/keys", "/staff/admin/people"]
        pages += [f"/orders/{order}" for order in self.shown]
        pages += [f"/review/{review}" for review in self.reviews]
        orders = [f"/v1/orders/{self.reviewed[0]}", f"/v1/orders/{self.shown[-1]}"]
        return [*lists, *pages, *orders, f"/v1/reviews/{self.reviews[0]}"]

    @contextmanager
    def holding(self, column: str, value: Any) -> Iterator[None]:
        """Set the column in all rows that have a value, during the block."""
        table, name = TABLES[column.split(".")[0]], column.split(".")[1]
        key = list(table.primary_key)
        with self.database.read() as session:
            rows = session.execute(select(*key, table.c[name])).all()
        if not isinstance(table.c[name].type, (JSON, Stored)):
            rows = [row for row in rows if row[-1] is not None]
        assert rows, f"nothing to change in {column}"
        self._write(table, name, [(*row[:-1], value) for row in rows], key)
        yield
        self._write(table, name, rows, key)

    def _write(self, table: Any, name: str, rows: list[Any], key: list[Any]) -> None:
        with self.database.write() as session:
            for *at, value in rows:
                where = [one == part for one, part in zip(key, at, strict=True)]
                session.execute(update(table).where(*where).values({name: value}))


def problems(shop: Shop, columns: Collection[str] = ()) -> list[str]:
    """Return what fails while columns hold unknown values."""
    wrong = []
    for address in shop.addresses():
        answer = shop.world.http.get(address)
        # An unknown role has no permissions.
        if answer.status_code >= 500 or (answer.status_code != 200 and "staff.role" not in columns):
            wrong.append(f"{address}: {answer.status_code} {answer.text[:80]}")
        if address == "/v1/orders" and {one["id"] for one in answer.json()["orders"]} != shop.orders:
            wrong.append("orders are missing from the list")
        if address == "/metrics/database" and "saycart_database_up 1" not in answer.text:
            wrong.append("nothing is counted")
    for name, part in work(shop):
        try:
            part()
        except Exception as error:
            wrong.append(f"{name}: {error!r}"[:160])
    return wrong


def work(shop: Shop) -> list[tuple[str, Callable[[], object]]]:
    """Return the operations of workers, sweeper, courier and commands."""
    parts, retention = shop.world.parts, RetentionStore(shop.database, "main")
    return [
        ("due", lambda: parts.orders.due(limit=100, idle_s=0)),
        ("recordings", lambda: retention.step("recordings", 86_400)),
        ("words", lambda: retention.step("transcripts", 86_400)),
        ("release", lambda: parts.orders.release_all("w")),
        ("load", parts.load.load),
        ("keys", parts.keys.list),
        ("accounts", parts.staff.list),
        ("settled", parts.reviews.settled),
        ("events", lambda: [parts.watched.happened(order, 0) for order in shop.orders]),
        ("failed", lambda: parts.orders.failed(None)),
        ("stats", lambda: decided(shop.database, "main", 24)),
    ]


@pytest.fixture
def shop(own_world: World, monkeypatch: pytest.MonkeyPatch) -> Shop:
    cheap(monkeypatch)
    return Shop(own_world)


def test_unknown_values_break_nothing_else(shop: Shop) -> None:
    assert problems(shop) == []
    wrong = list[str]()
    for columns in ROUNDS:
        with ExitStack() as held:
            for column, value in columns.items():
                held.enter_context(shop.holding(column, value))
            wrong += [f"{', '.join(columns)[:60]}: {problem}" for problem in problems(shop, columns)]
    assert not wrong, "\n".join(wrong)


def test_an_order_in_an_unknown_state_is_shown_and_unchanged(shop: Shop) -> None:
    http, parts, order_id = shop.world.http, shop.world.parts, shop.held
    with shop.database.write() as session:
        session.execute(text("UPDATE orders SET state = :new WHERE id = :id"), {"new": NEW, "id": order_id})
        before = session.execute(text("SELECT * FROM orders WHERE id = :id"), {"id": order_id}).one()
    assert http.get(f"/v1/orders/{order_id}").json()["status"] == "unknown"
    listed = http.get("/v1/orders", params={"status": "unknown"}).json()["orders"]
    assert [order["id"] for order in listed] == [order_id]
    assert 'saycart_orders{state="unknown"} 1.0' in http.get("/metrics/database").text
    assert "show it right now" in http.get(f"/orders/{order_id}").text
    assert http.post(f"/v1/orders/{order_id}/cancel").status_code == 409
    for refused in (
        parts.orders.replay,
        lambda order: ErasureStore(shop.database, "main").erase(order, by=TESTER),
    ):
        with pytest.raises(Conflict, match="unknown"):
            refused(order_id)
    assert claim_order(parts.orders, order_id, State.TRANSCRIBED, owner="w", lease_s=1) is None
    assert order_id not in [order for order, _ in parts.orders.due(limit=100, idle_s=0)]
    with shop.database.read() as session:
        after = session.execute(text("SELECT * FROM orders WHERE id = :id"), {"id": order_id}).one()
    assert after == before
