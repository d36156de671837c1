"""What two menus have in common that are said in the same words: shops of one chain differ in prices and in
what is sold out, and whatever is worked out from names alone is the same for all of them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from schemas.menu import Menu

_OF_A_SHOP = {"price", "available", "hours", "sold_out_until", "ref", "size_refs"}
_OF_ITEMS = {"kind", "description", "image", "allergens", "diet", "tax", "option_overrides"}
_OF_OPTIONS = {"prices", "amount_prices"}
_OF_GROUPS = ("min", "max", "max_each", "free", "defaults", "ref")
_LEFT_OUT: dict[str, Any] = {
    **dict.fromkeys(("id", "name", "currency", "time_zone", "taxes", "ref"), True),
    "sizes": {"__all__": {"ref"}},
    "items": {"__all__": _OF_A_SHOP | _OF_ITEMS},
    "option_groups": {
        "__all__": {
            **dict.fromkeys(_OF_GROUPS, True),
            "options": {"__all__": _OF_A_SHOP | _OF_OPTIONS},
        }
    },
}


def fingerprint(menu: Menu) -> str:
    """64 hexadecimal digits, the same for menus that differ in prices, in what is sold out and in what the
    menu itself is called, and in nothing else: names, sizes, choices and their order all count."""
    told = menu.model_dump(mode="json", exclude=_LEFT_OUT)
    for item in told["items"]:
        # Which sizes there are is no matter of price.
        item["prices"] = list(item["prices"]) if item["prices"] is not None else None
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def written_bytes(menu: Menu) -> int:
    """About as many as the menu's document has; what is made of a menu grows with that."""
    return len(menu.model_dump_json(exclude_defaults=True))
