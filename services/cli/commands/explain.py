"""`saycart explain TEXT`: what each word may mean on a menu, without a model or a running stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from schemas.errors import InputError
from schemas.explanation import Explanation
from schemas.menu import Menu
from schemas.order import MAX_TRANSCRIPT_CHARS
from schemas.shops.access import MAIN_SHOP
from services.cli.client import errors_shown, opened
from services.validation.explained import explain as explained


def explain(
    text: Annotated[str, typer.Argument(help="the words of an order")],
    menu: Annotated[str, typer.Option("--menu", help="menu file (JSON) or the id of a stored menu")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, on one line.")] = False,
    shop: Annotated[str, typer.Option("--shop", help="with a menu's id: its shop")] = MAIN_SHOP,
) -> None:
    """Show which names of the menu TEXT may mean, its numbers, and the words that nothing explains."""
    with errors_shown() as console:
        if not text.strip() or len(text) > MAX_TRANSCRIPT_CHARS:
            raise InputError(
                f"The text has {len(text.strip())} characters; it may have 1 to {MAX_TRANSCRIPT_CHARS}",
                hint='For example: saycart explain "two lattes, make one large" --menu menu.json',
            )
        found = explained(text, *_menu(menu, shop))
        if as_json:
            typer.echo(found.model_dump_json())
        else:
            console.print(_table(found))


def _menu(named: str, shop: str) -> tuple[Menu, int]:
    """A menu and its version: of a file, 0, or the newest one that is stored."""
    file = Path(named)
    if file.is_file():
        try:
            return Menu.parse(json.loads(file.read_text(encoding="utf-8"))), 0
        except ValueError as error:
            raise InputError(f"{named} is not JSON: {error}") from None
    if "/" in named or file.suffix:
        raise InputError(f"No file {named}", hint="Pass a menu file (JSON) or a menu's id.")
    with opened() as box:
        stored = box.menus.of(shop).get(named)
        return stored.menu, stored.version


def _table(found: Explanation) -> Table:
    """One row for each part of the text, in its order."""
    table = Table(box=None, padding=(0, 3, 0, 2), pad_edge=True)
    for name in ("words", "may mean", "found by"):
        table.add_column(name, header_style="dim", overflow="fold")
    for part in found.parts:
        meaning = Text(part.meaning, style="green") if part.meaning else Text("not explained", style="yellow")
        table.add_row(Text(part.words), meaning, Text(part.found_by, style="dim"))
    return table
