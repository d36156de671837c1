"""The tables of accounts, sessions, keys, sign-in attempts and the audit log."""

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
    """A signed-in session, found by the hash of its cookie's token."""

    __tablename__ = "staff_sessions"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str]
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    used_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    # The provider's ID token, for signing out there; empty if it was too long, NULL after a password.
    id_token: Mapped[str | None]


class StaffChallengeRow(Base):
    """A sign-in that still needs its second step. Not stored as a session, so that it can't be mistaken for
    one."""

    __tablename__ = "staff_challenges"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    expires_at: Mapped[datetime]


class StaffTotpRow(Base):
    """An account's TOTP secret, in use once `confirmed_at` is set.

    Not encrypted: codes are computed from it, and the key would lie in the same home. It has its own table so
    that no query for accounts includes it.
    """

    __tablename__ = "staff_totp"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    secret: Mapped[str]
    begun_by: Mapped[str]  # id of the session that may see and confirm the secret
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int | None] = mapped_column(BigInteger)  # time step of the newest code used


class StaffRecoveryRow(Base):
    """A one-time code for a lost phone, with 80 random bits: SHA-256 is enough."""

    __tablename__ = "staff_recovery_codes"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    code_hash: Mapped[str] = mapped_column(primary_key=True)


class SignInRow(Base):
    """Sign-in attempts of an address, a name, both together, or a session."""

    __tablename__ = "sign_in_attempts"

    key: Mapped[str] = mapped_column(primary_key=True)
    attempts: Mapped[int]
    last_at: Mapped[datetime]


class StaffOidcRow(Base):
    """An account's identity at a provider: issuer and subject once bound. Before that, an invitation for the
    first person who signs in there with the verified `email` (lower case)."""

    __tablename__ = "staff_oidc"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    issuer: Mapped[str]
    subject: Mapped[str | None]
    email: Mapped[str | None]


class ApiKeyRow(Base):
    """A shop's key, or without `secret_hash` the public key of its order page: see `api_keys.py`."""

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
    """One entry of the audit log, see `audit/log.py`; triggers make the table append-only."""

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
