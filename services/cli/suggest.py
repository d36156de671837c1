"""`saycart menu suggest ID`: what people may call the things of a menu. Works on the database itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape

from infra.processes.supervisor import SupervisorError
from infra.settings import Settings
from infra.weights.models import ModelError
from schemas.errors import InputError
from schemas.menu import Menu
from schemas.naming import FROM_ORDERS, SOURCES
from schemas.shops.access import MAIN_SHOP
from services.bootstrap import Container, bootstrap
from services.cli.client import opened, operators_desk, told
from services.desk import Desk
from services.engines.servers.embedded import decode_server
from services.naming.suggesting import Suggested

Ids = list[str] | None


def suggest(
    menu_id: Annotated[str, typer.Argument(metavar="MENU", help="the menu's id")],
    source: Annotated[
        str | None, typer.Option("--from", help="corrections, orders or model; default: the first two")
    ] = None,
    accept: Annotated[Ids, typer.Option("--accept", metavar="ID", help="add this name to the menu")] = None,
    refuse: Annotated[Ids, typer.Option("--refuse", metavar="ID", help="never suggest it again")] = None,
    shop: Annotated[str, typer.Option(help="the shop's id")] = MAIN_SHOP,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one name a line.")] = False,
) -> None:
    """List names that people use for things of a menu, or decide on some of them. Nothing enters the menu by
    itself. `--from model` asks a model, a thing at a time, which takes minutes."""
    with told() as console, opened() as box:
        if source is not None and source not in SOURCES:
            raise InputError(f"{source[:40]!r} is no source", hint=f"One of: {', '.join(SOURCES)}.")
        desk = operators_desk(box, shop)
        if accept or refuse:
            console.print(_decided(desk, menu_id, accept or [], refuse or []))
            return
        if source == "model":
            # What is logged stays out of the answer.
            with redirect_stdout(sys.stderr), _served(box.settings) as asked:
                desk.names.ask(menu_id, asked.decoder)
        chosen = FROM_ORDERS if source is None else tuple(one for one in SOURCES if one == source)
        suggested = desk.names.found(menu_id, chosen)
        if as_json:
            for one in suggested.suggestions:
                typer.echo(one.model_dump_json())
            return
        for one in suggested.suggestions:
            console.print(f"{one.id}  [bold]{escape(one.words)}[/]  {escape(one.name)}", soft_wrap=True)
            console.print(f"              {escape(one.reason)}", soft_wrap=True)
        console.print(_summary(suggested, menu_id), soft_wrap=True)


def _decided(desk: Desk, menu_id: str, accept: list[str], refuse: list[str]) -> str:
    suggested = desk.names.found(menu_id, SOURCES)
    suggested.chosen([*accept, *refuse])  # all of them, or none
    if refuse:
        desk.names.refuse(suggested, refuse, by=desk.by)
    if accept:
        desk.names.accept(suggested, accept, publish=partial(_publish, desk), by=desk.by)
    version = desk.menus.get(menu_id).version
    return f"{len(accept)} accepted, {len(refuse)} refused; {menu_id} is at version {version}"


def _publish(desk: Desk, menu: Menu, after: int) -> None:
    """As an edit by staff; the decode worker warms it once it has no order."""
    desk.check_menu(menu, after + 1)
    desk.menus.put(menu, by=desk.by, after=after)


def _summary(suggested: Suggested, menu_id: str) -> str:
    if not suggested.suggestions:
        return f"no new name for {menu_id}; of orders, two different ones have to say it"
    if suggested.chain is not None:
        return f"these names belong to the menu of {suggested.chain}: add them there"
    return f"saycart menu suggest {menu_id} --accept ID, or --refuse ID"


@contextmanager
def _served(config: Settings) -> Iterator[Container]:
    """The parts over a decode server: the one that is set, or an embedded one. The learned reader of orders
    is not loaded."""
    try:
        with decode_server(config.model_copy(update={"reader": "off"})) as served:
            box = bootstrap(served)
            try:
                yield box
            finally:
                box.close()
    except (ModelError, SupervisorError) as error:
        raise InputError(error.detail, hint=error.hint) from None
