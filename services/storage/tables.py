"""The tables as the migrations leave them; a test holds the two together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, false, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from infra.database import UtcDateTime
from schemas.access import MAIN_SHOP

# JSON and not JSONB: it keeps the order of keys, which in a menu's prices is the order of its sizes.
# None is SQL NULL, so that "has no cart" is one thing to ask for.
_JSON = JSON(none_as_null=True)
# As text, in indexes and in queries alike: a partial index serves only a query that repeats its condition.
ENDED = "state IN ('completed', 'rejected', 'failed', 'cancelled')"
WAITS = "state IN ('received', 'transcribed', 'read', 'decoded')"
LEFT = "state NOT IN ('received', 'transcribed', 'read', 'decoded')"
MAY_GO_ON = "state IN ('proposed', 'in_review', 'failed')"
# States of a later release, which this one does not know.
OTHER = (
    "state NOT IN ('received', 'transcribed', 'read', 'decoded', 'proposed', 'in_review', 'failed', "
    "'completed', 'rejected', 'cancelled')"
)
UNDECIDED = "status IN ('open', 'claimed')"
# The same twice. PostgreSQL may guess that nothing is open and then takes all indexes of what is for equally
# good: what asks for the messages of one order is worded so that the index by order alone serves it.
OPEN, OPEN_OF_ORDER = "delivered_at IS NULL AND dead_at IS NULL", "coalesce(delivered_at, dead_at) IS NULL"
HAS_RECORDING, HAS_WORDS = f"audio_key IS NOT NULL AND {ENDED}", f"erased_at IS NULL AND {ENDED}"
Document = dict[str, Any]


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, Document: _JSON, list[Any]: _JSON}  # noqa: RUF012 (read once by SQLAlchemy)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


class ShopRow(Base):
    """Everything belongs to one: menus, orders, reviews, accounts, keys. What it keeps for how many days: 0
    is for ever, NULL as the settings say. `menus_of` is the shop that it has its menus from."""

    __tablename__ = "shops"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    created_at: Mapped[datetime]
    keep_recordings_days: Mapped[int | None]
    keep_transcripts_days: Mapped[int | None]
    keep_orders_days: Mapped[int | None]
    menus_of: Mapped[str | None]


def _shop(**more: Any) -> Mapped[str]:
    # The default is for parts of the release before, while an upgrade rolls; ours always name the shop.
    return mapped_column(ForeignKey("shops.id"), server_default=MAIN_SHOP, **more)


class ApiKeyRow(Base):
    """A shop's key, or without `secret_hash` the public one of its order page: see `api_keys.py`. `family` is
    the id of the first key of a row of rotations."""

    __tablename__ = "api_keys"
    __table_args__ = (Index("ix_api_keys_shop", "shop_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = mapped_column(ForeignKey("shops.id"))
    name: Mapped[str]
    family: Mapped[str]
    secret_hash: Mapped[str | None]
    scopes: Mapped[list[Any]]
    staff_id: Mapped[str | None] = mapped_column(ForeignKey("staff.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class MenuRow(Base):
    """One version. With `base_shop` it is that shop's `base_version`, and `document` what is this shop's own
    of it: see `chains.py`."""

    __tablename__ = "menus"
    # Whatever a header shows, so that listing menus reads no document: SQLite would have to pass over each.
    __table_args__ = (
        Index(
            "ix_menus_header",
            *("shop_id", "id", "version", "digest", "name", "currency", "language", "items", "sold_out"),
            "created_at",
        ),
    )

    shop_id: Mapped[str] = _shop(primary_key=True)
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
    base_shop: Mapped[str | None]
    base_version: Mapped[int | None]


class OrderRow(Base):
    __tablename__ = "orders"
    __table_args__ = (
        # A claim and a heartbeat change no column that is in any of these, so that PostgreSQL changes the row
        # in its page and no index (HOT).
        Index("ix_orders_waiting", "updated_at", "id", **_where(WAITS)),
        Index("ix_orders_waiting_clients", "shop_id", "client", "state", **_where(WAITS)),
        Index("ix_orders_left", "updated_at", **_where(LEFT)),
        Index("ix_orders_may_go_on", "state", "updated_at", **_where(MAY_GO_ON)),
        Index("ix_orders_other", "state", **_where(OTHER)),
        Index("ix_orders_listing", "created_at", "id"),
        Index("ix_orders_shop_listing", "shop_id", "created_at", "id"),
        Index("ix_orders_status_listing", "shop_id", "state", "created_at", "id"),
        # What retention still has to do: an order enters when it ends, and leaves once that is done.
        Index("ix_orders_with_recording", "shop_id", "updated_at", **_where(HAS_RECORDING)),
        Index("ix_orders_with_words", "shop_id", "updated_at", **_where(HAS_WORDS)),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = _shop()
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
    erased_at: Mapped[datetime | None]
    traceparent: Mapped[str | None]


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
        Index("ix_reviews_undecided", "shop_id", "created_at", "id", **_where(UNDECIDED)),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = _shop()
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
    shop_id: Mapped[str] = _shop()
    role: Mapped[str] = mapped_column(server_default="admin")


class StaffSessionRow(Base):
    """Somebody who is signed in. `id` is for lists; the token's hash is what the cookie is looked up by."""

    __tablename__ = "staff_sessions"
    __table_args__ = (Index("ix_staff_sessions_staff", "staff_id"),)

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str]
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    address: Mapped[str]
    browser: Mapped[str]


