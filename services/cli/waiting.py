"""What is waited for, in words, so that nobody sits before a still terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from schemas.lifecycle import StageName
from services.cli.samples import Sample

# So often a line is written where there is no terminal to draw on.
EVERY_S = 5.0
DOING = {
    StageName.TRANSCRIBE: "transcribe",
    StageName.DECODE: "decode",
    StageName.VALIDATE: "check",
}


def for_orders(samples: Sequence[Sample], now: float) -> str:
    """Which recording each stage has had the longest, since when, and how many more it has; empty when all
    are settled. That one need not be in hand: after a failed try others pass it. `now` is of the
    monotonic clock, in seconds."""
    told = []
    for stage, doing in DOING.items():
        here = sorted(
            (sample.stage_since, sample.row["id"])
            for sample in samples
            if sample.order is not None and sample.order.stage == stage
        )
        if here:
            since, first = here[0]
            more = f" and {len(here) - 1} more" if len(here) > 1 else ""
            told.append(f"to {doing}: {first} ({now - since:.0f} s){more}")
    unsent = next((sample.row["id"] for sample in samples if sample.order is None), None)
    return ", ".join(told) or (f"sending {unsent}" if unsent is not None else "")


@contextmanager
def said_every(every_s: float, tell: Callable[[], str], say: Callable[..., object]) -> Iterator[None]:
    """Say what `tell` gives, every so often for as long as the block runs, but nothing twice in a row.
    `say` is a console's `print`."""
    over = threading.Event()

    def keep_saying() -> None:
        last = ""
        while not over.wait(every_s):
            if (now := tell()) and now != last:
                say(now, soft_wrap=True)
                last = now

    voice = threading.Thread(target=keep_saying, daemon=True)
    voice.start()
    try:
        yield
    finally:
        over.set()
        voice.join()
