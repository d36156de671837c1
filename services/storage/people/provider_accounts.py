"""Sign-in by an OpenID Connect provider: invitations of accounts, and their binding to the provider's people.

An account is bound by issuer and subject, which never change. An e-mail address is used once, to accept an
invitation, and only if the provider has verified it.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotLetIn
from schemas.shops.access import EVERY_SHOP, MAIN_SHOP
from schemas.shops.audit import Actor
from schemas.shops.staff import Identity
from services.storage.audit.log import record, record_account
from services.storage.base.changes import writing
from services.storage.base.tables_staff import StaffOidcRow
from services.storage.people.attempts import Attempts, Counted
from services.storage.people.sessions import begin_session, end_sessions, get_account, lock_account

MAX_EMAIL_CHARS = 254
# Longer ID tokens aren't stored; the provider then asks for confirmation of a sign-out.
MAX_ID_TOKEN_CHARS = 6000
# Characters of a subject that the audit log shows.
SHOWN_CHARS = 120


class ProviderAccounts:
    """Invitations, bindings and sign-ins. Any call may raise StorageUnavailable, and NotFound for a name that
    no account of the shop has."""

    def __init__(self, database: Database, shop: str = EVERY_SHOP) -> None:
        self._database, self._shop = database.everywhere(), shop
        self._attempts = Attempts(database)

    def count(self, address: str) -> Counted:
        """Count a sign-in before it is checked; raises TooManyAttempts."""
        return self._attempts.count_provider(address)

    def give_back(self, counted: Counted) -> None:
        """Take back an attempt that couldn't be checked because the provider was down."""
        with writing(self._database) as (session, _):
            self._attempts.give_back(session, counted)

    def enter(
        self, who: Identity, lasting_s: float, *, counted: Counted, by: Callable[[str], Actor]
    ) -> tuple[str, str]:
        """Return the name of the person's account and the token of a new session of `lasting_s` seconds. `by`
        returns the audit log's actor for a name.

        Raises:
            NotLetIn: they have no account here, or it is disabled. The attempt counts.
        """
        subject = who.subject[:SHOWN_CHARS]
        with writing(self._database) as (session, now):
            bound = self._bound(session, who)
            row = lock_account(session, bound.staff_id) if bound else None
            if bound and row and not row.disabled_at:
                self._attempts.give_back(session, counted)
                kept = who.id_token if len(who.id_token) <= MAX_ID_TOKEN_CHARS else ""
                token = begin_session(session, row.id, now, lasting_s, kept)
                person, after = by(f"staff:{row.name}"), {"issuer": who.issuer}
                if bound.subject is None:
                    # The address is no longer used: it may be given to someone else.
                    bound.subject, bound.email = who.subject, None
                    bound_to = after | {"subject": subject}
                    record_account(session, now, person, "account.bound", row, after=bound_to)
                record_account(session, now, person, "sign_in.by_provider", row, after=after)
                return row.name, token
            about = ("account", row.name) if row else ("identity", subject)
            refused = {"issuer": who.issuer, "reason": "disabled" if row else "unknown"}
            shop = row.shop_id if row else MAIN_SHOP
            record(session, now, by(f"oidc:{subject}"), "sign_in.refused", about, shop=shop, after=refused)
        # Raised after the commit, so that the attempt and the entry are stored.
        if row:
            raise NotLetIn("Your account here is shut", hint="Ask the person who runs the shop.")
        hint = "Ask the person who runs the shop to invite you: `saycart staff invite NAME`."
        raise NotLetIn("You have no invitation here", hint=hint)

    def _bound(self, session: Session, who: Identity) -> StaffOidcRow | None:
        """Return the person's binding, or otherwise the invitation for their address."""
        of_issuer = select(StaffOidcRow).where(StaffOidcRow.issuer == who.issuer)
        self._database.lock(session, f"oidc:{who.issuer}\n{who.subject}")
        bound = session.scalars(of_issuer.where(StaffOidcRow.subject == who.subject)).one_or_none()
        if bound is not None or not who.email:
            return bound
        # Two people with one address must not both accept its invitation.
        self._database.lock(session, f"oidc:{who.issuer}\n{who.email}")
        return session.scalars(of_issuer.where(StaffOidcRow.email == who.email)).one_or_none()

    def invite(
        self, name: str, issuer: str, *, by: Actor, email: str | None = None, subject: str | None = None
    ) -> None:
        """Let the person with this subject or verified e-mail address at the provider sign in to an account.
        Removes an earlier binding and ends the account's sessions.

        Raises:
            InputError: neither or both are given, or one is invalid.
            Conflict: it is used for another account.
        """
        wanted = _invited_by(email, subject)
        column = StaffOidcRow.email if email else StaffOidcRow.subject
        with writing(self._database) as (session, now):
            # Locked before the account, as in `enter`.
            self._database.lock(session, f"oidc:{issuer}\n{wanted}")
            row = get_account(session, name, hold=True, shop=self._shop)
            taken = session.scalars(
                select(StaffOidcRow).where(
                    StaffOidcRow.issuer == issuer, column == wanted, StaffOidcRow.staff_id != row.id
                )
            ).one_or_none()
            if taken is not None:
                other = lock_account(session, taken.staff_id).name
                raise Conflict(f"That belongs to {other}", hint=f"`saycart staff unbind {other}` removes it.")
            bound = session.get(StaffOidcRow, row.id)
            if bound is None:
                bound = StaffOidcRow(staff_id=row.id)
                session.add(bound)
            bound.issuer = issuer
            bound.email, bound.subject = (wanted, None) if email else (None, wanted)
            end_sessions(session, row.id)
            # Without the address, which is personal: entries can't be deleted.
            after = {"issuer": issuer, "by": "email" if email else "subject"}
            record_account(session, now, by, "account.invited", row, after=after)

    def unbind(self, name: str, *, by: Actor) -> None:
        """Remove the account's binding or invitation, if any, and end its sessions."""
        with writing(self._database) as (session, now):
            row = get_account(session, name, hold=True, shop=self._shop)
            if (bound := session.get(StaffOidcRow, row.id)) is not None:
                before = {"issuer": bound.issuer, "subject": (bound.subject or "")[:SHOWN_CHARS]}
                session.delete(bound)
                end_sessions(session, row.id)
                record_account(session, now, by, "account.unbound", row, before)


def _invited_by(email: str | None, subject: str | None) -> str:
    """Return the address, in lower case, or the subject of an invitation; raises InputError."""
    given = (email or subject or "").strip()
    if bool(email) == bool(subject) or not 1 <= len(given) <= MAX_EMAIL_CHARS or not given.isprintable():
        raise InputError(
            "An invitation needs either an email address or a subject",
            hint="`--email ann@example.com`, or `--subject` with the provider's own id of the person.",
        )
    if email and "@" not in given:
        raise InputError("That's not an email address", hint="Use --subject for the provider's id.")
    return given.casefold() if email else given
