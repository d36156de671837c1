"""`/v1/masked`: registered tasks, each a schema with its page of prompt; one text in, one whole answer out.

A call holds a thread for as long as the model writes, so there are only so many at once, in threads of their
own: neither orders nor pages wait for one. A client that leaves calls its decode off. Nothing is stored.
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
from services.api.gate.access import AsksMasked
from services.api.gate.bodies import read_model, takes
from services.api.metrics import Metrics

router = APIRouter(prefix="/v1/masked", tags=["masked"])

# A sign of the text has at most 12 bytes in JSON, as a surrogate pair of escapes.
MAX_BODY_BYTES = 12 * MAX_TEXT_CHARS + 1_000
_RESPONSES: dict[int | str, dict[str, Any]] = {
    404: {"description": "`unknown_task`: the hint lists the registered ones"},
    422: {"description": "`answer_refused`: well-formed but breaks the task's rules; or an invalid field"},
    502: {"description": "`decode_truncated`, `decode_invalid`, `engine_misconfigured`: the decode server"},
    503: {"description": "`engine_unavailable`, `masked_busy`"},
}


class CallLimit:
    """A limit on the masked calls of one app, all of it on its event loop."""

    def __init__(self, wanted: Settings, metrics: Metrics) -> None:
        self._most, self._metrics = wanted.masked_at_once, metrics
        self._busy = 0
        self.limiter = CapacityLimiter(self._most)
        metrics.masked_busy.set_function(lambda: self._busy)

    @contextmanager
    def one(self, task: str) -> Iterator[None]:
        """Count and time a call in the block; raises MaskedBusy where as many run as may."""
        if self._busy >= self._most:
            self._metrics.masked.labels(task, MaskedBusy.code).observe(0.0)
            raise MaskedBusy(f"{self._busy} masked calls are already running", wait_s=2)
        self._busy += 1
        began, outcome = time.perf_counter(), DONE
        try:
            yield
        except asyncio.CancelledError:  # this server stops
            outcome = DecodeCancelled.code
            raise
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._busy -= 1
            self._metrics.masked.labels(task, outcome).observe(time.perf_counter() - began)


@router.get("", response_model=MaskedTasks)
def list_tasks(box: AsksMasked) -> MaskedTasks:
    """List the tasks. Every registered one, with its JSON Schema."""
    return MaskedTasks(tasks=[task.described() for _, task in sorted(box.masked.tasks.items())])


@router.get("/{name}", response_model=MaskedTask)
def get_task(name: str, box: AsksMasked) -> MaskedTask:
    """Get a task. With its JSON Schema."""
    return box.masked.tasks[name].described()


@router.post(
    "/{name}",
    response_model=MaskedAnswer,
    responses=_RESPONSES,
    openapi_extra=takes(MaskedRequest),
)
async def ask_task(name: str, request: Request, box: AsksMasked) -> MaskedAnswer:
    """Ask a task about a text. One whole answer of the task's form, or an error; nothing is streamed,
    nothing is stored, and nothing is asked twice."""
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
                # However it ends, a server that stops included: no thread is left to wait for its answer.
                called_off.set()
                gone.cancel()
    except DecodeCancelled:
        raise ClientDisconnect from None
