"""The part of `saycart webhooks` that is about where shops are told. Works on the database itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from schemas.errors import InputError
from schemas.shops.access import MAIN_SHOP
from schemas.shops.endpoint import Endpoint
from services.cli.client import opened, operator, told

app = typer.Typer()
Id = Annotated[str, typer.Argument(help="the endpoint's id; see `saycart webhooks endpoints`")]
Events = Annotated[
    str | None, typer.Option("--events", help="comma-separated event types, or `all`; see docs/webhooks.md")
]
_SECRET = "Secret for verifying signatures (shown only once):"  # noqa: S105 (words about one)


@app.command()
def endpoints() -> None:
    """List all shops' endpoints, without secrets."""
    with told() as console, opened() as box:
        table = Table("endpoint", "shop", "url", "events", "waiting", "dead", "", "last test", box=None)
        for one in box.endpoints.list():
            events = "all" if one.events is None else " ".join(one.events)
            counts = (str(one.waiting), str(one.dead))
            state = "" if one.disabled_at is None else "disabled"
            table.add_row(one.id, one.shop, escape(one.url), events, *counts, state, escape(_test(one)))
        console.print(table)


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="https")],
    shop: Annotated[str, typer.Option("--shop", help="the shop's id; see `saycart shops list`")] = MAIN_SHOP,
    events: Events = "all",
) -> None:
    """Add a shop's webhook endpoint and print its secret once."""
    with told() as console, opened() as box:
        made, secret = box.endpoints.add(shop, url, _events(events), by=operator())
        console.print(f"{made.id} receives the orders of {shop}. {_SECRET}")
        typer.echo(secret)


@app.command("set")
def set_(
    endpoint: Id,
    url: Annotated[str | None, typer.Option(help="new URL")] = None,
    events: Events = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="send to it or not; waiting messages are kept")
    ] = None,
) -> None:
    """Change an endpoint."""
    with told() as console, opened() as box:
        changed: dict[str, Any] = {} if url is None else {"url": url}
        changed |= {} if events is None else {"events": _events(events)}
        changed |= {} if enabled is None else {"enabled": enabled}
        if not changed:
            raise InputError("Nothing to change", hint="Use --url, --events, --enable or --disable.")
        console.print(f"{box.endpoints.change(endpoint, changed, by=operator()).id} changed")


@app.command()
def rotate(
    endpoint: Id,
    overlap_hours: Annotated[
        float, typer.Option(min=0, help="hours during which messages are signed with the old secret too")
    ] = 24,
) -> None:
    """Give an endpoint a new secret and print it once."""
    with told() as console, opened() as box:
        _, secret = box.endpoints.rotate(endpoint, overlap_hours * 3600, by=operator())
        console.print(f"The old secret is also used for {overlap_hours:g} more hours. {_SECRET}")
        typer.echo(secret)


@app.command()
def remove(endpoint: Id) -> None:
    """Remove an endpoint and drop its waiting messages."""
    with told() as console, opened() as box:
        dropped = box.endpoints.remove(endpoint, by=operator())
        console.print(f"{endpoint} removed; {dropped} waiting messages dropped")


@app.command()
def test(endpoint: Id) -> None:
    """Send an endpoint a test message; `endpoints` shows the result."""
    with told() as console, opened() as box:
        console.print(f"{box.endpoints.ask_test(endpoint, by=operator()).id} will get a test message")


def _events(text: str | None) -> list[str] | None:
    if text is None or text.strip() == "all":
        return None
    return [word.strip() for word in text.split(",") if word.strip()]


def _test(one: Endpoint) -> str:
    if one.test_asked_at is None:
        return ""
    if one.test_sent_at is None:
        return "not sent yet"
    return one.test_error or "delivered"
