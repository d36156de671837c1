"""Names that customers use for things of a menu, for managers: shown with their reason, accepted or refused.

What a model thought of stands apart, and only where somebody asked one (`saycart menu suggest --from model`).
"""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas.errors import Conflict
from schemas.naming import SOURCES
from services.api.problems import invalid
from services.naming.suggesting import Suggested
from services.web.pages import Fields, PageRoute, go, is_fragment, page
from services.web.staff.menus import publish, version_of
from services.web.staff.staff import MenuDesk

router = APIRouter(prefix="/menu", include_in_schema=False, route_class=PageRoute)


@router.get("/{menu_id}/names")
def names(menu_id: str, request: Request, box: MenuDesk) -> Response:
    """What is suggested now; the menu page takes the panel out of it."""
    return _shown(request, box.names.found(menu_id, SOURCES))


@router.post("/{menu_id}/names")
def decide(menu_id: str, request: Request, box: MenuDesk, form: Fields) -> Response:
    """Accept the name `id`, as a new version of the menu, or refuse it for good."""
    suggested, ids = box.names.found(menu_id, SOURCES), form.all("id")
    if form.get("do") == "accept":
        if suggested.stored.version != version_of(form):
            raise Conflict("The menu has got a newer version since this page was loaded")
        box.names.accept(suggested, ids, publish=partial(publish, box), by=box.by)
        return go(request, f"/menu/{menu_id}")
    if form.get("do") != "refuse":
        raise invalid([("/do", "is accept or refuse")])
    box.names.refuse(suggested, ids, by=box.by)
    if is_fragment(request):
        return _shown(request, box.names.found(menu_id, SOURCES))
    return go(request, f"/menu/{menu_id}/names")


def _shown(request: Request, suggested: Suggested) -> Response:
    return page(
        request,
        "menu/names.html",
        menu=suggested.stored.menu,
        version=suggested.stored.version,
        suggestions=suggested.suggestions,
        chain=suggested.chain,
    )
