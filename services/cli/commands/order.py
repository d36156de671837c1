"""`saycart order FILE...`: send recordings to the running stack, and show their carts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console

from schemas.lifecycle import SETTLED, STATUS
from schemas.order import Order
from services.cli.client import answer, api, errors_shown, shown_json
from services.cli.receipt import show

Document = dict[str, Any]
"""An order as the API shows it; of a newer API perhaps with fields that `Order` doesn't know."""
_SETTLED = {STATUS[state] for state in SETTLED}


def order(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="recordings")],
    menu: Annotated[str | None, typer.Option(help="menu id; optional if there is only one menu")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for each order to finish.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print orders as JSON Lines.")] = False,
    url: Annotated[str | None, typer.Option("--url", help="API to talk to")] = None,
) -> None:
    """Order by recording: each FILE is one order."""
    with errors_shown() as console, api(url) as client:
        for sent in [send(client, file, menu) for file in files]:
            made = list(followed(client, sent["id"]))[-1] if wait else sent
            _print(console, made, as_json=as_json, settled=wait)


def send(client: httpx.Client, file: Path, menu: str | None) -> Document:
    """Order by one recording."""
    with file.open("rb") as recording:
        response = client.post(
            "/v1/orders", files={"audio": recording}, data={"menu": menu} if menu is not None else {}
        )
    made: Document = answer(response)
    return made


def followed(client: httpx.Client, order_id: str, *, wait_s: int = 20) -> Iterator[Document]:
    """The order every `wait_s` seconds, and at last at its end."""
    status = ""
    while status not in _SETTLED:
        response = client.get(f"/v1/orders/{order_id}", params={"wait": wait_s})
        if response.status_code == 503:
            time.sleep(float(response.headers.get("Retry-After", 1)))
            continue
        made: Document = answer(response)
        status = made["status"]
        yield made


def _print(console: Console, made: Document, *, as_json: bool, settled: bool) -> None:
    if as_json:
        typer.echo(shown_json(made))
    elif settled:
        show(console, Order.model_validate(made))
    else:
        console.print(f"{made['id']}  {made['status']}")
