"""`saycart explain TEXT`: the menu names that a text may mean, without a model or a running stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from schemas.errors import InputError
from schemas.menu import Menu
from schemas.order import MAX_TRANSCRIPT_CHARS
from schemas.shops.access import MAIN_SHOP
from services.cli.client import errors_shown, opened
from services.validation.explained import Explanation
from services.validation.explained import explain as explained


def explain(
    text: Annotated[str, typer.Argument(help="the words of an order")],
    menu: Annotated[str, typer.Option("--menu", help="menu file (JSON) or the id of a stored menu")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, on one line.")] = False,
    shop: Annotated[str, typer.Option("--shop", help="with a menu's id: its shop")] = MAIN_SHOP,
) -> None:
    """Show the menu names and numbers that TEXT may mean, and its unexplained words."""
    with errors_shown() as console:
        if not text.strip() or len(text) > MAX_TRANSCRIPT_CHARS:
            raise InputError(
                f"The text has {len(text.strip())} characters; it may have 1 to {MAX_TRANSCRIPT_CHARS}",
                hint='For example: saycart explain "two lattes, make one large" --menu menu.json',
            )
        explanation = explained(text, *menu_of(menu, shop))
        if as_json:
            typer.echo(explanation.model_dump_json())
        else:
            console.print(_table(explanation))


def menu_of(name: str, shop: str) -> tuple[Menu, int]:
    """Return a file's menu with version 0, or the newest version of a stored menu."""
    file = Path(name)
    if file.is_file():
        try:
            return Menu.parse(json.loads(file.read_text(encoding="utf-8"))), 0
        except ValueError as error:
            raise InputError(f"{name} is not JSON: {error}") from None
    if "/" in name or file.suffix:
        raise InputError(f"No file {name}", hint="Pass a menu file (JSON) or a menu's id.")
    with opened() as box:
        stored = box.menus.of(shop).get(name)
        return stored.menu, stored.version


def _table(explanation: Explanation) -> Table:
    """Return a table with one row for each part of the text, in order."""
    table = Table(box=None, padding=(0, 3, 0, 2), pad_edge=True)
    for name in ("words", "may mean", "found by"):
        table.add_column(name, header_style="dim", overflow="fold")
    for part in explanation.parts:
        meaning = Text(part.meaning, style="green") if part.meaning else Text("not explained", style="yellow")
        table.add_row(Text(part.words), meaning, Text(part.found_by, style="dim"))
    return table
