"""`saycart erase` and `saycart export`: a customer's data, in the database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from schemas.errors import Conflict, InputError
from schemas.shops.access import MAIN_SHOP
from services.cli.client import errors_shown, opened, operator_scope

Metadata = Annotated[str | None, typer.Option("--metadata", help="KEY=VALUE: all orders with this metadata")]
ShopOf = Annotated[str, typer.Option("--shop", help="with --metadata: the shop's id")]


def erase(
    orders: Annotated[list[str] | None, typer.Argument(help="ids of finished orders")] = None,
    metadata: Metadata = None,
    shop: ShopOf = MAIN_SHOP,
) -> None:
    """Erase recording, words and metadata of orders; the priced lines stay. It can't be undone."""
    with errors_shown() as console, opened() as box:
        if bool(orders) == (metadata is not None):
            raise InputError("What should be erased?", hint="Pass order ids or --metadata KEY=VALUE.")
        if metadata is not None:
            erased, skipped = operator_scope(box, shop).erase_customer(*_named(metadata))
        else:
            erased, skipped = list[str](), list[str]()
            for order_id in dict.fromkeys(orders or ()):
                try:
                    operator_scope(box, box.orders.get(order_id).shop).erase_order(order_id)
                    erased.append(order_id)
                except Conflict:
                    skipped.append(order_id)
        console.print(f"{len(erased)} orders erased")
        for order_id in skipped:
            why = "in progress; cancel it or wait until it ends"
            console.print(f"[bold red]skipped[/] {escape(order_id)}: {why}")
        if skipped:
            raise typer.Exit(1)


def export(
    metadata: Annotated[str, typer.Option("--metadata", help="KEY=VALUE: all orders with this metadata")],
    out: Annotated[Path, typer.Option("--out", file_okay=False, help="a folder: orders.jsonl, recordings/")],
    shop: ShopOf = MAIN_SHOP,
) -> None:
    """Export a customer's data: orders as the API returns them, one per line, and recordings."""
    from services.api.takeout import write

    with errors_shown() as console, opened() as box:
        scope = operator_scope(box, shop)
        order_ids = scope.erasures.of_customer(*_named(metadata))
        recordings = write(scope, order_ids, out)
        console.print(f"{len(order_ids)} orders and {recordings} recordings in {out}", markup=False)


def _named(metadata: str) -> tuple[str, str]:
    key, _, value = metadata.partition("=")
    if not key or not value:
        raise InputError(f"{metadata[:60]!r} is not KEY=VALUE", hint="For example customer=123.")
    return key, value
