"""`saycart run` and `saycart demo`: the stack in the foreground until Ctrl-C, with its progress."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table

from infra.home import FILE as KEY_FILE
from infra.processes.supervisor import StatusChange
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


class StackView:
    """Shows a line for each part: a spinner while it starts, then the seconds it took. Without a terminal,
    prints a line for each change."""

    def __init__(self, console: Console, parts: list[str]) -> None:
        self._console = console
        self._state = {part: StatusChange(part, "waiting") for part in parts}
        self._since = dict.fromkeys(parts, time.monotonic())
        self._spinners = {part: Spinner("dots") for part in parts}
        self._lock = threading.Lock()

    def on_change(self, change: StatusChange) -> None:
        """Called by the supervisor's threads."""
        with self._lock:
            self._state[change.name] = change
            self._since[change.name] = time.monotonic()
        # After the start only restarts are printed.
        if change.status == "died" or not self._console.is_terminal:
            label = _LABELS.get(change.name, change.name)
            status = f"ready ({change.seconds:.1f} s)" if change.status == "ready" else change.status
            self._console.print(f"{label}: {status}{f' ({escape(change.detail)})' if change.detail else ''}")

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the parts while the block runs."""
        if not self._console.is_terminal:
            yield
            return
        with Live(get_renderable=self._table, console=self._console, refresh_per_second=8):
            yield

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 1))
        with self._lock:
            state, since = dict(self._state), dict(self._since)
        for part, change in state.items():
            label, busy = _LABELS.get(part, part), time.monotonic() - since[part]
            if change.status in ("ready", "stopped"):
                table.add_row("[green]✓[/]", label, f"[dim]{change.seconds:.1f} s[/]")
            elif change.status == "waiting":
                table.add_row("[dim]·[/]", f"[dim]{label}[/]", "")
            else:
                text = change.status if change.status != "died" else change.detail
                table.add_row(self._spinners[part], label, f"{escape(text)} {busy:.0f} s")
        return table


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
    stack = Stack(config, lambda change: view.on_change(change), menus)
    view = StackView(console, stack.parts)
    succeeded = False
    with _signals_as_ctrl_c():
        try:
            with view.live():
                stack.start()
            succeeded = on_ready(stack)
            if not once:
                console.print(
                    f"\nServing on [bold]{stack.base_url}[/]: order at /, review at /review,"
                    " API docs at /docs.\nCreate the first staff account with `saycart staff add NAME`."
                    f" Ctrl-C stops everything.\n{_credential(stack)}"
                )
                while not stack.wait(1.0):
                    pass
            return succeeded
        except KeyboardInterrupt:
            console.print("\nStopping; running stages finish first. Press Ctrl-C again to stop now.")
            return succeeded
        finally:
            with view.live():
                stack.stop()


def _credential(stack: Stack) -> str:
    if stack.settings.open:
        return "[bold red]Open[/]: anyone can do anything (SAYCART_OPEN). Not for production."
    file = stack.settings.home / KEY_FILE
    return f"API key: {escape(str(file))} (`saycart` finds it; `saycart keys add` makes more)."


def run() -> None:
    """Start the stack and serve until Ctrl-C."""
    with errors_shown() as console:
        run_stack(settings(), console)


def demo(
    once: Annotated[
        bool, typer.Option("--once", help="Stop when all samples are done instead of serving on.")
    ] = False,
) -> None:
    """Start the stack, order the sample recordings over HTTP, show the carts, keep serving."""
    with errors_shown() as console:
        menus = [Menu.read(document)[0] for document in load_menus().values()]
        succeeded = run_stack(
            settings(),
            console,
            lambda stack: run_demo(stack.base_url, stack.key, console, stack.check),
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
