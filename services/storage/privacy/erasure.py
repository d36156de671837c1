"""Erasure of what customers said and who they are. Prices stay for accounting (ADR 44).

| where | personal data | what remains |
|---|---|---|
| `orders.transcript`, `utterances`, `draft` | the words | nothing |
| `orders.before` | an earlier cart | nothing |
| `orders.cart` | `heard`, notes, findings, names the menu lacks | lines: sku, name, size, options, prices |
| `orders.findings` | sentences that quote the words | nothing |
| `orders.engine` | unknown fields | decoder, counts |
| `orders.answer`, `decision` | the model's answer, sentences, question | codes, probabilities |
| `orders.error` | a sentence that may quote | code, stage |
| `orders.metadata`, `client` | the shop's data about them; an address | nothing |
| `orders.audio_key`, and its file | the voice | nothing; the caller deletes the file |
| `order_events.detail` | a reviewer's reason, a question and its answer | who, action, codes |
| `reviews.proposed`, `reason` | as the cart; what a reviewer wrote | the cart as above |
| `review_records.before`, `after`, `reason` | the same | the carts as above, who, when |
| `outbox.payload`, `last_error` | cart, metadata, error; the receiver's words | as above |
| `idempotency` | a key of the caller's, a hash of what was said | nothing, the row is deleted |

All other columns are ids, states, codes and times. `audit_log`, which can't be erased, has no personal data.
A test checks all tables and columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Text, cast, delete, func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from schemas.errors import Conflict
from schemas.lifecycle import STATUS, TERMINAL, State
from schemas.records.orders import OrderRecord
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.mapping import order_of, raw_documents
from services.storage.base.scoping import OfShop
from services.storage.base.table_base import Base
from services.storage.base.tables import (
    EventRow,
    IdempotencyRow,
    OrderRow,
    OutboxRow,
    ReviewRecordRow,
    ReviewRow,
)
from services.storage.privacy import redaction


class ErasureStore(OfShop):
    """Finds and erases customers' orders of one shop."""

    def of_customer(self, key: str, value: str) -> list[str]:
        """List orders whose metadata has exactly this text under the top-level `key`, oldest first. Reads all
        orders of the shop that have metadata, since it isn't indexed."""
        # SQL finds the text of the value, and the key is compared here: PostgreSQL's JSON operators fail on a
        # document with a NUL.
        text = cast(OrderRow.metadata_, Text)
        find = func.instr if self._database.is_sqlite else func.strpos
        query = (
            select(OrderRow.id, OrderRow.metadata_)
            .where(OrderRow.shop_id == self._shop, OrderRow.metadata_.is_not(None))
            .where(find(text, json.dumps(value)) > 0)
            .order_by(OrderRow.created_at, OrderRow.id)
        )
        with self._database.read() as session:
            return [
                order_id
                for order_id, metadata in session.execute(query)
                if metadata and metadata.get(key) == value
            ]

    def erase(self, order_id: str, *, by: Actor) -> OrderRecord:
        """Erase the personal data of an order and release its recordings; no effect if already erased.

        Raises:
            NotFound: an unknown order.
            Conflict: the order hasn't ended.
        """
        with writing(self._database) as (session, now):
            row = self._one(session, OrderRow, order_id, hold=True)
            if (state := State.stored(row.state)) not in TERMINAL:
                raise Conflict(
                    f"The order is {STATUS[state]}",
                    hint="Cancel it first, or wait until it has ended; then erase it.",
                    title="The order has not ended yet",
                )
            if row.erased_at is not None and row.audio_key is None:
                return order_of(row)
            spoke = row.audio_key is not None
            wipe(session, now, [row])
            session.flush()
            session.expire(row)
            after = {"recording": spoke}
            record(session, now, by, "order.erased", ("order", row.id), shop=row.shop_id, after=after)
            return order_of(row)


def wipe(session: Session, now: datetime, rows: Sequence[OrderRow]) -> None:
    """Erase the personal data of ended orders, which the caller has locked, and release their recordings."""
    ids = [row.id for row in rows]
    documents = (OrderRow.cart, OrderRow.error, OrderRow.engine, OrderRow.answer, OrderRow.decision)
    orders = raw_documents(session, ids, *documents)
    for row in rows:
        stored = orders[row.id]
        _put(
            row,
            **dict.fromkeys(("audio_key", "transcript", "draft", "before", "metadata_", "client")),
            utterances=(),
            cart=redaction.cart(stored.cart),
            error=redaction.error(stored.error),
            findings=(),
            engine=redaction.only(stored.engine, redaction.ENGINE),
            answer=redaction.answer(stored.answer),
            decision=redaction.decision(stored.decision),
            erased_at=now,
            # `updated_at` doesn't change: retention counts from it.
            version=row.version + 1,
        )
    says_something = cast(EventRow.detail, Text) != "{}"  # few do
    for event in session.scalars(select(EventRow).where(EventRow.order_id.in_(ids), says_something)):
        _put(event, detail=redaction.only(event.detail, redaction.HISTORY))
    messages = select(OutboxRow).where(OutboxRow.order_id.in_(ids)).order_by(OutboxRow.id)
    for message in session.scalars(messages.with_for_update()):
        # By the version: a courier that posts it right now can't write the receiver's words after this.
        version = message.version + 1
        _put(message, payload=redaction.message(message.payload), last_error=None, version=version)
    _wipe_reviews(session, ids)
    session.execute(delete(IdempotencyRow).where(IdempotencyRow.order_id.in_(ids)))


def _wipe_reviews(session: Session, order_ids: Sequence[str]) -> None:
    reviews = session.scalars(select(ReviewRow).where(ReviewRow.order_id.in_(order_ids))).all()
    carts = raw_documents(session, [one.id for one in reviews], ReviewRow.proposed)
    for review in reviews:
        proposed = redaction.cart(carts[review.id].proposed)
        _put(review, proposed=proposed, reason=None, version=review.version + 1)
    acts = select(ReviewRecordRow).where(ReviewRecordRow.review_id.in_(carts))
    records = session.scalars(acts).all()
    changed = raw_documents(
        session, [one.id for one in records], ReviewRecordRow.before, ReviewRecordRow.after
    )
    for act in records:
        stored = changed[act.id]
        before, after = redaction.cart(stored.before), redaction.cart(stored.after)
        _put(act, before=before, after=after, reason=None)


def _put(row: Base, **values: Any) -> None:
    """Set columns, even if they appear unchanged: an unreadable document reads as None."""
    for name, value in values.items():
        setattr(row, name, value)
        flag_modified(row, name)
