"""Every route with every useless credential is answered as without any."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import update

from schemas.shops.access import ALL_SCOPES, MAIN_SHOP
from services.api.routes.links import capability
from services.storage.base.tables_staff import ApiKeyRow
from services.web.customers.order_access import ORDER_COOKIE
from services.web.staff.staff import COOKIE
from tests.credentials import header_for
from tests.integration.api.gate import test_access
from tests.integration.api.gate.test_access import BY, OTHER, ask, of_every_route
from tests.integration.api_world import MENU, World, expect_problem

API = ("/v1/", "/metrics")
KINDS = (
    *("unknown", "expired", "revoked", "of one who left", "page key", "customer's capability"),
    *("customer of another order", "customer of another shop", "invented session", "two at once"),
)


world = test_access.world


def _bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def shown(world: World, kind: str) -> dict[str, str]:
    """Return the headers of one of KINDS."""
    keys = world.parts.keys
    if kind == "unknown":
        return _bearing(f"saycart_{'a' * 10}_{'A' * 43}")
    if kind in ("expired", "revoked"):
        made, token = keys.add(MAIN_SHOP, "till", ALL_SCOPES, by=BY, person="ada")
        if kind == "revoked":
            keys.revoke(made.id, by=BY)
        else:
            with world.parts.database.write() as session:
                past = {"expires_at": datetime.now(UTC) - timedelta(seconds=1)}
                session.execute(update(ApiKeyRow).where(ApiKeyRow.id == made.id).values(past))
        return _bearing(token)
    if kind == "of one who left":
        header = header_for(world.parts.database, person="zoe")
        world.parts.staff.disable("zoe")
        return header
    if kind == "page key":
        return _bearing(keys.add_page(OTHER, "kiosk", by=BY).id)
    with httpx.Client(base_url=world.url, headers=world.bearing("ada")) as http:
        body = {"transcript": "a latte", "menu": MENU["id"]}
        mine = capability(world.parts, MAIN_SHOP, http.post("/v1/orders", json=body).json()["id"])
    return {
        "customer's capability": _bearing(mine),
        "customer of another order": {"Cookie": f"{ORDER_COOKIE}={mine}"},
        "customer of another shop": {"Cookie": f"{ORDER_COOKIE}={capability(world.parts, OTHER, 'ord_x')}"},
        "invented session": {"Cookie": f"{COOKIE}={'A' * 43}"},
        "two at once": {**_bearing("x"), "Cookie": f"{ORDER_COOKIE}={mine}; {COOKIE}={'A' * 43}"},
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_useless_credentials_are_treated_as_none(world: World, kind: str) -> None:
    header, tried = shown(world, kind), 0
    for method, path, _ in of_every_route(world):
        answer, bare = ask(world, method, path, header), ask(world, method, path, {})
        tried += 1
        assert answer.status_code == bare.status_code, (method, path, answer.text)
        assert answer.status_code < 500
        if path.startswith(API):
            expect_problem(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        elif path.startswith(("/review", "/account", "/staff", "/sign-out")):
            assert answer.headers["location"].partition("?")[0] == "/sign-in", (method, path)
        elif path.startswith("/orders/"):
            assert answer.status_code == 404, (method, path)
            assert "latte" not in answer.text.replace("/orders/", "")
    assert tried >= 55
