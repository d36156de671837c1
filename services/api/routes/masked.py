"""`/v1/masked`: registered tasks, each a schema with a prompt; one text in, one complete answer out.

A call holds a thread while the model writes, so calls are limited and run in threads of their own: orders and
pages don't wait for them. If the client disconnects, decoding is cancelled. Nothing is stored.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from infra.observability.measures import DONE, outcome_of
from infra.settings import Settings
from schemas.errors import DecodeCancelled, MaskedBusy
from schemas.masked import MAX_TEXT_CHARS, MaskedAnswer, MaskedRequest, MaskedTask, MaskedTasks
from services.api.deps import disconnected
from services.api.gate.access import CallsMasked
from services.api.gate.bodies import read_model, takes
from services.api.metrics import Metrics

router = APIRouter(prefix="/v1/masked", tags=["masked"])

# A character takes at most 12 bytes in JSON, as an escaped surrogate pair.
MAX_BODY_BYTES = 12 * MAX_TEXT_CHARS + 1_000
_RESPONSES: dict[int | str, dict[str, Any]] = {
    404: {"description": "`unknown_task`: the hint lists the registered ones"},
    422: {"description": "`answer_refused`: well-formed but breaks the task's rules; or an invalid field"},
    502: {"description": "`decode_truncated`, `decode_invalid`, `engine_misconfigured`: the decode server"},
    503: {"description": "`engine_unavailable`, `masked_busy`"},
}


class CallLimit:
    """The limit of concurrent masked calls of one app, for its event loop."""

    def __init__(self, wanted: Settings, metrics: Metrics) -> None:
        self._most, self._metrics = wanted.masked_at_once, metrics
        self._busy = 0
        self.limiter = CapacityLimiter(self._most)
        metrics.masked_busy.set_function(lambda: self._busy)

    @contextmanager
    def one(self, task: str) -> Iterator[None]:
        """Count and time a call in the block; raises MaskedBusy at the limit."""
        if self._busy >= self._most:
            self._metrics.masked.labels(task, MaskedBusy.code).observe(0.0)
            raise MaskedBusy(f"{self._busy} masked calls are already running", wait_s=2)
        self._busy += 1
        began, outcome = time.perf_counter(), DONE
        try:
            yield
        except asyncio.CancelledError:  # the server is stopping
            outcome = DecodeCancelled.code
            raise
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._busy -= 1
            self._metrics.masked.labels(task, outcome).observe(time.perf_counter() - began)


@router.get("", response_model=MaskedTasks)
def list_tasks(box: CallsMasked) -> MaskedTasks:
    """List the tasks. Every registered one, with its JSON Schema."""
    return MaskedTasks(tasks=[task.described() for _, task in sorted(box.masked.tasks.items())])


@router.get("/{name}", response_model=MaskedTask)
def get_task(name: str, box: CallsMasked) -> MaskedTask:
    """Get a task. With its JSON Schema."""
    return box.masked.tasks[name].described()


@router.post(
    "/{name}",
    response_model=MaskedAnswer,
    responses=_RESPONSES,
    openapi_extra=takes(MaskedRequest),
)
async def ask_task(name: str, request: Request, box: CallsMasked) -> MaskedAnswer:
    """Ask a task about a text. Returns a complete answer in the task's schema, or an error; nothing is
    streamed or stored, and the model is asked once."""
    asked = await read_model(request, MaskedRequest, MAX_BODY_BYTES)
    task = await run_in_threadpool(lambda: box.masked.tasks[name])
    calls: CallLimit = request.app.state.masked
    called_off = threading.Event()
    try:
        with calls.one(task.name):
            gone = asyncio.ensure_future(disconnected(request))
            gone.add_done_callback(lambda _: called_off.set())
            try:
                return await to_thread.run_sync(
                    partial(box.masked.ask, task.name, asked, called_off), limiter=calls.limiter
                )
            finally:
                # Also when the server stops: no thread may go on waiting for the model.
                called_off.set()
                gone.cancel()
    except DecodeCancelled:
        raise ClientDisconnect from None
