"""`saycart webhooks`: the shops' endpoints, and waiting or dead messages."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from schemas.errors import InputError
from schemas.shops.access import MAIN_SHOP
from schemas.shops.webhook import Till
from services.cli.client import errors_shown, opened, operator

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    dead: Annotated[bool, typer.Option("--dead", help="messages that were given up on")] = False,
    limit: Annotated[int, typer.Option(min=1, help="number to show, oldest first")] = 50,
) -> None:
    """List waiting messages."""
    with errors_shown() as console, opened() as box:
        table = Table("message", "order", "seq", "type", "endpoint", "tries", "last error", box=None)
        for one in box.outbox.list(dead=dead, limit=limit):
            cells = [one.id, one.order_id, str(one.seq), one.type, one.endpoint_id, str(one.attempt)]
            table.add_row(*cells, escape(one.last_error or ""))
        console.print(table)
        console.print(", ".join(f"{count} {name}" for name, count in box.outbox.counts().items()))


@app.command()
def replay(
    messages: Annotated[list[str] | None, typer.Argument(help="message ids; see `list`")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="all messages that were given up on")] = False,
) -> None:
    """Resend messages, with the same ids."""
    with errors_shown() as console, opened() as box:
        if bool(messages) == dead:
            hint = "Pass message ids, or --dead for all that were given up on."
            raise InputError("Which messages?", hint=hint)
        for message_id in box.outbox.replay(None if dead else messages):
            console.print(f"{message_id} will be sent again")


@app.command()
def endpoints() -> None:
    """List all shops' endpoints, without secrets."""
    with errors_shown() as console, opened() as box:
        table = Table("endpoint", "shop", "url", "events", "till", "waiting", "dead", box=None)
        for one in box.endpoints.list():
            events = "all" if one.events is None else " ".join(one.events)
            counts = (str(one.waiting), str(one.dead))
            till = " ".join(filter(None, (one.till, one.location)))
            table.add_row(one.id, one.shop, escape(one.url), events, escape(till), *counts)
        console.print(table)


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="https")],
    shop: Annotated[str, typer.Option("--shop", help="the shop's id; see `saycart shops list`")] = MAIN_SHOP,
    events: Annotated[str, typer.Option(help="comma-separated event types, or `all`")] = "all",
    till: Annotated[Till | None, typer.Option(help="send completed orders in this till's form")] = None,
    location: Annotated[str | None, typer.Option(help="of the till; see docs/tills.md")] = None,
) -> None:
    """Add a shop's webhook endpoint and print its secret once."""
    with errors_shown() as console, opened() as box:
        types = [word.strip() for word in events.split(",") if word.strip()]
        endpoint, secret = box.endpoints.add(
            shop, url, None if types == ["all"] else types, by=operator(), till=till, location=location
        )
        console.print(f"{endpoint.id} receives the orders of {shop}. Its secret (shown only once):")
        typer.echo(secret)


@app.command()
def remove(
    endpoint: Annotated[str, typer.Argument(help="the endpoint's id; see `saycart webhooks endpoints`")],
) -> None:
    """Remove an endpoint and drop its waiting messages."""
    with errors_shown() as console, opened() as box:
        dropped = box.endpoints.remove(endpoint, by=operator())
        console.print(f"{endpoint} removed; {dropped} waiting messages dropped")
