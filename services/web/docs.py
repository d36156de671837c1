"""`/docs`, `/openapi.json` and `/problems/<code>`, open to all: what the API does.

FastAPI's own page loads its script from another host. These have no script.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from schemas import errors
from services.api.gate.rates import by_address
from services.api.problem_codes import TITLES
from services.web.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/docs", dependencies=[Depends(by_address)])
def reference(request: Request) -> Response:
    """Show every call with its parameters, its body and its answers."""
    return page(request, "docs/reference.html", document=request.app.openapi(), codes=sorted(TITLES))


@router.get("/openapi.json", dependencies=[Depends(by_address)])
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
