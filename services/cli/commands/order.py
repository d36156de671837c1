"""`saycart order FILE...`: send recordings to the running stack, and show the carts."""

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
"""An order as the API returns it; a newer API may have fields that `Order` doesn't."""
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
        for document in [send(client, file, menu) for file in files]:
            if wait:
                *_, document = followed(client, document["id"])
            _print(console, document, as_json=as_json, finished=wait)


def send(client: httpx.Client, file: Path, menu: str | None) -> Document:
    """Send a recording, and return the accepted order."""
    with file.open("rb") as recording:
        response = client.post(
            "/v1/orders", files={"audio": recording}, data={"menu": menu} if menu is not None else {}
        )
    document: Document = answer(response)
    return document


def followed(client: httpx.Client, order_id: str, *, wait_s: int = 20) -> Iterator[Document]:
    """Yield the order every `wait_s` seconds until it is finished."""
    status = ""
    while status not in _SETTLED:
        response = client.get(f"/v1/orders/{order_id}", params={"wait": wait_s})
        if response.status_code == 503:
            time.sleep(float(response.headers.get("Retry-After", 1)))
            continue
        document: Document = answer(response)
        status = document["status"]
        yield document


def _print(console: Console, document: Document, *, as_json: bool, finished: bool) -> None:
    if as_json:
        typer.echo(shown_json(document))
    elif finished:
        show(console, Order.model_validate(document))
    else:
        console.print(f"{document['id']}  {document['status']}")
