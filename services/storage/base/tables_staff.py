"""The tables of who may come in, and of what they did: accounts, sessions, keys, attempts, the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from services.storage.base.table_base import Base, shop


class StaffRow(Base):
    __tablename__ = "staff"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    password_hash: Mapped[str]
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]
    shop_id: Mapped[str] = shop()
    role: Mapped[str]


class StaffSessionRow(Base):
    """A signed-in session. `id` names it, the token's hash is what the cookie is looked up by."""

    __tablename__ = "staff_sessions"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str]
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    used_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    # Where the provider's word began it: its ID token, by which one signs out there, or nothing where that is
    # too long. It opens nothing: it belongs to a sign-in that is done.
    id_token: Mapped[str | None]


class StaffChallengeRow(Base):
    """A sign-in whose password was right, and whose code is still wanted. A table of its own and no kind of
    session: no query for sessions can take one for signed in."""

    __tablename__ = "staff_challenges"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    expires_at: Mapped[datetime]


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
    """Attempts that count against one thing: an address, a name, both together, or a session."""

    __tablename__ = "sign_in_attempts"

    key: Mapped[str] = mapped_column(primary_key=True)
    attempts: Mapped[int]
    last_at: Mapped[datetime]


class StaffOidcRow(Base):
    """Who an account is to a provider: once bound, by issuer and subject alone. Until then it is an
    invitation, to the first who signs in there with that verified e-mail address, in small letters."""

    __tablename__ = "staff_oidc"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    issuer: Mapped[str]
    subject: Mapped[str | None]
    email: Mapped[str | None]
    bound_at: Mapped[datetime | None]


class ApiKeyRow(Base):
    """A shop's key, or without `secret_hash` the public one of its order page: see `api_keys.py`."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = mapped_column(ForeignKey("shops.id"))
    name: Mapped[str]
    secret_hash: Mapped[str | None]
    scopes: Mapped[list[Any]]
    staff_id: Mapped[str | None] = mapped_column(ForeignKey("staff.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class AuditRow(Base):
    """Who did what: see `audit/log.py`. Rows are added and never changed; triggers see to it."""

    __tablename__ = "audit_log"

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
