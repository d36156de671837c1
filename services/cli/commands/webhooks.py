"""`saycart webhooks`: what waits in the outbox or died there, where shops are told (`endpoints.py`), and a
receiver to try it with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from schemas.errors import InputError
from schemas.shops.webhook import TEST
from services.cli.client import opened, told
from services.cli.commands import endpoints

app = typer.Typer(no_args_is_help=True)
app.add_typer(endpoints.app)


@app.command("list")
def list_(
    dead: Annotated[bool, typer.Option("--dead", help="messages that were given up on")] = False,
    limit: Annotated[int, typer.Option(min=1, help="number to show, oldest first")] = 50,
    after: Annotated[str | None, typer.Option(help="cursor from the previous list")] = None,
) -> None:
    """List waiting messages."""
    with told() as console, opened() as box:
        table = Table("message", "order", "seq", "type", "endpoint", "tries", "last error", box=None)
        shown = box.outbox.list(dead=dead, limit=limit, after=after)
        for one in shown:
            error = escape(one.last_error or "")
            table.add_row(
                one.id, one.order_id, str(one.seq), one.type, one.endpoint_id, str(one.attempt), error
            )
        console.print(table)
        if len(shown) == limit:
            console.print(f"more: --after {shown[-1].cursor}", soft_wrap=True)
        console.print(", ".join(f"{count} {name}" for name, count in box.outbox.counts().items()))


@app.command()
def replay(
    messages: Annotated[list[str] | None, typer.Argument(help="message ids; see `list`")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="all messages that were given up on")] = False,
) -> None:
    """Resend messages, with the same ids."""
    with told() as console, opened() as box:
        if bool(messages) == dead:
            raise InputError(
                "Which messages?", hint="Pass message ids, or --dead for all that were given up on."
            )
        for message_id in box.outbox.replay(None if dead else messages):
            console.print(f"{message_id} will be sent again")


@app.command()
def receive(
    port: Annotated[int, typer.Option(help="port on localhost; 0 picks a free one")],
    secret: Annotated[str, typer.Option(help="the endpoint's secret; several separated by spaces")],
    out: Annotated[
        Path | None, typer.Option("--out", dir_okay=False, help="append each message to this file (JSONL)")
    ] = None,
) -> None:
    """Receive webhooks and print one line each, without repeats, until Ctrl-C."""
    from infra.processes.signals import StopSignal
    from infra.webhooks import Signer
    from services.cli.receiver import Inbox, Receiver

    with told() as console:
        try:
            signer = Signer(secret)
        except ValueError as error:
            raise InputError(f"This secret can't be used: {error}") from None
        stop = StopSignal()
        inbox = Inbox(out, lambda message: print(line(message), flush=True))
        with Receiver(port, signer, inbox) as receiver:
            console.print(f"receiving on {receiver.url}")
            stop.wait()


def line(message: dict[str, Any]) -> str:
    """One message for a person: what happened, to which order, and what it is worth."""
    order = message["data"]
    if message["type"] == TEST:
        return f"{TEST}  {order['webhook']} of {order['shop']}"
    said = f"{message['type']}  {order['order_id']}"
    cart = order["cart"]
    if cart is None:
        return said
    items = ", ".join(_item(one) for one in cart["lines"])
    return f"{said}  {items}  {cart['currency']} {cart['total']}"


def _item(line: dict[str, Any]) -> str:
    return f"{line['quantity']} {line.get('name', 'not on the menu')}"
