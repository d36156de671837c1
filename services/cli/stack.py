"""`saycart run` and `saycart demo`: the stack in the foreground until Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from infra.secret import KEY_FILE
from infra.settings import Settings, settings
from schemas.lifecycle import StageName
from schemas.menu import Menu
from services.cli.client import errors_shown
from services.cli.commands.demo import run_demo
from services.cli.samples import load_menus
from services.workers.stack import Stack

_LABELS = {
    "redis": "queue (redis)",
    "reader": "language model",
    StageName.TRANSCRIBE: "worker: transcribe",
    StageName.DECODE: "worker: decode, validate (prepares each new menu once)",
}


def run_stack(
    config: Settings,
    console: Console,
    on_ready: Callable[[Stack], bool] = lambda _: True,
    *,
    once: bool = False,
    menus: Iterable[Menu] = (),
) -> bool:
    """Start the stack with `menus`, call `on_ready`, serve until Ctrl-C unless `once`, and stop.

    Returns the result of `on_ready`.

    Raises:
        SupervisorError, ModelError, SaycartError: as `Stack.start`, or a part failed later.
    """

    def show_change(part: str, status: str) -> None:  # in the supervisor's thread
        console.print(f"{_LABELS.get(part, part)}: {escape(status)}")

    stack = Stack(config, show_change, menus)
    succeeded = False
    with _signals_as_ctrl_c():
        try:
            stack.start()
            succeeded = on_ready(stack)
            if not once:
                console.print(
                    f"\nServing on [bold]{stack.base_url}[/]: order at /, review at /review,"
                    " API docs at /docs.\nCreate the first staff account with `saycart staff add NAME`."
                    f" Ctrl-C stops everything.\nAPI key: {escape(str(stack.settings.home / KEY_FILE))}"
                    " (`saycart` finds it; `saycart keys add` makes more)."
                )
                while not stack.supervisor.wait(1.0):
                    pass
            return succeeded
        except KeyboardInterrupt:
            console.print("\nStopping; running stages finish first. Press Ctrl-C again to stop now.")
            return succeeded
        finally:
            stack.stop()


def run() -> None:
    """Start the stack and serve until Ctrl-C."""
    with errors_shown() as console:
        run_stack(settings(), console)


def demo(
    once: Annotated[
        bool, typer.Option("--once", help="Stop when all samples are done instead of serving on.")
    ] = False,
) -> None:
    """Start the stack, order the samples over HTTP, show the carts, keep serving."""
    with errors_shown() as console:
        menus = [Menu.read(document)[0] for document in load_menus().values()]
        succeeded = run_stack(
            settings(),
            console,
            lambda stack: run_demo(stack.base_url, stack.key, console, stack.supervisor.check),
            once=once,
            menus=menus,
        )
        if not succeeded:
            console.print("[red]At least one sample ended in an error.[/]")
            raise typer.Exit(1)


@contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Handle TERM (a service manager) and HUP (a closed terminal) like Ctrl-C."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
