"""The tables as the migrations leave them; a test holds the two together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, false
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from infra.database import UtcDateTime

# JSON and not JSONB: it keeps the order of keys, which in a menu's prices is the order of its sizes.
# None is SQL NULL, so that "has no cart" is one thing to ask for.
_JSON = JSON(none_as_null=True)
Document = dict[str, Any]


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, Document: _JSON, list[Any]: _JSON}  # noqa: RUF012 (read once by SQLAlchemy)


class MenuRow(Base):
    __tablename__ = "menus"
    # Whatever a header shows, so that listing menus reads no document: SQLite would have to pass over each.
    __table_args__ = (
        Index(
            "ix_menus_header",
            *("id", "version", "digest", "name", "currency", "language", "items", "sold_out", "created_at"),
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[str]
    name: Mapped[str]
    document: Mapped[Document]
    created_at: Mapped[datetime]
    currency: Mapped[str]
    language: Mapped[str]
    items: Mapped[int]
    sold_out: Mapped[int]


class OrderRow(Base):
    __tablename__ = "orders"
    __table_args__ = (
        Index("ix_orders_due", "state", "updated_at"),
        Index("ix_orders_listing", "created_at", "id"),
        Index("ix_orders_status_listing", "state", "created_at", "id"),
        Index("ix_orders_client", "client", "state"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str]
    version: Mapped[int]
    menu_id: Mapped[str]
    menu_version: Mapped[int]
    language: Mapped[str]
    audio_key: Mapped[str | None]
    audio_format: Mapped[str | None]
    transcript: Mapped[Document | None]
    evidence: Mapped[Document | None]
    draft: Mapped[Document | None]
    cart: Mapped[Document | None]
    findings: Mapped[list[Any]]
    reasons: Mapped[list[Any]]
    error: Mapped[Document | None]
    metadata_: Mapped[Document | None] = mapped_column("metadata")
    timings: Mapped[Document]
    engine: Mapped[Document]
    attempt: Mapped[int]
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    next_attempt_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    confirm: Mapped[bool] = mapped_column(server_default=false())
    client: Mapped[str | None]


class EventRow(Base):
    __tablename__ = "order_events"
    __table_args__ = (Index("ix_order_events_at", "at", "type"),)

    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    type: Mapped[str]
    state: Mapped[str]
    detail: Mapped[Document]
    stage: Mapped[str | None]
    attempt: Mapped[int | None]
    worker: Mapped[str | None]


class ReviewRow(Base):
    __tablename__ = "reviews"
    __table_args__ = (
        Index("ix_reviews_order", "order_id", unique=True),
        Index("ix_reviews_queue", "status", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    status: Mapped[str]
    reasons: Mapped[list[Any]]
    version: Mapped[int]
    claimed_by: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    decision: Mapped[str | None]
    decided_by: Mapped[str | None]
    decided_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    proposed: Mapped[Document | None]
    standing: Mapped[Document | None]
    created_at: Mapped[datetime]


class ReviewRecordRow(Base):
    """What a reviewer did. Rows are added and never changed: see `review_log.py`."""

    __tablename__ = "review_records"
    __table_args__ = (
        Index("ix_review_records_review", "review_id", "at", "id"),
        Index("ix_review_records_action", "action", "at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    review_id: Mapped[str] = mapped_column(ForeignKey("reviews.id"))
    at: Mapped[datetime]
    actor: Mapped[str]
    action: Mapped[str]
    before: Mapped[Document | None]
    after: Mapped[Document | None]
    reason: Mapped[str | None]
    detail: Mapped[Document]


class StaffRow(Base):
    __tablename__ = "staff"
    __table_args__ = (Index("ix_staff_name", "name", unique=True),)

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    password_hash: Mapped[str]
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class StaffSessionRow(Base):
    __tablename__ = "staff_sessions"
    __table_args__ = (Index("ix_staff_sessions_staff", "staff_id"),)

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class SignInRow(Base):
    """Attempts to sign in under a name since the last that succeeded; the name may be nobody's."""

    __tablename__ = "sign_ins"

    name: Mapped[str] = mapped_column(primary_key=True)
    attempts: Mapped[int]
    last_at: Mapped[datetime]


class CodeRow(Base):
    """What an event was about, in stable codes, so that it can be counted: see `mapping.codes_of`."""

    __tablename__ = "order_codes"
    __table_args__ = (Index("ix_order_codes_code", "kind", "code"),)

    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)


class IdempotencyRow(Base):
    __tablename__ = "idempotency"
    __table_args__ = (Index("ix_idempotency_age", "created_at"),)

    client: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    body_hash: Mapped[str]
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    created_at: Mapped[datetime]


class OutboxRow(Base):
    """A message to the shop's system, written in the transaction that it tells of. `seq` is the order's
    version then, which puts the messages of one order in their order."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("ix_outbox_order", "order_id", "seq", unique=True),
        Index("ix_outbox_due", "delivered_at", "dead_at", "next_attempt_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    seq: Mapped[int]
    type: Mapped[str]
    payload: Mapped[Document]
    version: Mapped[int]
    attempt: Mapped[int]
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    next_attempt_at: Mapped[datetime | None]
    last_error: Mapped[str | None]
    created_at: Mapped[datetime]
    delivered_at: Mapped[datetime | None]
    dead_at: Mapped[datetime | None]


class RemovalRow(Base):
    """A recording whose file is to be removed: see `removals.py`. No key to the order, which may go first."""

    __tablename__ = "removals"
    __table_args__ = (Index("ix_removals_order", "order_id"),)

    key: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str]
    at: Mapped[datetime]


class TallyRow(Base):
    """How many closed rows there are of a kind and code: see `tallies.py`."""

    __tablename__ = "tallies"

    kind: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)


class TallyMarkRow(Base):
    """Up to which moment rows are folded into tallies; those of the moment itself are not."""

    __tablename__ = "tally_marks"

    name: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[datetime]


class ReviewTallyRow(Base):
    """What was decided in one hour, counted: see `review_tallies.py`. `hour` is its beginning."""

    __tablename__ = "review_tallies"

    hour: Mapped[datetime] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
