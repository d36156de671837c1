"""The product's Celery worker with fast stand-in engines: `celery -A tests.faults.worker worker ...`.

Wrappers around the ports count stage runs and kill the process at a boundary (`points.py`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from celery.worker.request import Request

from schemas.menu import Menu
from schemas.records.orders import OrderRecord, Outcome
from schemas.shops.access import EVERY_SHOP
from schemas.transcript import Transcript
from services.bootstrap import Container
from services.decoding.ports import DecodedCart
from services.doorbell import Doorbell
from services.pipeline import flow
from services.pipeline.stages import Tools
from services.storage.orders import turns
from services.storage.orders.store import OrderStore
from services.transcription.ports import Recording
from services.workers.app import app
from tests.faults.points import folder, planned, strike, wrap
from tests.stand_ins import RIGHT, SAID, ScriptedTranscriber, read_as, speech

__all__ = ["app"]

WORK_S = 0.02
_runs = Path(os.environ["FAULTS_RUNS"])
# Metadata of orders claimed by this process: the doorbell gets only an id.
_known: dict[str, dict[str, Any] | None] = {}


class FastTranscriber(ScriptedTranscriber):
    """Returns the same sentence for every recording."""

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        time.sleep(WORK_S)
        return super().transcribe(recording, language)


class FastDecoder:
    """Returns that sentence's cart. It ignores cancellation, so a worker that has lost its order reaches its
    commit, which must be refused."""

    name = "fast"

    def decode(self, *_args: object, **_kwargs: object) -> DecodedCart:
        time.sleep(WORK_S)
        return read_as(RIGHT, self.name)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None: ...


def counted(stage: flow.Stage) -> Callable[[OrderRecord, Tools], Outcome]:
    """Wrap a step to log each run; appending a short line is atomic."""

    def step(order: OrderRecord, tools: Tools) -> Outcome:
        strike(order.metadata, f"{stage.name}/before_work")
        with _runs.open("a") as lines:
            lines.write(f"{stage.name} {order.id}\n")
        outcome = stage.step(order, tools)
        strike(order.metadata, f"{stage.name}/after_work")
        return outcome

    return step


def _claim(original: Callable[..., Any], store: OrderStore, expected: Any, **named: Any) -> Any:
    stage = flow.FLOW[expected].name
    order_id = _next(store, expected)
    metadata = store.get(order_id).metadata if order_id else None
    strike(metadata, f"{stage}/before_claim")
    claimed = original(store, expected, **named)
    if claimed is not None:
        _known[claimed.id] = claimed.metadata
        if planned(claimed.metadata).startswith(f"{stage}/") and planned(claimed.metadata).endswith("ack"):
            _write_plan(claimed.id, claimed.metadata)
        strike(claimed.metadata, f"{stage}/after_claim")
    return claimed


def _next(store: OrderStore, expected: Any) -> str | None:
    """Return the order that a claim would take now."""
    with store._database.write() as session:
        now = store._database.now(session)
        shop = turns.next_shop(session, now, expected, EVERY_SHOP, store._page_s)
        return shop and turns.next_order(session, now, expected, shop, store._page_s)


def _commit(
    original: Callable[..., Any], store: OrderStore, order: OrderRecord, outcome: Outcome, **named: Any
) -> Any:
    stage = flow.FLOW[order.state].name
    strike(order.metadata, f"{stage}/before_commit")
    after = original(store, order, outcome, **named)
    strike(order.metadata, f"{stage}/after_commit")
    return after


def _ring(original: Callable[..., Any], bell: Doorbell, order_id: str, state: Any, *delay: float) -> bool:
    names = [stage.name for stage in flow.FLOW.values()]
    index = names.index(flow.FLOW[state].name)
    before = names[index - 1] if index else "accept"
    metadata = _known.get(order_id)
    strike(metadata, f"{before}/before_enqueue")
    rung = original(bell, order_id, state, *delay)
    strike(metadata, f"{before}/after_enqueue")
    return bool(rung)


def _write_plan(order_id: str, metadata: dict[str, Any] | None) -> None:
    """Write the plan to a file for the parent, which acknowledges and has no database."""
    records = folder()
    if records is not None and metadata is not None:
        (records / f"{order_id}.plan").write_text(f"{metadata['n']} {planned(metadata)}")


def _acknowledge(original: Callable[..., Any], request: Any) -> None:
    records, metadata, stage = folder(), None, ""
    if records is not None and not request.acknowledged:
        order_id, stage = request.args[0], request.args[1]
        plan = records / f"{order_id}.plan"
        if plan.exists():
            number, kill = plan.read_text().split()
            metadata = {"n": int(number), "kill": kill}
    strike(metadata, f"{stage}/before_ack")
    original(request)
    strike(metadata, f"{stage}/after_ack")


Container.transcriber = property(lambda _: FastTranscriber([speech(SAID)]))  # type: ignore[assignment, misc]
Container.second_transcriber = property(lambda _: None)  # type: ignore[assignment, misc]
Container.decoder = property(lambda _: FastDecoder())  # type: ignore[assignment, misc]
# The ledger's recordings have no samples.
Container._compact = lambda *_: None  # type: ignore[assignment, method-assign]
for _state, _stage in tuple(flow.FLOW.items()):
    flow.FLOW[_state] = flow.BY_NAME[_stage.name] = replace(_stage, step=counted(_stage))
if folder() is not None:
    wrap(Doorbell, "ring", _ring)
    wrap(OrderStore, "claim_next", _claim)
    wrap(OrderStore, "commit", _commit)
    wrap(Request, "acknowledge", _acknowledge)
