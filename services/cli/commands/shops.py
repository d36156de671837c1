"""`saycart shops`: what menus, orders, accounts and keys belong to. Works on the database itself."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from schemas.errors import InputError
from schemas.shops.retention import parse_days
from services.cli.client import errors_shown, opened, operator

app = typer.Typer(no_args_is_help=True)
_KEPT = "1 to 36500, `forever`, or `default` (from the settings)"


@app.command()
def add(
    shop: Annotated[str, typer.Argument(help="the shop's id: a-z, 0-9 and -, such as harbor-1")],
    name: Annotated[str, typer.Option(help="display name; default: the id")] = "",
) -> None:
    """Make a shop."""
    with errors_shown() as console, opened() as box:
        made = box.shops.add(shop, name or shop, by=operator())
        console.print(f"{made.id} created; next: `saycart keys add NAME --shop {made.id} --scope ...`")


@app.command("set")
def set_(
    shop: Annotated[str, typer.Argument(help="the shop's id")],
    keep_recordings_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    keep_transcripts_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    keep_orders_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
) -> None:
    """Set how many days a shop keeps data after an order ends."""
    with errors_shown() as console, opened() as box:
        given = {
            "recordings": keep_recordings_days,
            "transcripts": keep_transcripts_days,
            "orders": keep_orders_days,
        }
        wanted = {what: parse_days(days) for what, days in given.items() if days is not None}
        if not wanted:
            raise InputError("Nothing to set", hint="For example --keep-recordings-days 14.")
        now = box.shops.keep(shop, wanted, by=operator())
        console.print(", ".join(f"{what}: {days}" for what, days in now.keeps.shown().items()))


@app.command("list")
def list_() -> None:
    """List all shops."""
    with errors_shown() as console, opened() as box:
        table = Table("id", "name", "since", "keeps recordings", "transcripts", "orders", box=None)
        for shop in box.shops.list():
            kept = map(str, shop.keeps.shown().values())
            table.add_row(shop.id, shop.name, shop.created_at.strftime("%Y-%m-%d %H:%M"), *kept)
        console.print(table)
