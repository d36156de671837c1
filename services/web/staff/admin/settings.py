"""What the shop keeps and accepts, its staff's second step, its looks, as `saycart shops set` has them."""

from __future__ import annotations

from typing import Any

from schemas.shops.settings import MAX_LOGO_BYTES, logo_url, parse_colour, parse_days
from services.shop_scope import ShopScope
from services.web.pages import Form


def content(shop: ShopScope) -> dict[str, Any]:
    """Return the context of the page."""
    default = shop.settings.keeps.model_dump()
    return {"shop": shop.shops.get(shop.shop), "default": default, "limits": shop.settings}


def _save(shop: ShopScope, form: Form) -> None:
    days = {what: parse_days(form.get(what)) for what in ("recordings", "transcripts", "orders")}
    shop.shops.set_brand(shop.shop, _looks(form), by=shop.by)
    shop.shops.require_second_step(shop.shop, "second_step" in form, by=shop.by)
    accepts = {what: what in form for what in ("at_once", "allergies")}
    shop.shops.set_acceptance(shop.shop, accepts, by=shop.by)
    shop.shops.set_retention(shop.shop, days, by=shop.by)


def _looks(form: Form) -> dict[str, str | None]:
    colour = form.get("colour")
    looks = {"name": form.get("name"), "colour": parse_colour(colour) if colour else None}
    picture = form.files["logo"].file.read(MAX_LOGO_BYTES + 1) if "logo" in form.files else b""
    if picture:
        looks["logo"] = logo_url(picture)
    return looks | {"logo": None} if "no_logo" in form else looks


ACTIONS = {"save": _save}
