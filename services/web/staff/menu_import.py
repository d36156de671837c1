"""A menu file of any kind, in two steps: what it would change, then the new version."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas.errors import InvalidMenu, NotFound
from schemas.menu import Menu, MenuVersion
from services.api.gate.bodies import parse_json
from services.api.problems import RequestRefused, invalid
from services.api.routes.menus import publish
from services.shop_scope import ShopScope
from services.tills.menus.changes import changes
from services.tills.menus.confusable import warnings
from services.tills.menus.detect import read_menu
from services.tills.menus.imported import Given
from services.web.pages import Fields, Form, PageRoute, in_main, page, redirect
from services.web.staff.staff import PublishScope

router = APIRouter(prefix="/menu", include_in_schema=False, route_class=PageRoute)


@router.post("")
def check(request: Request, box: PublishScope, form: Fields) -> Response:
    """Show what a menu file would change; nothing is stored."""
    file = form.files.get("menu")
    if file is None or not (data := file.file.read()):
        raise invalid([("/menu", "choose a menu file")])
    imported = read_menu([(file.filename or "menu", data)], _given(box, form))
    try:
        menu, dropped = Menu.read(imported.document)
        box.check_menu(menu)
    except InvalidMenu as error:
        raise InvalidMenu([(imported.place(path), problem) for path, problem in error.problems]) from None
    before = _newest(box, menu.id)
    return page(
        request,
        "menu/changes.html",
        headers=in_main(request),
        menu=menu,
        version=before.version if before else 0,
        changes=list(changes(before.menu if before else None, menu)),
        lacking=imported.lacking,
        notes=[(imported.place(path), note) for path, note in (*dropped, *warnings(menu))],
        document=menu.model_dump_json(exclude_none=True),
    )


def _given(box: ShopScope, form: Form) -> Given:
    """Return what the form says of the menu, and the menu that is replaced."""
    known: dict[str, str | None] = {}
    if target := form.get("menu_id"):
        old = box.menus.get(target).menu
        known = old.model_dump(include={"id", "name", "currency", "language", "time_zone"})
    fields = {field: form.get(field) or None for field in ("name", "currency", "time_zone")}
    return Given(**fields, known=known)


def _newest(box: ShopScope, menu_id: str) -> MenuVersion | None:
    try:
        return box.menus.get(menu_id)
    except NotFound:
        return None


@router.post("/versions")
def store(request: Request, box: PublishScope, form: Fields) -> Response:
    """Store the document of a file that was checked."""
    try:
        menu = Menu.parse(parse_json(form.get("document")))
    except ValueError as error:
        raise RequestRefused("malformed_body", 400, f"The document is {error}.") from None
    publish(box, menu, after=form.version)
    return redirect(request, f"/menu/{menu.id}/versions")
