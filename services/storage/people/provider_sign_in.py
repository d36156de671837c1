"""Signing in by a provider: what has to be kept while a person is there, and the session afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import delete

from infra.sql.database import Database
from schemas.shops.audit import Actor
from schemas.shops.sign_in_errors import NotLetIn
from schemas.shops.staff import PROVIDER_FLOW_S, Entered, Identity, Visit
from services.storage.base.changes import writing
from services.storage.base.tables_staff import OidcFlowRow
from services.storage.people.attempts import Attempts, Counted
from services.storage.people.provider_accounts import (
    SHOWN_CHARS,
    Refusal,
    Roles,
    account_of,
    record_acts,
    record_refusal,
)
from services.storage.people.sessions import begin_session, end_sessions, hash_token

# One with very many groups is longer; signing out there then asks the person.
MAX_ID_TOKEN_CHARS = 6000


class ProviderSignIns:
    """Every call is one transaction or two, and may raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database, roles: Roles) -> None:
        self._database = database.everywhere()
        self._attempts = Attempts(database)
        self._roles = roles

    def begin(self, token: str, after: str) -> None:
        """Note that the browser which holds `token` goes to the provider, and goes on to `after`."""
        with writing(self._database) as (session, now):
            session.execute(delete(OidcFlowRow).where(OidcFlowRow.expires_at <= now))
            expires_at = now + timedelta(seconds=PROVIDER_FLOW_S)
            session.add(OidcFlowRow(token_hash=hash_token(token), after=after, expires_at=expires_at))

    def take(self, token: str) -> str | None:
        """Where to go after the sign-in that was begun with `token`, once; None when it is over, was taken
        before, or was never begun."""
        with writing(self._database) as (session, now):
            mine = (OidcFlowRow.token_hash == hash_token(token)) & (OidcFlowRow.expires_at > now)
            return session.scalar(delete(OidcFlowRow).where(mine).returning(OidcFlowRow.after))

    def count(self, address: str) -> Counted:
        """Count an answer of the provider's before it is looked at.

        Raises:
            TooManyAttempts: too many from there led nowhere; nothing was counted.
        """
        return self._attempts.count_provider(address)

    def give_back(self, counted: Counted) -> None:
        """Take an attempt back that was not looked at: the provider was away."""
        with writing(self._database) as (session, _):
            self._attempts.give_back(session, counted)

    def enter(
        self,
        who: Identity,
        visit: Visit,
        lasting_s: float,
        *,
        id_token: str,
        counted: Counted,
        by: Callable[[str], Actor],
    ) -> tuple[str, Entered]:
        """The name of the account and a new session of `lasting_s` seconds, for a person whom the
        provider identified. `by` makes the audit log's actor of a name.

        Raises:
            NotLetIn: they have no account here, or not any more. The attempt counts.
        """
        with writing(self._database) as (session, now):
            found = account_of(self._database, session, now, who, self._roles)
            if isinstance(found, Refusal):
                if found.row is not None:
                    end_sessions(session, found.row.id)
                record_refusal(session, now, by(f"oidc:{who.subject[:SHOWN_CHARS]}"), who, found)
            else:
                row, acts = found
                self._attempts.give_back(session, counted)
                kept = id_token if len(id_token) <= MAX_ID_TOKEN_CHARS else ""
                entered = Entered(begin_session(session, row.id, visit, now, lasting_s, kept))
                # Last, since it locks the shop's chain.
                acts.append(("sign_in.by_provider", None, {"issuer": who.issuer}))
                record_acts(session, now, by(f"staff:{row.name}"), row, acts)
                return row.name, entered
        # After the commit: what was noted of it stays.
        raise NotLetIn(found.detail, hint=found.hint)
