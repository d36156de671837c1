"""Rows to records, and what a stage found to columns. The only place that knows both shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import JSON, Row, select, type_coerce
from sqlalchemy.orm import InstrumentedAttribute, Session

from schemas.lifecycle import State
from schemas.records.orders import OrderRecord, Outcome, StoredEvent, StoredUtterance
from schemas.records.reviews import ReviewRecord
from schemas.review import HARD_TO_HEAR
from services.storage.base.table_base import Base
from services.storage.base.tables import EventRow, OrderRow, ReviewRow

_STATUSES = frozenset({"open", "claimed", "decided", "withdrawn"})
_FILLED = (
    *("transcript", "draft", "cart", "findings", "reasons"),
    *("answer", "decision", "engine", "error"),
)


def order_of(row: OrderRow) -> OrderRecord:
    named = {"shop": row.shop_id, "state": State.stored(row.state), "metadata": row.metadata_}
    return OrderRecord(**alike(row, OrderRecord) | named)


def columns_of(order: OrderRecord, outcome: Outcome) -> dict[str, Any]:
    """The columns that an outcome fills. What it leaves None stays; timings are merged."""
    columns = {name: value for name in _FILLED if (value := getattr(outcome, name)) is not None}
    columns["timings"] = order.timings | outcome.timings
    return columns | (columns_of_utterances(outcome.utterances) if outcome.utterances else {})


def columns_of_utterances(utterances: Sequence[StoredUtterance]) -> dict[str, Any]:
    """The columns of an order's utterances; of one alone its recording's."""
    spoken = [one for one in utterances if one.audio_key is not None]
    newest = spoken[-1] if spoken else utterances[-1]
    return {
        "utterances": tuple(utterances) if len(utterances) > 1 else (),
        "audio_key": newest.audio_key,
        "audio_format": newest.audio_format,
    }


def without_recordings(utterances: Iterable[StoredUtterance]) -> tuple[StoredUtterance, ...]:
    """Utterances whose recordings go."""
    return tuple(one.model_copy(update={"audio_key": None}) for one in utterances)


def review_of(row: ReviewRow) -> ReviewRecord:
    status = row.status if row.status in _STATUSES else "unknown"
    return ReviewRecord(**alike(row, ReviewRecord) | {"shop": row.shop_id, "status": status})


def event_of(row: EventRow) -> StoredEvent:
    return StoredEvent(**alike(row, StoredEvent) | {"state": State.stored(row.state)})


def alike(row: Base, record: type[Any]) -> dict[str, Any]:
    """Return the columns of a row that a dataclass has a field for, by the same name."""
    return {field.name: getattr(row, field.name) for field in fields(record) if hasattr(row, field.name)}


def as_stored(
    session: Session, ids: Iterable[str], *columns: InstrumentedAttribute[Any]
) -> dict[str, Row[Any]]:
    """Return a table's rows by id, with these columns of JSON as they stand: what a later release wrote can't
    be read here, and must not be lost where only a part of it changes."""
    key = columns[0].class_.id
    documents = (type_coerce(column, JSON).label(column.key) for column in columns)
    return {row.id: row for row in session.execute(select(key, *documents).where(key.in_(ids)))}


def unsure_of(row: OrderRow) -> tuple[str, ...]:
    """Return up to two words that were hard to hear, or else pieces that the model was unsure of."""
    words = sorted(row.transcript.words if row.transcript else (), key=lambda word: word.probability)
    unheard = [word for word in words if word.probability < HARD_TO_HEAR]
    pieces = unheard or (row.answer.unsure if row.answer else ())
    return tuple(one.text.strip(" .,?!") for one in pieces[:2])
