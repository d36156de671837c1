"""`/v1/schema/cart.json`: the JSON Schema that the decoding mask is generated from."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from schemas.cart import PUBLISHED, SCHEMA_VERSION
from services.api.deps import matches
from services.api.gate.access import ReadsMenus

router = APIRouter(prefix="/v1/schema", tags=["schema"])


@router.get(
    "/cart.json",
    response_class=Response,
    responses={
        200: {"content": {"application/schema+json": {}}, "description": "JSON Schema, with its `version`"},
        304: {"description": "unchanged"},
    },
)
def get_cart_schema(request: Request, _box: ReadsMenus) -> Response:
    """Get the cart's JSON Schema."""
    headers = {"ETag": f'"{SCHEMA_VERSION}"', "Cache-Control": "no-cache"}
    if matches(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return JSONResponse(PUBLISHED, media_type="application/schema+json", headers=headers)
