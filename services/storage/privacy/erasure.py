"""Erasing what a customer said and who they were. What an order cost stays for the books (ADR 44).

| where | what of the customer is there | what is left |
|---|---|---|
| `orders.transcript`, `utterances`, `draft` | the words, and what was read out of them | nothing |
| `orders.before` | an earlier cart | nothing |
| `orders.cart` | `heard`, notes, findings, names the menu lacks | lines: sku, name, size, options, prices |
| `orders.findings` | sentences that quote the words | nothing |
| `orders.engine` | all that is not known here | decoder, counts |
| `orders.answer`, `decision` | the model's answer, sentences, question | codes, probabilities |
| `orders.error` | a sentence that may quote | code, stage |
| `orders.metadata`, `client` | whatever the shop knows them by; an address | nothing |
| `orders.audio_key`, and its file | the voice | nothing; the caller deletes the file |
| `order_events.detail` | a reviewer's reason, a question and its answer | who, action, codes |
| `reviews.proposed`, `reason` | as the cart; what a reviewer wrote | the cart as above |
| `review_records.before`, `after`, `reason` | the same | the carts as above, who, when |
| `outbox.payload`, `last_error` | cart, metadata, error; the receiver's words | as above |
| `idempotency` | a key of the caller's, a hash of what was said | nothing, the row goes |

Everything else about an order is ids, states, codes and times, as in `audit_log`, where nothing
can ever be erased and so nothing of this may stand. A test walks all tables and columns.
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
from services.storage.base.mapping import as_stored, order_of
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
    """Finds a customer's orders, and erases orders, of one shop."""

    def of_customer(self, key: str, value: str) -> list[str]:
        """Ids of the orders whose metadata has `key` on top with exactly this text, oldest first. By metadata
        alone are orders tied to a customer, under a name of the shop's own.

        No index holds metadata, so this reads the shop's orders that still have any, of as many days as
        transcripts are kept: 3 s at a million orders on SQLite.
        """
        # Read by SQL for the value as it is written in JSON, which leaves few; the key is compared here. No
        # operator of JSON: on PostgreSQL one document with a NUL would end the query for all.
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
        """Erase what an order's customer said and who they were, and let go of the recording; an order that
        was erased before stays as it is.

        Raises:
            NotFound: no such order.
            Conflict: it is under way, or waits for a person.
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
            row.audio_key = None
            wipe(session, now, [row])
            session.flush()
            session.expire(row)
            after = {"recording": spoke}
            record(session, now, by, "order.erased", ("order", row.id), shop=row.shop_id, after=after)
            return order_of(row)


def wipe(session: Session, now: datetime, rows: Sequence[OrderRow]) -> None:
    """Take all of the table above out of ended orders that the caller has locked, but for recordings."""
    ids = [row.id for row in rows]
    documents = (OrderRow.cart, OrderRow.error, OrderRow.engine, OrderRow.answer, OrderRow.decision)
    orders = as_stored(session, ids, *documents)
    for row in rows:
        stored = orders[row.id]
        _put(
            row,
            **dict.fromkeys(("transcript", "draft", "before", "metadata_", "client")),
            utterances=(),
            cart=redaction.cart(stored.cart),
            error=redaction.error(stored.error),
            findings=(),
            engine=redaction.only(stored.engine, redaction.ENGINE),
            answer=redaction.answer(stored.answer),
            decision=redaction.decision(stored.decision),
            erased_at=now,
            # Clients that have read it see that it changed. `updated_at` stays: by it an order's time runs.
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
    carts = as_stored(session, [one.id for one in reviews], ReviewRow.proposed)
    for review in reviews:
        proposed = redaction.cart(carts[review.id].proposed)
        _put(review, proposed=proposed, reason=None, version=review.version + 1)
    acts = select(ReviewRecordRow).where(ReviewRecordRow.review_id.in_(carts))
    records = session.scalars(acts).all()
    changed = as_stored(session, [one.id for one in records], ReviewRecordRow.before, ReviewRecordRow.after)
    for kept in records:
        stored = changed[kept.id]
        before, after = redaction.cart(stored.before), redaction.cart(stored.after)
        detail = redaction.only(kept.detail, redaction.ACT)
        _put(kept, before=before, after=after, reason=None, detail=detail)


def _put(row: Base, **values: Any) -> None:
    """Set columns, also where they seem to hold this: a document that can't be read is taken for None."""
    for name, value in values.items():
        setattr(row, name, value)
        flag_modified(row, name)
