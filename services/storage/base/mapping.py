"""Converts rows to records, and stage outcomes to columns."""

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
    return OrderRecord(**fields_of(row, OrderRecord) | named)


def columns_of(order: OrderRecord, outcome: Outcome) -> dict[str, Any]:
    """Return the columns that an outcome sets: all that aren't None, and the merged timings."""
    columns = {name: value for name in _FILLED if (value := getattr(outcome, name)) is not None}
    columns["timings"] = order.timings | outcome.timings
    return columns | (columns_of_utterances(outcome.utterances) if outcome.utterances else {})


def columns_of_utterances(utterances: Sequence[StoredUtterance]) -> dict[str, Any]:
    """Return the columns of an order's utterances; a single one is stored in the order's own columns."""
    spoken = [one for one in utterances if one.audio_key is not None]
    newest = spoken[-1] if spoken else utterances[-1]
    return {
        "utterances": tuple(utterances) if len(utterances) > 1 else (),
        "audio_key": newest.audio_key,
        "audio_format": newest.audio_format,
    }


def review_of(row: ReviewRow) -> ReviewRecord:
    status = row.status if row.status in _STATUSES else "unknown"
    return ReviewRecord(**fields_of(row, ReviewRecord) | {"shop": row.shop_id, "status": status})


def event_of(row: EventRow) -> StoredEvent:
    return StoredEvent(**fields_of(row, StoredEvent) | {"state": State.stored(row.state)})


def fields_of(row: Base, record: type[Any]) -> dict[str, Any]:
    """Return the columns of a row for which a dataclass has a field of the same name."""
    return {field.name: getattr(row, field.name) for field in fields(record) if hasattr(row, field.name)}


def raw_documents(
    session: Session, ids: Iterable[str], *columns: InstrumentedAttribute[Any]
) -> dict[str, Row[Any]]:
    """Return rows by id with these columns as raw JSON, so that fields of a later release aren't lost when a
    document is changed."""
    key = columns[0].class_.id
    documents = (type_coerce(column, JSON).label(column.key) for column in columns)
    return {row.id: row for row in session.execute(select(key, *documents).where(key.in_(ids)))}


def unsure_pieces(row: OrderRow) -> tuple[str, ...]:
    """Return up to two words that were hard to hear, otherwise pieces that the model was unsure of."""
    words = sorted(row.transcript.words if row.transcript else (), key=lambda word: word.probability)
    unheard = [word for word in words if word.probability < HARD_TO_HEAR]
    pieces = unheard or (row.answer.unsure if row.answer else ())
    return tuple(one.text.strip(" .,?!") for one in pieces[:2])
