"""`saycart order FILE...`: send recordings to the running stack, and show their carts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.markup import escape

from schemas.lifecycle import SETTLED, STATUS
from schemas.order import Order
from services.cli.client import answer, api, shown_json, told
from services.cli.receipt import cart_table, doubts, headline

_SETTLED = {STATUS[state] for state in SETTLED}


def order(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="recordings")],
    menu: Annotated[str | None, typer.Option(help="menu id; optional if there is only one menu")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for each order to finish.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print orders as JSON Lines.")] = False,
    url: Annotated[str | None, typer.Option("--url", help="API to talk to")] = None,
) -> None:
    """Order by recording: each FILE is one order."""
    with told() as console, api(url) as client:
        sent = [_send(client, file, menu) for file in files]
        for made in sent:
            done = _follow(client, made) if wait else made
            if as_json:
                typer.echo(shown_json(done))
            elif wait:
                _show(console, done)
            else:
                console.print(f"{done['id']}  {done['status']}")


def _show(console: Console, document: dict[str, Any]) -> None:
    made = Order.model_validate(document)
    console.print(headline(made))
    if (table := cart_table(made)) is not None:
        console.print(table)
    for doubt in doubts(made):
        console.print(f"  [yellow]{escape(doubt)}[/]")


def _send(client: httpx.Client, file: Path, menu: str | None) -> dict[str, Any]:
    with file.open("rb") as recording:
        response = client.post(
            "/v1/orders", files={"audio": recording}, data={"menu": menu} if menu is not None else {}
        )
    made: dict[str, Any] = answer(response)
    return made


def _follow(client: httpx.Client, made: dict[str, Any]) -> dict[str, Any]:
    while made["status"] not in _SETTLED:
        response = client.get(f"/v1/orders/{made['id']}", params={"wait": 20})
        if response.status_code == 503:
            time.sleep(float(response.headers.get("Retry-After", 1)))
            continue
        made = answer(response)
    return made
