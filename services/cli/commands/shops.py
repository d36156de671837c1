"""`saycart shops`: the shops, in the database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schemas.errors import InputError
from schemas.shops.settings import logo_url, parse_colour, parse_days
from services.cli.client import errors_shown, opened, operator
from services.storage.shops.store import Shop

app = typer.Typer(no_args_is_help=True)
_KEPT = "1 to 36500, `forever`, or `default` (from the settings)"
_AtOnce = Annotated[
    bool | None,
    typer.Option(
        "--accept-at-once/--confirm-first",
        help="whether orders from its pages are accepted before the customer sees them, if not in doubt",
    ),
]
_Allergies = Annotated[
    bool | None,
    typer.Option(
        "--accept-allergies/--check-allergies",
        help="whether allergies and diets are accepted as notes, without a person",
    ),
]
_SecondStep = Annotated[
    bool | None,
    typer.Option("--second-step/--no-second-step", help="whether its staff need a code to sign in"),
]


@app.command()
def add(
    shop: Annotated[str, typer.Argument(help="the shop's id: a-z, 0-9 and -, such as harbor-1")],
    name: Annotated[str, typer.Option(help="display name; default: the id")] = "",
) -> None:
    """Create a shop."""
    with errors_shown() as console, opened() as box:
        shop = box.shops.add(shop, name or shop, by=operator()).id
        console.print(f"{shop} created; next: `saycart keys add NAME --shop {shop} --scope ...`")


@app.command("set")
def set_(
    shop: Annotated[str, typer.Argument(help="the shop's id")],
    keep_recordings_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    keep_transcripts_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    keep_orders_days: Annotated[str | None, typer.Option(help=_KEPT)] = None,
    accept_at_once: _AtOnce = None,
    accept_allergies: _Allergies = None,
    second_step: _SecondStep = None,
    name: Annotated[str | None, typer.Option(help="display name")] = None,
    colour: Annotated[str | None, typer.Option(help="of its order page: #0a7, or `none`")] = None,
    logo: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="of its order page: PNG, JPEG or SVG up to 8 kB, or `none`"),
    ] = None,
) -> None:
    """Set how long a shop keeps data after an order ends, how it accepts orders, its staff's second step,
    and how its pages look."""
    with errors_shown() as console, opened() as box:
        options = {
            "recordings": keep_recordings_days,
            "transcripts": keep_transcripts_days,
            "orders": keep_orders_days,
        }
        changes = {what: parse_days(days) for what, days in options.items() if days is not None}
        asked = {"at_once": accept_at_once, "allergies": accept_allergies}
        accepts = {what: accepted for what, accepted in asked.items() if accepted is not None}
        looks = _looks(name, colour, logo)
        if not changes and not accepts and not looks and second_step is None:
            raise InputError("Nothing to set", hint="For example --keep-recordings-days 14.")
        if looks:
            box.shops.set_brand(shop, looks, by=operator())
        if accepts:
            box.shops.set_acceptance(shop, accepts, by=operator())
        if second_step is not None:
            box.shops.require_second_step(shop, second_step, by=operator())
        _show(console, box.shops.set_retention(shop, changes, by=operator()))


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
            cells = (shop.id, shop.name, since, *days, _step(shop.needs_second_step))
            table.add_row(*map(escape, cells))
        console.print(table)


def _looks(name: str | None, colour: str | None, logo: str | None) -> dict[str, str | None]:
    looks: dict[str, str | None] = {} if name is None else {"name": name}
    if colour is not None:
        looks["colour"] = None if colour == "none" else parse_colour(colour)
    if logo is not None:
        try:
            looks["logo"] = None if logo == "none" else logo_url(Path(logo).read_bytes())
        except OSError as error:
            raise InputError(f"{logo}: {error.strerror}") from None
    return looks


def _show(console: Console, shop: Shop) -> None:
    console.print(", ".join(f"{what}: {days}" for what, days in shop.keeps.shown().items()))
    at_once, noted = shop.accepts.at_once, shop.accepts.allergies
    console.print(f"orders from pages: {'accepted at once' if at_once else 'confirmed first'}")
    console.print(f"allergies: {'accepted as notes' if noted else 'checked by a person'}")
    console.print(f"second step: {_step(shop.needs_second_step)}")
    console.print(f"name: {shop.brand.name}", markup=False)
    colour, logo = shop.brand.colour or "default", "own" if shop.brand.logo else "default"
    console.print(f"colour: {colour}, logo: {logo}")


def _step(needed: bool) -> str:
    return "required" if needed else "optional"
