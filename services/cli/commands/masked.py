"""`saycart masked NAME TEXT`: one masked answer of a registered task; without a text, what there is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Annotated, Any, Protocol
from urllib.parse import quote

import httpx
import typer
from rich.console import Console
from rich.table import Table

from infra.processes.supervisor import SupervisorError
from infra.settings import settings
from infra.weights.models import ModelError
from schemas.errors import InputError
from schemas.masked import MAX_TEXT_CHARS, MOST_SEED, TIMEOUT_S, MaskedRequest, MaskedTasks
from services.bootstrap import Container, bootstrap
from services.cli.client import answer, api, told
from services.engines.servers.embedded import decode_server

Document = dict[str, Any]
BESIDE_S = 15.0
"""What the API may take beside the call itself, which it ends by itself."""


def masked(
    name: Annotated[str | None, typer.Argument(help="a task; without one, list all")] = None,
    text: Annotated[str | None, typer.Argument(help="the input; without it, show the task")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, on one line.")] = False,
    score: Annotated[bool, typer.Option("--score", help="Show each field's probability, unmasked.")] = False,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="0 picks the most likely token")] = 0.0,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="makes sampling reproducible")
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Run in this process, without a running stack.")
    ] = False,
    url: Annotated[str | None, typer.Option("--url", help="API to talk to")] = None,
) -> None:
    """One answer about TEXT, in the form of a registered task, or an error."""
    with told() as console:
        if text is not None and not 0 < len(text) <= MAX_TEXT_CHARS:
            raise InputError(f"The text has {len(text)} characters; it may have 1 to {MAX_TEXT_CHARS}")
        with _here(asks=text is not None) if here else _there(url) as tasks:
            if name is None:
                found = tasks.all()
            elif text is None:
                found = tasks.one(name)
            else:
                body = MaskedRequest(text=text, score=score, temperature=temperature, seed=seed)
                found = tasks.ask(name, body)
        if as_json or (name is not None and text is None):
            typer.echo(json.dumps(found, ensure_ascii=False, indent=None if as_json else 2))
        elif name is None:
            _list(console, found)
        else:
            _show(console, found)


class _Tasks(Protocol):
    def all(self) -> Document: ...
    def one(self, name: str) -> Document: ...
    def ask(self, name: str, asked: MaskedRequest) -> Document: ...


class _There:
    """Those of a running API."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def all(self) -> Document:
        return self._answer(self._client.get("/v1/masked"))

    def one(self, name: str) -> Document:
        return self._answer(self._client.get(f"/v1/masked/{quote(name, safe='')}"))

    def ask(self, name: str, asked: MaskedRequest) -> Document:
        path = f"/v1/masked/{quote(name, safe='')}"
        # The API ends a call by itself; its own word says more than a silence here.
        most = TIMEOUT_S + BESIDE_S
        return self._answer(self._client.post(path, json=asked.model_dump(), timeout=most))

    def _answer(self, response: httpx.Response) -> Document:
        found: Document = answer(response)
        return found


class _Here:
    """Those of this process."""

    def __init__(self, box: Container) -> None:
        self._answering = box.masked

    def all(self) -> Document:
        return MaskedTasks(tasks=self._answering.described()).model_dump(mode="json", by_alias=True)

    def one(self, name: str) -> Document:
        return self._answering.one(name).model_dump(mode="json", by_alias=True)

    def ask(self, name: str, asked: MaskedRequest) -> Document:
        return self._answering.ask(name, asked).model_dump(mode="json")


@contextmanager
def _there(url: str | None) -> Iterator[_Tasks]:
    with api(url) as client:
        yield _There(client)


@contextmanager
def _here(*, asks: bool) -> Iterator[_Tasks]:
    """An embedded decode server where none is set and one `asks`. What is logged stays out of the answer."""
    try:
        with redirect_stdout(sys.stderr):
            if not asks:
                yield _Here(bootstrap(settings()))
                return
            with decode_server(settings()) as config:
                yield _Here(bootstrap(config))
    except (ModelError, SupervisorError) as error:
        raise InputError(error.detail, hint=error.hint) from None


def _list(console: Console, found: Document) -> None:
    table = Table("name", "form", "version", "about", box=None)
    for task in found["tasks"]:
        table.add_row(task["name"], task["form"], task["version"], task["about"])
    console.print(table if found["tasks"] else "no tasks are registered (SAYCART_MASKED_TASKS)")


def _show(console: Console, found: Document) -> None:
    value = found["answer"]
    typer.echo(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
    if found["probability"]:
        table = Table("field", "probability without the mask", box=None)
        for pointer, probability in found["probability"].items():
            table.add_row(pointer or "/", f"{probability:.3f}")
        console.print(table)
    by = found["engine"]
    console.print(
        f"[dim]{by['completion_tokens']} tokens in {by['seconds']:.2f} s, {by['name']}[/]", soft_wrap=True
    )
