"""The audit log: who did what to which thing, before and after (ADR 41).

Numbered for each shop without gaps; the database refuses all but the next entry. What a reviewer did in full
is in `review_records` alone, which can be erased with its order.
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
    """Append one entry inside the caller's write transaction, so that neither it nor the act is ever alone.

    `about` is type and id of the object; `before` and `after` hold what changed and nothing else, of plain
    JSON values. To be called last: the shop's log is locked from here to the commit, and a caller that took
    another lock after it could deadlock.

    Raises:
        ValueError: a field named like a secret or like a customer's words.
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
    # The next entry of this transaction follows this one.
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
    """Append one entry for what was done to the account; of a password it says only that it was set."""
    about = ("account", account.name)
    record(session, now, by or UNKNOWN, action, about, shop=account.shop_id, before=before, after=after)


class Verified(NamedTuple):
    """The head of each shop's log, `SHOP:SEQ:DIGEST`, and what is wrong with the logs."""

    heads: list[str]
    faults: list[str]


class AuditLog:
    """Reads the log. Every call may raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def newest(
        self, limit: int, *, shop: str | None = None, action: str | None = None, since: datetime | None = None
    ) -> list[Entry]:
        """The last `limit` entries, oldest first. `action` as a whole, or its first word (`menu`)."""
        query = _wanted(shop, action, since).order_by(
            AuditRow.at.desc(), AuditRow.shop_id.desc(), AuditRow.seq.desc()
        )
        with self._database.read() as session:
            return [Entry(*row) for row in session.execute(query.limit(limit))][::-1]

    def entries(
        self, *, shop: str | None = None, action: str | None = None, since: datetime | None = None
    ) -> Iterator[Entry]:
        """Every entry, shop by shop, in order. Read in pages, so that a slow reader holds nothing up."""
        query = _wanted(shop, action, since).order_by(AuditRow.shop_id, AuditRow.seq).limit(PAGE)
        place = tuple_(AuditRow.shop_id, AuditRow.seq)
        last: tuple[str, int] | None = None
        while True:
            page = query if last is None else query.where(place > last)
            with self._database.read() as session:
                found = [Entry(*row) for row in session.execute(page)]
            yield from found
            if len(found) < PAGE:
                return
            last = (found[-1].shop_id, found[-1].seq)

    def verify(self, noted: Iterable[str] = ()) -> Verified:
        """Read every log for gaps. `noted`: heads that were printed earlier and kept elsewhere; each must be
        found again, or an entry up to it was changed or removed."""
        heads, faults, left = dict[str, str](), list[str](), {head.strip() for head in noted}
        digest, last = hashlib.sha256(), 0
        for entry in self.entries():
            if entry.shop_id not in heads:
                digest, last = hashlib.sha256(), 0
            if entry.seq != last + 1:
                faults.append(f"{entry.shop_id}: an entry is missing between {last} and {entry.seq!r}")
            last = entry.seq
            digest.update(f"{entry.line}\n".encode())
            heads[entry.shop_id] = head = f"{entry.shop_id}:{entry.seq}:{digest.hexdigest()}"
            left.discard(head)
        faults += [f"{head}: an entry up to this head was changed or removed" for head in sorted(left)]
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
