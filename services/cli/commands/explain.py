"""`saycart explain`: the menu names that a text may mean, and why an order was decided as it was.

Needs no model and no running stack.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from schemas.errors import InputError
from schemas.menu import Menu
from schemas.order import MAX_TRANSCRIPT_CHARS
from schemas.shops.access import MAIN_SHOP
from schemas.writable import one_line
from services.cli.client import errors_shown, opened
from services.tills.menus.detect import read_menu
from services.tills.menus.source import Overrides
from services.validation.explained import Explanation
from services.validation.explained import explain as explained


def explain(
    text: Annotated[str, typer.Argument(help="the words of an order, or the id of one: ord_…")],
    menu: Annotated[str, typer.Option("--menu", help="menu file or the id of a stored menu")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, on one line.")] = False,
    shop: Annotated[str, typer.Option("--shop", help="with a menu's id: its shop")] = MAIN_SHOP,
) -> None:
    """Show the menu names and numbers that TEXT may mean; of an order also its decision and why."""
    with errors_shown() as console:
        explanation = _of_order(text) if text.startswith("ord_") else _of_text(text, menu, shop)
        if as_json:
            typer.echo(explanation.model_dump_json())
            return
        console.print(_table(explanation))
        for label, shown in [*explanation.why, ("model", explanation.model)] if explanation.why else ():
            console.print(Text(f"  {label}: {one_line(shown)}"))


def _of_text(text: str, menu: str, shop: str) -> Explanation:
    example = 'For example: saycart explain "two lattes, make one large" --menu menu.json'
    if not text.strip() or len(text) > MAX_TRANSCRIPT_CHARS:
        problem = f"The text has {len(text.strip())} characters; it may have 1 to {MAX_TRANSCRIPT_CHARS}"
        raise InputError(problem, hint=example)
    if not menu:
        raise InputError("Which menu?", hint=example)
    return explained(text, *menu_of(menu, shop))


def _of_order(order_id: str) -> Explanation:
    with opened() as box:
        order = box.orders.get(order_id)
        menu = box.menus.of(order.shop).get(order.menu_id, order.menu_version)
    text = order.transcript.text if order.transcript else ""
    return explained(text, menu.menu, menu.version, answer=order.answer, decision=order.decision)


def menu_of(name: str, shop: str) -> tuple[Menu, int]:
    """Return a file's menu with version 0, or the newest version of a stored menu."""
    file = Path(name)
    if file.is_file():
        return Menu.parse(read_menu([(name, file.read_bytes())], Overrides()).document), 0
    if "/" in name or file.suffix:
        raise InputError(f"No file {name}", hint="Pass a menu file or a menu's id.")
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
