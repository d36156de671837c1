"""All pages; `install` adds them to the API's app."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from schemas.errors import NotFound
from services.web import docs
from services.web.customers import customer, order_access
from services.web.pages import STATIC, Shipped, problem_page
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
    app.mount("/static", GZipMiddleware(Shipped(directory=STATIC)), name="static")
    as_problem: Any = app.exception_handlers[HTTPException]

    async def nowhere(request: Request, error: Exception) -> Response:
        """Show a browser a page where no route is; programs get the problem."""
        answer: Response = await as_problem(request, error)
        asks = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/")
        if not asks or answer.status_code != 404:
            return answer
        return problem_page(request, NotFound("There's no page here.", hint="Check the address."))

    app.add_exception_handler(HTTPException, nowhere)
