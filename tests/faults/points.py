"""Points at which a process can be killed: the boundaries of the stages and of the accept path.

An order's metadata says where: with `{"n": 17, "kill": "decode/after_commit"}`, the process that reaches this
boundary with order 17 gets SIGKILL, once. A file named `17` is created just before, so each order kills once
and kills can be counted.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The steps of each stage in order. `validate` runs inline after `decode`: it is not enqueued, claimed or
# acknowledged separately.
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
# One kill in this many takes only a worker's pool process; its parent then acknowledges the message. All
# others take both. Rare, since Celery replaces a lost pool process only after 10 s.
CHILD_ONLY_EVERY = 10


def folder() -> Path | None:
    """Return the folder of kill records; None if this run has no kills."""
    path = os.environ.get("FAULTS_STRUCK")
    return Path(path) if path else None


def planned(metadata: dict[str, Any] | None) -> str:
    """Return the point at which this order's worker dies; empty for none."""
    return str((metadata or {}).get("kill", ""))


def strike(metadata: dict[str, Any] | None, here: str) -> None:
    """Kill this process if the order's kill is planned for `here` and has not happened yet."""
    records = folder()
    if records is None or metadata is None or planned(metadata) != here:
        return
    number = int(metadata["n"])
    try:
        os.close(os.open(records / str(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    if number % CHILD_ONLY_EVERY == 0 and not here.endswith("ack"):
        os.kill(os.getpid(), signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)


def wrap(home: type, name: str, around: Callable[..., Any]) -> None:
    """Replace a method by `around(original, self, ...)`."""
    original = getattr(home, name)

    def wrapped(self: Any, *args: Any, **named: Any) -> Any:
        return around(original, self, *args, **named)

    setattr(home, name, wrapped)
