"""The audit log: who did what, with the state before and after (ADR 41).

Entries are numbered per shop without gaps, which the database enforces. Reviewers' corrections are in
`review_records`, which can be erased with the order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select, tuple_
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.shops.audit import UNKNOWN, Actor, Entry, canonical_json, stamp
from services.storage.base.scoping import OfAllShops
from services.storage.base.tables_staff import AuditRow, StaffRow

PAGE = 500
_COLUMNS = [getattr(AuditRow, field.name) for field in fields(Entry)]


def record(
    session: Session,
    now: datetime,
    by: Actor,
    action: str,
    about: tuple[str, str],
    *,
    shop: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Append an entry inside the caller's write transaction.

    `about` is the type and id of the object; `before` and `after` contain only what changed. Call it last: it
    locks the shop's log until the commit, and taking another lock after it could deadlock.

    Raises:
        ValueError: a field with the name of a secret or of a customer's words.
    """
    session.flush()
    Database.lock(session, f"audit:{shop}")
    newest = select(func.max(AuditRow.seq)).where(AuditRow.shop_id == shop)
    kind, key = about
    row = AuditRow(
        shop_id=shop,
        seq=(session.scalar(newest) or 0) + 1,
        at=stamp(now),
        actor=by.name,
        address=by.address,
        request_id=by.request_id,
        action=action,
        object_type=kind,
        object_id=key,
        before=canonical_json(before),
        after=canonical_json(after),
    )
    session.add(row)
    session.flush()


def record_account(
    session: Session,
    now: datetime,
    by: Actor | None,
    action: str,
    account: StaffRow,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """Append an entry about an account."""
    about = ("account", account.name)
    record(session, now, by or UNKNOWN, action, about, shop=account.shop_id, before=before, after=after)


class Verified(NamedTuple):
    """The head of each shop's log, `SHOP:SEQ:DIGEST`, and the faults that were found."""

    heads: list[str]
    faults: list[str]


class AuditLog(OfAllShops):
    """Reads the log. Any call may raise StorageUnavailable."""

    def newest(
        self, limit: int, *, shop: str | None = None, action: str | None = None, since: datetime | None = None
    ) -> list[Entry]:
        """Return the last `limit` entries, oldest first. `action`: a whole action or its first word."""
        query = _wanted(shop, action, since).order_by(
            AuditRow.at.desc(), AuditRow.shop_id.desc(), AuditRow.seq.desc()
        )
        with self._database.read() as session:
            return [Entry(*row) for row in session.execute(query.limit(limit))][::-1]

    def entries(
        self, *, shop: str | None = None, action: str | None = None, since: datetime | None = None
    ) -> Iterator[Entry]:
        """Yield all entries by shop, in order; read in pages, so that a slow reader blocks nobody."""
        query = _wanted(shop, action, since).order_by(AuditRow.shop_id, AuditRow.seq).limit(PAGE)
        place = tuple_(AuditRow.shop_id, AuditRow.seq)
        last: tuple[str, int] | None = None
        while True:
            page = query if last is None else query.where(place > last)
            with self._database.read() as session:
                entries = [Entry(*row) for row in session.execute(page)]
            yield from entries
            if len(entries) < PAGE:
                return
            last = (entries[-1].shop_id, entries[-1].seq)

    def verify(self, noted: Iterable[str] = ()) -> Verified:
        """Check all logs for gaps and changes. `noted`: heads printed earlier; if one no longer occurs, an
        entry up to it was changed or removed."""
        heads, faults, missing = dict[str, str](), list[str](), {head.strip() for head in noted}
        digest, last = hashlib.sha256(), 0
        for entry in self.entries():
            if entry.shop_id not in heads:
                digest, last = hashlib.sha256(), 0
            if entry.seq != last + 1:
                faults.append(f"{entry.shop_id}: an entry is missing between {last} and {entry.seq!r}")
            last = entry.seq
            digest.update(f"{entry.line}\n".encode())
            heads[entry.shop_id] = head = f"{entry.shop_id}:{entry.seq}:{digest.hexdigest()}"
            missing.discard(head)
        faults += [f"{head}: an entry up to this head was changed or removed" for head in sorted(missing)]
        return Verified(list(heads.values()), faults)


def _wanted(shop: str | None, action: str | None, since: datetime | None) -> Select[Any]:
    query = select(*_COLUMNS)
    if shop is not None:
        query = query.where(AuditRow.shop_id == shop)
    if since is not None:
        query = query.where(AuditRow.at >= stamp(since))
    if action is None:
        return query
    return query.where(
        AuditRow.action == action
        if "." in action
        else AuditRow.action.startswith(f"{action}.", autoescape=True)
    )
