"""`saycart till dry-run ORDER`: the request for an order that a till would get; docs/tills.md."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from schemas.errors import InputError
from schemas.shops.webhook import Till
from services.cli.client import errors_shown, opened, shown_json
from services.tills.orders.sending import till_order

app = typer.Typer(no_args_is_help=True)


@app.command("dry-run")
def dry_run(
    order: Annotated[str, typer.Argument(help="the order's id")],
    till: Annotated[Till, typer.Option(help="whose form")],
    location: Annotated[str | None, typer.Option(help="of the till; see docs/tills.md")] = None,
    calculate: Annotated[bool, typer.Option("--calculate", help="the request for the total alone")] = False,
) -> None:
    """Print what a till would be sent for ORDER, and why it would refuse that; exit with 1 if it would."""
    with errors_shown(), opened() as box:
        record = box.orders.get(order)
        if record.cart is None:
            raise InputError(f"{order} has no cart yet", hint="Wait until it is completed.")
        request = till_order(till, order, record.cart, box.menus.of(record.shop), location)
        typer.echo(shown_json(request.calculate if calculate else request.body, indent=2))
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        for one in request.refusals:
            where = "" if one.line is None else f"line {one.line + 1}: "
            console.print(f"[bold red]refused[/] {escape(f'{where}{one.message} ({one.code})')}")
        if request.refusals:
            raise typer.Exit(1)
