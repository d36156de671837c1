"""Shared by all commands: the API client, the database, error output, and the lines of `saycart doctor`."""

from __future__ import annotations

import json
import os
import pwd
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import typer
from rich.console import Console
from rich.markup import escape

from infra.processes.child import ChildFailed, SupervisorError
from infra.secret import read_key
from infra.settings import settings
from infra.sql.prepare import prepare
from infra.weights.lock import ModelError
from schemas.errors import SaycartError, StorageUnavailable
from schemas.shops.access import ALL_SCOPES, Access
from schemas.shops.audit import MAX_CHARS, Actor
from schemas.writable import one_line
from services.bootstrap import Container, bootstrap
from services.shop_scope import ShopScope

_WITH_HINT = (SaycartError, ModelError, SupervisorError)
Check = tuple[str, str, str]
"""Part, state, and fix, which is empty if all is well."""


def api(url: str | None = None) -> httpx.Client:
    """Return a client of the API at `url`, by default that of this machine's stack.

    Its key is `SAYCART_KEY`, or for this machine's stack the key in its home.
    """
    config = settings()
    return httpx.Client(
        base_url=url or f"http://{config.api_host}:{config.api_port}",
        headers=bearer(config.key or ("" if url else read_key(config.home))),
        timeout=httpx.Timeout(60.0, connect=5.0),
        trust_env=False,
    )


def bearer(token: str) -> dict[str, str]:
    """Return the Authorization header; empty without a token."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def answer(response: httpx.Response) -> Any:
    """Return the parsed body.

    Raises:
        SaycartError: the API returned an error, with its message, fields and hint.
    """
    if response.is_success:
        return response.json()
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    message = f"{response.status_code} {problem.get('detail') or problem.get('title') or response.text[:200]}"
    fields = (f"{error.get('pointer')}: {error.get('detail')}" for error in problem.get("errors", ()))
    message = "\n  ".join((message, *(field for field in fields if field not in message)))
    raise SaycartError(message, hint=problem.get("hint") or "See the stack's logs.")


def shown_json(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON for a terminal, with control and invisible characters escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(s if s == "\n" or one_line(s) == s else json.dumps(s)[1:-1] for s in text)


def operator() -> Actor:
    """Return who runs this command, by the operating system: `operator:ann uid=1000@till-1`."""
    uid = os.getuid()
    # Only root's SUDO_UID counts: anyone else can set the variable.
    sudo_uid = os.environ.get("SUDO_UID", "") if uid == 0 else ""
    sudo = f" sudo_uid={sudo_uid}" if sudo_uid.isdecimal() else ""
    return Actor(f"operator:{_user(uid)} uid={uid}{sudo}@{socket.gethostname()}"[:MAX_CHARS])


def operator_scope(box: Container, shop: str) -> ShopScope:
    """Return an operator's scope for one shop; raises NotFound."""
    by = operator()
    return ShopScope(box, Access(shop=box.shops.get(shop).id, actor=by.name, scopes=ALL_SCOPES), by)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container whose user has only a number
        return "?"


@contextmanager
def opened() -> Iterator[Container]:
    """Open the container with a migrated database, for commands that need no running stack."""
    box = bootstrap(settings())
    try:
        prepare(box.database, at_start=box.settings.migrate_at_start, await_s=0)
        yield box
    finally:
        box.close()


@contextmanager
def errors_shown() -> Iterator[Console]:
    """Yield a console; print our own errors as a message with a hint, and exit with 1."""
    try:
        yield Console(highlight=False)
    except (httpx.TimeoutException, httpx.ConnectError, *_WITH_HINT, OSError) as error:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        if isinstance(error, ChildFailed) and error.tail:
            console.print(f"[dim]{escape(error.tail)}[/]")
        message, hint = _message(error)
        console.print(f"[bold red]error[/] {escape(message)}")
        if hint:
            console.print(f"[dim]hint[/]  {escape(hint)}")
        raise typer.Exit(1) from None


def _message(error: Exception) -> tuple[str, str]:
    """Return an error's message and hint."""
    if isinstance(error, httpx.TimeoutException):
        hint = "It may be busy. Try again shortly, or run `saycart doctor`."
        return f"saycart didn't respond in time: {error}", hint
    if isinstance(error, httpx.ConnectError):
        return f"No saycart is running there: {error}", "Start it with `saycart run`, or use --url."
    # Database drivers' messages are only for operators, so they are in the cause.
    cause = f": {error.__cause__}" if isinstance(error, StorageUnavailable) and error.__cause__ else ""
    return f"{error}{cause}", error.hint if isinstance(error, _WITH_HINT) else ""


def checked(what: str, attempt: Callable[[], str], fix: str) -> Check:
    """Return a check with the state that `attempt` returns, or with its error and how to fix it."""
    try:
        return what, attempt(), ""
    except (SaycartError, ModelError) as error:
        return what, error.detail, error.hint or fix
    except Exception as error:
        return what, str(error)[:200] or repr(error), fix
