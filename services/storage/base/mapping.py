"""Rows to records, and what a stage found to columns. The only place that knows both shapes.

A row that the next release wrote, while both run, may hold what this one can't read. It is left out, and
logged: one such value must not take the whole order with it, let alone the page that the order is on.
"""

from __future__ import annotations

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
from services.storage.base.tables import EventRow, OrderRow, ReviewRecordRow, ReviewRow

log = structlog.get_logger()

M = TypeVar("M", bound=BaseModel)

_STATUSES = frozenset({"open", "claimed", "decided", "withdrawn"})


def order_of(row: OrderRow) -> OrderRecord:
    return OrderRecord(
        id=row.id,
        shop=row.shop_id,
        state=State.stored(row.state),
        version=row.version,
        menu_id=row.menu_id,
        menu_version=row.menu_version,
        language=row.language,
        audio_key=row.audio_key,
        audio_format=row.audio_format,
        transcript=_model(Transcript, row.transcript),
        draft=_model(CartDraft, row.draft),
        cart=_model(Cart, row.cart),
        findings=tuple(f for finding in row.findings if (f := _model(Finding, finding)) is not None),
        reasons=_reasons(row.reasons),
        answer=_model(ModelAnswer, row.answer),
        decision=_model(Decision, row.decision),
        error=_model(OrderError, row.error),
        metadata=row.metadata_,
        timings=row.timings,
        engine=row.engine,
        attempt=row.attempt,
        lease_owner=row.lease_owner,
        lease_until=row.lease_until,
        next_attempt_at=row.next_attempt_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        confirm=row.confirm,
        source=row.source,
        taken_at=row.taken_at,
        erased_at=row.erased_at,
        traceparent=row.traceparent,
    )


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
    return ReviewRecord(
        id=row.id,
        shop=row.shop_id,
        order_id=row.order_id,
        status=row.status if row.status in _STATUSES else "unknown",
        reasons=_reasons(row.reasons),
        version=row.version,
        claimed_by=row.claimed_by,
        lease_until=row.lease_until,
        decision=row.decision,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        reason=row.reason,
        proposed=_model(Cart, row.proposed),
        standing=_model(Standing, row.standing),
        created_at=row.created_at,
    )


def act_of(row: ReviewRecordRow) -> ReviewAct:
    return ReviewAct(
        review_id=row.review_id,
        at=row.at,
        actor=row.actor,
        action=row.action,
        before=_model(Cart, row.before),
        after=_model(Cart, row.after),
        reason=row.reason,
        detail=row.detail,
    )


def event_of(row: EventRow) -> StoredEvent:
    return StoredEvent(
        seq=row.seq,
        at=row.at,
        type=row.type,
        state=State.stored(row.state),
        detail=row.detail,
        stage=row.stage,
        attempt=row.attempt,
        worker=row.worker,
    )


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
