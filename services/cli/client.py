"""Shared by commands: the API client, the database, and errors printed as sentences."""

from __future__ import annotations

import json
import os
import pwd
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import typer
from rich.console import Console
from rich.markup import escape

from infra.home import kept_key
from infra.processes.child import ChildFailed, SupervisorError
from infra.settings import settings
from infra.sql.dumps import DumpFailed
from infra.sql.prepare import prepare
from infra.sql.revisions import TablesUnfit
from infra.weights.lock import ModelError
from schemas.errors import SaycartError
from schemas.shops.access import ALL_SCOPES, Access
from schemas.shops.audit import MAX_CHARS, Actor
from schemas.writable import one_line
from services.bootstrap import Container, bootstrap
from services.desk import Desk

_WITH_HINT = (SaycartError, TablesUnfit, ModelError, SupervisorError, DumpFailed)


def api(url: str | None = None) -> httpx.Client:
    """A client of the API at `url`; by default the one that `saycart run` serves on this machine.

    Its key is the one in `SAYCART_KEY`; for the stack of this machine else the one in its home.
    """
    config = settings()
    return httpx.Client(
        base_url=url or f"http://{config.api_host}:{config.api_port}",
        headers=bearer(config.key or ("" if url else kept_key(config.home))),
        timeout=httpx.Timeout(60.0, connect=5.0),
        trust_env=False,
    )


def bearer(token: str) -> dict[str, str]:
    """The header that shows a key; none without one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def answer(response: httpx.Response) -> Any:
    """The parsed body.

    Raises:
        SaycartError: the API sent a problem; its sentence, fields and hint are passed on.
    """
    if response.is_success:
        return response.json()
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    fields = "".join(f"\n  {e.get('pointer')}: {e.get('detail')}" for e in problem.get("errors", ()))
    said = problem.get("detail") or problem.get("title") or response.text[:200]
    raise SaycartError(
        f"{response.status_code} {said}{fields}",
        hint=problem.get("hint") or "See the stack's logs.",
    )


def shown_json(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON for a terminal: signs that it would act on, or not show, stay escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(s if s == "\n" or one_line(s) == s else json.dumps(s)[1:-1] for s in text)


def operator() -> Actor:
    """Who runs this command, as the operating system has them: `operator:ann uid=1000@till-1`."""
    uid = os.getuid()
    # Only root's word counts for who became root: anybody else can set the variable.
    became = (
        f" sudo_uid={given}" if uid == 0 and (given := os.environ.get("SUDO_UID", "")).isdecimal() else ""
    )
    return Actor(f"operator:{_user(uid)} uid={uid}{became}@{socket.gethostname()}"[:MAX_CHARS])


def operators_desk(box: Container, shop: str) -> Desk:
    """The operator's, at one shop; raises NotFound."""
    by = operator()
    return Desk(box, Access(shop=box.shops.get(shop).id, actor=by.name, scopes=ALL_SCOPES), by)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container with a number for a user
        return "?"


@contextmanager
def opened() -> Iterator[Container]:
    """The parts over a database that is up to date, for commands that need no running stack."""
    box = bootstrap(settings())
    try:
        prepare(box.database, at_start=box.settings.migrate_at_start, await_s=0)
        yield box
    finally:
        box.close()


@contextmanager
def errors_shown() -> Iterator[Console]:
    """A console; errors that were raised on purpose become a sentence, a hint and exit code 1."""
    problem = Console(stderr=True, highlight=False)
    try:
        yield Console(highlight=False)
    except httpx.TimeoutException as error:
        problem.print(f"[bold red]error[/] saycart didn't respond in time: {escape(str(error))}")
        problem.print("[dim]hint[/]  It may be busy. Try again shortly, or run `saycart doctor`.")
        raise typer.Exit(1) from None
    except httpx.ConnectError as error:
        problem.print(f"[bold red]error[/] No saycart is running there: {escape(str(error))}")
        problem.print("[dim]hint[/]  Start it with `saycart run`, or use --url.")
        raise typer.Exit(1) from None
    except (*_WITH_HINT, OSError) as error:
        if isinstance(error, ChildFailed) and error.tail:
            problem.print(f"[dim]{escape(error.tail)}[/]", soft_wrap=True)
        problem.print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True)
        if isinstance(error, _WITH_HINT):
            problem.print(f"[dim]hint[/]  {escape(error.hint)}", soft_wrap=True)
        raise typer.Exit(1) from None
