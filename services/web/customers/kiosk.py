"""How a shop's pages look, and whether the browser is its kiosk: a screen that customers share.

`/kiosk/SHOP` makes a browser one until it is closed or opens `/`: its pages are in large type with the menu
to tap on, read themselves aloud, and start over when left untouched (`kiosk.js`).
"""

from __future__ import annotations

from typing import Any

from fastapi import Request

from services.api.deps import container
from services.shop_scope import ShopScope

KIOSK_COOKIE = "saycart_kiosk"


def is_kiosk(request: Request, box: ShopScope) -> bool:
    """Return whether the browser is the shop's kiosk."""
    return request.cookies.get(KIOSK_COOKIE) == box.shop


def looks(request: Request, box: ShopScope, *, kiosk: bool | None = None) -> dict[str, Any]:
    """Return the context of a page about its shop; `home` is where a new order begins, and `host` the only
    one that pictures come from."""
    kiosk = is_kiosk(request, box) if kiosk is None else kiosk
    brand = container(request).shops.get(box.shop).brand
    return {
        "kiosk": kiosk,
        "brand": brand if kiosk or brand.colour or brand.logo else None,
        "home": home(box, kiosk=kiosk),
        "host": f"https://{request.url.netloc}/",
    }


def home(box: ShopScope, *, kiosk: bool) -> str:
    return f"/kiosk/{box.shop}" if kiosk else "/"
