"""`saycart replay`: process orders again that ended in an error, or in review for a technical reason."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from schemas.errors import InputError, SaycartError
from schemas.review import ReviewReason
from services.bootstrap import Container
from services.cli.client import errors_shown, opened

# Technical reasons, which another attempt may resolve.
MACHINE_REASONS = (
    ReviewReason.DECODER_UNAVAILABLE,
    ReviewReason.STAGE_FAILED,
    ReviewReason.DECODE_FAILED,
    ReviewReason.DECODE_TRUNCATED,
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def replay(
    orders: Annotated[list[str] | None, typer.Argument(help="ids of orders in error or in review")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="every order in error")] = False,
    since: Annotated[str | None, typer.Option(help="with --failed: only the last 90s, 30m, 2h or 3d")] = None,
    because: Annotated[
        str | None,
        typer.Option(
            "--reviews-because",
            help="every open review for this reason: "
            + ", ".join(reason.value for reason in MACHINE_REASONS),
        ),
    ] = None,
) -> None:
    """Process orders again. Works on the database; workers continue once the stack runs."""
    with errors_shown() as console:
        if bool(orders) + failed + (because is not None) != 1:
            hint = "Pass order ids, --failed or --reviews-because."
            raise InputError("What should be replayed?", hint=hint)
        if since is not None and not failed:
            raise InputError("--since requires --failed")
        since_s, reason = seconds(since), _reason(because)
        with opened() as box:
            if reason is not None:
                chosen = box.orders.doubted(reason)
            else:
                chosen = box.orders.failed(since_s) if failed else list(dict.fromkeys(orders or ()))
            replayed = sum(_replay(box, order_id, console) for order_id in chosen)
        console.print(f"{replayed} of {len(chosen)} orders replayed")
    if replayed < len(chosen):
        raise typer.Exit(1)


def _replay(box: Container, order_id: str, console: Console) -> bool:
    """Replay one order and print the result; return False, and print why, if that fails."""
    try:
        order = box.orders.replay(order_id)
    except SaycartError as error:
        console.print(f"[bold red]skipped[/] {escape(f'{order_id}: {error.detail}. {error.hint}')}")
        return False
    # If Redis is down this is lost, and the sweeper notifies later.
    box.doorbell.ring(order.id, order.state)
    console.print(f"{order.id}: restarted from {order.state.value}")
    return True


def seconds(since: str | None) -> float | None:
    """Parse a duration such as `2h` into seconds; raises InputError."""
    if since is None:
        return None
    parsed = re.fullmatch(r"(\d{1,6})([smhd])", since)
    if parsed is None:
        raise InputError(f"{since!r} is not a duration", hint="For example 90s, 30m, 2h or 3d.")
    return int(parsed[1]) * _SECONDS[parsed[2]]


def _reason(code: str | None) -> ReviewReason | None:
    if code is None:
        return None
    reasons = {reason.value: reason for reason in MACHINE_REASONS}
    if code not in reasons:
        raise InputError(f"Unknown reason {code!r}", hint=f"Use one of: {', '.join(reasons)}.")
    return reasons[code]
