"""`/v1/schema/cart.json`: the JSON Schema that the mask is made from, whole or for one menu."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from services.api.deps import matches
from services.api.gate.access import ReadsMenus

router = APIRouter(prefix="/v1/schema", tags=["schema"])


@router.get(
    "/cart.json",
    response_class=Response,
    responses={
        200: {"content": {"application/schema+json": {}}, "description": "JSON Schema, with its `version`"},
        304: {"description": "unchanged"},
        404: {"description": "no such menu"},
    },
)
def get_cart_schema(
    request: Request,
    box: ReadsMenus,
    menu: Annotated[str | None, Query(description="restrict the enums to this menu's values")] = None,
) -> Response:
    """Get the cart's JSON Schema. With `menu`, its ids are that menu's newest version's."""
    document = box.cart_schema(menu)
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    headers = {"ETag": f'"{digest[:32]}"', "Cache-Control": "no-cache"}
    if matches(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return JSONResponse(document, media_type="application/schema+json", headers=headers)
