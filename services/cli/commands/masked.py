"""`saycart masked NAME TEXT`: one answer in a registered task's schema."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from schemas.errors import InputError
from schemas.masked import MAX_TEXT_CHARS, MOST_SEED, TIMEOUT_S, MaskedRequest
from services.cli.client import answer, api, errors_shown

Document = dict[str, Any]
MARGIN_S = 15.0
"""Extra time for the API beyond the call's own timeout."""


def masked(
    name: Annotated[str | None, typer.Argument(help="a task; without one, list all")] = None,
    text: Annotated[str | None, typer.Argument(help="the input; without it, show the task")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, on one line.")] = False,
    score: Annotated[bool, typer.Option("--score", help="Show each field's probability, unmasked.")] = False,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="0 picks the most likely token")] = 0.0,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="makes sampling reproducible")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="API to talk to")] = None,
) -> None:
    """Answer TEXT in the schema of a registered task."""
    path = "/v1/masked" if name is None else f"/v1/masked/{quote(name, safe='')}"
    with errors_shown() as console, api(url) as client:
        if text is None:
            result: Document = answer(client.get(path))
        else:
            if not 0 < len(text) <= MAX_TEXT_CHARS:
                raise InputError(f"The text has {len(text)} characters; it may have 1 to {MAX_TEXT_CHARS}")
            body = MaskedRequest(text=text, score=score, temperature=temperature, seed=seed)
            timeout_s = TIMEOUT_S + MARGIN_S
            result = answer(client.post(path, json=body.model_dump(), timeout=timeout_s))
        if as_json or (name is not None and text is None):
            typer.echo(json.dumps(result, ensure_ascii=False, indent=None if as_json else 2))
        elif name is None:
            _list(console, result)
        else:
            _show(console, result)


def _list(console: Console, result: Document) -> None:
    table = Table("name", "form", "version", "about", box=None)
    for task in result["tasks"]:
        table.add_row(task["name"], task["form"], task["version"], task["about"])
    console.print(table if result["tasks"] else "no tasks are registered (SAYCART_MASKED_TASKS)")


def _show(console: Console, result: Document) -> None:
    value = result["answer"]
    typer.echo(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
    if result["probability"]:
        table = Table("field", "probability without the mask", box=None)
        for pointer, probability in result["probability"].items():
            table.add_row(pointer or "/", f"{probability:.3f}")
        console.print(table)
    engine = result["engine"]
    tokens = f"{engine['completion_tokens']} tokens in {engine['seconds']:.2f} s"
    console.print(f"[dim]{tokens}, {engine['name']}[/]", soft_wrap=True)
