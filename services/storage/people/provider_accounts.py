"""Signing in by a provider: which account a person of the provider has, by an invitation or a binding.

Bound is bound: by issuer and subject, which a provider gives to one person for good. An e-mail address is
looked at once, for an invitation that was not taken up, and only where the provider has verified it.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotLetIn
from schemas.shops.access import EVERY_SHOP, MAIN_SHOP
from schemas.shops.audit import Actor
from schemas.shops.staff import Entered, Identity
from services.storage.audit.log import record, record_account
from services.storage.base.changes import writing
from services.storage.base.tables_staff import StaffOidcRow
from services.storage.people.attempts import Attempts, Counted
from services.storage.people.sessions import begin_session, end_sessions, existing, held

MAX_EMAIL_CHARS = 254
# Signing out at the provider asks the person where its ID token is longer than this, and not kept.
MAX_ID_TOKEN_CHARS = 6000
# Of a subject in the audit log: enough to find it again at the provider.
SHOWN_CHARS = 120


class ProviderAccounts:
    """Invitations, bindings and sign-ins. A call may raise StorageUnavailable, and NotFound for a name that
    no account of the shop has; people of the provider are of no shop until they have an account."""

    def __init__(self, database: Database, shop: str = EVERY_SHOP) -> None:
        self._database, self._shop = database.everywhere(), shop
        self._attempts = Attempts(database)

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
        self, who: Identity, lasting_s: float, *, counted: Counted, by: Callable[[str], Actor]
    ) -> tuple[str, Entered]:
        """Return the name of the person's account and a new session of `lasting_s` seconds. `by` makes the
        audit log's actor of a name.

        Raises:
            NotLetIn: they have no account here, or not any more. The attempt counts.
        """
        subject = who.subject[:SHOWN_CHARS]
        with writing(self._database) as (session, now):
            bound = self._bound(session, who)
            row = held(session, bound.staff_id) if bound else None
            if bound and row and not row.disabled_at:
                self._attempts.give_back(session, counted)
                kept = who.id_token if len(who.id_token) <= MAX_ID_TOKEN_CHARS else ""
                entered = Entered(begin_session(session, row.id, now, lasting_s, kept))
                person, after = by(f"staff:{row.name}"), {"issuer": who.issuer}
                if bound.bound_at is None:
                    # The address has done its part: who is given it next is another person.
                    bound.subject, bound.email, bound.bound_at = who.subject, None, now
                    bound_to = after | {"subject": subject}
                    record_account(session, now, person, "account.bound", row, after=bound_to)
                record_account(session, now, person, "sign_in.by_provider", row, after=after)
                return row.name, entered
            about = ("account", row.name) if row else ("identity", subject)
            refused = {"issuer": who.issuer, "reason": "disabled" if row else "unknown"}
            shop = row.shop_id if row else MAIN_SHOP
            record(session, now, by(f"oidc:{subject}"), "sign_in.refused", about, shop=shop, after=refused)
        # After the commit: the attempt and the entry stay.
        if row:
            raise NotLetIn("Your account here is shut", hint="Ask the person who runs the shop.")
        hint = "Ask the person who runs the shop to invite you: `saycart staff invite NAME`."
        raise NotLetIn("You have no invitation here", hint=hint)

    def _bound(self, session: Session, who: Identity) -> StaffOidcRow | None:
        """The person's binding, or else the invitation for their address."""
        of_issuer = select(StaffOidcRow).where(StaffOidcRow.issuer == who.issuer)
        self._database.lock(session, f"oidc:{who.issuer}\n{who.subject}")
        bound = session.scalars(of_issuer.where(StaffOidcRow.subject == who.subject)).one_or_none()
        if bound is not None or not who.email:
            return bound
        # Two people whom the provider gave one address must not both take it up.
        self._database.lock(session, f"oidc:{who.issuer}\n{who.email}")
        invited = of_issuer.where(StaffOidcRow.email == who.email, StaffOidcRow.bound_at.is_(None))
        return session.scalars(invited).one_or_none()

    def invite(
        self, name: str, issuer: str, *, by: Actor, email: str | None = None, subject: str | None = None
    ) -> None:
        """Let an account be signed in to by the provider: by the person with this verified e-mail address
        there, and bound to that person from then on, or by this subject. An earlier binding is gone, and
        the account's sessions.

        Raises:
            InputError: not exactly one of the two, or one that can't be.
            Conflict: another account is bound to that subject, or invited by that address.
        """
        wanted = _invited_by(email, subject)
        column = StaffOidcRow.email if email else StaffOidcRow.subject
        with writing(self._database) as (session, now):
            # Before the account, as a sign-in takes them.
            self._database.lock(session, f"oidc:{issuer}\n{wanted}")
            row = existing(session, name, hold=True, shop=self._shop)
            taken = session.scalars(
                select(StaffOidcRow).where(
                    StaffOidcRow.issuer == issuer, column == wanted, StaffOidcRow.staff_id != row.id
                )
            ).one_or_none()
            if taken is not None:
                other = held(session, taken.staff_id).name
                raise Conflict(f"That belongs to {other}", hint=f"`saycart staff unbind {other}` removes it.")
            bound = session.get(StaffOidcRow, row.id)
            if bound is None:
                bound = StaffOidcRow(staff_id=row.id)
                session.add(bound)
            bound.issuer, bound.bound_at = issuer, now if subject else None
            bound.email, bound.subject = (wanted, None) if email else (None, wanted)
            end_sessions(session, row.id)
            # Not the address: no entry can ever be taken back, and it is personal.
            after = {"issuer": issuer, "by": "email" if email else "subject"}
            record_account(session, now, by, "account.invited", row, after=after)

    def unbind(self, name: str, *, by: Actor) -> None:
        """Take binding or invitation away, and end the account's sessions; one without is fine."""
        with writing(self._database) as (session, now):
            row = existing(session, name, hold=True, shop=self._shop)
            if (bound := session.get(StaffOidcRow, row.id)) is not None:
                before = {"issuer": bound.issuer, "subject": (bound.subject or "")[:SHOWN_CHARS]}
                session.delete(bound)
                end_sessions(session, row.id)
                record_account(session, now, by, "account.unbound", row, before)


def _invited_by(email: str | None, subject: str | None) -> str:
    """The address, in small letters, or the subject that a person is invited by; raises InputError."""
    given = (email or subject or "").strip()
    if bool(email) == bool(subject) or not 1 <= len(given) <= MAX_EMAIL_CHARS or not given.isprintable():
        raise InputError(
            "An invitation needs either an email address or a subject",
            hint="`--email ann@example.com`, or `--subject` with the provider's own id of the person.",
        )
    if email and "@" not in given:
        raise InputError("That's not an email address", hint="Use --subject for the provider's id.")
    return given.casefold() if email else given
