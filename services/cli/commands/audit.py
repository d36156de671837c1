"""`saycart audit`: who did what, and whether the log of it is whole. Works on the database itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from schemas.errors import NotFound
from schemas.shops.audit import Head
from services.cli.client import errors_shown, opened
from services.cli.commands.replay import seconds

app = typer.Typer(no_args_is_help=True)
Shop = Annotated[str | None, typer.Option("--shop", help="one shop's log; default: all")]


@app.command("list")
def list_(
    shop: Shop = None,
    since: Annotated[
        str | None,
        typer.Option(help="90s, 30m, 2h or 3d ago, or a UTC time such as 2026-11-23 or 2026-11-23T18:00"),
    ] = None,
    action: Annotated[
        str | None, typer.Option(help="such as price.changed, or menu for all menu actions")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="newest entries to show; not with --json")] = 50,
    json: Annotated[bool, typer.Option("--json", help="all entries as JSON Lines, for an auditor")] = False,
) -> None:
    """Show audit entries, oldest first."""
    with errors_shown() as console, opened() as box:
        start = _start(since)
        if json:
            for entry in box.audit.entries(shop=shop, action=action, since=start):
                typer.echo(entry.line)
            return
        table = Table("entry", "at (UTC)", "who", "from", "what", "object", "before → after", box=None)
        for entry in box.audit.newest(limit, shop=shop, action=action, since=start):
            changed = f"{entry.before or ''} → {entry.after or ''}" if entry.before or entry.after else ""
            cells = [
                f"{entry.shop_id} {entry.seq}",
                entry.at[:19].replace("T", " "),
                entry.actor,
                entry.address or "",
                entry.action,
                f"{entry.object_type} {entry.object_id}",
                changed,
            ]
            table.add_row(*map(escape, cells))
        console.print(table)


@app.command()
def head(shop: Shop = None) -> None:
    """Print the newest entry of each shop with a digest of all up to it, to be kept where this database's
    owner can't change it."""
    with errors_shown(), opened() as box:
        for one in box.audit.heads(shop):
            typer.echo(str(one))


@app.command()
def verify(
    shop: Shop = None,
    head: Annotated[
        list[str] | None, typer.Option("--head", help="a line that `audit head` printed earlier; repeatable")
    ] = None,
) -> None:
    """Look for gaps from the first entry on, and for heads that no longer match; ends with 1 where there is
    one."""
    with errors_shown() as console, opened() as box:
        noted = [Head.parse(text) for text in head or ()]
        found = box.audit.verify(shop, noted)
        if shop is not None and not any(one.head.seq or one.fault for one in found):
            raise NotFound(f"No entry of a shop {shop!r}", hint="`saycart audit head` shows every shop's.")
        for one in found:
            verdict = f"broken: {one.fault}" if one.fault else "whole"
            console.print(
                f"{one.head.shop_id}: {one.head.seq} entries, {verdict}", markup=False, soft_wrap=True
            )
        if not found:
            console.print("No entries yet")
        if any(one.fault for one in found):
            raise typer.Exit(1)


def _start(since: str | None) -> datetime | None:
    if since is None:
        return None
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        length = seconds(since)
        return None if length is None else datetime.now(UTC) - timedelta(seconds=length)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
