"""`saycart keys`: API keys, in the database; needs no running stack."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from schemas.shops.access import MAIN_SHOP, Scope
from services.cli.client import errors_shown, opened, operator
from services.storage.people.api_keys import ApiKey

app = typer.Typer(no_args_is_help=True)
Shop = Annotated[str, typer.Option("--shop", help="the shop's id; see `saycart shops list`")]
KeyId = Annotated[str, typer.Argument(help="the key's id: the part after `saycart_`")]
_DAY_S = 86_400.0


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="a name, such as `till 3`")],
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help=f"{', '.join(Scope)}; comma-separated or repeated")
    ] = None,
    shop: Shop = MAIN_SHOP,
    person: Annotated[
        str | None, typer.Option(help="the account it acts for; required with the scope `reviews`")
    ] = None,
    days: Annotated[
        float | None, typer.Option(min=0.001, help="days until it expires; default: never")
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Make the public key of the shop's order page instead.")
    ] = False,
) -> None:
    """Make a key and print it once."""
    with errors_shown() as console, opened() as box:
        if page:
            key = box.keys.add_page(shop, name, by=operator())
            console.print(f"order page of {shop}: /at/{key.id}")
            return
        lifetime_s, scopes = None if days is None else days * _DAY_S, Scope.parse(scope or ())
        _, token = box.keys.add(shop, name, scopes, by=operator(), person=person, lasts_s=lifetime_s)
        console.print("Shown only once. Send it as `Authorization: Bearer KEY`:")
        typer.echo(token)


@app.command("list")
def list_() -> None:
    """List all keys, without their secrets."""
    with errors_shown() as console, opened() as box:
        table = Table("id", "shop", "name", "scopes", "person", "made", "last used", "", box=None)
        now = datetime.now(UTC)
        for key in box.keys.list():
            scopes = "page" if key.is_page else " ".join(sorted(key.scopes))
            times = (_day(key.created_at), _day(key.last_used_at))
            cells = (key.id, key.shop, key.name, scopes, key.person or "", *times, _state(key, now))
            table.add_row(*map(escape, cells))
        console.print(table)


@app.command()
def revoke(key: KeyId) -> None:
    """Revoke a key immediately."""
    with errors_shown() as console, opened() as box:
        console.print(f"{escape(box.keys.revoke(_id(key), by=operator()).name)} revoked")


def _id(text: str) -> str:
    """Return the id of a key, also from a whole token, which people paste."""
    return text.split("_")[1] if text.startswith("saycart_") else text


def _day(moment: datetime | None) -> str:
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    if key.expires_at is not None:
        return f"{'expired' if key.expires_at <= now else 'until'} {_day(key.expires_at)}"
    return ""
