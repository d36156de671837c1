"""The line before whatever hashes a password: threads of its own, so that a burst of attempts leaves those
that serve everybody else alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request

from schemas.errors import SignInBusy

Result = TypeVar("Result")

# More than may hash or wait for it (`infra/passwords.py`): whom the limits refuse is refused meanwhile.
THREADS = 16
# Requests that wait for one of these threads. They cost nothing but their patience.
WAITING = 100


def install(app: FastAPI) -> None:
    """Give the app its line."""
    app.state.sign_in_threads = CapacityLimiter(THREADS)


async def in_line(request: Request, work: Callable[[], Result]) -> Result:
    """Run `work` on one of the threads, and pass on what it raises.

    Raises:
        SignInBusy: the line is full; nothing was begun.
    """
    threads: CapacityLimiter = request.app.state.sign_in_threads
    if threads.statistics().tasks_waiting >= WAITING:
        raise SignInBusy
    return await to_thread.run_sync(work, limiter=threads)
