"""The shop's keys, as `saycart keys` has them."""

from __future__ import annotations

from typing import Any

from schemas.shops.access import Scope
from schemas.shops.settings import FOREVER, parse_days, seconds
from services.api.gate.access import check
from services.shop_scope import ShopScope
from services.web.pages import Form


def content(shop: ShopScope) -> dict[str, Any]:
    """Return the context of the page."""
    return {
        "keys": shop.keys.list(),
        "scopes": [scope for scope in Scope if scope in shop.access.scopes],
        "people": [one.name for one in shop.staff.list() if one.disabled_at is None],
    }


def _add(shop: ShopScope, form: Form) -> tuple[str, str]:
    scopes, person = Scope.parse(form.all("scope")), form.get("person") or None
    check(shop.access, scopes)
    lasts_s = seconds(parse_days(form.get("days") or FOREVER))
    key, token = shop.keys.add(
        shop.shop, form.get("name"), scopes, by=shop.by, person=person, lasts_s=lasts_s
    )
    return f"Key {key.name}", token


def _add_page(shop: ShopScope, form: Form) -> None:
    shop.keys.add_page(shop.shop, form.get("page"), by=shop.by)


def _revoke(shop: ShopScope, form: Form) -> None:
    shop.keys.revoke(form.get("key"), by=shop.by)


ACTIONS = {"add": _add, "add-page": _add_page, "revoke": _revoke}
