"""All pages, which `install` adds to the API's app; and those about the API, open to all: `/docs`,
`/openapi.json` and `/problems/CODE`. FastAPI's own page loads its script from another host."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from schemas import errors
from services.api.gate.rates import count_address
from services.api.problem_codes import TITLES
from services.web.customers import customer, order_access
from services.web.pages import STATIC, Shipped, page, problem_page
from services.web.staff import account, menu_edits, menus, provider, review, sign_in
from services.web.staff.admin import routes as admin

router = APIRouter(include_in_schema=False)

PARTS = (order_access, customer, menus, menu_edits, sign_in, provider, account, admin, review)


def install(app: FastAPI) -> None:
    """Add the pages and their static files."""
    for one in (router, *(part.router for part in PARTS)):
        app.include_router(one)
    app.mount("/static", GZipMiddleware(Shipped(directory=STATIC)), name="static")
    as_problem: Any = app.exception_handlers[HTTPException]

    async def nowhere(request: Request, error: Exception) -> Response:
        """Show a browser a page where no route is; programs get the problem."""
        answer: Response = await as_problem(request, error)
        asks = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/")
        if not asks or answer.status_code != 404:
            return answer
        return problem_page(request, errors.NotFound("There's no page here.", hint="Check the address."))

    app.add_exception_handler(HTTPException, nowhere)


@router.get("/docs", dependencies=[Depends(count_address)])
def reference(request: Request) -> Response:
    """Show every call with its parameters, its body and its answers."""
    return page(request, "docs/reference.html", document=request.app.openapi(), codes=sorted(TITLES))


@router.get("/openapi.json", dependencies=[Depends(count_address)])
def document(request: Request) -> JSONResponse:
    """Return the same for programs."""
    return JSONResponse(request.app.openapi())


@router.get("/problems/{code}")
def problem(code: str, request: Request) -> Response:
    """Show what a problem type means and how to fix it."""
    if code not in TITLES:
        raise HTTPException(404)  # counted as any address that leads nowhere
    known = {error.code: error for error in reversed(_tree(errors.SaycartError))}
    error = known.get(code, errors.InputError)
    return page(request, "docs/problem.html", code=code, title=TITLES[code], error=error)


def _tree(root: type[errors.SaycartError]) -> list[type[errors.SaycartError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in _tree(child))]
