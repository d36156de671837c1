"""The product's Celery worker with short stand-in engines: `celery -A tests.faults.worker worker ...`.

Everything but the two engines is the product's. Wrappers around the ports count stage runs, kill the process
at a boundary that an order names (see `points.py`), and ring more than once.
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
from services.decoding.ports import Reading
from services.doorbell import CeleryDoorbell
from services.pipeline import flow
from services.pipeline.ports import Tools
from services.storage.orders import turns
from services.storage.orders.store import OrderStore
from services.transcription.ports import Recording
from services.workers.app import app
from tests.faults.points import folder, planned, strike, wrap
from tests.stand_ins import RIGHT, SAID, ScriptedTranscriber, read_as, speech

__all__ = ["app"]

WORK_S = 0.02
_runs = Path(os.environ["FAULTS_RUNS"])
# Metadata of the orders that this process has claimed: the doorbell gets an id alone.
_known: dict[str, dict[str, Any] | None] = {}


class ShortTranscriber(ScriptedTranscriber):
    """Hears the same sentence in everything."""

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        time.sleep(WORK_S)
        return super().transcribe(recording, language)


class ShortDecoder:
    """Decodes that sentence. It can't be called off, as an engine may be slow to notice: so a worker that
    has lost its order does come to its commit, which must be refused."""

    name = "short"

    def decode(self, *_asked: object, **_how: object) -> Reading:
        time.sleep(WORK_S)
        return read_as(RIGHT, self.name)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None: ...


def counted(stage: flow.Stage) -> Callable[[OrderRecord, Tools], Outcome]:
    """The step, with a line for each run; one write of a short line at a file's end is never torn."""

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
            _tell_parent(claimed.id, claimed.metadata)
        strike(claimed.metadata, f"{stage}/after_claim")
    return claimed


def _next(store: OrderStore, expected: Any) -> str | None:
    """Which order a claim would take now."""
    with store._database.write() as session:
        now = store._database.now(session)
        shop = turns.next_shop(session, now, expected, EVERY_SHOP)
        return shop and turns.next_order(session, now, expected, shop)


def _commit(
    original: Callable[..., Any], store: OrderStore, order: OrderRecord, outcome: Outcome, **named: Any
) -> Any:
    stage = flow.FLOW[order.state].name
    strike(order.metadata, f"{stage}/before_commit")
    after = original(store, order, outcome, **named)
    strike(order.metadata, f"{stage}/after_commit")
    return after


def _ring(
    original: Callable[..., Any], bell: CeleryDoorbell, order_id: str, state: Any, **named: Any
) -> bool:
    names = [stage.name for stage in flow.FLOW.values()]
    place = names.index(flow.FLOW[state].name)
    before = names[place - 1] if place else "accept"
    metadata = _known.get(order_id)
    strike(metadata, f"{before}/before_enqueue")
    rung = original(bell, order_id, state, **named)
    strike(metadata, f"{before}/after_enqueue")
    return bool(rung)


def _tell_parent(order_id: str, metadata: dict[str, Any] | None) -> None:
    """Acknowledging is the parent's, which has no database: the plan is left for it in a file."""
    place = folder()
    if place is not None and metadata is not None:
        (place / f"{order_id}.plan").write_text(f"{metadata['n']} {planned(metadata)}")


def _acknowledge(original: Callable[..., Any], request: Any) -> None:
    place, metadata, stage = folder(), None, ""
    if place is not None and not request.acknowledged:
        order_id, stage = request.args[0], request.args[1]
        plan = place / f"{order_id}.plan"
        if plan.exists():
            number, kill = plan.read_text().split()
            metadata = {"n": int(number), "kill": kill}
    strike(metadata, f"{stage}/before_ack")
    original(request)
    strike(metadata, f"{stage}/after_ack")


Container.transcriber = property(lambda _: ShortTranscriber([speech(SAID)]))  # type: ignore[assignment, misc]
Container.second_transcriber = property(lambda _: None)  # type: ignore[assignment, misc]
Container.decoder = property(lambda _: ShortDecoder())  # type: ignore[assignment, misc]
# What the ledger sends is no sound.
Container._compact = lambda *_: None  # type: ignore[assignment, method-assign]
for _state, _stage in tuple(flow.FLOW.items()):
    flow.FLOW[_state] = flow.BY_NAME[_stage.name] = replace(_stage, step=counted(_stage))
if folder() is not None:
    wrap(CeleryDoorbell, "ring", _ring)
    wrap(OrderStore, "claim_next", _claim)
    wrap(OrderStore, "commit", _commit)
    wrap(Request, "acknowledge", _acknowledge)
