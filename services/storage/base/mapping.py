"""Rows to records, and what a stage found to columns. The only place that knows both shapes.

A row that the next release wrote, while both run, may hold what this one can't read. It is left out, and
logged: one such value must not take the whole order with it, let alone the page that the order is on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from schemas.cart import CartDraft
from schemas.decision import Decision, ModelAnswer
from schemas.lifecycle import State
from schemas.order import OrderError
from schemas.priced_cart import Cart, Finding
from schemas.records.orders import OrderRecord, Outcome, StoredEvent, StoredUtterance
from schemas.records.reviews import ReviewAct, ReviewRecord
from schemas.review import HARD_TO_HEAR, ReviewReason
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
        "utterances": tuple(u for one in row.utterances if (u := _model(StoredUtterance, one)) is not None),
        "draft": _model(CartDraft, row.draft),
        "cart": _model(Cart, row.cart),
        "before": _model(Cart, row.before),
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
    columns = {column: value for column, value in found.items() if value is not None}
    return columns | (columns_of_utterances(outcome.utterances) if outcome.utterances else {})


def columns_of_utterances(utterances: Sequence[StoredUtterance]) -> dict[str, Any]:
    """The columns of an order's utterances; of one alone its recording's."""
    spoken = [one for one in utterances if one.audio_key is not None]
    newest = spoken[-1] if spoken else utterances[-1]
    return {
        "utterances": [document_of(one) for one in utterances] if len(utterances) > 1 else [],
        "audio_key": newest.audio_key,
        "audio_format": newest.audio_format,
    }


def without_recordings(utterances: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Documents of utterances whose recordings go."""
    return [{**one, "audio_key": None} for one in utterances]


def review_of(row: ReviewRow) -> ReviewRecord:
    found = alike(row, ReviewRecord) | {
        "shop": row.shop_id,
        "status": row.status if row.status in _STATUSES else "unknown",
        "reasons": _reasons(row.reasons),
        "proposed": _model(Cart, row.proposed),
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


def findings_of(row: OrderRow) -> tuple[Finding, ...]:
    found = (_model(Finding, finding) for finding in row.findings)
    return tuple(one for one in found if one is not None)


def unsure_of(row: OrderRow) -> tuple[str, ...]:
    """Return up to two words that were hard to hear, or else pieces that the model was unsure of."""
    words = sorted((row.transcript or {}).get("words", ()), key=_probability)
    unheard = [word for word in words if _probability(word) < HARD_TO_HEAR]
    pieces = unheard or (row.answer or {}).get("unsure", ())
    return tuple(str(one.get("text", "")).strip(" .,?!") for one in pieces[:2])


def _probability(word: dict[str, Any]) -> float:
    return float(word.get("probability", 1.0))


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
