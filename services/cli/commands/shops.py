"""`saycart shops`: the shops, in the database."""

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
    """Create a shop."""
    with errors_shown() as console, opened() as box:
        added = box.shops.add(shop, name or shop, by=operator())
        console.print(f"{added.id} created; next: `saycart keys add NAME --shop {added.id} --scope ...`")


@app.command("set")
def set_(
    shop: Annotated[str, typer.Argument(help="the shop's id")],
    keep_recordings_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    keep_transcripts_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    keep_orders_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    second_step: Annotated[
        bool | None,
        typer.Option("--second-step/--no-second-step", help="whether its staff need a code to sign in"),
    ] = None,
) -> None:
    """Set how many days a shop keeps data after an order ends, and whether its staff need a second step."""
    with errors_shown() as console, opened() as box:
        options = {
            "recordings": keep_recordings_days,
            "transcripts": keep_transcripts_days,
            "orders": keep_orders_days,
        }
        changes = {what: parse_days(days) for what, days in options.items() if days is not None}
        if not changes and second_step is None:
            raise InputError("Nothing to set", hint="For example --keep-recordings-days 14.")
        updated = box.shops.keep(shop, changes, by=operator())
        if second_step is not None:
            updated = box.shops.need_second_step(shop, second_step, by=operator())
        console.print(", ".join(f"{what}: {days}" for what, days in updated.keeps.shown().items()))
        console.print(f"second step: {_step(updated.needs_second_step)}")


@app.command("list")
def list_() -> None:
    """List all shops."""
    with errors_shown() as console, opened() as box:
        table = Table(
            "id", "name", "since", "keeps recordings", "transcripts", "orders", "second step", box=None
        )
        for shop in box.shops.list():
            days = map(str, shop.keeps.shown().values())
            since = shop.created_at.strftime("%Y-%m-%d %H:%M")
            table.add_row(shop.id, shop.name, since, *days, _step(shop.needs_second_step))
        console.print(table)


def _step(needed: bool) -> str:
    return "required" if needed else "optional"
