"""Where a process may be killed: the boundaries of a stage and of the accept path, by name.

An order carries its own death in its metadata: `{"n": 17, "kill": "decode/after_commit"}` means that the
process which brings order 17 to that boundary ends there by SIGKILL, once. A file named `17` is made just
before, so that exactly one kill an order happens, and so that they can be counted.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What each stage does, in its order. One that is at hand is neither enqueued nor claimed nor acknowledged by
# itself: so `validate` follows a decode.
STAGES = {
    "transcribe": ("claim", "work", "commit", "enqueue", "ack"),
    "decode": ("claim", "work", "commit", "ack"),
    "validate": ("work", "commit"),
}
STAGE_POINTS = tuple(
    f"{stage}/{side}_{what}"
    for stage, does in STAGES.items()
    for what in does
    for side in ("before", "after")
)
ACCEPT_POINTS = tuple(
    f"accept/{side}_{what}" for what in ("commit", "enqueue") for side in ("before", "after")
)
# One in so many kills takes a worker's pool process alone and leaves its parent, which then acknowledges
# the message of the dead; the others take both at once. Rare, since Celery holds the place of a lost process
# for 10 s.
ALONE_EVERY = 10


def folder() -> Path | None:
    """Where kills are noted; None when no order of this run carries one."""
    named = os.environ.get("FAULTS_STRUCK")
    return Path(named) if named else None


def planned(metadata: dict[str, Any] | None) -> str:
    """The point at which this order's worker dies; empty for none."""
    return str((metadata or {}).get("kill", ""))


def strike(metadata: dict[str, Any] | None, here: str) -> None:
    """Die if this order's death is planned for `here` and has not happened yet."""
    noted = folder()
    if noted is None or metadata is None or planned(metadata) != here:
        return
    number = int(metadata["n"])
    try:
        os.close(os.open(noted / str(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    if number % ALONE_EVERY == 0 and not here.endswith("ack"):
        os.kill(os.getpid(), signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)


def wrap(home: type, name: str, around: Callable[..., Any]) -> None:
    """Put `around(original, self, ...)` in the place of a method."""
    original = getattr(home, name)

    def wrapped(self: Any, *args: Any, **named: Any) -> Any:
        return around(original, self, *args, **named)

    setattr(home, name, wrapped)
