"""`saycart shops`: what menus, orders, accounts and keys belong to. Works on the database itself."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from services.cli.client import opened, operator, told

app = typer.Typer(no_args_is_help=True)


@app.command()
def add(
    shop: Annotated[str, typer.Argument(help="its id: a-z, 0-9 and -, such as harbor-1")],
    name: Annotated[str, typer.Option(help="as people call it; default: the id")] = "",
) -> None:
    """Make a shop."""
    with told() as console, opened() as box:
        made = box.shops.add(shop, name or shop, by=operator())
        console.print(f"{made.id} is there; next: `saycart keys add NAME --shop {made.id} --scope ...`")


@app.command("list")
def list_() -> None:
    """Show every shop."""
    with told() as console, opened() as box:
        table = Table("id", "name", "since", box=None)
        for shop in box.shops.list():
            table.add_row(shop.id, shop.name, shop.created_at.strftime("%Y-%m-%d %H:%M"))
        console.print(table)