class StaffChallengeRow(Base):
    """Somebody whose password was right, and whose code is still wanted. A table of its own and no kind of
    session: no query for sessions can take one for signed in."""

    __tablename__ = "staff_challenges"
    __table_args__ = (Index("ix_staff_challenges_staff", "staff_id"),)

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    expires_at: Mapped[datetime]


class StaffDeviceRow(Base):
    """A browser in which an account has signed in before: see ADR 39."""

    __tablename__ = "staff_devices"
    __table_args__ = (Index("ix_staff_devices_staff", "staff_id"),)

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    used_at: Mapped[datetime]


class StaffTotpRow(Base):
    """An account's secret for time-based codes; in use once `confirmed_at` is set.

    The secret stands here as it is: codes are computed from it, so no hash would do, and a key to decrypt it
    with would lie in the same home, readable by the same user. It has a table of its own so that nothing that
    lists or shows accounts can carry it along.
    """

    __tablename__ = "staff_totp"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    secret: Mapped[str]
    begun_by: Mapped[str]  # the session that may see the secret and confirm it
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int | None] = mapped_column(BigInteger)  # of the newest code that was taken


class StaffRecoveryRow(Base):
    """A code that does once what one from the phone does. 80 random bits, so a plain SHA-256 hides it."""

    __tablename__ = "staff_recovery_codes"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    code_hash: Mapped[str] = mapped_column(primary_key=True)


class SignInRow(Base):
    """Attempts that count against one thing: an address, a name, both together, or a known device."""

    __tablename__ = "sign_in_attempts"
    __table_args__ = (Index("ix_sign_in_attempts_age", "last_at"),)

    key: Mapped[str] = mapped_column(primary_key=True)
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
    __table_args__ = (Index("ix_idempotency_age", "created_at"), Index("ix_idempotency_order", "order_id"))

    shop_id: Mapped[str] = _shop(primary_key=True)
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
        # Of the few that are open, and so as small as they are: who may go, who is first, who is oldest.
        Index("ix_outbox_due_at", "due_at", "id", **_where(OPEN)),
        Index("ix_outbox_open", "order_id", "seq", **_where(OPEN_OF_ORDER)),
        Index("ix_outbox_waiting", "created_at", "id", **_where(OPEN)),
        Index("ix_outbox_dead", "created_at", "id", **_where("dead_at IS NOT NULL")),
        Index("ix_outbox_delivered", "delivered_at", **_where("delivered_at IS NOT NULL")),
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
    # See `outbox_order.py`. The default is for parts of the release before, while an upgrade rolls.
    due_at: Mapped[datetime | None] = mapped_column(server_default="1970-01-01 00:00:00+00")


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

    shop_id: Mapped[str] = _shop(primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]


class AuditRow(Base):
    """Who did what, hash chained: see `audit.py`. Rows are added and never changed; triggers see to it."""

    __tablename__ = "audit_log"
    __table_args__ = (
        Index("ix_audit_log_at", "at"),
        Index("ix_audit_log_object", "object_type", "object_id"),
    )

    shop_id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[str]
    actor: Mapped[str]
    address: Mapped[str | None]
    request_id: Mapped[str | None]
    action: Mapped[str]
    object_type: Mapped[str]
    object_id: Mapped[str]
    before: Mapped[str | None]
    after: Mapped[str | None]
    previous: Mapped[str]
    hash: Mapped[str]
