"""The tables as the migrations leave them; a test holds the two together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Float, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from services.storage.base.table_base import Base, Document, shop, where

# Keys of what is here name accounts, and messages endpoints: who imports one of them needs all.
from services.storage.base.tables_staff import StaffRow  # noqa: F401
from services.storage.base.tables_webhooks import WebhookEndpointRow  # noqa: F401

# As text, in indexes and in queries alike: a partial index serves only a query that repeats its condition.
ENDED = "state IN ('completed', 'rejected', 'failed', 'cancelled')"
WAITS = "state IN ('received', 'transcribed', 'decoded')"
LEFT = "state NOT IN ('received', 'transcribed', 'decoded')"
MAY_GO_ON = "state IN ('proposed', 'in_review', 'failed')"
UNDECIDED = "status IN ('open', 'claimed')"
DECIDED = "review_records.action = 'decided'"
# The same twice. PostgreSQL may guess that nothing is open and then takes all indexes of what is for equally
# good: what asks for the messages of one order is worded so that the index by order alone serves it.
OPEN, OPEN_OF_ORDER = "delivered_at IS NULL AND dead_at IS NULL", "coalesce(delivered_at, dead_at) IS NULL"
SHOPS = "source = ''"
HAS_RECORDING, HAS_WORDS = f"audio_key IS NOT NULL AND {ENDED}", f"erased_at IS NULL AND {ENDED}"


class ShopRow(Base):
    """Everything belongs to one: menus, orders, reviews, accounts, keys. What it keeps for how many days: 0
    is for ever, NULL as the settings say. `needs_second_step`: of its staff, at sign-in. `colour` and `logo`
    are of its pages, see `Brand`."""

    __tablename__ = "shops"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    created_at: Mapped[datetime]
    keep_recordings_days: Mapped[int | None]
    keep_transcripts_days: Mapped[int | None]
    keep_orders_days: Mapped[int | None]
    needs_second_step: Mapped[bool]
    colour: Mapped[str | None]
    logo: Mapped[str | None]


class MenuRow(Base):
    """One version of a menu."""

    __tablename__ = "menus"
    # Whatever a header shows, so that listing menus reads no document: SQLite would have to pass over each.
    __table_args__ = (
        Index(
            "ix_menus_header",
            *("shop_id", "id", "version", "digest", "name", "currency", "language", "items", "sold_out"),
            "created_at",
        ),
    )

    shop_id: Mapped[str] = shop(primary_key=True)
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
        # A claim and a heartbeat change no column that is in any of these, so that PostgreSQL changes the row
        # in its page and no index (HOT).
        Index("ix_orders_waiting", "updated_at", "id", **where(WAITS)),
        Index("ix_orders_waiting_clients", "shop_id", "client", "state", **where(WAITS)),
        Index("ix_orders_left", "updated_at", **where(LEFT)),
        Index("ix_orders_may_go_on", "state", "updated_at", **where(MAY_GO_ON)),
        Index("ix_orders_listing", "created_at", "id"),
        Index("ix_orders_shop_listing", "shop_id", "created_at", "id"),
        Index("ix_orders_status_listing", "shop_id", "state", "created_at", "id"),
        # What retention still has to do: an order enters when it ends, and leaves once that is done.
        Index("ix_orders_with_recording", "shop_id", "updated_at", **where(HAS_RECORDING)),
        Index("ix_orders_with_words", "shop_id", "updated_at", **where(HAS_WORDS)),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = shop()
    state: Mapped[str]
    version: Mapped[int]
    menu_id: Mapped[str]
    menu_version: Mapped[int]
    language: Mapped[str]
    audio_key: Mapped[str | None]
    audio_format: Mapped[str | None]
    transcript: Mapped[Document | None]
    utterances: Mapped[list[Any]]
    draft: Mapped[Document | None]
    cart: Mapped[Document | None]
    before: Mapped[Document | None]
    findings: Mapped[list[Any]]
    reasons: Mapped[list[Any]]
    answer: Mapped[Document | None]
    decision: Mapped[Document | None]
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
    confirm: Mapped[bool]
    client: Mapped[str | None]
    source: Mapped[str | None]
    taken_at: Mapped[datetime | None]
    erased_at: Mapped[datetime | None]
    traceparent: Mapped[str | None]


class TurnRow(Base):
    """The clock by which a shop's orders take turns, under an empty `source`, or a source's in its shop: see
    `turns.py`. `begun` is where it stood at the last claim, `spent` where it stands, in seconds of work."""

    __tablename__ = "turns"
    __table_args__ = (Index("ix_turns_shops", "begun", **where(SHOPS)),)

    shop_id: Mapped[str] = shop(primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    begun: Mapped[float] = mapped_column(Float)
    spent: Mapped[float] = mapped_column(Float)
    at: Mapped[datetime]


class EventRow(Base):
    __tablename__ = "order_events"

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
        Index("ix_reviews_undecided", "shop_id", "created_at", "id", **where(UNDECIDED)),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = shop()
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
    created_at: Mapped[datetime]


class ReviewRecordRow(Base):
    """What a reviewer did. Rows are added and never changed: see `reviews/log.py`."""

    __tablename__ = "review_records"
    __table_args__ = (
        Index("ix_review_records_review", "review_id", "at", "id"),
        Index("ix_review_records_decided", "at", **where(DECIDED)),
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


class IdempotencyRow(Base):
    __tablename__ = "idempotency"
    __table_args__ = (Index("ix_idempotency_age", "created_at"), Index("ix_idempotency_order", "order_id"))

    shop_id: Mapped[str] = shop(primary_key=True)
    client: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    body_hash: Mapped[str]
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    created_at: Mapped[datetime]


class OutboxRow(Base):
    """A message to the shop's system, written in the transaction that it tells of. `seq` is the order's
    version then, which puts the messages of one order to one endpoint in their order. `endpoint_id`
    is no key: what was delivered outlives its endpoint."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("ix_outbox_place", "order_id", "endpoint_id", "seq", unique=True),
        # Of the few that are open, and so as small as they are: who may go, who is first, who is oldest.
        Index("ix_outbox_endpoint_due", "endpoint_id", "due_at", "id", **where(OPEN)),
        Index("ix_outbox_first", "order_id", "endpoint_id", "seq", **where(OPEN_OF_ORDER)),
        Index("ix_outbox_waiting", "created_at", "id", **where(OPEN)),
        Index("ix_outbox_dead", "created_at", "id", **where("dead_at IS NOT NULL")),
        Index("ix_outbox_delivered", "delivered_at", **where("delivered_at IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    seq: Mapped[int]
    type: Mapped[str]
    payload: Mapped[Document]
    version: Mapped[int]
    attempt: Mapped[int]
    last_error: Mapped[str | None]
    created_at: Mapped[datetime]
    delivered_at: Mapped[datetime | None]
    dead_at: Mapped[datetime | None]
    due_at: Mapped[datetime | None]  # see `outbox_order.py`
    endpoint_id: Mapped[str]
