"""`saycart audit`: show and verify the audit log, in the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from services.cli.client import errors_shown, opened
from services.cli.commands.replay import seconds

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    shop: Annotated[str | None, typer.Option(help="one shop's log; default: all")] = None,
    since: Annotated[str | None, typer.Option(help="only the last 90s, 30m, 2h or 3d")] = None,
    action: Annotated[
        str | None, typer.Option(help="such as menu.edited, or menu for all menu actions")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="newest entries to show; not with --json")] = 50,
    json: Annotated[bool, typer.Option("--json", help="all entries as JSON Lines, for an auditor")] = False,
) -> None:
    """Show audit entries, oldest first."""
    with errors_shown() as console, opened() as box:
        since_s = seconds(since)
        start = None if since_s is None else datetime.now(UTC) - timedelta(seconds=since_s)
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
def verify(
    head: Annotated[
        list[str] | None,
        typer.Option(help="a line that this command printed earlier, SHOP:SEQ:DIGEST; repeatable"),
    ] = None,
) -> None:
    """Check for missing entries, and with --head for changed ones; exits with 1 if there are any. Prints the
    head of each shop's log: keep it where the database's owner can't change it."""
    with errors_shown() as console, opened() as box:
        result = box.audit.verify(head or ())
        for line in result.heads:
            typer.echo(line)
        for fault in result.faults:
            console.print(f"broken: {fault}", markup=False, soft_wrap=True)
        if result.faults:
            raise typer.Exit(1)
