"""Signing in by a password, and a code if the account has a second step.

A wrong name, a wrong password and a disabled account get the same answer in the same time. Attempts are
limited first, see `attempts.py`.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from infra.passwords import verify_password
from infra.sql.database import Database
from schemas.errors import NotFound, SignInBusy
from schemas.shops.audit import Actor
from schemas.shops.staff import Halfway, StaffSession
from services.storage.audit.log import record_account
from services.storage.base.changes import writing
from services.storage.base.tables_staff import StaffChallengeRow, StaffOidcRow, StaffRow
from services.storage.people.attempts import Attempts, Counted
from services.storage.people.second_step import codes_left, has_second_step, use_code
from services.storage.people.sessions import begin_session, find_account, hash_token, new_token
from services.storage.people.staff import MAX_NAME_CHARS, MAX_PASSWORD_CHARS

# How long the second step may take.
CHALLENGE_S = 300
MAX_CODE_CHARS = 40


class SignIns:
    """Each call is a few short transactions. Any call may also raise StorageUnavailable."""

    def __init__(self, database: Database, *, but_bound: bool = False) -> None:
        """`but_bound`: accounts that are bound to a provider can't sign in by password."""
        self._database = database.everywhere()
        self._attempts = Attempts(database)
        self._but_bound = but_bound

    def by_password(self, name: str, password: str, address: str, lasting_s: float) -> str | Halfway | None:
        """Return the token of a new session of `lasting_s` seconds, or a challenge for the second step; None
        if name or password is wrong or the account is disabled.

        Raises:
            TooManyAttempts: too many attempts; this one wasn't checked.
            SignInBusy: too many at once; this one wasn't checked.
        """
        name, password = name.strip()[:MAX_NAME_CHARS], password[:MAX_PASSWORD_CHARS]
        counted = self._attempts.count(name, address)
        with self._database.read() as session:
            row = find_account(session, name)
            stored = None if row is None or row.disabled_at else self._password_of(session, row)
        if not self._right(stored, password, counted):
            return None
        with writing(self._database) as (session, now):
            row = find_account(session, name, hold=True)
            if row is None or row.disabled_at or row.password_hash != stored:
                return None  # disabled, or its password changed, in the meantime
            self._attempts.forgive(session, counted)
            if not has_second_step(session, row.id):
                return begin_session(session, row.id, now, lasting_s)
            token = new_token()
            session.execute(delete(StaffChallengeRow).where(StaffChallengeRow.expires_at <= now))
            session.add(
                StaffChallengeRow(
                    token_hash=hash_token(token),
                    staff_id=row.id,
                    expires_at=now + timedelta(seconds=CHALLENGE_S),
                )
            )
            return Halfway(token)

    def by_code(
        self, token: str, code: str, address: str, lasting_s: float, *, by: Actor | None = None
    ) -> str | None:
        """Return a new session's token for a code from the phone or a recovery code; None if it is wrong or
        was used. `by`: the actor of the audit log's entry about a recovery code.

        Raises:
            NotFound: the first step was too long ago, or was revoked.
            TooManyAttempts: too many attempts; this one wasn't checked.
        """
        name = self.halfway(token)
        if name is None:
            raise NotFound("This sign-in took too long", hint="Start again with your name and password.")
        counted = self._attempts.count(name, address, code=True)
        with writing(self._database) as (session, now):
            row = find_account(session, name, hold=True)
            kind = None if row is None else use_code(session, row.id, code[:MAX_CODE_CHARS], now)
            if row is None or kind is None:
                return None
            mine = StaffChallengeRow.token_hash == hash_token(token)
            use = delete(StaffChallengeRow).where(mine, StaffChallengeRow.expires_at > now)
            if not session.scalar(use.returning(StaffChallengeRow.staff_id)):
                return None  # used by another code, or the account was disabled, in the meantime
            self._attempts.forgive(session, counted)
            opened = begin_session(session, row.id, now, lasting_s)
            if kind == "recovery":
                remaining = {"recovery_codes": codes_left(session, row.id)}
                person = by or Actor(f"staff:{row.name}")
                record_account(session, now, person, "recovery_code.used", row, after=remaining)
            return opened

    def halfway(self, token: str) -> str | None:
        """Return the name of the account whose second step a token is for; None if it has expired."""
        with self._database.read() as session:
            return session.scalars(
                select(StaffRow.name)
                .join(StaffChallengeRow, StaffChallengeRow.staff_id == StaffRow.id)
                .where(
                    StaffChallengeRow.token_hash == hash_token(token),
                    StaffChallengeRow.expires_at > self._database.now(session),
                    StaffRow.disabled_at.is_(None),
                )
            ).one_or_none()

    def proves(self, by: StaffSession, password: str) -> bool:
        """Return True if the password is that of the session's account. Raises as `by_password`, with
        attempts counted for this session."""
        counted = self._attempts.count_session(by.id)
        with self._database.read() as session:
            row = session.get(StaffRow, by.staff_id)
            stored = None if row is None else row.password_hash or None
        right = self._right(stored, password[:MAX_PASSWORD_CHARS], counted, signed_in=True)
        if right:
            with writing(self._database) as (session, _):
                self._attempts.forgive(session, counted)
        return right

    def _password_of(self, session: Session, row: StaffRow) -> str | None:
        if self._but_bound and (bound := session.get(StaffOidcRow, row.id)) and bound.subject:
            return None
        return row.password_hash or None

    def _right(self, stored: str | None, password: str, counted: Counted, *, signed_in: bool = False) -> bool:
        # Outside of any transaction: it is slow on purpose.
        try:
            return verify_password(stored, password, known=signed_in)
        except SignInBusy:
            with writing(self._database) as (session, _):
                self._attempts.give_back(session, counted)
            raise
