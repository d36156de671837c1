"""Run with an earlier release on the path, on tables of ours: takes orders as its API and its workers do.

Its arguments are a folder and databases' URLs, its output the orders that it made in each, by what became of
them. It imports nothing of ours: what is on the path is that release.
"""

import json
import sys
from pathlib import Path

from fastapi.testclient import TestClient

import infra
from infra.settings import Settings
from schemas.cart import Cart, CartDraft
from schemas.lifecycle import Event, State
from schemas.menu import Menu
from schemas.order import OrderError
from schemas.review import ReviewReason
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.workers.sweeper import fold

try:
    from schemas.shops.access import ALL_SCOPES, EVERY_SHOP, MAIN_SHOP
    from schemas.shops.audit import Actor
    from services.storage.base.records import Outcome
    from services.storage.people.api_keys import KeyStore
    from services.storage.privacy.retention import RetentionStore
except ImportError:  # before folders were rooms
    from schemas.access import ALL_SCOPES, EVERY_SHOP, MAIN_SHOP
    from schemas.audit import Actor
    from services.storage.api_keys import KeyStore
    from services.storage.records import Outcome
    from services.storage.retention import RetentionStore

MENU = {
    "id": "cafe", "name": "Cafe", "currency": "USD", "language": "en", "sizes": [], "option_groups": [],
    "items": [{"sku": "tea", "name": "tea", "price": 300}],
}  # fmt: skip
LINE = {"kind": "item", "heard": "a tea", "sku": "tea", "quantity": 1}
DRAFT = CartDraft.model_validate({"lines": [LINE]})
PRICED = LINE | {"heard": {"text": "a tea"}, "name": "tea", "line_total": 300, "confidence": 1}
CART = Cart.model_validate(
    {"currency": "USD", "menu": {"id": "cafe", "version": 1}, "total": 300, "lines": [PRICED]}
)


def take(url: str, home: Path) -> dict[str, str]:
    box = bootstrap(Settings(home=home, database_url=url, redis_url="redis://127.0.0.1:1/0"))
    by = Actor("operator:tests")
    box.menus.of(MAIN_SHOP).put(Menu.parse(MENU), by=by)
    box.staff.add("ada", "correct horse battery", by=by)
    _, token = KeyStore(box.database, EVERY_SHOP).add(MAIN_SHOP, "till", ALL_SCOPES, by=by, person="ada")
    made = dict[str, str]()
    shown = {"Authorization": f"Bearer {token}"}
    with TestClient(create_app(box), base_url="http://127.0.0.1", headers=shown) as http:

        def order() -> str:
            answer = http.post("/v1/orders", json={"transcript": "a tea", "menu": "cafe"})
            assert answer.status_code == 202, answer.text
            return str(answer.json()["id"])

        def move(order_id: str, event: Event, **columns: object) -> None:
            record = box.orders.get(order_id)
            claimed = box.orders.claim(order_id, record.state, owner="w", lease_s=60)
            box.orders.commit(claimed or record, Outcome(event, **columns))

        made["transcribed"] = order()
        for name in ("decoded", "completed", "proposed"):
            made[name] = order()
            move(made[name], Event.SETTLED, draft=DRAFT)
        move(made["completed"], Event.ACCEPTED, cart=CART)
        move(made["proposed"], Event.PROPOSED, cart=CART)
        made["failed"] = order()
        move(made["failed"], Event.BROKE, error=OrderError(code="internal", message="?", hint="?"))
        for name in ("in_review", "approved"):
            made[name] = order()
            reasons = (ReviewReason.NOT_ON_MENU,)
            move(made[name], Event.DOUBTED, draft=DRAFT, cart=CART, reasons=reasons)
        review = http.get(f"/v1/orders/{made['approved']}").json()["review"]["id"]
        assert http.post(f"/v1/reviews/{review}/claim", json={}).status_code == 200
        version = http.get(f"/v1/reviews/{review}").json()["version"]
        decided = http.post(f"/v1/reviews/{review}/decision", json={"version": version, "action": "approve"})
        assert decided.status_code == 200, decided.text
        made["cancelled"] = order()
        assert http.post(f"/v1/orders/{made['cancelled']}/cancel").status_code == 200
        assert {one["id"] for one in http.get("/v1/orders").json()["orders"]} >= set(made.values())
        assert len(http.get("/v1/reviews").json()["reviews"]) == 1
        told = [http.get(path).text for path in ("/metrics", "/metrics/database")]
        assert any("saycart_database_up 1" in text for text in told)
    assert (made["transcribed"], State.TRANSCRIBED) in box.orders.due(limit=10, idle_s=0)
    fold(box)
    for what in ("recordings", "words", "orders"):
        getattr(RetentionStore(box.database, MAIN_SHOP), what)(86_400.0)
    box.close()
    return made


folder, *urls = sys.argv[1:]
assert Path(infra.__file__).is_relative_to(Path.cwd()), "not the earlier release"
print(json.dumps([take(url, Path(folder) / str(number)) for number, url in enumerate(urls)]))
