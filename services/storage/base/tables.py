"""The tables that the migrations create, held in step by a test. Indexes are in the migrations."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Float, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from schemas.cart import CartDraft
from schemas.decision import Decision, ModelAnswer
from schemas.order import DecodedBy, OrderError
from schemas.priced_cart import Cart, Finding
from schemas.records.orders import StoredUtterance
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.storage.base.table_base import Base, Document, shop

# Foreign keys refer to accounts: SQLAlchemy needs both modules.
from services.storage.base.tables_staff import StaffRow  # noqa: F401

# The conditions of the partial indexes, word for word: otherwise SQLite doesn't use them.
ENDED = "state IN ('completed', 'rejected', 'failed', 'cancelled')"
WAITS = "state IN ('received', 'transcribed', 'decoded')"
LEFT = "state NOT IN ('received', 'transcribed', 'decoded')"
MAY_GO_ON = "state IN ('proposed', 'in_review', 'failed')"
UNDECIDED = "status IN ('open', 'claimed')"
DECIDED = "review_records.action = 'decided'"
SHOPS = "source = ''"
HAS_RECORDING, HAS_WORDS = f"audio_key IS NOT NULL AND {ENDED}", f"erased_at IS NULL AND {ENDED}"


class ShopRow(Base):
    """A shop, to which menus, orders, reviews, accounts and keys belong. Days of retention: 0 is for ever,
    NULL as in the settings. `accepts_...`: see `Acceptance`; `colour` and `logo`: see `Brand`."""

    __tablename__ = "shops"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    created_at: Mapped[datetime]
    keep_recordings_days: Mapped[int | None]
    keep_transcripts_days: Mapped[int | None]
    keep_orders_days: Mapped[int | None]
    needs_second_step: Mapped[bool]
    accepts_at_once: Mapped[bool] = mapped_column(default=False)
    accepts_allergies: Mapped[bool] = mapped_column(default=False)
    colour: Mapped[str | None]
    logo: Mapped[str | None]


class MenuRow(Base):
    """One version of a menu."""

    __tablename__ = "menus"

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

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = shop()
    state: Mapped[str]
    version: Mapped[int]
    menu_id: Mapped[str]
    menu_version: Mapped[int]
    language: Mapped[str]
    audio_key: Mapped[str | None]
    audio_format: Mapped[str | None]
    transcript: Mapped[Transcript | None]
    utterances: Mapped[tuple[StoredUtterance, ...]] = mapped_column(default=())
    draft: Mapped[CartDraft | None]
    cart: Mapped[Cart | None]
    before: Mapped[Cart | None]
    findings: Mapped[tuple[Finding, ...]] = mapped_column(default=())
    reasons: Mapped[tuple[ReviewReason, ...]] = mapped_column(default=())
    answer: Mapped[ModelAnswer | None]
    decision: Mapped[Decision | None]
    error: Mapped[OrderError | None]
    metadata_: Mapped[Document | None] = mapped_column("metadata")
    timings: Mapped[Document] = mapped_column(default=dict)
    engine: Mapped[DecodedBy | None] = mapped_column(nullable=False, default=DecodedBy)
    attempt: Mapped[int] = mapped_column(default=0)
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    claimed_at: Mapped[datetime | None]
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
    """The clock of a source in its shop, or of the shop with an empty `source`: see `turns.py`. In seconds of
    work, `begun` is its time at the last claim and `spent` its time now. `used`: seconds of work in `minute`
    (since 1970)."""

    __tablename__ = "turns"

    shop_id: Mapped[str] = shop(primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    begun: Mapped[float] = mapped_column(Float)
    spent: Mapped[float] = mapped_column(Float)
    at: Mapped[datetime]
    minute: Mapped[int]
    used: Mapped[float] = mapped_column(Float)


class EventRow(Base):
    __tablename__ = "order_events"

    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    type: Mapped[str]
    state: Mapped[str]
    detail: Mapped[Document]


class ReviewRow(Base):
    __tablename__ = "reviews"

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = shop()
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id", ondelete="CASCADE"))
    status: Mapped[str]
    reasons: Mapped[tuple[ReviewReason, ...]]
    version: Mapped[int]
    claimed_by: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    decision: Mapped[str | None]
    decided_by: Mapped[str | None]
    decided_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    proposed: Mapped[Cart | None]
    created_at: Mapped[datetime]


class ReviewRecordRow(Base):
    """One action of a reviewer; append-only, see `reviews/store.py`."""

    __tablename__ = "review_records"

    id: Mapped[str] = mapped_column(primary_key=True)
    review_id: Mapped[str] = mapped_column(ForeignKey("reviews.id", ondelete="CASCADE"))
    at: Mapped[datetime]
    actor: Mapped[str]
    action: Mapped[str]
    decision: Mapped[str | None]
    before: Mapped[Cart | None]
    after: Mapped[Cart | None]
    reason: Mapped[str | None]


class IdempotencyRow(Base):
    __tablename__ = "idempotency"

    shop_id: Mapped[str] = shop(primary_key=True)
    client: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    body_hash: Mapped[str]
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]


class WebhookEndpointRow(Base):
    """A webhook endpoint, see `endpoints.py`. `events` is NULL for all; `till` is the format of completed
    orders, NULL for ours.

    Secrets are not encrypted: messages are signed with them, and the key would lie in the same home.
    """

    __tablename__ = "webhook_endpoints"

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = shop()
    url: Mapped[str]
    secret: Mapped[str]
    events: Mapped[list[Any] | None]
    till: Mapped[str | None]
    location: Mapped[str | None]
    created_at: Mapped[datetime]


class OutboxRow(Base):
    """A message to the shop's system, written in the transaction that it reports. `seq` is the order's
    version, by which messages are delivered in order. `endpoint_id` isn't a foreign key: delivered messages
    outlive their endpoint."""

    __tablename__ = "outbox"

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id", ondelete="CASCADE"))
    seq: Mapped[int]
    type: Mapped[str]
    payload: Mapped[Document]
    version: Mapped[int] = mapped_column(default=1)
    attempt: Mapped[int] = mapped_column(default=0)
    last_error: Mapped[str | None]
    created_at: Mapped[datetime]
    delivered_at: Mapped[datetime | None]
    dead_at: Mapped[datetime | None]
    due_at: Mapped[datetime | None]  # see `outbox/store.py`
    endpoint_id: Mapped[str]
