"""Rows to records, and what a stage found to columns. The only place that knows both shapes.

A row that the next release wrote, while both run, may hold what this one can't read. It is left out, and
logged: one such value must not take the whole order with it, let alone the page that the order is on.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from schemas.cart import Cart, CartDraft, Finding
from schemas.decision import Decision, ModelAnswer
from schemas.lifecycle import State
from schemas.order import OrderError
from schemas.records.orders import OrderRecord, Outcome, StoredEvent
from schemas.records.reviews import ReviewAct, ReviewRecord
from schemas.review import ReviewReason, Standing
from schemas.transcript import Transcript
from services.storage.base.table_base import Base
from services.storage.base.tables import EventRow, OrderRow, ReviewRecordRow, ReviewRow

log = structlog.get_logger()

M = TypeVar("M", bound=BaseModel)

_STATUSES = frozenset({"open", "claimed", "decided", "withdrawn"})


def order_of(row: OrderRow) -> OrderRecord:
    found = alike(row, OrderRecord) | {
        "shop": row.shop_id,
        "state": State.stored(row.state),
        "transcript": _model(Transcript, row.transcript),
        "draft": _model(CartDraft, row.draft),
        "cart": _model(Cart, row.cart),
        "findings": tuple(f for finding in row.findings if (f := _model(Finding, finding)) is not None),
        "reasons": _reasons(row.reasons),
        "answer": _model(ModelAnswer, row.answer),
        "decision": _model(Decision, row.decision),
        "error": _model(OrderError, row.error),
        "metadata": row.metadata_,
    }
    return OrderRecord(**found)


def columns_of(order: OrderRecord, outcome: Outcome) -> dict[str, Any]:
    """The columns that an outcome fills. What it leaves None stays; timings and engine are merged."""
    found: dict[str, Any] = {
        "transcript": document_of(outcome.transcript),
        "draft": document_of(outcome.draft),
        "cart": document_of(outcome.cart),
        "answer": document_of(outcome.answer),
        "decision": document_of(outcome.decision),
        "error": document_of(outcome.error),
    }
    if outcome.findings is not None:
        found["findings"] = [document_of(finding) for finding in outcome.findings]
    if outcome.reasons is not None:
        found["reasons"] = [reason.value for reason in outcome.reasons]
    if outcome.timings:
        found["timings"] = {**order.timings, **outcome.timings}
    if outcome.engine:
        found["engine"] = {**order.engine, **outcome.engine}
    if outcome.recording is not None:
        found |= {"audio_key": outcome.recording.key, "audio_format": outcome.recording.form}
    return {column: value for column, value in found.items() if value is not None}


def review_of(row: ReviewRow) -> ReviewRecord:
    found = alike(row, ReviewRecord) | {
        "shop": row.shop_id,
        "status": row.status if row.status in _STATUSES else "unknown",
        "reasons": _reasons(row.reasons),
        "proposed": _model(Cart, row.proposed),
        "standing": _model(Standing, row.standing),
    }
    return ReviewRecord(**found)


def act_of(row: ReviewRecordRow) -> ReviewAct:
    carts = {"before": _model(Cart, row.before), "after": _model(Cart, row.after)}
    return ReviewAct(**alike(row, ReviewAct) | carts)


def event_of(row: EventRow) -> StoredEvent:
    return StoredEvent(**alike(row, StoredEvent) | {"state": State.stored(row.state)})


def alike(row: Base, record: type[Any]) -> dict[str, Any]:
    """Return the columns of a row that a dataclass has a field for, by the same name."""
    return {field.name: getattr(row, field.name) for field in fields(record) if hasattr(row, field.name)}


def words_of(row: OrderRow) -> str:
    """What the order's customer said, without reading each word of it; empty where there is no transcript."""
    return "" if row.transcript is None else str(row.transcript.get("text", ""))


def allergy_of(row: OrderRow) -> str | None:
    """Return the message of the order's finding that an allergy or a diet was spoken of."""
    found = (_model(Finding, finding) for finding in row.findings)
    return next((one.message for one in found if one is not None and one.code == "allergy_said"), None)


def cart_of(document: Any) -> Cart | None:
    return _model(Cart, document)


def document_of(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json")


def _model(kind: type[M], document: dict[str, Any] | None) -> M | None:
    try:
        return None if document is None else kind.model_validate(document)
    except ValidationError as error:
        log.warning("row.left_out", what=kind.__name__, problems=error.error_count())
        return None


def _reasons(stored: list[Any]) -> tuple[ReviewReason, ...]:
    known = set(ReviewReason)
    return tuple(ReviewReason(reason) for reason in stored if reason in known)
