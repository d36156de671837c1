"""Which account a person of the provider has: bound, invited, or made by what their groups say.

Bound is bound: by issuer and subject, which a provider gives to one person for good. An e-mail address is
looked at once, for an invitation that was not taken up, and only where the provider has verified it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import Conflict, InputError
from schemas.shops.access import MAIN_SHOP, Role
from schemas.shops.audit import Actor
from schemas.shops.staff import Identity
from services.storage.audit.entries import record_account
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.tables import ShopRow
from services.storage.base.tables_staff import StaffOidcRow, StaffRow
from services.storage.people.names import is_name, taken
from services.storage.people.sessions import end_sessions, existing, held
from services.storage.people.staff import NO_PASSWORD, new_account

MAX_EMAIL_CHARS = 254
# Of a subject in the audit log: enough to find it again at the provider.
SHOWN_CHARS = 120
_RANK = list(Role)

Roles = Mapping[str, tuple[str, Role]]
"""Shop and role by group; empty where groups say nothing."""
Act = tuple[str, dict[str, Any] | None, dict[str, Any] | None]
"""What was done to an account, for the audit log: action, before, after."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a person gets no account: a word for the log, a sentence for the page, and what to do about it.
    `row` is the account that they would have had."""

    reason: str
    detail: str
    hint: str
    row: StaffRow | None = None


def account_of(
    database: Database, session: Session, now: datetime, who: Identity, roles: Roles
) -> tuple[StaffRow, list[Act]] | Refusal:
    """The account that a person signs in to, bound to them and with the role that their groups give, and what
    had to be done for that; inside the caller's write transaction."""
    database.lock(session, f"oidc:{who.issuer}\n{who.subject}")
    acts: list[Act] = []
    bound = session.scalars(
        select(StaffOidcRow).where(StaffOidcRow.issuer == who.issuer, StaffOidcRow.subject == who.subject)
    ).one_or_none() or _invited(database, session, who)
    if bound is None:
        made = _make(database, session, now, who, roles)
        if isinstance(made, Refusal):
            return made
        bound, row = made
        acts.append(("account.added", None, {"disabled": False, "role": row.role}))
    else:
        row = held(session, bound.staff_id)
        if row.disabled_at:
            return Refusal("disabled", "Your account here is shut", "Ask the person who runs the shop.", row)
        if roles and (act := _renew(row, who, roles)):
            if isinstance(act, Refusal):
                return act
            acts.append(act)
    if bound.bound_at is None:
        # The address has done its part: who is given it next is another person.
        bound.subject, bound.email, bound.bound_at = who.subject, None, now
        acts.append(("account.bound", None, {"issuer": who.issuer, "subject": who.subject[:SHOWN_CHARS]}))
    return row, acts


def _invited(database: Database, session: Session, who: Identity) -> StaffOidcRow | None:
    if not who.email:
        return None
    # Two people whom the provider gave one address must not both take it up.
    database.lock(session, f"oidc:{who.issuer}\n{who.email}")
    return session.scalars(
        select(StaffOidcRow).where(
            StaffOidcRow.issuer == who.issuer,
            StaffOidcRow.email == who.email,
            StaffOidcRow.bound_at.is_(None),
        )
    ).one_or_none()


def _granted(who: Identity, roles: Roles) -> dict[str, Role]:
    """The highest role in each shop that a person's groups give."""
    found: dict[str, Role] = {}
    for shop, role in (roles[group] for group in who.groups if group in roles):
        found[shop] = max(role, found.get(shop, role), key=_RANK.index)
    return found


def _renew(row: StaffRow, who: Identity, roles: Roles) -> Act | Refusal | None:
    role = _granted(who, roles).get(row.shop_id)
    if role is None:
        return Refusal(
            "no_role",
            "None of your groups gives you a role in your shop any more",
            "Ask your organisation's administrator.",
            row,
        )
    if row.role == role:
        return None
    was, row.role = row.role, role.value
    return "account.role", {"role": was}, {"role": role.value}


def _make(
    database: Database, session: Session, now: datetime, who: Identity, roles: Roles
) -> tuple[StaffOidcRow, StaffRow] | Refusal:
    granted = _granted(who, roles)
    if not granted:
        hint = "Ask the person who runs the shop to invite you: `saycart staff invite NAME`."
        return Refusal("unknown", "Nobody here has invited you", hint)
    if len(granted) > 1:
        hint = "An account belongs to one shop: ask your organisation's administrator."
        return Refusal("two_shops", "Your groups give you roles in more than one shop", hint)
    ((shop, role),) = granted.items()
    if session.get(ShopRow, shop) is None:
        return Refusal("no_shop", "Your groups name a shop that is not here", "Tell the operator of saycart.")
    name = next(filter(is_name, who.names), "")
    if not name:
        hint = "It tells a user name or a verified e-mail address to those who ask for them."
        return Refusal("no_name", "Your organisation does not say what you are called", hint)
    if (other := taken(database, session, name)) is not None:
        # A second account for the same person would make two who agree out of one (ADR 13), and one for
        # another person of that name would decide under a colleague's.
        hint = f"If it is yours, ask the operator to bind it to you: `saycart staff invite {other}`."
        return Refusal("name_taken", f"There is an account {other} already, which is not bound to you", hint)
    row = new_account(session, now, name, shop, role, NO_PASSWORD)
    bound = StaffOidcRow(staff_id=row.id, issuer=who.issuer, subject=None, email=None, bound_at=None)
    session.add(bound)
    return bound, row


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


class ProviderAccounts:
    """Invitations and bindings. Every call may raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def invite(
        self, name: str, issuer: str, *, by: Actor, email: str | None = None, subject: str | None = None
    ) -> None:
        """Let an account be signed in to by the provider: by the person with this verified e-mail address
        there, and bound to that person from then on, or by this subject. An earlier binding is gone, and
        the account's sessions.

        Raises:
            NotFound: no such account.
            InputError: not exactly one of the two, or one that can't be.
            Conflict: another account is bound to that subject, or invited by that address.
        """
        wanted = _invited_by(email, subject)
        column = StaffOidcRow.email if email else StaffOidcRow.subject
        with writing(self._database) as (session, now):
            # Before the account, as a sign-in takes them.
            self._database.lock(session, f"oidc:{issuer}\n{wanted}")
            row = existing(session, name, hold=True)
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
        """Take binding or invitation away, and end the account's sessions; one without is fine.

        Raises:
            NotFound: no such account.
        """
        with writing(self._database) as (session, now):
            row = existing(session, name, hold=True)
            if (bound := session.get(StaffOidcRow, row.id)) is not None:
                before = {"issuer": bound.issuer, "subject": (bound.subject or "")[:SHOWN_CHARS]}
                session.delete(bound)
                end_sessions(session, row.id)
                record_account(session, now, by, "account.unbound", row, before)


def record_acts(session: Session, now: datetime, by: Actor, row: StaffRow, acts: list[Act]) -> None:
    """Entries of the audit log. The shop's log is locked from here on."""
    for action, before, after in acts:
        record_account(session, now, by, action, row, before, after)


def record_refusal(session: Session, now: datetime, by: Actor, who: Identity, refusal: Refusal) -> None:
    """An entry of a person who was not let in; where the shop is unknown, with the first shop's."""
    row = refusal.row
    about = ("account", row.name) if row else ("identity", who.subject[:SHOWN_CHARS])
    after = {"issuer": who.issuer, "reason": refusal.reason}
    shop = row.shop_id if row else MAIN_SHOP
    record(session, now, by, "sign_in.refused", about, shop=shop, after=after)
