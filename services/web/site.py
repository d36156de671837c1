"""All pages; `install` adds them to the API's app."""

from __future__ import annotations

from fastapi import FastAPI

from services.web import docs
from services.web.customers import customer, order_access
from services.web.pages import STATIC, Shipped
from services.web.staff import account, menu_edits, menu_import, menus, provider, review, sign_in, stats
from services.web.staff.admin import routes as admin

PARTS = (
    docs,
    order_access,
    customer,
    menus,
    menu_edits,
    menu_import,
    sign_in,
    provider,
    account,
    admin,
    stats,
    review,
)


def install(app: FastAPI) -> None:
    """Add the pages and their static files."""
    for part in PARTS:
        app.include_router(part.router)
    app.mount("/static", Shipped(directory=STATIC), name="static")
