"""The pages of the app, in one place: `install` adds all of them to the API's process."""

from __future__ import annotations

from fastapi import FastAPI

from services.web import customer, menus, order_access, reference, review, staff, stats
from services.web.pages import STATIC, Shipped

PARTS = (order_access, customer, menus, staff, stats, review, reference)


def install(app: FastAPI) -> None:
    """Add the pages and the files that they load."""
    for part in PARTS:
        app.include_router(part.router)
    app.mount("/static", Shipped(directory=STATIC), name="static")
